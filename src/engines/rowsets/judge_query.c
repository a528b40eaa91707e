/* One query, once its moment is past. */
#define _GNU_SOURCE
#include <assert.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/sorted.h"
#include "rowsets/judged_private.h"

void judge_doubt(struct judge *judge, uint32_t reasons, uint64_t rows)
{
    judge->reasons |= reasons;
    judge->doubtful_rows += rows;
}

/* ---- reports ---- */

static struct iso_rowsets_party party_of(const struct rowsets_query *query,
                                         struct iso_json_text tid)
{
    return (struct iso_rowsets_party){.tid = tid, .origin = query->origin, .index = query->index};
}

static void report(struct judge *judge, struct iso_rowsets_finding *finding, iso_atom parts)
{
    struct iso_rowsets *engine = judge->engine;
    char tid[ISO_ATOM_TEXT_MAX], table[ISO_ATOM_TEXT_MAX], row[ISO_ATOM_TEXT_MAX];
    struct iso_text key = {0};
    finding->state = judge->is_retracting ? ISO_ROWSETS_RETRACTED
                     : judge->is_early    ? ISO_ROWSETS_BY_DEADLINE
                                          : ISO_ROWSETS_FINAL;
    finding->is_promised =
        judge->engine->time.ended || (judge->engine->time.has_watermark &&
                                      judge->engine->time.watermark + 1 >= judge->query->bound);
    finding->transaction =
        party_of(judge->query, rowsets_text(&engine->atoms, judge->query->tid, tid));
    finding->operation = judge->query->operation;
    finding->step = judge->query->step;
    finding->sts = judge->query->sts;
    finding->cts = judge->query->ends;
    finding->table = rowsets_text(&engine->atoms, judge->query->table, table);
    finding->bound = judge->query->bound;
    if (!judge->query->is_range) {
        iso_text_put_bytes(&key, finding->table.at, finding->table.length);
        iso_text_put(&key, parts == ISO_ABSENT ? "#" : "/");
    }
    if (parts != ISO_ABSENT) {
        struct iso_json_text text = rowsets_text(&engine->atoms, parts, row);
        iso_text_put_bytes(&key, text.at, text.length);
    }
    finding->key = (struct iso_json_text){key.bytes, key.used};
    engine->stats.missing_rows += finding->kind == ISO_MISSING_ROW && !judge->is_retracting;
    engine->stats.extra_rows += finding->kind == ISO_EXTRA_ROW && !judge->is_retracting;
    engine->stats.aggregates += finding->kind == ISO_AGGREGATE && !judge->is_retracting;
    engine->options.on_finding(iso_rowsets_reports(&engine->options), finding);
    iso_text_release(&key);
}

void judge_report(struct judge *judge, struct iso_rowsets_finding *finding)
{
    report(judge, finding, ISO_ABSENT);
}

static bool contains(const iso_atom *list, uint32_t count, iso_atom parts)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == parts)
            return true;
    return false;
}

static bool was_emitted(const struct rowsets_query *query, iso_atom parts)
{
    return contains(query->emitted, query->emitted_count, parts);
}

static void report_row(struct judge *judge, enum iso_violation_kind kind)
{
    const struct judge_row *row = &judge->row;
    assert(!judge->query->is_range || row->row != ISO_NONE);
    struct rowsets_query *query = judge->query;
    char buffer[ISO_ATOM_TEXT_MAX];
    if (was_emitted(query, row->parts))
        return;
    ISO_PUSH(query->emitted, query->emitted_count, query->emitted_capacity, row->parts);
    if (contains(judge->reported.rows, judge->reported.row_count, row->parts))
        return;
    struct iso_rowsets_finding finding = {
        .axiom = row->is_own ? ISO_INT : ISO_EXT, .kind = kind, .rows = 1};
    iso_atom parts = row->parts;
    finding.writer =
        rowsets_text(&judge->engine->atoms, row->writer ? row->writer->tid : ISO_ABSENT, buffer);
    judge->texts.json.used = 0;
    if (judge->query->is_range) {
        finding.value.atoms =
            judge->engine->store.rows[row->row].is_list ? NULL : &judge->engine->atoms;
        finding.value.atom = row->there.value;
    } else {
        judge_put_row(judge, &judge->texts.json);
        finding.expected = (struct iso_json_text){judge->texts.json.bytes, judge->texts.json.used};
    }
    if (kind == ISO_EXTRA_ROW)
        finding.actual = (struct iso_json_text){"true", 4};
    report(judge, &finding, parts);
}

