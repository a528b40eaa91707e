/* The order of PostgreSQL's snapshots: what a finished history and a stream have in common.
 *
 * Snapshots stand by how many committed xids they see, and those that see equally many by their own
 * numbers, so that the order does not depend on the input's. Threads: constant.
 */
#pragma once

#include <stdbool.h>

#include "base/sorted.h"
#include "history/snapshot.h"

/* By their own numbers, both of one history. */
int iso_snapshot_compare(const struct iso_history *history, const struct iso_snapshot *left,
                         const struct iso_snapshot *right);

/* How many of the committed xids the snapshot sees. */
uint64_t iso_snapshot_count_seen(const struct iso_history *history,
                                 const struct iso_snapshot *snapshot,
                                 const struct iso_sorted *committed);

/* However the caller keeps them: the smallest committed xid from `from` on and below `end`; 0:
 * none. */
struct iso_committed {
    uint64_t (*next)(const void *context, uint64_t from, uint64_t end);
    const void *context;
};

/* A committed xid that `one` sees and `other` does not; 0: none. `other` does not see what was in
 * progress in it, nor what lies at its xmax or above: no xid in between needs a look, however old
 * its xmin is. */
uint64_t iso_snapshot_only_in(const struct iso_history *one_of, const struct iso_snapshot *one,
                              const struct iso_history *other_of, const struct iso_snapshot *other,
                              const struct iso_committed *committed);

/* Snapshots in their order. */
struct iso_snapshot_links {
    bool (*lacks)(const void *context, uint32_t earlier,
                  uint32_t later); /* the later one something that the earlier one sees */
    const void *context;
    uint32_t count;
};

/* In a correct system all contain each other. Where they do not, the many are right: neighbours
 * that contradict each other are set aside both, which leaves a chain, and those of them that fit
 * into it are taken back, in their order. Of each: one in the chain that it contradicts, or
 * ISO_NONE. To be freed. */
uint32_t *iso_snapshots_contradicted(const struct iso_snapshot_links *links);
