/* PostgreSQL: positions in place of timestamps, as they become certain.
 *
 * All snapshots, ordered by how many commits they see, form a chain: each contains the one before
 * (history/snapshot.h). A commit stands just below the first snapshot that sees it; those between
 * two snapshots by their LSN. Positions are counted up: each commit has an odd one of its own, a
 * snapshot the even one above the last commit that it sees.
 *
 * Online the front of the chain is certain up to a *horizon*: an xid that is the least of
 *   - what clients promise: no record will arrive whose snapshot has a smaller xmin;
 *   - what was delivered: the xmin of the largest snapshot up to which the stream is whole
 *     (extent.h);
 *   - xids of transactions that are delivered in part.
 * Every xid below it has an outcome. A snapshot whose xmax is no larger sees only such xids, and is
 * contained in every snapshot that will arrive: its position is final, if those that wait above the
 * horizon contain it, too.
 *
 * Until the first snapshot arrives, if it is not known that some will, nothing is counted: commits
 * stand at their LSN. Those that do, or whose END came in front of one that does, keep it, all
 * later ones are counted on from there: one order, and no number means two things. A snapshot that
 * may lack one of the former has no place in that order: its transaction has no start, what it
 * read is not judged, and counts as unplaced.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "history/snapshot_order.h"
#include "join/join_private.h"

enum { PLACED_MOST = 1 << 17 };

/* ---- xids ---- */

/* All 64 bits of an xid of which the stream gives 32: it belongs to the epoch nearest to what
 * clients saw last. */
uint64_t join_xid_of(const struct iso_join *join, uint64_t low)
{
    uint64_t reference = join->positions.reference, epoch = reference & ~(uint64_t)0xffffffff;
    uint64_t xid = epoch | low, half = (uint64_t)1 << 31;
    if (xid > reference && xid - reference > half && epoch)
        return xid - (half << 1);
    if (xid < reference && reference - xid > half)
        return xid + (half << 1);
    return xid;
}

static struct join_identity placed_key(uint64_t xid)
{
    return (struct join_identity){xid, JOIN_BY_XID};
}

/* The xids of the commits that still wait; the first ones of the list may be gone. */
static struct iso_sorted waiting_xids(const struct join_positions *positions)
{
    return (struct iso_sorted){
        positions->commits ? &positions->commits[positions->commit_first].xid : NULL,
        sizeof *positions->commits, positions->commit_count - positions->commit_first};
}

/* Where in the list the commits of `xid` and above begin. */
static uint32_t commits_below(const struct join_positions *positions, uint64_t xid)
{
    struct iso_sorted xids = waiting_xids(positions);
    return positions->commit_first + iso_sorted_below(&xids, xid);
}

bool join_has_commit(const struct iso_join *join, uint64_t xid)
{
    const struct join_positions *positions = &join->positions;
    struct iso_sorted xids = waiting_xids(positions);
    return iso_sorted_has(&xids, xid) ||
           join_map_get(&positions->placed, placed_key(xid)) != ISO_NONE;
}

/* ---- commits at their LSN ---- */

/* The xids that a run without snapshots has kept for the first one: half of them go, so that going
 * through them pays. */
static void forget_uncounted(struct join_positions *positions)
{
    struct join_map kept = {0};
    if (positions->active || positions->placed.used < 2 * PLACED_MOST)
        return;
    for (uint32_t i = 0; i <= positions->placed.mask; i++) {
        const struct join_entry *entry = &positions->placed.slots[i];
        if (entry->tag && (uint32_t)(positions->uncounted - entry->number) < PLACED_MOST)
            join_map_put(&kept, placed_key(entry->number), JOIN_AT_LSN);
    }
    join_map_release(&positions->placed);
    positions->placed = kept;
}

/* Before the first snapshot nothing tells an xid's epoch: 32 bits of it are known, and which of two
 * is the later one. */
void join_note_uncounted(struct iso_join *join, const struct join_transaction *transaction)
{
    struct join_positions *positions = &join->positions;
    uint64_t xid = transaction->identity.tag == JOIN_BY_XID
                       ? join_xid_of(join, transaction->identity.number)
                       : 0;
    if (!xid || !join->capability->positions)
        return;
    join_map_put(&positions->placed, placed_key(xid), JOIN_AT_LSN);
    if (!positions->uncounted || (int32_t)((uint32_t)xid - (uint32_t)positions->uncounted) > 0)
        positions->uncounted = xid;
    forget_uncounted(positions);
    if (!positions->active && transaction->position > positions->base)
        positions->base = transaction->position;
}

