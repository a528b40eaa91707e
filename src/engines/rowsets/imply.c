/* What queries say of the order of transactions, as reads and writes.
 *
 * Where an order of the transactions is sought, a query stands behind the last commit before its
 * moment that changed its result, and in front of the first one behind it: of each row. (Cells that
 * it returned are reads.) For each such change of a row by a commit there is a key of its own,
 * `ROW#?TID`, which that commit writes, and which the query reads as written, or as absent. So
 * whoever judges reads judges queries, too.
 *
 * What a row is to a result: of rows with keys whether it is among them; of aggregates and rows
 * without keys also what it adds to them. To min and max that is whether it lies beyond the value
 * that was found, or has it. Of several rows that have it one that keeps it later is enough; where
 * none does, nobody knows which of them the database has read.
 *
 * An order is implied only where the result is known on both sides of the change. Queries of which
 * not all is implied are counted.
 */
#include <assert.h>

#include "base/order.h"
#include "history/additions.h"
#include "rowsets/judged_private.h"

/* The role of a row in a query's result. */
struct standing {
    enum { IS_OUT, IS_IN, NOBODY_KNOWS } kind;
    struct iso_scalar *scalars; /* by slot: what it adds to aggregates and to rows without keys */
};

/* The rows that have the value of an aggregate that is a min or a max. */
struct extreme {
    uint32_t rows, witness; /* how many; one that keeps it, or ISO_NONE */
};

struct implying {
    struct judge judge; /* the first member: rows are visited with it */
    struct iso_history *history;
    struct history_additions additions;
    struct iso_number_map written; /* keys of changes whose write is among the additions */
    struct iso_number_map by_tid;  /* committed transactions */
    struct implied_moments moments;
    struct standing now, other; /* of a row at the query's moment, and at another */
    struct extreme *extremes;   /* by aggregate */
    uint32_t left;              /* queries that were not looked at */
    bool is_unsure;             /* of the query at hand: not all that it means is known */
};

/* ---- what a row is to a result ---- */

static void see_standing(struct judge *judge, uint32_t row, iso_atom parts, uint64_t bound,
                         struct standing *standing)
{
    judge->query->bound = bound;
    judge_see(judge, row, parts);
    struct judge_outcome outcome = judge_decide(judge, judge->row.there, judge->row.cells);
    bool is_out = outcome.there == ISO_TRUTH_FALSE || outcome.matches == ISO_TRUTH_FALSE;
    bool is_in = outcome.there == ISO_TRUTH_TRUE && outcome.matches == ISO_TRUTH_TRUE;
    standing->kind = is_out ? IS_OUT : is_in ? IS_IN : NOBODY_KNOWS;
    for (uint32_t s = judge_where_columns(judge); is_in && s < judge->asked.slot_count; s++) {
        standing->scalars[s] = judge_scalar(judge, s, judge->row.cells[s]);
        judge_keep_text(judge, s, &standing->scalars[s]);
    }
}

enum difference { SAME, OTHER, NOT_KNOWN };

/* Compares two scalars; NULL: the row adds none. */
static enum difference compare_added(const struct iso_scalar *one, const struct iso_scalar *other)
{
    if (!one || !other)
        return !one && !other ? SAME : OTHER;
    if (one->kind == ISO_SCALAR_UNKNOWN || other->kind == ISO_SCALAR_UNKNOWN)
        return NOT_KNOWN;
    if (one->kind == ISO_SCALAR_NULL || other->kind == ISO_SCALAR_NULL)
        return one->kind == other->kind ? SAME : OTHER;
    unsigned outcomes = iso_order_outcomes(iso_scalar_compare(one, other));
    return outcomes == ISO_ORDER_EQUAL ? SAME : outcomes & ISO_ORDER_EQUAL ? NOT_KNOWN : OTHER;
}

/* The scalar that the row adds to an aggregate of a column; NULL: none. */
static const struct iso_scalar *added_by(const struct standing *standing, uint32_t slot)
{
    bool adds = standing->kind == IS_IN && standing->scalars[slot].kind != ISO_SCALAR_NULL;
    return adds ? &standing->scalars[slot] : NULL;
}

/* Where a row stands beside the value that was found for a min or a max. */
enum side { BEHIND, AT, BEYOND, NOWHERE };

