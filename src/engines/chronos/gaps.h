/* Positions among snapshots, of a history that was joined with PostgreSQL's change stream.
 *
 * The join gives each commit a position of its own, by its place in the log, and each snapshot one
 * above the last commit that it sees. But commits between the same two snapshots became visible in
 * an order that nobody knows, and it need not be the log's (docs/semantics.md). Where a read has a
 * choice of moments that matters: so here all commits of one gap get one position, and the rest as
 * if snapshots had been read from a file. The log's order of a key's versions stays, since a row's
 * writers wait for one another.
 *
 * Ownership: the mapped history borrows all but its timestamps. Threads: read only once built.
 */
#pragma once

#include "history/history.h"

struct chronos_gaps {
    struct iso_history history; /* with other sts, cts and ots */
    uint64_t *looks; /* positions of snapshots that somebody read by, sorted, each once */
    uint32_t look_count;
};

/* Whether the history is such a one. */
bool chronos_has_gaps(const struct iso_history *history);

struct chronos_gaps *chronos_gaps_new(const struct iso_history *history);
void chronos_gaps_free(struct chronos_gaps *gaps); /* or NULL */

/* A position of the mapped history as one of the history's own: that of the snapshot, or of the one
 * behind the gap. */
uint64_t chronos_gaps_back(const struct chronos_gaps *gaps, uint64_t position);
