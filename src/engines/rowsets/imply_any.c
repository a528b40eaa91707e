/* What queries say of the order of transactions where nothing says when they ran.
 *
 * For each row that has met a condition after some commit there is a key of its own, `ROW#?where
 * CONDITION`: whoever leaves the row so that it meets the condition writes it, and whoever leaves
 * it so that it does not, or deletes it, deletes that key. A query reads it as written of the rows
 * that it returned, and as absent of the others, whichever commit made it so. (Where there is no
 * condition each row meets it that is there.) Rows that one commit alone wrote say the same of the
 * order if the query returned all of them, or none: it reads the key of one.
 *
 * So what a commit leaves has to follow from the commit alone: it writes none of the condition's
 * columns, or those that settle it (all of them, or `a` = 1 of `a = 2 AND b > 0`). What the query's
 * own transaction wrote before settles it likewise. Where that is not so, of rows that a
 * transaction of unknown outcome wrote, of aggregates and of rows without keys nothing is implied,
 * and the query is counted.
 */

#include "base/sorted.h"
#include "history/additions.h"
#include "rowsets/judged_private.h"

enum { MOST_ADDED = 1u << 25 };

/* A row beside a condition; keys are numbers of the history. */
enum {
    ROW_NEVER_MEETS = ISO_NONE - 1,
    ROW_IS_UNSURE = ISO_NONE - 2,
    ROW_IS_SAID = ISO_NONE - 3 /* by another row that the query reads */
};

enum left { LEFT_AS_IT_WAS, LEFT_MEETING, LEFT_OTHERWISE, LEFT_UNSURE };

struct implying {
    struct judge judge; /* the first member: rows are visited with it */
    struct iso_history *history;
    struct history_additions additions;
    struct iso_number_map queries;  /* by condition: how many */
    struct iso_number_map keys;     /* by row and condition that several queries have */
    struct iso_number_map returned; /* by the query at hand */
    struct iso_number_map said;     /* by the query at hand: commits, and whether rows were found */
    struct implied_moments moments;
    ISO_LIST(enum left) lefts; /* by moment */
    uint32_t looked_at;        /* rows, by the query at hand */
    bool is_unsure;            /* of the query at hand: not all that it means is known */
};

/* `before`: an operation of the transaction, or ISO_NONE. */
static void put(struct implying *implying, uint32_t transaction, uint32_t before, uint32_t key,
                enum iso_operation_kind kind, iso_atom value)
{
    implying->is_unsure |= implying->additions.count >= MOST_ADDED;
    if (implying->additions.count < MOST_ADDED)
        history_additions_put(&implying->additions,
                              (struct history_addition){.transaction = transaction,
                                                        .before = before,
                                                        .like = ISO_NONE,
                                                        .key = key,
                                                        .kind = kind,
                                                        .value = value});
}

/* ---- what a commit leaves ---- */

static const struct judge_cell not_known = {ISO_ABSENT, 1 + ISO_UNJUDGED_UNKNOWN_VALUE};

static const struct rowsets_version *version_at(const struct iso_rowsets *engine,
                                                const struct rowsets_cell *cell, uint64_t cts)
{
    const struct rowsets_version *version =
        cell ? rowsets_version_at(engine, cell, cts + 1, ISO_ABSENT) : NULL;
    return version && version->cts == cts ? version : NULL;
}

/* The slot is a column of the rows, not a part of their keys. */
static bool is_of_rows(const struct judge *judge, uint32_t slot)
{
    return judge->asked.slots[slot].column != ISO_NONE || judge->asked.slots[slot].part == ISO_NONE;
}

static enum left decide(struct judge *judge)
{
    struct judge_outcome outcome = judge_decide(judge, judge->row.there, judge->row.cells);
    if (outcome.there == ISO_TRUTH_FALSE || outcome.matches == ISO_TRUTH_FALSE)
        return LEFT_OTHERWISE;
    return outcome.there == ISO_TRUTH_TRUE && outcome.matches == ISO_TRUTH_TRUE ? LEFT_MEETING
                                                                                : LEFT_UNSURE;
}