bool join_is_counted(const struct iso_join *join, const struct join_transaction *transaction)
{
    const struct join_positions *positions = &join->positions;
    return positions->active &&
           !(transaction->flags & JOIN_HAS_POSITION && transaction->position <= positions->base);
}

/* The first snapshot has come, and with it the epoch. */
static void start_counting(struct iso_join *join)
{
    struct join_positions *positions = &join->positions;
    struct join_map known = positions->placed;
    positions->active = true;
    if (!positions->base)
        return;
    positions->placed = (struct join_map){0};
    positions->uncounted = join_xid_of(join, positions->uncounted);
    for (uint32_t i = 0; known.slots && i <= known.mask; i++)
        if (known.slots[i].tag)
            join_map_put(&positions->placed, placed_key(join_xid_of(join, known.slots[i].number)),
                         JOIN_AT_LSN);
    join_map_release(&known);
    positions->position = positions->base | ISO_JOIN_START;
    join_commit_names_start(&positions->names, positions->position);
    for (uint32_t i = join->open.oldest; i != ISO_NONE; i = join->open.list[i].newer)
        if (!join_is_counted(join, &join->open.list[i]))
            join_note_uncounted(join, &join->open.list[i]);
}

static bool may_lack_uncounted(const struct iso_join *join, const struct iso_snapshot *snapshot)
{
    const struct join_positions *positions = &join->positions;
    const uint64_t *xips = iso_snapshot_xips(&join->records.kept, snapshot);
    bool lacks = positions->uncounted >= snapshot->xmax;
    for (uint32_t i = 0; positions->base && i < snapshot->xip_count; i++)
        lacks |= join_map_get(&positions->placed, placed_key(xips[i])) == JOIN_AT_LSN;
    return positions->base && lacks;
}

/* ---- what waits ---- */

static void add_link(struct iso_join *join, uint32_t record, uint32_t operation)
{
    struct join_positions *positions = &join->positions;
    ISO_GROW(positions->links, positions->link_count, positions->link_capacity);
    positions->links[positions->link_count++] = (struct join_link){record, operation, 0};
    join->records.list[record].unplaced++;
}

const struct iso_snapshot *join_snapshot_of(const struct iso_join *join,
                                            const struct join_link *link)
{
    const struct iso_history *kept = &join->records.kept;
    uint32_t t = join->records.list[link->record].kept;
    uint32_t snapshot = link->operation == ISO_NONE
                            ? kept->txns.snapshot[t]
                            : (uint32_t)kept->ops.ots[kept->txns.first_op[t] + link->operation];
    return &kept->snapshots.list[snapshot];
}

/* Whether rows of the record's transaction may arrive: it writes, or leaves its writes to the
 * stream. */
bool join_may_write(const struct iso_join *join, const struct join_record *record)
{
    return join->records.kept.txns.flags[record->kept] & ISO_WRITES ||
           record->flags & JOIN_RECORD_TAKES;
}

void join_place_record(struct iso_join *join, uint32_t number)
{
    assert(number < join->records.count);
    const struct iso_history *kept = &join->records.kept;
    struct join_record *record = &join->records.list[number];
    struct join_positions *positions = &join->positions;
    uint32_t t = record->kept, first = kept->txns.first_op[t];
    uint64_t latest = kept->snapshots.list[kept->txns.snapshot[t]].xmax;
    join_extent_note(join, &kept->snapshots.list[kept->txns.snapshot[t]]);
    latest = record->xid > latest ? record->xid : latest;
    positions->reference = latest > positions->reference ? latest : positions->reference;
    if (!positions->active)
        start_counting(join);
    add_link(join, number, ISO_NONE);
    for (uint32_t o = first; kept->ops.ots && o < kept->txns.first_op[t + 1]; o++)
        if (kept->ops.kind[o] & ISO_OPERATION_SNAPSHOT)
            add_link(join, number, o - first);
    if (join_may_write(join, record))
        record->unplaced++;
    else if (record->xid &&
             record->status ==
                 ISO_COMMITTED) /* wrote nothing, and snapshots distinguish it all the same */
        join_place_commit(join, number, ISO_NONE);
}

