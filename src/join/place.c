/* PostgreSQL: positions in place of timestamps, as they become certain.
 *
 * All snapshots, ordered by how many commits they see, form a chain: each contains the one before (history/snapshot.h).
 * A commit stands just below the first snapshot that sees it; those between two snapshots by their LSN. Positions are
 * counted up: each commit has an odd one of its own, a snapshot the even one above the last commit that it sees.
 *
 * Online the front of the chain is certain up to a *horizon*: an xid that is the least of
 *   - what clients promise: no record will come whose snapshot has a smaller xmin;
 *   - what was delivered: the largest xmin among the snapshots of delivered transactions. The stream is in the order of
 *     commits; what such a snapshot saw committed was delivered before, and what it saw end without a row has aborted;
 *   - xids of transactions that are delivered in part.
 * Every xid below it has an outcome. A snapshot whose xmax is no larger sees only such xids, and is contained in every
 * snapshot that will come: its place is final, if those that wait above the horizon contain it, too.
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

/* All 64 bits of an xid of which the stream gives 32: it belongs to the epoch nearest to what clients saw last. */
uint64_t join_xid_of(const struct iso_join *join, uint64_t low)
{
    uint64_t reference = join->places.reference, epoch = reference & ~(uint64_t)0xffffffff;
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

/* Those of the list, whose first commits may be gone. */
static struct iso_sorted waiting_xids(const struct join_places *places)
{
    return (struct iso_sorted){places->commits ? &places->commits[places->commit_first].xid : NULL,
                               sizeof *places->commits, places->commit_count - places->commit_first};
}

/* Where in the list the commits of `xid` and above begin. */
static uint32_t commits_below(const struct join_places *places, uint64_t xid)
{
    struct iso_sorted xids = waiting_xids(places);
    return places->commit_first + iso_sorted_below(&xids, xid);
}

static bool is_committed(const struct join_places *places, uint64_t xid)
{
    struct iso_sorted xids = waiting_xids(places);
    return iso_sorted_has(&xids, xid) || join_map_get(&places->placed, placed_key(xid)) != ISO_NONE;
}

/* ---- what waits ---- */

static void add_link(struct iso_join *join, uint32_t record, uint32_t operation)
{
    struct join_places *places = &join->places;
    ISO_GROW(places->links, places->link_count, places->link_capacity);
    places->links[places->link_count++] = (struct join_link){record, operation, 0};
    join->records.list[record].unplaced++;
}

static const struct iso_snapshot *snapshot_of(const struct iso_join *join, const struct join_link *link)
{
    const struct iso_history *held = &join->records.held;
    uint32_t t = join->records.list[link->record].held;
    uint32_t snapshot = link->operation == ISO_NONE ? held->snapshot[t]
                                                    : (uint32_t)held->ots[held->first_operation[t] + link->operation];
    return &held->snapshots[snapshot];
}

/* It writes, or leaves it to the stream to say what: then rows of it may come. */
static bool may_write(const struct iso_join *join, const struct join_record *record)
{
    return join->records.held.flags[record->held] & ISO_WRITES || record->flags & JOIN_RECORD_TAKES;
}

void join_place_record(struct iso_join *join, uint32_t number)
{
    const struct iso_history *held = &join->records.held;
    struct join_record *record = &join->records.list[number];
    struct join_places *places = &join->places;
    uint32_t t = record->held, first = held->first_operation[t];
    uint64_t latest = held->snapshots[held->snapshot[t]].xmax;
    places->active = true;
    latest = record->xid > latest ? record->xid : latest;
    places->reference = latest > places->reference ? latest : places->reference;
    add_link(join, number, ISO_NONE);
    for (uint32_t o = first; held->ots && o < held->first_operation[t + 1]; o++)
        if (held->kind[o] & ISO_OPERATION_SNAPSHOT)
            add_link(join, number, o - first);
    if (may_write(join, record))
        record->unplaced++;
    else if (record->xid &&
             record->status == ISO_COMMITTED) /* wrote nothing, and snapshots tell it apart all the same */
        join_place_commit(join, number, ISO_NONE);
}

static void insert_commit(struct join_places *places, const struct join_commit *commit)
{
    if (places->commit_count == places->commit_capacity && places->commit_first > places->commit_count / 2) {
        places->commit_count -= places->commit_first;
        memmove(places->commits, places->commits + places->commit_first,
                places->commit_count * sizeof *places->commits);
        places->commit_first = 0;
    }
    uint32_t at = commits_below(places, commit->xid);
    ISO_GROW(places->commits, places->commit_count, places->commit_capacity);
    memmove(places->commits + at + 1, places->commits + at, (places->commit_count - at) * sizeof *places->commits);
    places->commits[at] = *commit;
    places->commit_count++;
}

void join_place_commit(struct iso_join *join, uint32_t number, uint32_t transaction)
{
    struct join_places *places = &join->places;
    struct join_commit commit = {.position = UINT64_MAX, .record = number, .transaction = transaction};
    if (transaction != ISO_NONE) {
        const struct join_transaction *it = &join->open.list[transaction];
        if (it->flags & JOIN_HAS_POSITION)
            commit.position = it->position;
        if (it->identity.tag == JOIN_BY_XID)
            commit.xid = join_xid_of(join, it->identity.number);
    }
    if (number != ISO_NONE &&
        (join->records.list[number].flags & JOIN_RECORD_COMMITTED)) { /* a reader that has its place */
        join_forget_transaction(join, transaction, ISO_ROWS_LATE);
        return;
    }
    if (number != ISO_NONE) {
        struct join_record *record = &join->records.list[number];
        const struct iso_history *held = &join->records.held;
        uint64_t xmin = held->snapshots[held->snapshot[record->held]].xmin;
        if (record->status == ISO_UNKNOWN)
            join_resolve(join, number, true, 0);
        commit.xid = record->xid ? record->xid : commit.xid;
        record->flags |= JOIN_RECORD_COMMITTED;
        if (!may_write(join, record)) /* of writers it was known from the start */
            record->unplaced++;
        if (transaction != ISO_NONE && xmin > places->delivered)
            places->delivered = xmin;
    }
    insert_commit(places, &commit);
}

void join_place_forget(struct iso_join *join, uint32_t record)
{
    struct join_places *places = &join->places;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < places->link_count; i++)
        if (places->links[i].record != record)
            places->links[kept++] = places->links[i];
    places->link_count = kept;
}