/* Nor does the row meet the condition if the columns that are not known are NULL, as those are that
 * an insert does not write. */
static bool null_is_out(struct judge *judge)
{
    for (uint32_t s = 0; s < judge_where_columns(judge); s++)
        if (is_of_rows(judge, s) && judge->row.cells[s].doubt == not_known.doubt)
            judge->row.cells[s] = (struct judge_cell){ISO_ABSENT, 0};
    return decide(judge) == LEFT_OTHERWISE;
}

static void see_before(struct judge *judge, uint32_t row, iso_atom parts, uint64_t bound)
{
    judge->query->bound = bound;
    judge_see(judge, row, parts);
}

/* The row as the commit left it, as far as it wrote it; how many columns of the condition it did
 * not write. */
static uint32_t see_left(struct judge *judge, uint32_t row, iso_atom parts, uint64_t cts,
                         uint32_t *written)
{
    uint32_t others = 0;
    *written = 0;
    see_before(judge, row, parts, cts + 1);
    for (uint32_t s = 0; s < judge_where_columns(judge); s++) {
        uint32_t column = judge->asked.slots[s].column;
        bool is_written =
            column != ISO_NONE &&
            version_at(judge->engine, rowsets_find_cell(judge->engine, row, column), cts);
        if (!is_of_rows(judge, s))
            continue;
        *written += is_written;
        others += !is_written;
        if (!is_written)
            judge->row.cells[s] = not_known;
    }
    return others;
}

/* The commit deleted the row before it wrote it again. */
static bool is_reborn(const struct judge *judge, uint32_t row, const struct rowsets_version *own)
{
    const struct rowsets_cell *cell = rowsets_find_cell(judge->engine, row, 0);
    return own && own > judge->engine->store.versions + cell->first && own[-1].cts == own->cts;
}

static enum left left_by(struct judge *judge, uint32_t row, iso_atom parts, uint64_t cts)
{
    uint32_t written, others = see_left(judge, row, parts, cts, &written);
    const struct rowsets_version *own =
        version_at(judge->engine, rowsets_find_cell(judge->engine, row, 0), cts);
    if (own && own->value == ISO_ABSENT)
        return LEFT_OTHERWISE;
    if (!written && (others || !own) && !is_reborn(judge, row, own))
        return !own || null_is_out(judge) ? LEFT_AS_IT_WAS : LEFT_UNSURE;
    if (!own)
        judge->row.there = not_known;
    return decide(judge);
}

/* ---- a row beside a condition ---- */

static uint32_t key_of_row(struct implying *implying, iso_atom parts)
{
    const struct judge *judge = &implying->judge;
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text where = rowsets_text(&judge->engine->atoms, judge->query->where, buffer);
    return implied_key(judge, implying->history, parts, where.length ? "where " : "", where);
}

/* What each commit leaves of the row. How many change it; 0: it is unsure. */
static uint32_t find_lefts(struct implying *implying, uint32_t row, iso_atom parts, bool *meets)
{
    const struct implied_moments *moments = &implying->moments;
    uint32_t changes = 0;
    implied_moments_of(implying->judge.engine, row, &implying->moments);
    implying->lefts.count = 0;
    for (uint32_t i = 0; i < moments->count; i++) {
        enum left left = left_by(&implying->judge, row, parts, moments->list[i]);
        if (left == LEFT_UNSURE)
            return 0;
        *meets |= left == LEFT_MEETING;
        changes += left != LEFT_AS_IT_WAS;
        ISO_APPEND(implying->lefts, left);
    }
    return changes;
}

static bool is_said(struct implying *implying, bool is_returned)
{
    uint32_t i = 0, number = implying->said.count;
    while (implying->lefts.list[i] == LEFT_AS_IT_WAS)
        i++;
    uint64_t said = iso_number_pair(rowsets_transaction_at(implying->moments.list[i]), is_returned);
    return iso_number_map_add(&implying->said, said, number) != number;
}