static void insert_commit(struct join_positions *positions, const struct join_commit *commit)
{
    if (positions->commit_count == positions->commit_capacity &&
        positions->commit_first > positions->commit_count / 2) {
        positions->commit_count -= positions->commit_first;
        memmove(positions->commits, positions->commits + positions->commit_first,
                positions->commit_count * sizeof *positions->commits);
        positions->commit_first = 0;
    }
    uint32_t at = commits_below(positions, commit->xid);
    ISO_GROW(positions->commits, positions->commit_count, positions->commit_capacity);
    memmove(positions->commits + at + 1, positions->commits + at,
            (positions->commit_count - at) * sizeof *positions->commits);
    positions->commits[at] = *commit;
    positions->commit_count++;
}

bool join_is_empty(const struct join_transaction *transaction)
{
    return transaction->flags & JOIN_ENDED && !transaction->expected && !transaction->rows.count &&
           !transaction->altered.count && !transaction->others && !transaction->dropped &&
           !transaction->unreported && !transaction->uncovered;
}

/* Where the log has it. Who changed nothing has no place there, and stands as early as snapshots
 * allow: nobody reads its versions, and its session goes on behind it. Only where it read at its
 * commit it stands behind what it may have seen. */
static uint64_t place_in_log(const struct iso_join *join, uint32_t number, uint32_t transaction)
{
    uint32_t t = number == ISO_NONE ? ISO_NONE : join->records.list[number].kept;
    bool writes = t != ISO_NONE && join->records.kept.txns.flags[t] & ISO_WRITES;
    bool changed_nothing = !writes && !join->options.reads_at_commit;
    if (transaction == ISO_NONE)
        return changed_nothing ? 0 : UINT64_MAX;
    const struct join_transaction *it = &join->open.list[transaction];
    if (changed_nothing && join_is_empty(it))
        return 0;
    return it->flags & JOIN_HAS_POSITION ? it->position : UINT64_MAX;
}

void join_place_commit(struct iso_join *join, uint32_t number, uint32_t transaction)
{
    struct join_positions *positions = &join->positions;
    struct join_commit commit = {.position = place_in_log(join, number, transaction),
                                 .record = number,
                                 .transaction = transaction};
    if (transaction != ISO_NONE) {
        const struct join_transaction *it = &join->open.list[transaction];
        if (it->identity.tag == JOIN_BY_XID)
            commit.xid = join_xid_of(join, it->identity.number);
    }
    if (number != ISO_NONE && (join->records.list[number].flags &
                               JOIN_RECORD_COMMITTED)) { /* a reader that has its position */
        join_forget_transaction(join, transaction, ISO_ROWS_LATE);
        return;
    }
    if (number != ISO_NONE) {
        struct join_record *record = &join->records.list[number];
        bool has_snapshot = record->flags & JOIN_RECORD_PLACED;
        if (record->status == ISO_UNKNOWN && has_snapshot)
            join_resolve(join, number, true, 0);
        commit.xid = record->xid ? record->xid : commit.xid;
        record->flags |= JOIN_RECORD_COMMITTED;
        /* of writers with a snapshot it was known from the start */
        if (!has_snapshot || !join_may_write(join, record))
            record->unplaced++;
    }
    if (number != ISO_NONE && transaction != ISO_NONE &&
        join->open.list[transaction].flags & (JOIN_COMPLETE | JOIN_ENDED))
        join_extent_deliver(join, number);
    insert_commit(positions, &commit);
}

void join_place_forget(struct iso_join *join, uint32_t record)
{
    struct join_positions *positions = &join->positions;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < positions->link_count; i++)
        if (positions->links[i].record != record)
            positions->links[kept++] = positions->links[i];
    positions->link_count = kept;
}

/* ---- the chain ---- */

static uint64_t least_placed(const struct join_positions *positions, uint64_t from, uint64_t end)
{
    const struct join_map *placed = &positions->placed;
    for (uint32_t i = 0; placed->slots && i <= placed->mask; i++)
        if (placed->slots[i].tag && placed->slots[i].number >= from &&
            placed->slots[i].number < end)
            end = placed->slots[i].number;
    return end;
}

