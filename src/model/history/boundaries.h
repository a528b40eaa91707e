/* Boundaries of snapshots: moments of a history that was joined with PostgreSQL's change stream.
 *
 * The join gives each commit a position of its own, by that in the log, and each snapshot one
 * above the last commit that it sees. But commits between the same two snapshots became visible in
 * an order that nobody knows, and it need not be the log's (docs/semantics.md). Where a read has a
 * choice of moments that matters: so there all commits between two snapshots get one moment. The
 * i-th snapshot, from 0, is moment 2i + 2, and the commits below it are moment 2i + 1.
 *
 * Zeroed, there are none. Threads: read only once sorted.
 */
#pragma once

#include "history/history.h"

struct iso_boundaries {
    uint64_t *list; /* positions of snapshots that somebody read by; sorted, each once */
    uint32_t count, capacity;
    bool is_on; /* false: moments are the timestamps themselves, and nothing is added */
    bool is_sorted;
};

/* Whether the history is such a one. */
bool iso_history_has_boundaries(const struct iso_history *history);

/* The snapshots by which the transaction read. */
void iso_boundaries_add(struct iso_boundaries *boundaries, const struct iso_history *history,
                        uint32_t transaction);
void iso_boundaries_add_all(struct iso_boundaries *boundaries, const struct iso_history *history);
void iso_boundaries_sort(struct iso_boundaries *boundaries); /* after the last was added */

/* As moments. Before they are sorted the answer means nothing. */
uint64_t iso_boundaries_snapshot(const struct iso_boundaries *boundaries, uint64_t position);
uint64_t iso_boundaries_commit(const struct iso_boundaries *boundaries, uint64_t position);

/* rc: from `*low` up to `*high` are the moments that a read's transaction has left, as exclusive
 * bounds; then those that the read itself may have. `bits`: ISO_OPERATION_OTS and _LOCK of the
 * read, `own`: the bound that they give. True: the read moves its transaction's moment on. */
bool iso_read_moments(uint8_t bits, uint64_t own, bool is_point, bool are_positions, uint64_t *low,
                      uint64_t *high);