static enum left initially(struct judge *judge, uint32_t row, iso_atom parts)
{
    see_before(judge, row, parts, 1);
    return decide(judge);
}

/* Puts what commits write to the row's key, if one of them leaves it so that it meets the
 * condition. A row in which nobody wrote the condition's columns has defaults that nobody knows. */
static uint32_t put_writes(struct implying *implying, uint32_t row, iso_atom parts,
                           bool is_returned)
{
    struct judge *judge = &implying->judge;
    bool meets = false;
    if (judge->engine->store.rows[row].candidates != ISO_NONE ||
        initially(judge, row, parts) != LEFT_OTHERWISE)
        return ROW_IS_UNSURE;
    uint32_t changes = find_lefts(implying, row, parts, &meets);
    if (!meets || !changes)
        return changes ? ROW_NEVER_MEETS : ROW_IS_UNSURE;
    if (changes == 1 && is_said(implying, is_returned))
        return ROW_IS_SAID;
    uint32_t key = key_of_row(implying, parts);
    for (uint32_t i = 0; i < implying->moments.count; i++) {
        bool is_met = implying->lefts.list[i] == LEFT_MEETING;
        if (implying->lefts.list[i] != LEFT_AS_IT_WAS)
            put(implying, rowsets_transaction_at(implying->moments.list[i]), ISO_NONE, key,
                is_met ? ISO_WRITE : ISO_DELETE, is_met ? 1 : ISO_ABSENT);
    }
    return key;
}

/* As nobody's own writes lie over it. */
static uint32_t key_beside(struct implying *implying, uint32_t row, iso_atom parts,
                           bool is_returned)
{
    struct rowsets_query *query = implying->judge.query, asked = *query;
    uint64_t pair = iso_number_pair(row, query->where);
    bool is_kept = iso_number_map_get(&implying->queries, query->where) > 1;
    uint32_t key = is_kept ? iso_number_map_get(&implying->keys, pair) : ISO_NUMBER_NONE;
    if (key != ISO_NUMBER_NONE)
        return key;
    query->own_count = 0;
    query->tid = ISO_ABSENT;
    key = put_writes(implying, row, parts, is_returned);
    query->own_count = asked.own_count;
    query->tid = asked.tid;
    if (is_kept && key != ROW_IS_SAID)
        iso_number_map_put(&implying->keys, pair, key);
    return key;
}

/* ---- what a query reads ---- */

enum own { NOT_OWN, OWN_IS_OUT, OWN_IS_IN, OWN_IS_UNSURE };

/* Whether the transaction wrote a column of the condition, in the row as it was seen. */
static bool wrote_condition(const struct judge *judge)
{
    bool wrote = judge->row.is_reinserted;
    for (uint32_t s = 0; s < judge_where_columns(judge); s++)
        wrote |= is_of_rows(judge, s) && judge->row.cells[s].doubt != not_known.doubt;
    return wrote;
}

/* What the transaction's own writes of the row before the query say alone of whether it had to be
 * returned. Those of other columns leave it as it was. */
static enum own own_of(struct judge *judge, uint32_t row, iso_atom parts)
{
    judge_see_own(judge, row, parts);
    if (!judge->row.is_own)
        return NOT_OWN;
    if (judge->query->own_order)
        return OWN_IS_UNSURE;
    switch (decide(judge)) {
    case LEFT_MEETING:
        return OWN_IS_IN;
    case LEFT_OTHERWISE:
        return OWN_IS_OUT;
    default:
        return wrote_condition(judge) || !null_is_out(judge) ? OWN_IS_UNSURE : NOT_OWN;
    }
}

/* Reads go in front of the query's own: whether rows were found is read before what is in them. */
static uint32_t header_of(const struct implying *implying)
{
    const struct rowsets_query *query = implying->judge.query;
    return implying->history->txns.first_op[query->index] + query->operation;
}