/* A snapshot that a client made up may span all numbers: what is long is not walked, all that has a
 * position is. */
static uint64_t next_committed(const void *context, uint64_t from, uint64_t end)
{
    const struct join_positions *positions = context;
    struct iso_sorted xids = waiting_xids(positions);
    uint32_t waiting = iso_sorted_below(&xids, from);
    uint64_t next = waiting < xids.count ? iso_sorted_at(&xids, waiting) : end;
    next = next < end ? next : end;
    if (from < next && next - from > positions->placed.used) {
        next = least_placed(positions, from, next);
    } else {
        uint64_t walked = from;
        while (walked < next && join_map_get(&positions->placed, placed_key(walked)) == ISO_NONE)
            walked++;
        next = walked < next ? walked : next;
    }
    return next < end ? next : 0;
}

static uint64_t count_visible(const struct iso_join *join, const struct iso_snapshot *snapshot)
{
    struct iso_sorted xids = waiting_xids(&join->positions);
    return iso_snapshot_count_seen(&join->records.kept, snapshot, &xids);
}

static int compare_links(const void *left, const void *right, void *context)
{
    const struct iso_join *join = context;
    const struct join_link *a = left, *b = right;
    const struct iso_snapshot *x = join_snapshot_of(join, a), *y = join_snapshot_of(join, b);
    if (a->seen != b->seen)
        return a->seen < b->seen ? -1 : 1;
    int order = iso_snapshot_compare(&join->records.kept, x, y);
    if (order)
        return order;
    if (a->record != b->record)
        return a->record < b->record ? -1 : 1;
    return a->operation < b->operation ? -1 : a->operation > b->operation;
}

static int compare_commits(const void *left, const void *right)
{
    const struct join_commit *a = left, *b = right;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    return a->xid < b->xid ? -1 : a->xid > b->xid;
}

/* ---- giving positions ---- */

/* Whether a snapshot, just placed, was taken before the stream begins: it sees no commit of it, and
 * is older than the connector's own, where there is one. */
static bool is_before(const struct iso_join *join, const struct iso_snapshot *snapshot)
{
    bool sees_none = join->positions.position == ISO_JOIN_START && !join->options.initial_known;
    assert(!sees_none || !join->positions.base);
    return sees_none &&
           (join->start.xid ? snapshot->xmax <= join->start.xid : !join->start.snapshots);
}

/* Its snapshot is from before the stream begins, and no row of it arrived: what it wrote is part of
 * what was there then.
 */
static bool is_over_before(const struct join_record *record)
{
    return record->flags & JOIN_RECORD_BEFORE && !(record->flags & JOIN_RECORD_DELIVERED);
}

/* All of a record is placed: it can go. */
static void check_done(struct iso_join *join, uint32_t number)
{
    assert(number < join->records.count);
    struct join_record *record = &join->records.list[number];
    if (record->unplaced)
        return;
    if (is_over_before(record)) {
        join_forget_record_as(join, number, ISO_RECORDS_BEFORE);
        return;
    }
    if (!(record->flags & JOIN_RECORD_GIVEN))
        join_emit_placed(join, number);
    record->flags |= JOIN_RECORD_GIVEN;
    if (record->flags & JOIN_RECORD_MISSING)
        record->flags |= JOIN_RECORD_BEYOND;
    else
        join_forget_record(join, number);
}

/* The engine has a record of unknown outcome that had no snapshot. */
static void note_commit(struct iso_join *join, uint32_t number, uint64_t cts)
{
    struct join_record *record = &join->records.list[number];
    struct iso_history_txns *txns = &join->records.kept.txns;
    record->cts = cts;
    record->flags |= JOIN_RECORD_CTS;
    if (record->flags & JOIN_RECORD_GIVEN) {
        join_resolve(join, number, true, cts);
        return;
    }
    txns->cts[record->kept] = cts;
    txns->flags[record->kept] |= ISO_HAS_CTS;
}

/* The next one; but that of a commit which stands at its LSN is there, though its client's snapshot
 * came behind it. */
