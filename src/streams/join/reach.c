/* How far PostgreSQL's stream is whole, in snapshots (extent.h). */
#include "join/extent.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "history/snapshot.h"
#include "join/join_private.h"

enum { WALK_MOST = 1 << 16 }; /* a snapshot that a client made up may see any number of xids */

/* ---- what was reached ---- */

static const struct iso_snapshot *reached(const struct join_extent *extent)
{
    return extent->reached.snapshots.count ? extent->reached.snapshots.list : NULL;
}

/* Adds what a delivered transaction's snapshot saw as ended. A snapshot of a chain contains the
 * smaller ones; where two contradict each other, each proves what it saw. */
static void reach(struct join_extent *extent, const struct iso_history *of,
                  const struct iso_snapshot *snapshot)
{
    struct iso_history *all = &extent->reached;
    if (reached(extent) && reached(extent)->xmin >= snapshot->xmax)
        return;
    uint32_t added = iso_snapshot_copy(all, of, (uint32_t)(snapshot - of->snapshots.list)),
             larger = all->snapshots.list[added].xmax > all->snapshots.list[0].xmax ? added : 0;
    struct iso_snapshot both = all->snapshots.list[larger];
    uint64_t *xips = all->snapshots.xips + both.first_xip;
    uint32_t count = 0;
    for (uint32_t i = 0; i < both.xip_count; i++)
        if (!added || !iso_snapshot_sees(all, &all->snapshots.list[added - larger], xips[i]))
            xips[count++] = xips[i];
    both.xmin = count ? xips[0] : both.xmax;
    if (count)
        memmove(all->snapshots.xips, xips, count * sizeof *xips);
    both.first_xip = 0;
    both.xip_count = count;
    all->snapshots.xip_count = count;
    all->snapshots.list[0] = both;
    all->snapshots.count = 1;
}

void join_extent_note(struct iso_join *join, const struct iso_snapshot *snapshot)
{
    struct join_extent *extent = &join->extent;
    extent->first =
        extent->first && extent->first < snapshot->xmin ? extent->first : snapshot->xmin;
}

void join_extent_note_end(struct iso_join *join, uint64_t xid, uint64_t committed)
{
    struct join_extent *extent = &join->extent;
    uint64_t grace = join->options.grace_ms;
    if (!grace || !committed)
        return;
    iso_stairs_climb(&extent->over, grace, committed, xid);
    extent->latest = committed > extent->latest ? committed : extent->latest;
    if (extent->latest > grace)
        iso_stairs_reach(&extent->over, extent->latest - grace - 1);
}

void join_extent_deliver(struct iso_join *join, uint32_t number)
{
    assert(number < join->records.count);
    const struct iso_history *kept = &join->records.kept;
    if (!(join->records.list[number].flags & JOIN_RECORD_PLACED))
        return;
    uint32_t t = join->records.list[number].kept;
    reach(&join->extent, kept, &kept->snapshots.list[kept->txns.snapshot[t]]);
    for (uint32_t o = kept->txns.first_op[t]; kept->ops.ots && o < kept->txns.first_op[t + 1]; o++)
        if (kept->ops.kind[o] & ISO_OPERATION_SNAPSHOT)
            reach(&join->extent, kept, &kept->snapshots.list[kept->ops.ots[o]]);
}

/* Extends the reach: a transaction that had not ended for the snapshot has, as the time of another
 * one's commit says. So the snapshot was taken before that commit, and all that it sees stands
 * before it in the log. */
static void reach_older(struct iso_join *join)
{
    const struct join_positions *positions = &join->positions;
    for (uint32_t i = 0; i < positions->link_count; i++) {
        const struct iso_snapshot *snapshot = join_snapshot_of(join, &positions->links[i]);
        if (snapshot->xmax <= join->extent.over.reached)
            reach(&join->extent, &join->records.kept, snapshot);
    }
}

uint64_t join_extent_whole_below(struct iso_join *join)
{
    reach_older(join);
    return reached(&join->extent) ? reached(&join->extent)->xmin : 0;
}

static bool has_ended(const struct iso_join *join, uint64_t xid)
{
    const struct join_extent *extent = &join->extent;
    const struct iso_snapshot *snapshot = reached(extent);
    return snapshot && iso_snapshot_sees(&extent->reached, snapshot, xid);
}

/* ---- the end ---- */

static int compare_missing(const void *left, const void *right)
{
    uint64_t a = ((const struct join_missing *)left)->xid,
             b = ((const struct join_missing *)right)->xid;
    return (a > b) - (a < b);
}

static void add_missing(struct join_extent *extent, uint64_t xid, bool wrote)
{
    ISO_GROW(extent->missing, extent->missing_count, extent->missing_capacity);
    extent->missing[extent->missing_count++] = (struct join_missing){xid, wrote};
}

