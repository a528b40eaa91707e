/* Conditions that no index serves, counted by shape: how many queries, and how many rows were
 * looked at for them.
 *
 * Ownership: whoever asks makes one and hands it to any number of engines (iso_rowsets_options).
 * Threads: engines may note at the same time; listing begins when they are done.
 */
#pragma once

#include <stdint.h>

#include "base/json.h"

struct iso_scans;

struct iso_scans *iso_scans_new(void);
void iso_scans_free(struct iso_scans *scans); /* NULL: nothing */

void iso_scans_note(struct iso_scans *scans, struct iso_json_text table, struct iso_json_text where,
                    uint64_t rows);

struct iso_scan {
    struct iso_json_text shape; /* "public.orders where amount > ?" */
    uint64_t queries, rows;
};

/* Most rows first; to be freed, and the texts are those of `scans`. NULL, which counts none, is
 * allowed. */
struct iso_scan *iso_scans_list(const struct iso_scans *scans, uint32_t *count);
