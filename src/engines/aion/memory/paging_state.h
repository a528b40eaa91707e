/* Keys leave memory through these: the spill file of a shard, and records on their way there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Bytes that grow. */
struct aion_bytes {
    uint8_t *bytes;
    size_t size, capacity;
};

struct iso_spill;

struct aion_paging {
    struct iso_spill *store;  /* of keys that are not in memory, or NULL */
    struct iso_error failure; /* its first */
    bool eager;               /* every key and every version that may leave memory leaves it */
    struct aion_bytes record; /* of the key that goes there */
    struct aion_bytes compact_record; /* what is left of one that is moved there */
    uint32_t evict_clock_hand;        /* the key that is looked at next */
};