/* ---- the chain ---- */

static uint64_t least_placed(const struct join_places *places, uint64_t from, uint64_t end)
{
    const struct join_map *placed = &places->placed;
    for (uint32_t i = 0; placed->slots && i <= placed->mask; i++)
        if (placed->slots[i].tag && placed->slots[i].number >= from && placed->slots[i].number < end)
            end = placed->slots[i].number;
    return end;
}

/* A snapshot that a client made up may span all numbers: what is long is not walked, all that has a place is. */
static uint64_t next_committed(const void *context, uint64_t from, uint64_t end)
{
    const struct join_places *places = context;
    struct iso_sorted xids = waiting_xids(places);
    uint32_t waiting = iso_sorted_below(&xids, from);
    uint64_t next = waiting < xids.count ? iso_sorted_at(&xids, waiting) : end;
    next = next < end ? next : end;
    if (from < next && next - from > places->placed.used) {
        next = least_placed(places, from, next);
    } else {
        uint64_t walked = from;
        while (walked < next && join_map_get(&places->placed, placed_key(walked)) == ISO_NONE)
            walked++;
        next = walked < next ? walked : next;
    }
    return next < end ? next : 0;
}

static uint64_t count_seen(const struct iso_join *join, const struct iso_snapshot *snapshot)
{
    struct iso_sorted xids = waiting_xids(&join->places);
    return iso_snapshot_count_seen(&join->records.held, snapshot, &xids);
}