static uint64_t commit_position(struct iso_join *join, const struct join_commit *commit)
{
    struct join_positions *positions = &join->positions;
    assert(positions->position % 2 == ISO_JOIN_START % 2);
    if (commit->transaction != ISO_NONE &&
        !join_is_counted(join, &join->open.list[commit->transaction]))
        return join->open.list[commit->transaction].position;
    uint64_t cts = positions->position += 2;
    join_commit_name_note(join, cts, commit->xid, commit->transaction);
    if (commit->xid)
        join_map_put(&positions->placed, placed_key(commit->xid), JOIN_COUNTED);
    return cts;
}

static void place_commit(struct iso_join *join, const struct join_commit *commit)
{
    if (commit->transaction == ISO_NONE &&
        is_over_before(&join->records.list[commit->record])) { /* it has no position */
        join->records.list[commit->record].unplaced--;
        check_done(join, commit->record);
        return;
    }
    uint64_t cts = commit_position(join, commit);
    if (commit->transaction != ISO_NONE) {
        const struct join_transaction *transaction = &join->open.list[commit->transaction];
        join_extent_place(join, transaction, commit->record, cts);
        join_emit_respelt(join, transaction);
    }
    if (commit->record == ISO_NONE) {
        join_find_again(join, &join->open.list[commit->transaction], ISO_NONE);
        join_emit_foreign(join, &join->open.list[commit->transaction], cts);
        join_note_newest(join, &join->open.list[commit->transaction], cts);
        join_lose(join, commit->transaction, ISO_NONE, cts);
        join_emit_altered(join, &join->open.list[commit->transaction], cts);
        join_forget_transaction(join, commit->transaction, ISO_ROWS_FOREIGN);
        return;
    }
    struct join_record *record = &join->records.list[commit->record];
    note_commit(join, commit->record, cts);
    join_finish_placed(join, commit->record, commit->transaction, cts);
    if (commit->transaction != ISO_NONE) {
        join_note_newest(join, &join->open.list[commit->transaction], cts);
        join_find_again(join, &join->open.list[commit->transaction], commit->record);
        join_lose(join, commit->transaction, commit->record, cts);
        join_emit_altered(join, &join->open.list[commit->transaction], cts);
        join_forget_transaction(join, commit->transaction, ISO_ROWS_JUDGED);
    }
    assert(record->unplaced);
    record->unplaced--;
    check_done(join, commit->record);
}

/* Places the commits of the list that `snapshot` sees (NULL: all), in the order of their LSN. Those
 * in progress in it, which are few, move up to those that come after it. */
static void place_commits(struct iso_join *join, const struct iso_snapshot *snapshot)
{
    struct join_positions *positions = &join->positions;
    uint32_t end = snapshot ? commits_below(positions, snapshot->xmax) : positions->commit_count,
             first = end, count = 0;
    if (end == positions->commit_first)
        return;
    struct join_commit *seen = iso_allocate((end - positions->commit_first) * sizeof *seen);
    for (uint32_t i = end; i-- > positions->commit_first;) {
        if (!snapshot ||
            iso_snapshot_sees(&join->records.kept, snapshot, positions->commits[i].xid))
            seen[count++] = positions->commits[i];
        else
            positions->commits[--first] = positions->commits[i];
    }
    positions->commit_first = first;
    qsort(seen, count, sizeof *seen, compare_commits);
    for (uint32_t i = 0; i < count; i++)
        place_commit(join, &seen[i]);
    iso_free(seen);
}

static void report_snapshot_order(struct iso_join *join, const struct join_link *link)
{
    const struct join_record *record = &join->records.list[link->record];
    struct iso_join_finding *finding = join_find(join, ISO_SNAPSHOT_ORDER, record->tid, ISO_NONE);
    finding->client = record->origin;
    finding->sts = join->positions.position + 1;
}

/* What its snapshot sees is placed, but for one that contradicts the others: its own place is where
 * it comes. */
