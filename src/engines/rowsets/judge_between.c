/* Queries at READ COMMITTED, between messages: each row is seen as of some moment of the statement,
 * and nobody knows which. Its commits that were answered before the statement was sent are there,
 * those that were sent after its answer are not; between them any moment will do, for each row by
 * itself. So what no moment of a row explains is wrong, and a number of rows if there are more, or
 * fewer, at all of them.
 *
 *     row 7: | commit 3, answered | commit 5 | commit 9, sent later |
 *                                 ^ moments  ^
 */
#include <assert.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "rowsets/judged_private.h"

enum { MOST_MOMENTS = 4096 };

/* A commit that changed a row, in the order of the row's. */
struct change {
    uint64_t cts;
    uint64_t visible_by,
        hidden_until; /* as a later one's answer and an earlier one's sending say */
};

struct between {
    struct judge judge; /* the first member: rows are visited with it */
    const struct iso_history *history;
    const uint32_t *commits; /* by cts */
    uint32_t commit_count;
    ISO_LIST(struct change) changes;
    uint32_t *first;         /* of changes, by row */
    uint64_t sent, answered; /* the statement */
    uint64_t free_rows;      /* that may be in its result, or not */
};

/* ---- when a row's changes became visible ---- */

/* Of several commits of one moment, what is known of all. */
static struct change change_of(const struct between *between, uint64_t cts)
{
    const struct iso_history *history = between->history;
    const struct iso_history_messages *messages = history->messages;
    struct change change = {cts, 0, UINT64_MAX};
    uint32_t low = 0, high = between->commit_count;
    bool is_answered = true;
    ISO_BISECT(low, high, middle, history->txns.cts[between->commits[middle]] < cts);
    assert(low < between->commit_count && history->txns.cts[between->commits[low]] == cts);
    for (; low < between->commit_count && history->txns.cts[between->commits[low]] == cts; low++) {
        uint32_t t = between->commits[low];
        uint64_t answered = messages->commit_answered[t], sent = messages->commit_sent[t];
        is_answered &= answered != 0;
        change.visible_by = answered > change.visible_by ? answered : change.visible_by;
        change.hidden_until = sent < change.hidden_until ? sent : change.hidden_until;
    }
    change.visible_by = is_answered ? change.visible_by : UINT64_MAX;
    return change;
}

static void add_changes(struct between *between, const struct implied_moments *moments)
{
    uint32_t first = between->changes.count;
    uint64_t sent = 0, answered = UINT64_MAX;
    for (uint32_t i = 0; i < moments->count; i++) {
        struct change change = change_of(between, moments->list[i]);
        change.hidden_until = sent = change.hidden_until > sent ? change.hidden_until : sent;
        ISO_APPEND(between->changes, change);
    }
    for (uint32_t i = between->changes.count; i-- > first;) {
        struct change *change = &between->changes.list[i];
        change->visible_by = answered =
            change->visible_by < answered ? change->visible_by : answered;
    }
}

static void find_changes(struct between *between, const struct iso_rowsets *engine)
{
    struct implied_moments moments = {0};
    between->first = iso_allocate((engine->store.row_count + (size_t)1) * sizeof *between->first);
    for (uint32_t row = 0; row < engine->store.row_count; row++) {
        between->first[row] = between->changes.count;
        implied_moments_of(engine, row, &moments);
        add_changes(between, &moments);
    }
    between->first[engine->store.row_count] = between->changes.count;
    iso_free(moments.list);
}

/* ---- a row at its moments ---- */

/* Moments of a row: before each of these changes, and behind the last. */
struct span {
    uint32_t first, from, to; /* `first`: of the row's; none: it has no changes */
};

static struct span span_of(const struct between *between, uint32_t row)
{
    const struct change *list = between->changes.list;
    struct span span = {0, 0, 0};
    if (row == ISO_NONE)
        return span;
    uint32_t high = between->first[row + 1];
    span.first = span.from = between->first[row];
    ISO_BISECT(span.from, high, middle, list[middle].visible_by < between->sent);
    span.to = span.from;
    high = between->first[row + 1];
    ISO_BISECT(span.to, high, middle, list[middle].hidden_until <= between->answered);
    return span;
}