static int compare_links(const void *left, const void *right, void *context)
{
    const struct iso_join *join = context;
    const struct join_link *a = left, *b = right;
    const struct iso_snapshot *x = snapshot_of(join, a), *y = snapshot_of(join, b);
    if (a->seen != b->seen)
        return a->seen < b->seen ? -1 : 1;
    int order = iso_snapshot_compare(&join->records.held, x, y);
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

/* ---- giving places ---- */

/* Whether a snapshot, just placed, was taken before the stream begins: it sees no commit of it, and is older than the
 * connector's own, where there is one. */
static bool is_before(const struct iso_join *join, const struct iso_snapshot *snapshot)
{
    bool sees_none = join->places.position == ISO_JOIN_START && !join->options.initial_known;
    return sees_none && (join->start.xid ? snapshot->xmax <= join->start.xid : !join->start.snapshots);
}

/* Its snapshot is from before the stream begins, and no row of it came: what it wrote is part of what was there then.
 */
static bool is_over_before(const struct join_record *record)
{
    return record->flags & JOIN_RECORD_BEFORE && !(record->flags & JOIN_RECORD_DELIVERED);
}

/* All of a record is placed: it can go. */
static void check_done(struct iso_join *join, uint32_t number)
{
    struct join_record *record = &join->records.list[number];
    if (record->unplaced)
        return;
    if (is_over_before(record)) {
        join_forget_record_as(join, number, ISO_RECORDS_BEFORE);
        return;
    }
    record->flags |= JOIN_RECORD_GIVEN;
    join_give_placed(join, number);
    join_forget_record(join, number);
}

static void place_commit(struct iso_join *join, const struct join_commit *commit)
{
    struct join_places *places = &join->places;
    if (commit->transaction == ISO_NONE && is_over_before(&join->records.list[commit->record])) { /* it has no place */
        join->records.list[commit->record].unplaced--;
        check_done(join, commit->record);
        return;
    }
    assert(places->position % 2 == ISO_JOIN_START % 2);
    uint64_t cts = places->position += 2;
    join_seat_take(join, cts, commit->xid, commit->transaction);
    if (commit->xid)
        join_map_put(&places->placed, placed_key(commit->xid), 0);
    if (commit->record == ISO_NONE) {
        join_give_foreign(join, &join->open.list[commit->transaction], cts);
        join_give_altered(join, &join->open.list[commit->transaction], cts);
        join_forget_transaction(join, commit->transaction, ISO_ROWS_FOREIGN);
        return;
    }
    struct join_record *record = &join->records.list[commit->record];
    record->cts = cts;
    record->flags |= JOIN_RECORD_CTS;
    join->records.held.cts[record->held] = cts;
    join->records.held.flags[record->held] |= ISO_HAS_CTS;
    join_settle_placed(join, commit->record, commit->transaction, cts);
    if (commit->transaction != ISO_NONE) {
        join_give_altered(join, &join->open.list[commit->transaction], cts);
        join_forget_transaction(join, commit->transaction, ISO_ROWS_JUDGED);
    }
    assert(record->unplaced);
    record->unplaced--;
    check_done(join, commit->record);
}

/* Places the commits of the list that `snapshot` sees (NULL: all), in the order of their LSN. Those in progress in it,
 * which are few, move up to those that come after it. */
static void place_commits(struct iso_join *join, const struct iso_snapshot *snapshot)
{
    struct join_places *places = &join->places;
    uint32_t end = snapshot ? commits_below(places, snapshot->xmax) : places->commit_count, first = end, count = 0;
    if (end == places->commit_first)
        return;
    struct join_commit *seen = iso_allocate((end - places->commit_first) * sizeof *seen);
    for (uint32_t i = end; i-- > places->commit_first;) {
        if (!snapshot || iso_snapshot_sees(&join->records.held, snapshot, places->commits[i].xid))
            seen[count++] = places->commits[i];
        else
            places->commits[--first] = places->commits[i];
    }
    places->commit_first = first;
    qsort(seen, count, sizeof *seen, compare_commits);
    for (uint32_t i = 0; i < count; i++)
        place_commit(join, &seen[i]);
    iso_free(seen);
}

static void note_last(struct iso_join *join, const struct iso_snapshot *snapshot)
{
    struct iso_history *last = &join->places.last;
    last->snapshot_count = 0;
    last->xip_count = 0;
    iso_snapshot_copy(last, &join->records.held, (uint32_t)(snapshot - join->records.held.snapshots));
}

static void report_breach(struct iso_join *join, const struct join_link *link)
{
    const struct join_record *record = &join->records.list[link->record];
    struct iso_join_finding *finding = join_find(join, ISO_SNAPSHOT_ORDER, record->tid, ISO_NONE);
    finding->client = record->origin;
    finding->sts = join->places.position + 1;
}

static void place_link(struct iso_join *join, const struct join_link *link)
{
    struct join_places *places = &join->places;
    struct iso_history *held = &join->records.held;
    struct join_record *record = &join->records.list[link->record];
    const struct iso_snapshot *last = places->last.snapshot_count ? places->last.snapshots : NULL;
    uint64_t before = places->position;
    place_commits(join, snapshot_of(join, link)); /* which may move `held` */
    const struct iso_snapshot *snapshot = snapshot_of(join, link);
    struct iso_committed committed = {next_committed, places};
    bool lost = last && iso_snapshot_only_in(&places->last, last, held, snapshot, &committed);
    bool gained = last && iso_snapshot_only_in(held, snapshot, &places->last, last, &committed);
    if (!last || lost || gained)
        places->broken = lost;
    note_last(join, snapshot);
    if ((lost || gained) && places->position == before) {
        places->position += 2; /* a place of its own, though all that it sees was seen: after a breach */
        join_seat_take(join, places->position, 0, ISO_NONE);
    }
    if (places->broken)
        report_breach(join, link);
    if (link->operation == ISO_NONE) {
        held->sts[record->held] = record->sts = places->position + 1;
        held->flags[record->held] |= ISO_HAS_STS;
        record->flags |= JOIN_RECORD_STS | (is_before(join, snapshot) ? JOIN_RECORD_BEFORE : 0);
    } else {
        uint32_t o = held->first_operation[record->held] + link->operation;
        held->ots[o] = places->position + 1;
        held->kind[o] = (uint8_t)((held->kind[o] & ~ISO_OPERATION_SNAPSHOT) | ISO_OPERATION_OTS);
    }
    assert(record->unplaced);
    record->unplaced--;
}

/* ---- how far ---- */

static uint64_t horizon_of(const struct iso_join *join)
{
    const struct join_places *places = &join->places;
    uint64_t horizon = places->clients < places->delivered ? places->clients : places->delivered;
    for (uint32_t i = join->open.oldest; i != ISO_NONE; i = join->open.list[i].newer) {
        const struct join_transaction *transaction = &join->open.list[i];
        uint64_t xid = transaction->identity.tag == JOIN_BY_XID ? join_xid_of(join, transaction->identity.number) : 0;
        horizon = xid < horizon ? xid : horizon;
    }
    return horizon;
}

/* Records below the horizon of which no row came: an unknown one has aborted, a committed one was not delivered. */
static void settle_outcomes(struct iso_join *join, uint64_t horizon)
{
    for (uint32_t i = join->records.oldest, next; i != ISO_NONE; i = next) {
        struct join_record *record = &join->records.list[i];
        next = record->newer;
        if (!(record->flags & JOIN_RECORD_PLACED) || (record->flags & JOIN_RECORD_COMMITTED) ||
            (horizon != UINT64_MAX && (!record->xid || record->xid >= horizon)))
            continue;
        if (record->status == ISO_UNKNOWN) {
            join_place_forget(join, i);
            join_resolve(join, i, false, 0);
            join_give_placed(join, i);
            join_forget_record(join, i);
        } else if (may_write(join, record)) {
            join_place_commit(join, i, ISO_NONE);
        }
    }
}

static void forget_placed(struct join_places *places, uint64_t below)
{
    struct join_map kept = {0};
    if (places->placed.used < 2 * PLACED_MOST) /* half of it goes, so that going through it pays */
        return;
    for (uint32_t i = 0; i <= places->placed.mask; i++)
        if (places->placed.slots[i].tag && places->placed.slots[i].number >= below)
            join_map_put(&kept, placed_key(places->placed.slots[i].number), 0);
    join_map_release(&places->placed);
    places->placed = kept;
}

static int compare_xids(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* The commits below the horizon that some snapshot which stays does not see, sorted; `*count`. To be freed. */
static uint64_t *unseen_by_those_that_stay(const struct iso_join *join, uint64_t horizon, uint32_t *count)
{
    const struct join_places *places = &join->places;
    uint64_t *unseen = NULL;
    uint32_t used = 0, capacity = 0;
    for (uint32_t i = 0; i < places->link_count; i++) {
        const struct iso_snapshot *snapshot = snapshot_of(join, &places->links[i]);
        const uint64_t *xips = iso_snapshot_xips(&join->records.held, snapshot);
        for (uint32_t j = 0; snapshot->xmax > horizon && j < snapshot->xip_count && xips[j] < horizon; j++) {
            ISO_GROW(unseen, used, capacity);
            unseen[used++] = xips[j];
        }
    }
    if (used)
        qsort(unseen, used, sizeof *unseen, compare_xids);
    *count = 0;
    for (uint32_t i = 0; i < used; i++)
        if ((!*count || unseen[*count - 1] != unseen[i]) && is_committed(places, unseen[i]))
            unseen[(*count)++] = unseen[i];
    return unseen;
}

/* Whether all snapshots that stay contain all those below the horizon, as PostgreSQL's do: a later one has a larger
 * xmax. Then what stays comes after what is placed now. */
static bool is_contained(const struct iso_join *join, uint64_t horizon)
{
    const struct join_places *places = &join->places;
    uint32_t count;
    uint64_t *unseen = unseen_by_those_that_stay(join, horizon, &count);
    bool contained = true;
    for (uint32_t i = 0; i < places->link_count && contained; i++) {
        const struct iso_snapshot *snapshot = snapshot_of(join, &places->links[i]);
        for (uint32_t j = 0; snapshot->xmax <= horizon && j < count && unseen[j] < snapshot->xmax; j++)
            contained &= !iso_snapshot_sees(&join->records.held, snapshot, unseen[j]);
    }
    iso_free(unseen);
    return contained;
}

/* Below all that stays. */
static uint64_t cut(const struct iso_join *join, uint64_t horizon)
{
    const struct join_places *places = &join->places;
    for (bool lower = horizon != UINT64_MAX; lower;) {
        lower = false;
        for (uint32_t i = 0; i < places->link_count; i++) {
            const struct iso_snapshot *snapshot = snapshot_of(join, &places->links[i]);
            lower |= snapshot->xmax > horizon && snapshot->xmin < horizon;
            if (snapshot->xmax > horizon && snapshot->xmin < horizon)
                horizon = snapshot->xmin;
        }
    }
    return horizon;
}

/* Snapshots that stay and are older than some below the horizon keep those, too. Only a lie brings that about; sessions
 * whose transactions always overlap leave no cut for long, and must not wait for one. */
static uint64_t below_those_that_stay(const struct iso_join *join, uint64_t horizon)
{
    return is_contained(join, horizon) ? horizon : cut(join, horizon);
}

/* Moves the links that are certain into a list of their own, and sorts it. */
static struct join_link *take_certain(struct iso_join *join, uint64_t horizon, uint32_t *count)
{
    struct join_places *places = &join->places;
    struct join_link *certain = iso_allocate(((size_t)places->link_count + 1) * sizeof *certain);
    uint32_t kept = 0;
    *count = 0;
    for (uint32_t i = 0; i < places->link_count; i++) {
        struct join_link link = places->links[i];
        if (snapshot_of(join, &link)->xmax <= horizon) {
            link.seen = count_seen(join, snapshot_of(join, &link));
            certain[(*count)++] = link;
        } else {
            places->links[kept++] = link;
        }
    }
    places->link_count = kept;
    if (*count)
        qsort_r(certain, *count, sizeof *certain, compare_links, join);
    return certain;
}

/* A transaction's snapshot is older than its xid. So once clients promise that no smaller xmin will come, a whole
 * transaction of a smaller xid has no record: it is somebody else's, and holds nothing up. */
static void settle_foreign(struct iso_join *join)
{
    for (uint32_t i = join->open.oldest, next; i != ISO_NONE; i = next) {
        const struct join_transaction *transaction = &join->open.list[i];
        next = transaction->newer;
        if ((transaction->flags & JOIN_COMPLETE) && transaction->identity.tag == JOIN_BY_XID &&
            join_xid_of(join, transaction->identity.number) < join->places.clients)
            join_settle(join, i, JOIN_ROWS_FINAL | JOIN_RECORDS_FINAL);
    }
}

void join_place(struct iso_join *join, bool ended)
{
    struct join_places *places = &join->places;
    uint32_t count;
    if (!places->active || (!ended && (!places->clients || !join->start.begun)))
        return;
    if (!ended)
        settle_foreign(join);
    uint64_t horizon = ended ? UINT64_MAX : horizon_of(join);
    settle_outcomes(join, horizon);
    struct join_link *certain = take_certain(join, below_those_that_stay(join, horizon), &count);
    for (uint32_t i = 0; i < count; i++) {
        place_link(join, &certain[i]);
        check_done(join, certain[i].record);
    }
    iso_free(certain);
    if (ended)
        place_commits(join, NULL);
    else if (count)
        join_give_watermark(join, places->position);
    forget_placed(places, places->delivered > PLACED_MOST ? places->delivered - PLACED_MOST : 0);
}

void join_places_release(struct join_places *places)
{
    iso_free(places->commits);
    iso_free(places->links);
    iso_column_free(places->seats.list, JOIN_SEATS * sizeof *places->seats.list);
    join_map_release(&places->placed);
    iso_history_release(&places->last);
}