/* ---- rows ---- */

/* It is wrong, unless it is not known: whether the transaction wrote before it read, or what
 * another one did. */
void judge_fault_of(struct judge *judge, enum judge_fault fault)
{
    assert(fault != JUDGE_CHANGED);
    if (fault == JUDGE_MISSING && judge->is_altered)
        judge_doubt(judge, 1u << ISO_UNJUDGED_DDL, 1);
    else if (judge->row.is_own && judge->query->own_order)
        judge_doubt(judge, 1u << ISO_UNJUDGED_OWN_ORDER, 1);
    else if (judge_excuses(judge, fault))
        judge_doubt(judge, 1u << ISO_UNJUDGED_UNKNOWN_WRITER, 1);
    else
        report_row(judge, fault == JUDGE_MISSING ? ISO_MISSING_ROW : ISO_EXTRA_ROW);
}

/* One that was returned: whether it was there is for the engines that judge reads. */
static void judge_returned_row(struct judge *judge, iso_atom parts)
{
    judge_see(judge, rowsets_find_row(judge->engine, judge->table, parts), parts);
    struct judge_outcome outcome = judge_decide(judge, judge->row.there, judge->row.cells);
    if (outcome.there == ISO_TRUTH_FALSE)
        return;
    if (outcome.matches == ISO_TRUTH_FALSE && outcome.there == ISO_TRUTH_TRUE)
        judge_fault_of(judge, JUDGE_EXTRA);
    else if (outcome.matches != ISO_TRUTH_TRUE)
        judge_doubt(judge, outcome.reasons, 1);
}

bool judge_was_returned(const struct rowsets_query *query, iso_atom parts)
{
    uint32_t low = 0, high = query->row_count;
    assert(high < 2 || query->rows[0] <= query->rows[high - 1]);
    ISO_BISECT(low, high, middle, query->rows[middle] < parts);
    return low < query->row_count && query->rows[low] == parts;
}

/* At ser, among transactions of one commit timestamp, who did not find a key stands before who
 * wrote it there. */
static bool shares_commit(const struct judge *judge, uint32_t row)
{
    const struct iso_rowsets *engine = judge->engine;
    const struct rowsets_query *query = judge->query;
    if (engine->options.level != ISO_SER || query->is_point || row == ISO_NONE)
        return false;
    const struct rowsets_cell *own = &engine->store.cells[engine->store.rows[row].cells];
    for (uint32_t v = own->count;
         v > 0 && engine->store.versions[own->first + v - 1].cts >= query->cts; v--)
        if (engine->store.versions[own->first + v - 1].cts == query->cts)
            return true;
    return false;
}

/* Any other row. */
static void judge_other_row(struct judge *judge, uint32_t row, iso_atom parts)
{
    if (!judge_counts(judge) && judge_was_returned(judge->query, parts))
        return;
    if (judge->query->is_range && shares_commit(judge, row))
        judge_doubt(judge, 1u << ISO_UNJUDGED_ROW_SETS, 0);
    judge_see(judge, row, parts);
    struct judge_outcome outcome = judge_decide(judge, judge->row.there, judge->row.cells);
    judge->scope.looked_at += outcome.there != ISO_TRUTH_FALSE;
    if (outcome.there == ISO_TRUTH_FALSE || outcome.matches == ISO_TRUTH_FALSE)
        return;
    if (judge_counts(judge))
        judge_count_row(judge, &outcome);
    else if (outcome.there == ISO_TRUTH_TRUE && outcome.matches == ISO_TRUTH_TRUE)
        judge_fault_of(judge, JUDGE_MISSING);
    else
        judge_doubt(judge, outcome.reasons, 1);
}

