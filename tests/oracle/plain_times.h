/* The timestamps of a plain history as numbers, by definition and without cleverness.
 *
 * Each timestamp becomes one number, so that "just below" is one less and never wraps: scalars
 * count from 1 (given + 1); pairs, and scalars among which is the largest 64-bit number, are ranks
 * + 1; an absent sts is 1, as if 0 were given. PostgreSQL snapshots become places in a chain: views
 * (sets of committed xids) ordered by size; each distinct view 2 above the one before it, a commit
 * 1 below the first that sees it (docs/semantics.md).
 */
#ifndef TESTS_PLAIN_TIMES_H
#define TESTS_PLAIN_TIMES_H

#include "tests/support/plain_history.h"

struct plain_operation_times {
    bool own;     /* has an ots of its own: explicit, or a snapshot */
    bool lock;    /* has none, but a lock */
    uint64_t ots; /* with the defaults filled in */
};

struct plain_transaction_times {
    bool has_sts, has_cts, point;
    bool breached; /* owns a snapshot that contradicts those that form a chain */
    uint64_t sts, cts;
    uint64_t log_place; /* see plain_times_merge_gaps; else 0 */
    struct plain_operation_times operations[PLAIN_OPERATIONS];
};

struct plain_times {
    struct plain_transaction_times transactions[PLAIN_TRANSACTIONS];
};

void plain_times_of(const struct plain_history *history, struct plain_times *times);

/* Timestamps beside xids are positions in PostgreSQL's log, and commits between the same two
 * snapshots have no order. True if that is so: then each such gap is one number, odd, snapshots are
 * even, and `log_place` has what cts was. */
bool plain_times_merge_gaps(const struct plain_history *history, struct plain_times *times);

/* True if the snapshot sees the xid, provided that it committed. */
bool plain_snapshot_sees(const struct plain_snapshot *snapshot, uint64_t xid);

#endif
