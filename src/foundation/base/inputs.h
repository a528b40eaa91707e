/* Inputs: the (topic, partition) pairs that messages come from, numbered from 0 in the order of
 * their appearance.
 *
 * One table serves all sources of a pipeline, so that an origin (history/history.h) names the same
 * partition everywhere. Ownership: the table owns its names; they do not move. Threads: one at a
 * time. At most 65,535 inputs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/index.h"

struct iso_inputs_entry {
    char *topic;
    int32_t partition;
};

struct iso_inputs {
    uint32_t count, capacity;
    struct iso_inputs_entry *list;
    struct iso_index table; /* of the list */
    uint32_t latest;        /* the one found last: runs of messages come from one partition */
};

enum { ISO_INPUTS_MAX = 65535 };

void iso_inputs_init(struct iso_inputs *inputs);
void iso_inputs_release(struct iso_inputs *inputs);

/* The number of an input, new or known; ISO_INPUTS_MAX if there are too many. */
uint32_t iso_inputs_number(struct iso_inputs *inputs, const char *topic, size_t length,
                           int32_t partition);