static void count_other_row(struct judge *judge, uint32_t row, iso_atom parts)
{
    if (!judge_counts(judge) && judge_was_returned(judge->query, parts))
        return;
    judge_see(judge, row, parts);
    if (judge->row.there.doubt || judge->row.there.value != ISO_ABSENT)
        judge->scope.counted += iso_truth_outcomes(judge->row.covered) != ISO_TRUTH_FALSE;
}

/* Rows that were there count, not those that were, or will be. */
static bool is_within_limit(struct judge *judge)
{
    uint64_t limit = judge->engine->options.scan_limit;
    if (judge_count_rows(judge, limit) <= limit)
        return true;
    judge_visit_matches(judge, count_other_row);
    return judge->scope.counted <= limit;
}

/* With an unknown order of own writes each of the transaction's own rows may hold any of its
 * values. */
static void doubt_own_rows(struct judge *judge)
{
    if (judge->query->own_order && judge->query->own_count && judge_counts(judge))
        judge_doubt(judge, 1u << ISO_UNJUDGED_OWN_ORDER, 0);
}

/* All that a range of plain keys returned is a read, so only rows that it did not return are
 * judged. */
static void judge_range(struct judge *judge)
{
    const struct rowsets_table *table = &judge->engine->store.tables[judge->table];
    if (!table->is_whole)
        judge_doubt(judge, 1u << ISO_UNJUDGED_BEFORE_START, 0);
    rowsets_order_narrow_plain(judge->engine, table, judge->query->from, judge->query->to,
                               &judge->scope.from, &judge->scope.to);
    if (is_within_limit(judge))
        judge_visit_matches(judge, judge_other_row);
    else
        judge_doubt(judge, 1u << ISO_UNJUDGED_SCAN_LIMIT, 0);
}

/* Rows may have come into being of which nobody knows. */
static bool is_lost(const struct judge *judge)
{
    uint64_t lost = judge->engine->store.tables[judge->table].lost;
    return lost && lost < judge->query->bound;
}

static void tell_scan(const struct judge *judge)
{
    enum { FEW = 64 };
    const struct iso_rowsets *engine = judge->engine;
    char table[ISO_ATOM_TEXT_MAX], where[ISO_ATOM_TEXT_MAX];
    uint64_t rows = judge_count_rows(judge, UINT64_MAX);
    if (judge->asked.where && !judge->scope.is_indexed && rows > FEW)
        iso_scans_note(engine->options.scans,
                       rowsets_text(&engine->atoms, judge->query->table, table),
                       rowsets_text(&engine->atoms, judge->query->where, where), rows);
}

static void judge_rows(struct judge *judge)
{
    const struct rowsets_query *query = judge->query;
    if (query->is_range) {
        judge_range(judge);
        return;
    }
    for (uint32_t i = 0; i < query->row_count; i++)
        if (!i || query->rows[i] != query->rows[i - 1])
            judge_returned_row(judge, query->rows[i]);
    if (query->is_partial && !judge->returned.has_bag)
        return;
    if (judge_counts(judge) && !judge->engine->store.tables[judge->table].is_whole) {
        judge_doubt(judge, 1u << ISO_UNJUDGED_BEFORE_START, 0);
        return;
    }
    if (judge_counts(judge) && judge->is_altered) {
        judge_doubt(judge, 1u << ISO_UNJUDGED_DDL, 0);
        return;
    }
    if (judge_counts(judge) && is_lost(judge)) {
        judge_doubt(judge, 1u << ISO_UNJUDGED_INCOMPLETE, 0);
        return;
    }
    doubt_own_rows(judge);
    if (judge_counts(judge) && judge->reasons)
        return;
    rowsets_order_narrow(judge->engine, &judge->engine->store.tables[judge->table],
                         judge->asked.has_bounds ? &judge->asked.bounds : NULL, &judge->scope.from,
                         &judge->scope.to);
    judge_choose_access(judge);
    if (judge->engine->options.scans)
        tell_scan(judge);
    if (!is_within_limit(judge)) {
        judge_doubt(judge, 1u << ISO_UNJUDGED_SCAN_LIMIT, 0);
        return;
    }
    judge_visit_matches(judge, judge_other_row);
    judge_returned(judge);
}

/* ---- making ready ---- */