static void read_row(struct implying *implying, uint32_t row, iso_atom parts, bool is_returned)
{
    struct judge *judge = &implying->judge;
    iso_truth covered = judge_covers(judge, row, parts);
    enum own own = own_of(judge, row, parts);
    if (iso_truth_outcomes(covered) == ISO_TRUTH_FALSE && !is_returned)
        return;
    if (own == (is_returned ? OWN_IS_IN : OWN_IS_OUT))
        return;
    bool is_known = own == NOT_OWN && iso_truth_outcomes(covered) == ISO_TRUTH_TRUE;
    uint32_t key = is_known ? key_beside(implying, row, parts, is_returned) : ROW_IS_UNSURE;
    if (key == ROW_NEVER_MEETS && is_returned)
        key = key_of_row(implying, parts);
    implying->is_unsure |= key == ROW_IS_UNSURE;
    if (key < ROW_IS_SAID)
        put(implying, judge->query->index, header_of(implying), key, ISO_READ,
            is_returned ? 1 : ISO_ABSENT);
}

static void read_other(struct judge *judge, uint32_t row, iso_atom parts)
{
    struct implying *implying = (struct implying *)judge;
    implying->is_unsure |= ++implying->looked_at > judge->engine->options.scan_limit;
    if (!implying->is_unsure && iso_number_map_get(&implying->returned, parts) == ISO_NUMBER_NONE)
        read_row(implying, row, parts, false);
}

/* Rows that were returned are read by their own keys; what is left of them is the condition. */
static void read_returned(struct implying *implying)
{
    const struct rowsets_query *query = implying->judge.query;
    for (uint32_t i = 0; i < query->row_count; i++) {
        uint32_t row =
            rowsets_find_row(implying->judge.engine, implying->judge.table, query->rows[i]);
        iso_number_map_put(&implying->returned, query->rows[i], 0);
        if (query->where != ISO_ABSENT && row != ISO_NONE)
            read_row(implying, row, query->rows[i], true);
    }
}

static void imply_of_query(struct implying *implying, struct iso_rowsets *engine,
                           struct rowsets_query *query)
{
    struct judge *judge = &implying->judge;
    implying->is_unsure = !judge_open(judge, engine, query) || query->returned != ISO_ABSENT;
    if (!implying->is_unsure) {
        read_returned(implying);
        judge_choose_access(judge);
        implying->looked_at = 0;
        if (!query->is_partial)
            judge_visit_matches(judge, read_other);
        iso_number_map_clear(&implying->returned);
        iso_number_map_clear(&implying->said);
    }
    implying->history->ranges.not_implied += implying->is_unsure;
    judge_close(judge);
    rowsets_free_query(query);
}

static void count_queries(struct implying *implying, const struct iso_rowsets *engine)
{
    for (uint32_t i = 0; i < engine->waiting.queue.count; i++) {
        const struct rowsets_query *query =
            (const void *)(uintptr_t)engine->waiting.queue.items[i].value;
        uint32_t count = iso_number_map_add(&implying->queries, query->where, 0);
        iso_number_map_put(&implying->queries, query->where, count + 1);
    }
}

void imply_any_order(struct iso_rowsets *engine, struct iso_history *history)
{
    struct implying implying = {.history = history};
    count_queries(&implying, engine);
    while (engine->waiting.queue.count)
        imply_of_query(
            &implying, engine,
            (struct rowsets_query *)(uintptr_t)iso_heap_pop(&engine->waiting.queue).value);
    history_add(history, &implying.additions);
    history_additions_release(&implying.additions);
    iso_number_map_release(&implying.queries);
    iso_number_map_release(&implying.keys);
    iso_number_map_release(&implying.returned);
    iso_number_map_release(&implying.said);
    ISO_FREE_ALL(implying.moments.list, implying.lefts.list);
}
