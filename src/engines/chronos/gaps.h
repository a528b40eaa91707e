/* A history whose timestamps are moments among snapshots (history/boundaries.h), as if snapshots
 * had been read from a file. The log's order of a key's versions stays, since a row's writers wait
 * for one another.
 *
 * Ownership: the mapped history borrows all but its timestamps. Threads: read only once built.
 */
#pragma once

#include "history/boundaries.h"

struct chronos_gaps {
    struct iso_history history; /* with other sts, cts and ots */
    struct iso_boundaries boundaries;
};

struct chronos_gaps *chronos_gaps_new(const struct iso_history *history);
void chronos_gaps_free(struct chronos_gaps *gaps); /* or NULL */

/* A position of the mapped history as one of the history's own: that of the snapshot, or of the one
 * behind the gap. */
uint64_t chronos_gaps_back(const struct chronos_gaps *gaps, uint64_t position);