static void read_key(struct judge *judge)
{
    const struct iso_rowsets *engine = judge->engine;
    const struct iso_rowsets_options *options = &engine->options;
    char buffer[ISO_ATOM_TEXT_MAX];
    judge->asked.key.parts = 0;
    if (options->key_of)
        options->key_of(options->context, rowsets_text(&engine->atoms, judge->query->table, buffer),
                        &judge->asked.key);
}

static uint32_t count_parts(struct iso_json_text text)
{
    struct iso_json_text part;
    uint32_t count = 0;
    while (iso_key_take_part(&text, &part))
        count++;
    return count;
}

static bool is_integer(const struct iso_bound *bound)
{
    return !bound->count || bound->parts[0].kind == ISO_SCALAR_INTEGER;
}

/* Applies to a key of one part whose integers are in order of size, whatever else stands there. */
static void find_integers(struct judge *judge)
{
    const struct iso_bounds *bounds = &judge->asked.bounds;
    uint8_t kind = bounds->types[0].value.kind;
    judge->asked.of_integers = bounds->part_count == 1 &&
                               (kind == ISO_VALUE_UNKNOWN || kind == ISO_VALUE_INTEGER) &&
                               is_integer(&bounds->from) && is_integer(&bounds->to);
    judge->asked.least =
        judge->asked.of_integers && bounds->from.count ? bounds->from.parts[0].number : INT64_MIN;
    judge->asked.most =
        judge->asked.of_integers && bounds->to.count ? bounds->to.parts[0].number : INT64_MAX;
}

/* False: they are not what the key has. */
static bool read_bounds(struct judge *judge)
{
    struct iso_scalar_type unknown[ISO_KEY_PARTS] = {{.text = ISO_TEXT_COLLATED}};
    const struct iso_rowsets *engine = judge->engine;
    const struct rowsets_table *table = &engine->store.tables[judge->table];
    struct iso_error error = ISO_NO_ERROR;
    char from[ISO_ATOM_TEXT_MAX], to[ISO_ATOM_TEXT_MAX], buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text low = rowsets_text(&engine->atoms, judge->query->from, from);
    struct iso_json_text high = rowsets_text(&engine->atoms, judge->query->to, to);
    uint32_t parts = judge->asked.key.parts ? judge->asked.key.parts : table->part_count;
    judge->asked.has_bounds = low.at || high.at;
    if (!judge->asked.has_bounds)
        return true;
    for (uint32_t i = 0; i < ISO_KEY_PARTS; i++)
        unknown[i].text = (uint8_t)engine->options.texts;
    if (!parts && judge->query->own_count)
        parts = count_parts(rowsets_text(&engine->atoms, judge->query->owns[0].parts, buffer));
    if (!parts)
        parts = count_parts(low) > count_parts(high) ? count_parts(low) : count_parts(high);
    if (parts <= ISO_KEY_PARTS &&
        iso_bounds_read(&judge->asked.bounds,
                        judge->asked.key.parts ? judge->asked.key.types : unknown, parts, low, high,
                        &error) == ISO_OK) {
        find_integers(judge);
        return true;
    }
    judge->asked.has_bounds = false;
    return false;
}

static bool read_where(struct judge *judge)
{
    if (judge->query->where == ISO_ABSENT)
        return true;
    struct rowsets_condition *kept = rowsets_condition(judge->engine, judge->query->where);
    const struct iso_condition *where = &kept->condition;
    if (kept->is_wrong)
        return false;
    for (uint32_t i = 0; i < where->column_count; i++)
        judge_add_slot(judge, where->columns[i].name, where->columns[i].is_exact);
    struct iso_scalar_type types[ISO_CONDITION_COLUMNS];
    assert(judge->asked.slot_count <= ISO_CONDITION_COLUMNS);
    for (uint32_t i = 0; i < judge->asked.slot_count; i++)
        types[i] = judge->asked.slots[i].type;
    rowsets_bind_condition(kept, types);
    for (uint32_t i = 0; i < where->column_count; i++)
        judge->asked.slots[i].is_integer |= where->columns[i].meets_numbers;
    judge->asked.where = where;
    return true;
}

static bool is_altered(const struct rowsets_table *table, const struct rowsets_query *query)
{
    for (uint32_t i = 0; i < table->altered_count; i++)
        if (query->bound <= table->altered[i] && table->altered[i] < query->cts)
            return true;
    return false;
}