static void place_link(struct iso_join *join, const struct join_link *link)
{
    struct join_positions *positions = &join->positions;
    struct iso_history *kept = &join->records.kept;
    struct join_record *record = &join->records.list[link->record];
    join_extent_look(join, positions->position + 1);
    const struct iso_snapshot *snapshot = join_snapshot_of(join, link);
    if (link->operation == ISO_NONE) {
        kept->txns.sts[record->kept] = record->sts = positions->position + 1;
        kept->txns.flags[record->kept] |= ISO_HAS_STS;
        record->flags |= JOIN_RECORD_STS | (is_before(join, snapshot) ? JOIN_RECORD_BEFORE : 0);
        record->flags |= may_lack_uncounted(join, snapshot) ? JOIN_RECORD_UNSURE : 0;
    } else {
        uint32_t o = kept->txns.first_op[record->kept] + link->operation;
        record->flags |= may_lack_uncounted(join, snapshot) ? JOIN_RECORD_UNSURE : 0;
        kept->ops.ots[o] = positions->position + 1;
        kept->ops.kind[o] =
            (uint8_t)((kept->ops.kind[o] & ~ISO_OPERATION_SNAPSHOT) | ISO_OPERATION_OTS);
    }
    assert(record->unplaced);
    record->unplaced--;
}

/* ---- how far ---- */

static uint64_t horizon_of(const struct iso_join *join, uint64_t delivered)
{
    uint64_t clients = join->positions.clients, horizon = clients < delivered ? clients : delivered;
    for (uint32_t i = join->open.oldest; i != ISO_NONE; i = join->open.list[i].newer) {
        const struct join_transaction *transaction = &join->open.list[i];
        uint64_t xid = transaction->identity.tag == JOIN_BY_XID
                           ? join_xid_of(join, transaction->identity.number)
                           : 0;
        horizon = xid < horizon ? xid : horizon;
    }
    return horizon;
}

bool join_awaits_commit(const struct join_record *record)
{
    bool has_time = record->flags & (JOIN_RECORD_CTS | JOIN_RECORD_GIVEN);
    bool is_known = record->status == ISO_COMMITTED && record->xid && record->kept != ISO_NONE;
    return !(record->flags & JOIN_RECORD_COMMITTED) &&
           (record->flags & JOIN_RECORD_PLACED || (is_known && !has_time));
}

/* Records below the horizon of which no row arrived: an unknown one has aborted, a committed one
 * was not delivered. */
static void finish_outcomes(struct iso_join *join, uint64_t horizon)
{
    for (uint32_t i = join->records.oldest, next; i != ISO_NONE; i = next) {
        struct join_record *record = &join->records.list[i];
        next = record->newer;
        if (!join_awaits_commit(record) || record->flags & JOIN_RECORD_BEYOND ||
            (horizon != UINT64_MAX && (!record->xid || record->xid >= horizon)))
            continue;
        if (record->status == ISO_UNKNOWN) {
            join_place_forget(join, i);
            join_resolve(join, i, false, 0);
            join_emit_placed(join, i);
            join_forget_record(join, i);
        } else if (join_may_write(join, record)) {
            join_place_commit(join, i, ISO_NONE);
        }
    }
}

static void forget_placed(struct join_positions *positions, uint64_t below)
{
    struct join_map kept = {0};
    if (positions->placed.used <
        2 * PLACED_MOST) /* half of it goes, so that going through it pays */
        return;
    for (uint32_t i = 0; i <= positions->placed.mask; i++)
        if (positions->placed.slots[i].tag && positions->placed.slots[i].number >= below)
            join_map_put(&kept, placed_key(positions->placed.slots[i].number), 0);
    join_map_release(&positions->placed);
    positions->placed = kept;
}

