/* PostgreSQL's snapshots in place of timestamps.
 *
 * All snapshots are ordered by how many committed xids they see; in a correct system each contains
 * the one before. A transaction's sts is its own snapshot's position, its cts lies just below the
 * first snapshot that sees its xid. A snapshot that contradicts the others is a snapshot-order
 * violation: TIMESTAMP, kind snapshot-order; no commit stands by it, and it has the
 * position of the one before it. Commit LSN order is no substitute, it gives false alarms
 * (docs/semantics.md).
 */
#pragma once

#include <stddef.h>

#include "history/history.h"

/* Two snapshots of which neither contains the other. */
struct iso_snapshot_violation {
    uint32_t transaction;  /* the owner of the one that is wrong (its own, or an operation's) */
    uint32_t right, wrong; /* snapshots */
    uint64_t only_right;   /* a committed xid that only that one sees */
    uint64_t only_wrong;
};

/* The xids that a snapshot lists as in progress, sorted; NULL: it lists none, and there may be no
 * column at all. */
static inline const uint64_t *iso_snapshot_xips(const struct iso_history *history,
                                                const struct iso_snapshot *snapshot)
{
    return snapshot->xip_count ? &history->snapshots.xips[snapshot->first_xip] : NULL;
}

/* True if the snapshot sees `xid`, provided that it committed. */
bool iso_snapshot_sees(const struct iso_history *history, const struct iso_snapshot *snapshot,
                       uint64_t xid);

/* Copies a snapshot into a history that is being built; returns its index there. */
uint32_t iso_snapshot_copy(struct iso_history *into, const struct iso_history *from,
                           uint32_t snapshot);

/* "xmin:xmax:xip,..." as it was given; cut at `size`. */
void iso_snapshot_text(const struct iso_history *history, const struct iso_snapshot *snapshot,
                       char *text, size_t size);