static bool is_sorted(const iso_atom *atoms, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (atoms[i - 1] > atoms[i])
            return false;
    return true;
}

ISO_ORDER_BY_TWO(compare_owns, struct rowsets_own, parts, column)

/* Room for the slots of a row. */
static void make_cells(struct judge *judge)
{
    struct rowsets_room *room = &judge->room;
    uint32_t width = judge->asked.slot_count + 1;
    if (width > room->width) {
        room->cells = iso_reallocate(room->cells, width * sizeof *room->cells);
        room->scalars = iso_reallocate(room->scalars, width * sizeof *room->scalars);
        room->width = width;
    }
    memset(room->cells, 0, width * sizeof *room->cells);
    memset(room->scalars, 0, width * sizeof *room->scalars);
    judge->row.cells = room->cells;
    judge->scalars = room->scalars;
}

static bool make_ready(struct judge *judge)
{
    struct rowsets_query *query = judge->query;
    if (!is_sorted(query->rows, query->row_count))
        qsort(query->rows, query->row_count, sizeof *query->rows, iso_order_u32);
    if (query->own_count > 1)
        qsort(query->owns, query->own_count, sizeof *query->owns, compare_owns);
    if (!query->is_range)
        read_key(judge);
    bool fine =
        query->is_range || (read_where(judge) && read_bounds(judge) && judge_read_returned(judge));
    make_cells(judge);
    judge->is_altered = is_altered(&judge->engine->store.tables[judge->table], query);
    return fine;
}

void rowsets_release_room(struct rowsets_room *room)
{
    ISO_FREE_ALL(room->slots, room->lists, room->cells, room->scalars);
}

static void release(struct judge *judge)
{
    if (judge->query->returned != ISO_ABSENT)
        judge_release_returned(judge);
    iso_json_release(&judge->texts.reader);
    if (judge->asked.bounds.part_count)
        iso_bounds_release(&judge->asked.bounds);
    rowsets_release_room(&judge->engine->room);
    judge->engine->room = judge->room;
    iso_text_release(&judge->texts.room);
    iso_text_release(&judge->texts.parts);
    iso_text_release(&judge->texts.json);
}

/* ---- the whole ---- */

void judge_conclude(struct judge *judge)
{
    struct iso_rowsets *engine = judge->engine;
    char tid[ISO_ATOM_TEXT_MAX], table[ISO_ATOM_TEXT_MAX];
    if (!judge->reasons) {
        engine->stats.judged++;
        return;
    }
    enum iso_unjudged first = (enum iso_unjudged)__builtin_ctz(judge->reasons);
    assert(first < ISO_UNJUDGED_REASONS);
    engine->stats.unjudged++;
    engine->stats.unjudged_ranges += judge->query->is_range;
    engine->stats.reasons[first]++;
    struct iso_rowsets_unjudged unjudged = {
        .transaction = party_of(judge->query, rowsets_text(&engine->atoms, judge->query->tid, tid)),
        .operation = judge->query->operation,
        .table = rowsets_text(&engine->atoms, judge->query->table, table),
        .reason = first,
        .reasons = judge->reasons,
        .rows = judge->doubtful_rows};
    if (engine->options.on_unjudged)
        engine->options.on_unjudged(iso_rowsets_reports(&engine->options), &unjudged);
}

static void start(struct judge *judge, struct iso_rowsets *engine, struct rowsets_query *query)
{
    assert(query->table_number < engine->store.table_count);
    *judge = (struct judge){
        .engine = engine, .query = query, .table = query->table_number, .blocker = ISO_NONE};
    judge->room = engine->room;
    engine->room = (struct rowsets_room){0};
    iso_json_init(&judge->texts.reader);
}

bool judge_open(struct judge *judge, struct iso_rowsets *engine, struct rowsets_query *query)
{
    start(judge, engine, query);
    bool is_ready = make_ready(judge);
    rowsets_order_narrow(engine, &engine->store.tables[judge->table],
                         judge->asked.has_bounds ? &judge->asked.bounds : NULL, &judge->scope.from,
                         &judge->scope.to);
    if (!is_ready || !is_within_limit(judge))
        judge_doubt(judge, 1u << (is_ready ? ISO_UNJUDGED_SCAN_LIMIT : ISO_UNJUDGED_TYPE), 0);
    return !judge->reasons;
}