static struct judge_outcome see_before(struct between *between, const struct span *span,
                                       uint32_t change, uint32_t row, iso_atom parts)
{
    struct judge *judge = &between->judge;
    judge->query->bound = change == span->first ? 0 : between->changes.list[change - 1].cts + 1;
    judge_see(judge, row, parts);
    return judge_decide(judge, judge->row.there, judge->row.cells);
}

/* What the row was to the query at all of its moments. */
struct standing {
    bool may_be_in, may_be_out, was_there, varies; /* varies: in what it adds */
    uint32_t reasons;                              /* for doubt at some moment; 0: there is none */
    struct judge_outcome last;
};

static void keep_cells(const struct judge *judge, struct judge_cell *kept, bool *varies)
{
    for (uint32_t s = judge_where_columns(judge); s < judge->asked.slot_count; s++) {
        const struct judge_cell *cell = &judge->row.cells[s];
        *varies |= kept[s].value != cell->value || kept[s].doubt != cell->doubt;
        kept[s] = *cell;
    }
}

static struct standing stand(struct between *between, const struct span *span, uint32_t row,
                             iso_atom parts)
{
    struct judge *judge = &between->judge;
    struct standing standing = {.may_be_in = false};
    struct judge_cell *kept = iso_allocate_zeroed(judge->asked.slot_count + 1, sizeof *kept);
    bool varies = false;
    for (uint32_t i = span->from; i <= span->to; i++) {
        struct judge_outcome outcome = see_before(between, span, i, row, parts);
        bool is_out = outcome.there == ISO_TRUTH_FALSE || outcome.matches == ISO_TRUTH_FALSE,
             is_in = outcome.there == ISO_TRUTH_TRUE && outcome.matches == ISO_TRUTH_TRUE;
        standing.was_there |= outcome.there != ISO_TRUTH_FALSE;
        if (!is_out)
            keep_cells(judge, kept, standing.may_be_in ? &standing.varies : &varies);
        standing.may_be_in |= is_in;
        standing.may_be_out |= is_out;
        standing.reasons |= is_in || is_out ? 0 : outcome.reasons;
        standing.last = outcome;
    }
    iso_free(kept);
    return standing;
}

/* One of unknown outcome may explain it at any of these moments. */
static void fault(struct between *between, const struct span *span, uint32_t row, iso_atom parts,
                  enum judge_fault fault)
{
    for (uint32_t i = span->from; i <= span->to; i++) {
        see_before(between, span, i, row, parts);
        if (!judge_excuses(&between->judge, fault))
            continue;
        judge_doubt(&between->judge, 1u << ISO_UNJUDGED_UNKNOWN_WRITER, 1);
        return;
    }
    judge_fault_of(&between->judge, fault);
}

static bool are_many(struct between *between, const struct span *span)
{
    bool are = span->to - span->from > MOST_MOMENTS;
    if (are)
        judge_doubt(&between->judge, 1u << ISO_UNJUDGED_ROW_SETS, 1);
    return are;
}

static void judge_returned_row(struct between *between, iso_atom parts)
{
    struct judge *judge = &between->judge;
    uint32_t row = rowsets_find_row(judge->engine, judge->table, parts);
    struct span span = span_of(between, row);
    if (are_many(between, &span))
        return;
    struct standing standing = stand(between, &span, row, parts);
    if (standing.may_be_in || !standing.was_there)
        return; /* whether it was there is for the engines that judge reads */
    if (standing.reasons)
        judge_doubt(judge, standing.reasons, 1);
    else
        fault(between, &span, row, parts, JUDGE_EXTRA);
}

/* Of a result without columns only how many rows there are. */
static bool counts_rows_alone(const struct judge *judge)
{
    bool alone = judge->returned.has_aggregates || !judge->returned.bag.column_count;
    for (uint32_t i = 0; i < judge->returned.aggregate_count; i++)
        alone &= judge->returned.aggregates[i].aggregate.kind == ISO_AGGREGATE_ROWS;
    return alone;
}