static int compare_xids(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* The commits below the horizon that some snapshot which stays does not see, sorted; `*count`. To
 * be freed. */
static uint64_t *unseen_by_those_that_stay(const struct iso_join *join, uint64_t horizon,
                                           uint32_t *count)
{
    const struct join_positions *positions = &join->positions;
    uint64_t *unseen = NULL;
    uint32_t used = 0, capacity = 0;
    for (uint32_t i = 0; i < positions->link_count; i++) {
        const struct iso_snapshot *snapshot = join_snapshot_of(join, &positions->links[i]);
        const uint64_t *xips = iso_snapshot_xips(&join->records.kept, snapshot);
        for (uint32_t j = 0;
             snapshot->xmax > horizon && j < snapshot->xip_count && xips[j] < horizon; j++) {
            ISO_GROW(unseen, used, capacity);
            unseen[used++] = xips[j];
        }
    }
    if (used)
        qsort(unseen, used, sizeof *unseen, compare_xids);
    *count = 0;
    for (uint32_t i = 0; i < used; i++)
        if ((!*count || unseen[*count - 1] != unseen[i]) && join_has_commit(join, unseen[i]))
            unseen[(*count)++] = unseen[i];
    return unseen;
}

/* Whether all snapshots that stay contain all those below the horizon, as PostgreSQL's do: a later
 * one has a larger xmax. Then what stays comes after what is placed now. */
static bool is_contained(const struct iso_join *join, uint64_t horizon)
{
    const struct join_positions *positions = &join->positions;
    uint32_t count;
    uint64_t *unseen = unseen_by_those_that_stay(join, horizon, &count);
    bool contained = true;
    for (uint32_t i = 0; i < positions->link_count && contained; i++) {
        const struct iso_snapshot *snapshot = join_snapshot_of(join, &positions->links[i]);
        for (uint32_t j = 0; snapshot->xmax <= horizon && j < count && unseen[j] < snapshot->xmax;
             j++)
            contained &= !iso_snapshot_sees(&join->records.kept, snapshot, unseen[j]);
    }
    iso_free(unseen);
    return contained;
}

/* Below all that stays. */
static uint64_t cut(const struct iso_join *join, uint64_t horizon)
{
    const struct join_positions *positions = &join->positions;
    for (bool lower = horizon != UINT64_MAX; lower;) {
        lower = false;
        for (uint32_t i = 0; i < positions->link_count; i++) {
            const struct iso_snapshot *snapshot = join_snapshot_of(join, &positions->links[i]);
            lower |= snapshot->xmax > horizon && snapshot->xmin < horizon;
            if (snapshot->xmax > horizon && snapshot->xmin < horizon)
                horizon = snapshot->xmin;
        }
    }
    return horizon;
}

/* Snapshots that stay and are older than some below the horizon keep those, too. Only a lie brings
 * that about; sessions whose transactions always overlap leave no cut for long, and must not wait
 * for one. */
static uint64_t below_those_that_stay(const struct iso_join *join, uint64_t horizon)
{
    return is_contained(join, horizon) ? horizon : cut(join, horizon);
}

/* Moves the links that are certain into a list of their own, and sorts it. */
static struct join_link *take_certain(struct iso_join *join, uint64_t horizon, uint32_t *count)
{
    struct join_positions *positions = &join->positions;
    struct join_link *certain = iso_allocate(((size_t)positions->link_count + 1) * sizeof *certain);
    uint32_t kept = 0;
    *count = 0;
    for (uint32_t i = 0; i < positions->link_count; i++) {
        struct join_link link = positions->links[i];
        bool waits = join->records.list[link.record].flags & JOIN_RECORD_BEYOND;
        if (!waits && join_snapshot_of(join, &link)->xmax <= horizon) {
            link.seen = count_visible(join, join_snapshot_of(join, &link));
            certain[(*count)++] = link;
        } else {
            positions->links[kept++] = link;
        }
    }
    positions->link_count = kept;
    if (*count)
        qsort_r(certain, *count, sizeof *certain, compare_links, join);
    return certain;
}

/* A transaction's snapshot is older than its xid. So once clients promise that no smaller xmin will
 * arrive, a whole transaction of a smaller xid has no record: it is somebody else's, and delays
 * nothing. */
static void finish_foreign(struct iso_join *join)
{
    for (uint32_t i = join->open.oldest, next; i != ISO_NONE; i = next) {
        const struct join_transaction *transaction = &join->open.list[i];
        next = transaction->newer;
        if ((transaction->flags & JOIN_COMPLETE) && transaction->identity.tag == JOIN_BY_XID &&
            join_xid_of(join, transaction->identity.number) < join->positions.clients)
            join_finish(join, i, JOIN_ROWS_FINAL | JOIN_RECORDS_FINAL);
    }
}

static bool has_rows(const struct join_positions *positions, uint64_t xid)
{
    uint32_t at = xid ? commits_below(positions, xid) : positions->commit_count;
    return at < positions->commit_count && positions->commits[at].xid == xid &&
           positions->commits[at].transaction != ISO_NONE;
}

static bool was_delivered(const struct iso_join *join, const struct join_commit *commit)
{
    return commit->transaction != ISO_NONE &&
           (join->extent.closed || /* each key as far as its partition */
            join->open.list[commit->transaction].flags & (JOIN_COMPLETE | JOIN_ENDED));
}

bool join_came_behind(const struct iso_join *join, const struct iso_snapshot *snapshot)
{
    const struct join_positions *positions = &join->positions;
    bool any = false;
    for (uint32_t i = commits_below(positions, snapshot->xmin); i < positions->commit_count && !any;
         i++)
        any = was_delivered(join, &positions->commits[i]) &&
              !iso_snapshot_sees(&join->records.kept, snapshot, positions->commits[i].xid);
    return any;
}

/* At the end, links in the order of the chain: who may rest on what did not come, and of whom
 * nothing proves that all came which stands in the log before it was over: neither did its own
 * rows, nor does its session go on with a snapshot within the extent. */
static void tell_reach(struct iso_join *join, const struct join_link *certain, uint32_t count)
{
    struct join_map later = {0}; /* of a session, its last record */
    for (uint32_t i = count; i--;) {
        const struct join_record *record = &join->records.list[certain[i].record];
        struct join_identity session = {join->records.kept.txns.session[record->kept], JOIN_BY_XID};
        uint32_t last = join_map_get(&later, session);
        if (join_extent_reach_of(join, &certain[i]) != JOIN_WITHIN)
            join_emit_beyond(join, record->tid);
        else if (last == ISO_NONE && session.number != ISO_NONE)
            join_map_put(&later, session, certain[i].record);
        if ((last == ISO_NONE || last == certain[i].record) &&
            !has_rows(&join->positions, record->xid))
            join_emit_last(join, record->tid);
    }
    join_map_release(&later);
}

struct placing {
    const struct iso_join *join;
    const struct join_link *links;
};

static bool lacks(const void *context, uint32_t earlier, uint32_t later)
{
    const struct placing *placing = context;
    const struct iso_history *kept = &placing->join->records.kept;
    struct iso_committed committed = {next_committed, &placing->join->positions};
    return iso_snapshot_only_in(kept, join_snapshot_of(placing->join, &placing->links[earlier]),
                                kept, join_snapshot_of(placing->join, &placing->links[later]),
                                &committed);
}

/* Links whose snapshots all later ones that may come contain. `contradicted`: of each one of them
 * that it contradicts, or ISO_NONE. */
static struct join_link *take_placeable(struct iso_join *join, uint64_t delivered, bool ended,
                                        uint32_t *count, uint32_t **contradicted)
{
    uint64_t horizon = ended ? UINT64_MAX : horizon_of(join, delivered);
    finish_outcomes(join, horizon);
    struct join_link *certain = take_certain(join, below_those_that_stay(join, horizon), count);
    if (ended)
        tell_reach(join, certain, *count);
    struct placing placing = {join, certain};
    struct iso_snapshot_links links = {lacks, &placing, *count};
    *contradicted = iso_snapshots_contradicted(&links);
    return certain;
}

void join_place(struct iso_join *join, bool ended)
{
    struct join_positions *positions = &join->positions;
    uint32_t count, *contradicted;
    if (!positions->active || (!ended && (!positions->clients || !join->start.begun)))
        return;
    if (ended)
        join_extent_close_snapshots(join);
    else
        finish_foreign(join);
    uint64_t delivered = join_extent_whole_below(join);
    struct join_link *links = take_placeable(join, delivered, ended, &count, &contradicted);
    for (uint32_t i = 0; i < count; i++) {
        if (contradicted[i] != ISO_NONE)
            report_snapshot_order(join, &links[i]);
        else
            place_commits(join, join_snapshot_of(join, &links[i]));
        place_link(join, &links[i]);
        check_done(join, links[i].record);
    }
    ISO_FREE_ALL(links, contradicted);
    if (ended)
        place_commits(join, NULL);
    else if (count)
        join_emit_watermark(join, positions->position);
    forget_placed(positions, delivered > PLACED_MOST ? delivered - PLACED_MOST : 0);
}

void join_positions_release(struct join_positions *positions)
{
    iso_free(positions->commits);
    iso_free(positions->links);
    iso_column_free(positions->names.list, JOIN_COMMIT_NAMES * sizeof *positions->names.list);
    join_map_release(&positions->placed);
}