static enum side side_of(const struct judge_aggregate *aggregate, const struct standing *standing)
{
    assert(aggregate->aggregate.kind >= ISO_AGGREGATE_MIN);
    const struct iso_scalar *added = added_by(standing, aggregate->slot),
                            *best = &aggregate->total.best;
    if (!added)
        return BEHIND;
    if (added->kind == ISO_SCALAR_UNKNOWN)
        return NOWHERE;
    if (!aggregate->total.count)
        return BEYOND;
    switch (iso_order_outcomes(iso_scalar_compare(added, best))) {
    case ISO_ORDER_EQUAL:
        return AT;
    case ISO_ORDER_LESS:
        return aggregate->aggregate.kind == ISO_AGGREGATE_MIN ? BEYOND : BEHIND;
    case ISO_ORDER_GREATER:
        return aggregate->aggregate.kind == ISO_AGGREGATE_MAX ? BEYOND : BEHIND;
    default:
        return NOWHERE;
    }
}

static enum difference differs_in_extreme(const struct implying *implying, uint32_t number)
{
    const struct judge_aggregate *aggregate = &implying->judge.returned.aggregates[number];
    const struct extreme *extreme = &implying->extremes[number];
    enum side now = side_of(aggregate, &implying->now),
              other = side_of(aggregate, &implying->other);
    if (now == NOWHERE || other == NOWHERE)
        return NOT_KNOWN;
    bool decides = now == AT && (extreme->rows == 1 || extreme->witness == implying->judge.row.row);
    return other == BEYOND || (decides && other == BEHIND) ? OTHER : SAME;
}

static enum difference differs_in(const struct implying *implying, uint32_t number)
{
    const struct judge_aggregate *aggregate = &implying->judge.returned.aggregates[number];
    const struct standing *now = &implying->now, *other = &implying->other;
    const struct iso_scalar *one, *two;
    switch (aggregate->aggregate.kind) {
    case ISO_AGGREGATE_ROWS:
        return now->kind == other->kind ? SAME : OTHER;
    case ISO_AGGREGATE_COUNT:
        one = added_by(now, aggregate->slot);
        two = added_by(other, aggregate->slot);
        if ((one && one->kind == ISO_SCALAR_UNKNOWN) || (two && two->kind == ISO_SCALAR_UNKNOWN))
            return NOT_KNOWN;
        return !one == !two ? SAME : OTHER;
    case ISO_AGGREGATE_SUM:
        return compare_added(added_by(now, aggregate->slot), added_by(other, aggregate->slot));
    case ISO_AGGREGATE_DISTINCT: /* another row may be another value, or none more */
    case ISO_AGGREGATE_AVERAGE:
        return compare_added(added_by(now, aggregate->slot), added_by(other, aggregate->slot)) ==
                       SAME
                   ? SAME
                   : NOT_KNOWN;
    default:
        return differs_in_extreme(implying, number);
    }
}

/* Whether the result would be another one if the row were as it was at that other moment. */
static enum difference differs(const struct implying *implying)
{
    const struct judge *judge = &implying->judge;
    const struct standing *now = &implying->now, *other = &implying->other;
    enum difference found = SAME;
    if (other->kind == NOBODY_KNOWS)
        return NOT_KNOWN;
    if (!judge->returned.has_aggregates && now->kind != other->kind)
        return OTHER;
    for (uint32_t i = 0; i < judge->returned.aggregate_count && found != OTHER; i++) {
        enum difference one = differs_in(implying, i);
        found = one == SAME ? found : one;
    }
    for (uint32_t i = 0;
         now->kind == IS_IN && i < judge->returned.bag.column_count && found != OTHER; i++) {
        uint32_t slot = judge->returned.bag.first_slot + i;
        enum difference one = compare_added(&now->scalars[slot], &other->scalars[slot]);
        found = one == SAME ? found : one;
    }
    return found;
}

/* ---- changes ---- */

void implied_moments_of(const struct iso_rowsets *engine, uint32_t row,
                        struct implied_moments *moments)
{
    const struct rowsets_store *store = &engine->store;
    uint32_t kept = 0;
    moments->count = 0;
    for (uint32_t c = store->rows[row].cells; c != ISO_NONE; c = store->cells[c].next)
        for (uint32_t v = 0; v < store->cells[c].count; v++)
            ISO_APPEND(*moments, store->versions[store->cells[c].first + v].cts);
    if (moments->count)
        qsort(moments->list, moments->count, sizeof *moments->list, iso_order_u64);
    for (uint32_t i = 0; i < moments->count; i++)
        if (!kept || moments->list[kept - 1] != moments->list[i])
            moments->list[kept++] = moments->list[i];
    moments->count = kept;
}