/* Whether nothing of the record's transaction came, and nothing says that it has no rows. */
static bool is_missing(const struct iso_join *join, const struct join_record *record)
{
    return join_awaits_commit(record) && record->xid && join_may_write(join, record) &&
           !has_ended(join, record->xid);
}

/* An id alone says no more than that it may have written: who locks a row has one, too. */
static bool says_writes(const struct iso_join *join, const struct join_record *record)
{
    const struct iso_history *kept = &join->records.kept;
    bool leaves_writes = kept->txns.marks && kept->txns.marks[record->kept] & ISO_MARK_CDC_WRITES;
    return record->status == ISO_UNKNOWN || leaves_writes || record->writes.count;
}

static void find_missing(struct iso_join *join)
{
    struct join_extent *extent = &join->extent;
    extent->missing_count = 0;
    for (uint32_t i = join->records.oldest; i != ISO_NONE; i = join->records.list[i].newer) {
        struct join_record *record = &join->records.list[i];
        if (!is_missing(join, record))
            continue;
        bool wrote = says_writes(join, record);
        if (record->status == ISO_COMMITTED)
            record->flags |= wrote ? JOIN_RECORD_BEYOND : JOIN_RECORD_MISSING;
        add_missing(extent, record->xid, wrote);
    }
    for (uint32_t i = join->open.oldest; i != ISO_NONE; i = join->open.list[i].newer)
        if (join->open.list[i].identity.tag == JOIN_BY_XID)
            add_missing(extent, join_xid_of(join, join->open.list[i].identity.number), true);
    if (extent->missing_count)
        qsort(extent->missing, extent->missing_count, sizeof *extent->missing, compare_missing);
}

/* The worst of what is missing and the snapshot sees. */
static enum join_reach reach_missing(const struct iso_join *join,
                                     const struct iso_snapshot *snapshot)
{
    const struct join_extent *extent = &join->extent;
    enum join_reach reach = JOIN_WITHIN;
    for (uint32_t i = 0; i < extent->missing_count && extent->missing[i].xid < snapshot->xmax;
         i++) {
        const struct join_missing *missing = &extent->missing[i];
        if (!iso_snapshot_sees(&join->records.kept, snapshot, missing->xid))
            continue;
        if (missing->wrote)
            return JOIN_LACKING;
        reach = JOIN_BEYOND;
    }
    return reach;
}

/* Whether it was delivered, or its client says that it changed nothing. */
static bool has_outcome(const struct iso_join *join, uint64_t xid)
{
    uint32_t record =
        join_map_get(&join->records.by_claim, (struct join_identity){(uint32_t)xid, JOIN_BY_XID});
    return has_ended(join, xid) || join_has_commit(join, xid) ||
           (record != ISO_NONE && join->records.list[record].xid == xid &&
            join->records.list[record].status == ISO_ABORTED);
}

/* Reach of the snapshot of a record that is kept. */
static enum join_reach join_extent_reach(const struct iso_join *join,
                                         const struct iso_snapshot *snapshot)
{
    const struct iso_snapshot *before = reached(&join->extent);
    uint64_t xid = before                             ? before->xmin
                   : join_came_behind(join, snapshot) ? join->extent.first
                                                      : 1;
    enum join_reach reach = reach_missing(join, snapshot);
    if (reach != JOIN_WITHIN)
        return reach;
    if (xid < snapshot->xmax && snapshot->xmax - xid > WALK_MOST)
        return JOIN_BEYOND;
    for (; xid < snapshot->xmax; xid++)
        if (iso_snapshot_sees(&join->records.kept, snapshot, xid) && !has_outcome(join, xid))
            return JOIN_BEYOND;
    return JOIN_WITHIN;
}

static bool is_listed_missing(const struct join_extent *extent, uint64_t xid)
{
    struct join_missing wanted = {xid, false};
    return extent->missing_count && bsearch(&wanted, extent->missing, extent->missing_count,
                                            sizeof *extent->missing, compare_missing);
}

enum join_reach join_extent_reach_of(const struct iso_join *join, const struct join_link *link)
{
    assert(link->record < join->records.count);
    const struct join_record *record = &join->records.list[link->record];
    enum join_reach reach = join_extent_reach(join, join_snapshot_of(join, link));
    return reach == JOIN_WITHIN && record->xid && is_listed_missing(&join->extent, record->xid)
               ? JOIN_BEYOND
               : reach;
}

void join_extent_close_snapshots(struct iso_join *join)
{
    const struct join_positions *positions = &join->positions;
    reach_older(join);
    find_missing(join);
    for (uint32_t i = 0; i < positions->link_count; i++) {
        struct join_record *record = &join->records.list[positions->links[i].record];
        bool delivered = record->flags & JOIN_RECORD_COMMITTED && join_may_write(join, record);
        if (!delivered &&
            join_extent_reach(join, join_snapshot_of(join, &positions->links[i])) == JOIN_LACKING)
            record->flags |= JOIN_RECORD_BEYOND;
    }
}