void judge_close(struct judge *judge)
{
    release(judge);
}

/* ---- what was found by a deadline ---- */

/* Findings from now on are a list of their own, beside those of the deadline. */
static void begin_again(struct judge *judge)
{
    struct rowsets_query *query = judge->query;
    assert(!judge->reported.rows);
    if (!query->turn.is_provisional)
        return;
    judge->reported.rows = query->emitted;
    judge->reported.row_count = query->emitted_count;
    judge->reported.aggregate = query->in_aggregate;
    judge->reported.bag = query->in_bag;
    query->emitted = NULL;
    query->emitted_count = query->emitted_capacity = 0;
    query->in_aggregate = query->in_bag = false;
}

static bool is_own_row(const struct rowsets_query *query, iso_atom parts)
{
    for (uint32_t i = 0; i < query->own_count; i++)
        if (query->owns[i].parts == parts)
            return true;
    return false;
}

static void retract(struct judge *judge, iso_atom parts, enum iso_violation_kind kind)
{
    bool is_own = parts != ISO_ABSENT && is_own_row(judge->query, parts);
    struct iso_rowsets_finding finding = {
        .axiom = is_own ? ISO_INT : ISO_EXT, .kind = kind, .rows = 1};
    judge->is_retracting = true;
    report(judge, &finding, parts);
    judge->is_retracting = false;
}

static void retract_what_is_right(struct judge *judge)
{
    const struct rowsets_query *query = judge->query;
    for (uint32_t i = 0; i < judge->reported.row_count; i++)
        if (!was_emitted(query, judge->reported.rows[i]))
            retract(judge, judge->reported.rows[i],
                    judge_was_returned(query, judge->reported.rows[i]) ? ISO_EXTRA_ROW
                                                                       : ISO_MISSING_ROW);
    if ((judge->reported.aggregate || judge->reported.bag) && !query->in_aggregate &&
        !query->in_bag)
        retract(judge, ISO_ABSENT, judge->reported.aggregate ? ISO_AGGREGATE : ISO_MISSING_ROW);
}

/* Whether versions that the query asks for are not kept any more. */
static bool is_forgotten(const struct iso_rowsets *engine, const struct rowsets_query *query)
{
    return engine->store.tables[query->table_number].is_given_up ||
           (engine->time.floor && query->bound <= engine->time.floor);
}

uint32_t rowsets_judge(struct iso_rowsets *engine, struct rowsets_query *query,
                       enum rowsets_finality finality)
{
    struct judge judge;
    start(&judge, engine, query);
    judge.is_last = finality == ROWSETS_LAST;
    judge.is_early = finality == ROWSETS_BY_DEADLINE;
    begin_again(&judge);
    if (engine->store.tables[query->table_number].is_given_up) {
        judge_doubt(&judge, 1u << ISO_UNJUDGED_MEMORY, 0);
    } else if (is_forgotten(engine, query)) {
        engine->stats.late++;
        judge_doubt(&judge, 1u << ISO_UNJUDGED_BEFORE_START, 0);
    } else if (make_ready(&judge)) {
        judge_rows(&judge);
    } else {
        judge_doubt(&judge, 1u << ISO_UNJUDGED_TYPE, 0);
    }
    if (!is_forgotten(engine, query))
        retract_what_is_right(&judge);
    iso_free(judge.reported.rows);
    engine->stats.looked_at += judge.scope.looked_at;
    uint32_t blocker = judge.is_last ? ISO_NONE : judge.blocker;
    ISO_LOG(rowsets, &engine->atoms, query->tid,
            "query of operation %" PRIu32 ": %" PRIu32 " rows reported, reasons for doubt %#x%s",
            query->operation, query->emitted_count, judge.reasons,
            blocker == ISO_NONE ? "" : ", waits for an outcome");
    if (blocker == ISO_NONE && !judge.is_early)
        judge_conclude(&judge);
    release(&judge);
    return blocker;
}