uint32_t implied_key(const struct judge *judge, struct iso_history *history, iso_atom parts,
                     const char *prefix, struct iso_json_text rest)
{
    const struct iso_atoms *atoms = &judge->engine->atoms;
    struct iso_text key = {0};
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text table = rowsets_text(atoms, judge->query->table, buffer);
    iso_text_put_bytes(&key, table.at, table.length);
    iso_text_put(&key, "/");
    struct iso_json_text row = rowsets_text(atoms, parts, buffer);
    iso_text_put_bytes(&key, row.at, row.length);
    iso_text_put(&key, "#?");
    iso_text_put(&key, prefix);
    iso_text_put_bytes(&key, rest.at, rest.length);
    uint32_t found = iso_history_key(history, iso_atoms_text(&history->atoms, key.bytes, key.used));
    iso_text_release(&key);
    return found;
}

static uint32_t change_key(struct implying *implying, iso_atom parts, uint32_t writer)
{
    struct iso_history *history = implying->history;
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text tid = rowsets_text(&history->atoms, history->txns.tid[writer], buffer);
    return implied_key(&implying->judge, history, parts, "", tid);
}

/* The writer of the row's versions of that moment; ISO_NUMBER_NONE: several, since commits may
 * share a position. */
static uint32_t writer_at(const struct implying *implying, uint32_t row, uint64_t cts)
{
    const struct iso_rowsets *engine = implying->judge.engine;
    char buffer[ISO_ATOM_TEXT_MAX];
    iso_atom tid = ISO_ABSENT;
    for (uint32_t c = engine->store.rows[row].cells; c != ISO_NONE; c = engine->store.cells[c].next)
        for (uint32_t v = 0; v < engine->store.cells[c].count; v++) {
            const struct rowsets_version *version =
                &engine->store.versions[engine->store.cells[c].first + v];
            if (version->cts != cts)
                continue;
            if (tid != ISO_ABSENT && tid != version->tid)
                return ISO_NUMBER_NONE;
            tid = version->tid;
        }
    struct iso_json_text text = rowsets_text(&engine->atoms, tid, buffer);
    bool is_known =
        text.at && iso_atoms_find(&implying->history->atoms, text.at, text.length, &tid);
    return is_known ? iso_number_map_get(&implying->by_tid, tid) : ISO_NUMBER_NONE;
}

/* The commit at `cts` changed the row in the query's result, which has seen that or not. */
static void imply(struct implying *implying, uint32_t row, iso_atom parts, uint64_t cts,
                  bool has_seen)
{
    const struct rowsets_query *query = implying->judge.query;
    uint32_t writer = writer_at(implying, row, cts);
    implying->is_unsure |= writer == ISO_NUMBER_NONE;
    if (writer == ISO_NUMBER_NONE || writer == query->index)
        return;
    uint32_t key = change_key(implying, parts, writer);
    assert(writer < implying->history->txns.count);
    if (iso_number_map_get(&implying->written, key) == ISO_NUMBER_NONE) {
        iso_number_map_put(&implying->written, key, 0);
        history_additions_put(&implying->additions, (struct history_addition){.transaction = writer,
                                                                              .before = ISO_NONE,
                                                                              .like = ISO_NONE,
                                                                              .key = key,
                                                                              .kind = ISO_WRITE,
                                                                              .value = 1});
    }
    uint32_t header = implying->history->txns.first_op[query->index] + query->operation;
    history_additions_put(&implying->additions,
                          (struct history_addition){.transaction = query->index,
                                                    .before = ISO_NONE,
                                                    .like = header,
                                                    .key = key,
                                                    .kind = ISO_READ,
                                                    .value = has_seen ? 1 : ISO_ABSENT});
}