static void count_row(struct between *between, const struct standing *standing)
{
    struct judge *judge = &between->judge;
    if (standing->may_be_in && !standing->may_be_out && !standing->reasons &&
        (!standing->varies || counts_rows_alone(judge)))
        judge_count_row(judge, &standing->last);
    else
        between->free_rows += standing->may_be_in || standing->reasons;
}

static void judge_other_row(struct judge *judge, uint32_t row, iso_atom parts)
{
    struct between *between = (struct between *)judge;
    struct span span = span_of(between, row);
    if ((!judge_counts(judge) && judge_was_returned(judge->query, parts)) ||
        are_many(between, &span))
        return;
    struct standing standing = stand(between, &span, row, parts);
    if (judge_counts(judge))
        count_row(between, &standing);
    else if (standing.may_be_out)
        return;
    else if (standing.reasons)
        judge_doubt(judge, standing.reasons, 1);
    else
        fault(between, &span, row, parts, JUDGE_MISSING);
}

/* ---- a query ---- */

/* How many rows counted for sure, and how many the result has. */
static void count_result(const struct judge *judge, uint64_t *counted, uint64_t *told)
{
    const struct judge_bag *bag = &judge->returned.bag;
    *counted = bag->count - bag->reported;
    *told = bag->reported;
    if (!judge->returned.aggregate_count)
        return;
    const struct judge_aggregate *aggregate = &judge->returned.aggregates[0];
    *counted = aggregate->total.count;
    *told = aggregate->reported.at ? strtoull(aggregate->reported.at, NULL, 10) : 0;
}

/* The rows that are free make the difference, or nobody knows whether they do. */
static bool is_explained(struct between *between)
{
    struct judge *judge = &between->judge;
    uint64_t counted, told;
    if (!between->free_rows)
        return false;
    if (!counts_rows_alone(judge)) {
        judge_doubt(judge, 1u << ISO_UNJUDGED_ROW_SETS, between->free_rows);
        return judge->returned.has_aggregates;
    }
    count_result(judge, &counted, &told);
    return counted <= told && told <= counted + between->free_rows;
}

static void judge_rows(struct between *between)
{
    struct judge *judge = &between->judge;
    const struct rowsets_query *query = judge->query;
    for (uint32_t i = 0; i < query->row_count; i++)
        if (!i || query->rows[i] != query->rows[i - 1])
            judge_returned_row(between, query->rows[i]);
    if (query->is_partial && !judge->returned.has_bag)
        return;
    if (judge_counts(judge) && query->own_order && query->own_count) {
        judge_doubt(judge, 1u << ISO_UNJUDGED_OWN_ORDER, 0);
        return;
    }
    judge_choose_access(judge);
    judge_visit_matches(judge, judge_other_row);
    if (!is_explained(between))
        judge_returned(judge);
}

static void judge_query(struct between *between, struct iso_rowsets *engine,
                        struct rowsets_query *query)
{
    const struct iso_history *history = between->history;
    uint32_t header = history->txns.first_op[query->index] + query->operation;
    between->sent = history->messages->sent[header];
    between->answered = history->messages->answered[header];
    between->free_rows = 0;
    bool is_ready = judge_open(&between->judge, engine, query);
    if (!between->sent)
        judge_doubt(&between->judge, 1u << ISO_UNJUDGED_ROW_SETS, 0);
    else if (is_ready)
        judge_rows(between);
    judge_conclude(&between->judge);
    judge_close(&between->judge);
    rowsets_free_query(query);
}

void rowsets_judge_between(struct iso_rowsets *engine, const struct iso_history *history,
                           const uint32_t *commits, uint32_t count)
{
    struct between between = {.history = history, .commits = commits, .commit_count = count};
    find_changes(&between, engine);
    while (engine->waiting.queue.count)
        judge_query(&between, engine,
                    (struct rowsets_query *)(uintptr_t)iso_heap_pop(&engine->waiting.queue).value);
    ISO_FREE_ALL(between.changes.list, between.first);
}