/* Whether the query's transaction wrote the row, before it asked or later. */
static bool is_own(const struct implying *implying, uint32_t row)
{
    const struct iso_rowsets *engine = implying->judge.engine;
    for (uint32_t c = engine->store.rows[row].cells; c != ISO_NONE; c = engine->store.cells[c].next)
        for (uint32_t v = 0; v < engine->store.cells[c].count; v++)
            if (engine->store.versions[engine->store.cells[c].first + v].tid ==
                implying->judge.query->tid)
                return true;
    return false;
}

/* The first change behind the query's moment (`step` 1), or the last one before it (-1), of
 * versions from `i` on. Where the transaction wrote the row itself, what others wrote before is
 * before it, and what they wrote later is behind it, anyway. */
static void imply_next(struct implying *implying, uint32_t row, iso_atom parts, uint32_t i,
                       int step)
{
    bool is_later = step > 0;
    for (; i < implying->moments.count; i += (uint32_t)step) {
        see_standing(&implying->judge, row, parts, implying->moments.list[i] + is_later,
                     &implying->other);
        enum difference difference = differs(implying);
        if (difference == SAME)
            continue;
        bool is_known = difference == OTHER || is_own(implying, row);
        implying->is_unsure |= !is_known;
        if (is_known)
            imply(implying, row, parts, implying->moments.list[i], !is_later);
        return;
    }
}

/* The first of the row's moments that is not before the query's. */
static uint32_t first_later(const struct implying *implying, uint64_t bound)
{
    uint32_t later = 0;
    while (later < implying->moments.count && implying->moments.list[later] < bound)
        later++;
    return later;
}

/* Own writes lie over the row whenever it is looked at; of those whose order is not known nothing
 * is implied. */
static void imply_of_row(struct judge *judge, uint32_t row, iso_atom parts)
{
    struct implying *implying = (struct implying *)judge;
    struct rowsets_query *query = judge->query;
    uint64_t bound = query->bound;
    see_standing(judge, row, parts, bound, &implying->now);
    bool is_unclear = judge->row.is_own && query->own_order;
    implying->is_unsure |=
        implying->now.kind == NOBODY_KNOWS || (is_unclear && judge_counts(judge));
    if (!is_unclear && implying->now.kind != NOBODY_KNOWS) {
        implied_moments_of(implying->judge.engine, row, &implying->moments);
        uint32_t later = first_later(implying, bound);
        imply_next(implying, row, parts, later, 1);
        imply_next(implying, row, parts, later - 1, -1);
    }
    query->bound = bound;
}

/* ---- min and max ---- */

static void add_row(struct judge *judge, uint32_t row, iso_atom parts)
{
    judge_see(judge, row, parts);
    struct judge_outcome outcome = judge_decide(judge, judge->row.there, judge->row.cells);
    judge_count_row(judge, &outcome);
}

/* Whether the row has the value in all of its versions from the query's moment on. */
static bool keeps_extreme(struct implying *implying, uint32_t number, uint32_t row, iso_atom parts,
                          uint64_t bound)
{
    assert(number < implying->judge.returned.aggregate_count);
    struct judge *judge = &implying->judge;
    implied_moments_of(implying->judge.engine, row, &implying->moments);
    for (uint32_t i = first_later(implying, bound); i < implying->moments.count; i++) {
        see_standing(judge, row, parts, implying->moments.list[i] + 1, &implying->other);
        if (side_of(&judge->returned.aggregates[number], &implying->other) != AT)
            return false;
    }
    return true;
}

static void find_extremes(struct judge *judge, uint32_t row, iso_atom parts)
{
    struct implying *implying = (struct implying *)judge;
    uint64_t bound = judge->query->bound;
    see_standing(judge, row, parts, bound, &implying->now);
    for (uint32_t i = 0; implying->now.kind == IS_IN && i < judge->returned.aggregate_count; i++) {
        struct extreme *extreme = &implying->extremes[i];
        if (judge->returned.aggregates[i].aggregate.kind < ISO_AGGREGATE_MIN ||
            side_of(&judge->returned.aggregates[i], &implying->now) != AT)
            continue;
        extreme->rows++;
        if (extreme->witness == ISO_NONE && keeps_extreme(implying, i, row, parts, bound))
            extreme->witness = row;
    }
    judge->query->bound = bound;
}

static void prepare_extremes(struct implying *implying)
{
    struct judge *judge = &implying->judge;
    bool has_any = false;
    for (uint32_t i = 0; i < judge->returned.aggregate_count; i++) {
        implying->extremes[i] = (struct extreme){0, ISO_NONE};
        has_any |= judge->returned.aggregates[i].aggregate.kind >= ISO_AGGREGATE_MIN;
    }
    if (!has_any)
        return;
    judge_visit(judge, add_row);
    judge_visit(judge, find_extremes);
    for (uint32_t i = 0; i < judge->returned.aggregate_count; i++) {
        bool is_one = judge->returned.aggregates[i].aggregate.kind >= ISO_AGGREGATE_MIN;
        bool is_torn = implying->extremes[i].rows > 1 && implying->extremes[i].witness == ISO_NONE;
        implying->is_unsure |= is_one && (is_torn || judge->returned.aggregates[i].total.doubt);
    }
}

/* ---- all of it ---- */

static void index_commits(struct implying *implying)
{
    const struct iso_history *history = implying->history;
    for (uint32_t t = 0; t < history->txns.count; t++)
        if (iso_status_of(history, t) == ISO_COMMITTED)
            iso_number_map_put(&implying->by_tid, history->txns.tid[t], t);
}

static void imply_of_query(struct implying *implying, struct iso_rowsets *engine,
                           struct rowsets_query *query)
{
    struct judge *judge = &implying->judge;
    bool is_ready = judge_open(judge, engine, query);
    assert(implying->left);
    implying->left--;
    implying->is_unsure = !is_ready;
    implying->now.scalars =
        iso_allocate((judge->asked.slot_count + 1) * sizeof *implying->now.scalars);
    implying->other.scalars =
        iso_allocate((judge->asked.slot_count + 1) * sizeof *implying->other.scalars);
    implying->extremes =
        iso_allocate((judge->returned.aggregate_count + 1) * sizeof *implying->extremes);
    if (is_ready && !query->is_partial) {
        prepare_extremes(implying);
        judge_visit(judge, imply_of_row);
    }
    implying->history->ranges.not_implied += implying->is_unsure && !query->is_partial;
    ISO_FREE_ALL(implying->now.scalars, implying->other.scalars, implying->extremes);
    judge_close(judge);
    rowsets_free_query(query);
}

/* Where all say when they ran nobody seeks an order. A value that all keys have at the start is
 * none of rows. */
static bool is_sought(const struct iso_history *history)
{
    return iso_history_has_queries(history) && !history->ranges.are_implied &&
           history->initial.other_value == ISO_ABSENT &&
           (history->clock == ISO_CLOCK_NONE || history->txns.snapshot || history->txns.xid ||
            history->totals.without_sts != ISO_NONE);
}

/* A transaction that did not say its snapshot has queries of which nothing is taken, and nothing
 * implied. */
static uint32_t count_queries(const struct iso_history *history)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < history->ranges.count; i++)
        count += history->ranges.list[i].form == ISO_SET_QUERY &&
                 iso_status_of(history, history->ranges.list[i].transaction) == ISO_COMMITTED;
    return count;
}

static void imply_by_snapshots(struct iso_rowsets *engine, struct iso_history *history)
{
    struct implying implying = {.history = history};
    index_commits(&implying);
    implying.left = count_queries(history);
    while (engine->waiting.queue.count)
        imply_of_query(
            &implying, engine,
            (struct rowsets_query *)(uintptr_t)iso_heap_pop(&engine->waiting.queue).value);
    history->ranges.not_implied += implying.left;
    history_add(history, &implying.additions);
    history_additions_release(&implying.additions);
    iso_number_map_release(&implying.written);
    iso_number_map_release(&implying.by_tid);
    iso_free(implying.moments.list);
}

void iso_rowsets_imply(struct iso_history *history, const struct iso_rowsets_options *known)
{
    assert(history->finished);
    struct iso_rowsets_options options = *known;
    if (!is_sought(history))
        return;
    options.level = ISO_SI;
    options.initial_is_known = true;
    options.scan_limit = history->ranges.limit;
    options.retention = ISO_ROWSETS_FOREVER;
    struct iso_rowsets *engine = iso_rowsets_new(&options);
    engine->is_timeless = history->clock == ISO_CLOCK_NONE;
    rowsets_take_all(engine, history);
    if (engine->is_timeless)
        imply_any_order(engine, history);
    else
        imply_by_snapshots(engine, history);
    history->ranges.are_implied = true;
    iso_rowsets_free(engine);
}
