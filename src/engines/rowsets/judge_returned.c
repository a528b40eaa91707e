/* Answers without rows' keys: aggregates, and rows as lists of columns. */
#define _GNU_SOURCE
#include <assert.h>
#include <string.h>

#include "rowsets/judged_private.h"
#include "values/spelling.h"

enum { MOST_PAIRS = 10000 };

/* ---- columns ---- */

static uint32_t find_column(const struct judge *judge, struct iso_json_text name, bool is_exact)
{
    const struct iso_rowsets *engine = judge->engine;
    const struct rowsets_table *table = &engine->store.tables[judge->table];
    const struct iso_condition_column sought = {.name = name, .is_exact = is_exact};
    uint32_t found = ISO_NONE;
    char buffer[ISO_ATOM_TEXT_MAX];
    for (uint32_t column = 1; column < table->column_count; column++) {
        if (!iso_condition_column_is(
                &sought, rowsets_text(&engine->atoms, table->columns[column].name, buffer)))
            continue;
        if (found != ISO_NONE)
            return ISO_NONE; /* two of one name but for the case of letters */
        found = column;
    }
    return found;
}

static uint32_t find_part(const struct judge *judge, struct iso_json_text name, bool is_exact)
{
    const struct iso_condition_column sought = {.name = name, .is_exact = is_exact};
    for (uint32_t part = 0; part < judge->asked.key.parts; part++)
        if (judge->asked.key.columns[part].at &&
            iso_condition_column_is(&sought, judge->asked.key.columns[part]))
            return part;
    return ISO_NONE;
}

uint32_t judge_add_slot(struct judge *judge, struct iso_json_text name, bool is_exact)
{
    const struct iso_rowsets *engine = judge->engine;
    const struct iso_rowsets_options *options = &engine->options;
    char table[ISO_ATOM_TEXT_MAX], buffer[ISO_ATOM_TEXT_MAX];
    ISO_GROW(judge->room.slots, judge->asked.slot_count, judge->room.slots_capacity);
    judge->asked.slots = judge->room.slots;
    struct judge_slot *slot = &judge->asked.slots[judge->asked.slot_count];
    *slot = (struct judge_slot){.column = find_column(judge, name, is_exact), .part = ISO_NONE};
    if (slot->column == ISO_NONE)
        slot->part = find_part(judge, name, is_exact);
    else
        name = rowsets_text(&engine->atoms,
                            engine->store.tables[judge->table].columns[slot->column].name, buffer);
    slot->type.text = (uint8_t)options->texts;
    if (slot->part != ISO_NONE)
        slot->type = judge->asked.key.types[slot->part];
    else if (options->type_of)
        slot->type = options->type_of(
            options->context, rowsets_text(&engine->atoms, judge->query->table, table), name);
    slot->is_integer = slot->type.value.kind == ISO_VALUE_INTEGER;
    return judge->asked.slot_count++;
}

/* ---- reading ---- */

/* A number, a boolean, a text; `at` NULL: null. */
static bool read_reported(struct iso_json *json, struct iso_json_text *reported)
{
    *reported = (struct iso_json_text){NULL, 0};
    enum iso_json_type type = iso_json_peek(json);
    if (type == ISO_JSON_STRING)
        return iso_json_string(json, reported);
    const char *at = json->at;
    bool fine = type != ISO_JSON_OBJECT && type != ISO_JSON_ARRAY && iso_json_skip(json);
    if (fine && type != ISO_JSON_NULL)
        *reported = (struct iso_json_text){at, (size_t)(json->at - at)};
    return fine;
}

static bool read_aggregate(struct judge *judge, struct iso_json_text name)
{
    struct iso_error error = ISO_NO_ERROR;
    ISO_GROW(judge->returned.aggregates, judge->returned.aggregate_count,
             judge->returned.aggregate_capacity);
    struct judge_aggregate *aggregate =
        &judge->returned.aggregates[judge->returned.aggregate_count];
    *aggregate = (struct judge_aggregate){.name = name, .slot = ISO_NONE};
    if (iso_aggregate_parse(&aggregate->aggregate, name.at, name.length, &error) != ISO_OK)
        return false;
    judge->returned.aggregate_count++;
    if (aggregate->aggregate.kind != ISO_AGGREGATE_ROWS)
        aggregate->slot = judge_add_slot(judge, aggregate->aggregate.column.name,
                                         aggregate->aggregate.column.is_exact);
    iso_aggregation_init(&aggregate->total, &aggregate->aggregate,
                         aggregate->slot == ISO_NONE
                             ? (struct iso_scalar_type){.text = ISO_TEXT_COLLATED}
                             : judge->asked.slots[aggregate->slot].type);
    if (iso_json_peek(&judge->texts.reader) == ISO_JSON_DIGITS)
        iso_aggregation_of_numbers(&aggregate->total);
    return read_reported(&judge->texts.reader, &aggregate->reported);
}

static void put_reported(struct judge *judge, struct iso_text *text, struct iso_scalar_type type,
                         struct iso_json_text reported)
{
    size_t start = judge->texts.room.used;
    if (!reported.at) {
        iso_text_put(text, "null");
    } else if (iso_value_spell(type.value, reported, &judge->texts.room)) {
        iso_text_put_string(text, judge->texts.room.bytes + start, judge->texts.room.used - start);
        judge->texts.room.used = start;
    } else {
        iso_text_put_string(text, reported.at, reported.length);
    }
}

static void end_bag_row(struct judge_bag *bag, size_t start)
{
    iso_text_put(&bag->text, "]");
    ISO_PUSH(bag->spans, bag->count, bag->capacity,
             iso_number_pair((uint32_t)start, (uint32_t)(bag->text.used - start)));
}

static bool read_bag(struct judge *judge)
{
    struct iso_json *json = &judge->texts.reader;
    struct judge_bag *bag = &judge->returned.bag;
    struct iso_json_text reported;
    for (iso_json_enter_array(json); iso_json_element(json);) {
        size_t start = bag->text.used;
        uint32_t at = 0;
        iso_text_put(&bag->text, "[");
        if (!iso_json_enter_array(json))
            return false;
        for (; iso_json_element(json); at++) {
            if (at == bag->column_count || !read_reported(json, &reported))
                return false;
            iso_text_put(&bag->text, at ? "," : "");
            put_reported(judge, &bag->text, judge->asked.slots[bag->first_slot + at].type,
                         reported);
        }
        end_bag_row(bag, start);
        if (at != bag->column_count || bag->text.used > UINT32_MAX / 2)
            return false;
    }
    bag->reported = bag->count;
    return true;
}

static bool read_columns(struct judge *judge)
{
    struct iso_json *json = &judge->texts.reader;
    struct iso_json_text name;
    judge->returned.has_bag = true;
    judge->returned.bag.first_slot = judge->asked.slot_count;
    for (iso_json_enter_array(json); iso_json_element(json); judge->returned.bag.column_count++) {
        if (!iso_json_string(json, &name))
            return false;
        judge_add_slot(judge, name, false);
    }
    return true;
}

bool judge_read_returned(struct judge *judge)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json *json = &judge->texts.reader;
    struct iso_json_text text = rowsets_text(&judge->engine->atoms, judge->query->returned, buffer),
                         name;
    if (!text.at)
        return true;
    iso_text_reserve(&judge->texts.returned, text.length + ISO_JSON_PADDING);
    iso_text_put_bytes(&judge->texts.returned, text.at, text.length);
    memset(judge->texts.returned.bytes + text.length, 0, ISO_JSON_PADDING);
    iso_json_start(json, judge->texts.returned.bytes, text.length);
    bool fine = iso_json_enter_object(json);
    while (fine && iso_json_member(json, &name)) {
        if (iso_json_is(&name, "columns"))
            fine = read_columns(judge);
        else if (iso_json_is(&name, "bag"))
            fine = judge->returned.has_bag && !judge->returned.bag.reported && read_bag(judge);
        else
            fine = read_aggregate(judge, name);
    }
    judge->returned.has_aggregates = !judge->returned.has_bag;
    return fine && iso_json_finish(json) &&
           !(judge->returned.has_bag && judge->returned.aggregate_count);
}

/* ---- rows that match ---- */

/* A number's text stands in a buffer, which the next row overwrites: that of the slot, or of the
 * key. */
void judge_keep_text(struct judge *judge, uint32_t slot, struct iso_scalar *scalar)
{
    assert(slot < judge->asked.slot_count);
    bool is_text = scalar->kind == ISO_SCALAR_TEXT || scalar->kind == ISO_SCALAR_UNTYPED ||
                   scalar->kind == ISO_SCALAR_BYTES || scalar->kind == ISO_SCALAR_TOKEN ||
                   scalar->kind == ISO_SCALAR_JSON || scalar->kind == ISO_SCALAR_DECIMAL;
    bool is_part =
        judge->asked.slots[slot].column == ISO_NONE && judge->asked.slots[slot].part != ISO_NONE;
    iso_atom value = is_part ? judge->row.parts : judge->row.cells[slot].value;
    if (!is_text || value == ISO_ABSENT || iso_atom_is_string(&judge->engine->atoms, value))
        return;
    ISO_GROW(judge->returned.copies, judge->returned.copy_count, judge->returned.copy_capacity);
    scalar->text = judge->returned.copies[judge->returned.copy_count++] =
        iso_copy_text(scalar->text, scalar->length);
}

static void count_in_aggregates(struct judge *judge, const struct judge_outcome *outcome)
{
    bool certain = outcome->there == ISO_TRUTH_TRUE && outcome->matches == ISO_TRUTH_TRUE;
    for (uint32_t i = 0; i < judge->returned.aggregate_count; i++) {
        struct judge_aggregate *aggregate = &judge->returned.aggregates[i];
        struct iso_scalar scalar = iso_scalar_of_kind(ISO_SCALAR_NULL);
        if (!certain) {
            iso_aggregation_doubt(&aggregate->total, ISO_PREDICATE_UNKNOWN);
            continue;
        }
        if (aggregate->slot != ISO_NONE) {
            struct judge_cell cell = judge->row.cells[aggregate->slot];
            scalar = judge_scalar(judge, aggregate->slot, cell);
            if (aggregate->aggregate.kind >= ISO_AGGREGATE_MIN)
                judge_keep_text(judge, aggregate->slot, &scalar);
            if (scalar.kind == ISO_SCALAR_UNKNOWN)
                judge->reasons |= 1u << (cell.doubt ? cell.doubt - 1 : ISO_UNJUDGED_UNKNOWN_VALUE);
        }
        iso_aggregation_add(&aggregate->total, &scalar);
    }
}

static void count_in_bag(struct judge *judge)
{
    struct judge_bag *bag = &judge->returned.bag;
    size_t start = bag->text.used;
    char buffer[ISO_ATOM_TEXT_MAX];
    iso_text_put(&bag->text, "[");
    for (uint32_t i = 0; i < bag->column_count; i++) {
        uint32_t slot = bag->first_slot + i;
        struct judge_cell cell = judge->row.cells[slot];
        bool is_part = judge->asked.slots[slot].column == ISO_NONE &&
                       judge->asked.slots[slot].part != ISO_NONE;
        struct iso_json_text plain = rowsets_text(&judge->engine->atoms, cell.value, buffer);
        if (is_part || cell.doubt) {
            judge_doubt(judge, 1u << (cell.doubt ? cell.doubt - 1 : ISO_UNJUDGED_COLUMN), 1);
            bag->text.used = start;
            return;
        }
        iso_text_put(&bag->text, i ? "," : "");
        if (plain.at)
            iso_text_put_string(&bag->text, plain.at, plain.length);
        else
            iso_text_put(&bag->text, "null");
    }
    end_bag_row(bag, start);
}

void judge_count_row(struct judge *judge, const struct judge_outcome *outcome)
{
    bool never = outcome->there == ISO_TRUTH_FALSE || outcome->matches == ISO_TRUTH_FALSE;
    bool certain = outcome->there == ISO_TRUTH_TRUE && outcome->matches == ISO_TRUTH_TRUE;
    if (never)
        return;
    if (!certain)
        judge_doubt(judge, outcome->reasons, 1);
    if (judge->returned.has_aggregates)
        count_in_aggregates(judge, outcome);
    else if (certain && judge->returned.bag.text.used < UINT32_MAX / 2)
        count_in_bag(judge);
}

/* ---- the answer ---- */

static void put_member(struct iso_text *text, const struct judge_aggregate *aggregate,
                       const char *value, size_t length, bool quoted)
{
    iso_text_put(text, text->used > 1 ? "," : "");
    iso_text_put_string(text, aggregate->name.at, aggregate->name.length);
    iso_text_put(text, ":");
    if (!value)
        iso_text_put(text, "null");
    else if (quoted)
        iso_text_put_string(text, value, length);
    else
        iso_text_put_bytes(text, value, length);
}

static uint32_t reason_of(iso_truth truth)
{
    switch (iso_truth_reason(truth)) {
    case ISO_PREDICATE_TYPE:
        return 1u << ISO_UNJUDGED_TYPE;
    case ISO_PREDICATE_COLLATION:
        return 1u << ISO_UNJUDGED_COLLATION;
    case ISO_PREDICATE_SPELLING:
        return 1u << ISO_UNJUDGED_SPELLING;
    case ISO_PREDICATE_SIGN:
        return 1u << ISO_UNJUDGED_SIGN;
    default:
        return 0; /* of rows and cells, whose reasons are known */
    }
}

static struct iso_json_text json_of(const struct iso_text *text)
{
    return (struct iso_json_text){text->bytes, text->used};
}

static void judge_aggregates(struct judge *judge)
{
    struct iso_text expected = {0}, actual = {0}, value = {0};
    uint32_t wrong = 0;
    iso_text_put(&expected, "{");
    iso_text_put(&actual, "{");
    for (uint32_t i = 0; i < judge->returned.aggregate_count; i++) {
        struct judge_aggregate *aggregate = &judge->returned.aggregates[i];
        iso_truth truth = iso_aggregation_is(&aggregate->total, aggregate->reported);
        if (iso_truth_outcomes(truth) == ISO_TRUTH_TRUE)
            continue;
        if (iso_truth_outcomes(truth) != ISO_TRUTH_FALSE) {
            uint32_t reason = reason_of(truth);
            judge_doubt(judge, reason || judge->reasons ? reason : 1u << ISO_UNJUDGED_UNKNOWN_VALUE,
                        0);
            continue;
        }
        value.used = 0;
        bool has = iso_aggregation_put(&aggregate->total, &value);
        bool quoted = aggregate->aggregate.kind > ISO_AGGREGATE_DISTINCT;
        put_member(&expected, aggregate, has ? value.bytes : NULL, value.used, quoted);
        put_member(&actual, aggregate, aggregate->reported.at, aggregate->reported.length, quoted);
        wrong++;
    }
    iso_text_put(&expected, "}");
    iso_text_put(&actual, "}");
    if (wrong && judge_excuses_table(judge)) {
        judge_doubt(judge, 1u << ISO_UNJUDGED_UNKNOWN_WRITER, 0);
    } else if (wrong && !judge->query->in_aggregate) {
        struct iso_rowsets_finding finding = {.axiom = ISO_EXT,
                                              .kind = ISO_AGGREGATE,
                                              .expected = json_of(&expected),
                                              .actual = json_of(&actual),
                                              .rows = 1};
        judge->query->in_aggregate = true;
        if (!judge->reported.aggregate)
            judge_report(judge, &finding);
    }
    iso_text_release(&expected);
    iso_text_release(&actual);
    iso_text_release(&value);
}

static struct iso_json_text bag_row(const struct judge_bag *bag, uint64_t span)
{
    return (struct iso_json_text){bag->text.bytes + (span >> 32), (uint32_t)span};
}

static int compare_bag_rows(const void *left, const void *right, void *context)
{
    const struct judge_bag *bag = context;
    struct iso_json_text one = bag_row(bag, *(const uint64_t *)left),
                         other = bag_row(bag, *(const uint64_t *)right);
    size_t common = one.length < other.length ? one.length : other.length;
    int order = memcmp(one.at, other.at, common);
    return order ? order : (one.length > other.length) - (one.length < other.length);
}

/* Takes out of both sorted lists what is in both. */
static void take_common(const struct judge_bag *bag, uint64_t *reported, uint32_t *reported_count,
                        uint64_t *found, uint32_t *found_count)
{
    uint32_t i = 0, j = 0, reported_kept = 0, found_kept = 0;
    while (i < *reported_count || j < *found_count) {
        int order = i == *reported_count ? 1
                    : j == *found_count
                        ? -1
                        : compare_bag_rows(&reported[i], &found[j], (void *)(uintptr_t)bag);
        if (order < 0)
            reported[reported_kept++] = reported[i++];
        else if (order > 0)
            found[found_kept++] = found[j++];
        else
            i++, j++;
    }
    *reported_count = reported_kept;
    *found_count = found_kept;
}

/* Whether two rows may be one, spelt in two ways. */
static bool may_be_one(struct judge *judge, struct iso_json_text left, struct iso_json_text right)
{
    struct iso_json one, other;
    struct iso_json_text value, reported;
    struct iso_text texts[2] = {{0}, {0}};
    bool may = true;
    iso_text_put_bytes(&texts[0], left.at, left.length);
    iso_text_put_bytes(&texts[1], right.at, right.length);
    iso_text_reserve(&texts[0], ISO_JSON_PADDING);
    iso_text_reserve(&texts[1], ISO_JSON_PADDING);
    iso_json_init(&one);
    iso_json_init(&other);
    iso_json_start(&one, texts[0].bytes, left.length);
    iso_json_start(&other, texts[1].bytes, right.length);
    iso_json_enter_array(&one);
    iso_json_enter_array(&other);
    for (uint32_t i = 0; may && i < judge->returned.bag.column_count; i++) {
        const struct iso_scalar_type *type =
            &judge->asked.slots[judge->returned.bag.first_slot + i].type;
        may =
            iso_json_element(&one) && iso_json_element(&other) && read_reported(&one, &value) &&
            read_reported(&other, &reported) && !value.at == !reported.at &&
            (!value.at || iso_values_compare(type->value, value, reported,
                                             (struct iso_spellers){
                                                 .client = true, .only_signed = type->is_signed}) !=
                              ISO_VALUES_DIFFER);
    }
    iso_json_release(&one);
    iso_json_release(&other);
    iso_text_release(&texts[0]);
    iso_text_release(&texts[1]);
    return may;
}

static bool is_unclear(struct judge *judge, const uint64_t *reported, uint32_t reported_count,
                       const uint64_t *found, uint32_t found_count)
{
    if ((uint64_t)reported_count * found_count > MOST_PAIRS)
        return true;
    for (uint32_t i = 0; i < reported_count; i++)
        for (uint32_t j = 0; j < found_count; j++)
            if (may_be_one(judge, bag_row(&judge->returned.bag, reported[i]),
                           bag_row(&judge->returned.bag, found[j])))
                return true;
    return false;
}

static void report_bag_row(struct judge *judge, enum iso_violation_kind kind, uint64_t span,
                           uint64_t rows)
{
    struct iso_json_text row = bag_row(&judge->returned.bag, span);
    struct iso_rowsets_finding finding = {.axiom = ISO_EXT, .kind = kind, .rows = rows};
    *(kind == ISO_MISSING_ROW ? &finding.expected : &finding.actual) = row;
    judge_report(judge, &finding);
}

static void judge_bag_rows(struct judge *judge)
{
    struct judge_bag *bag = &judge->returned.bag;
    if (!bag->count)
        return;
    uint64_t *reported = bag->spans, *found = bag->spans + bag->reported;
    uint32_t reported_count = bag->reported, found_count = bag->count - bag->reported;
    bool is_whole = !judge->reasons; /* else what is extra may be what is not known */
    qsort_r(reported, reported_count, sizeof *reported, compare_bag_rows, bag);
    qsort_r(found, found_count, sizeof *found, compare_bag_rows, bag);
    take_common(bag, reported, &reported_count, found, &found_count);
    reported_count = is_whole ? reported_count : 0;
    found_count = judge->query->is_partial ? 0 : found_count;
    if (!reported_count && !found_count)
        return;
    if (is_unclear(judge, reported, reported_count, found, found_count)) {
        judge_doubt(judge, 1u << ISO_UNJUDGED_SPELLING, 0);
    } else if (judge_excuses_table(judge)) {
        judge_doubt(judge, 1u << ISO_UNJUDGED_UNKNOWN_WRITER, 0);
    } else if (!judge->query->in_bag) {
        judge->query->in_bag = true;
        if (found_count && !judge->reported.bag)
            report_bag_row(judge, ISO_MISSING_ROW, found[0], found_count);
        if (reported_count && !judge->reported.bag)
            report_bag_row(judge, ISO_EXTRA_ROW, reported[0], reported_count);
    }
}

void judge_returned(struct judge *judge)
{
    if (judge->returned.has_aggregates)
        judge_aggregates(judge);
    else if (judge->returned.has_bag)
        judge_bag_rows(judge);
}

void judge_release_returned(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->returned.aggregate_count; i++) {
        iso_aggregation_release(&judge->returned.aggregates[i].total);
        iso_aggregate_release(&judge->returned.aggregates[i].aggregate);
    }
    for (uint32_t i = 0; i < judge->returned.copy_count; i++)
        iso_free(judge->returned.copies[i]);
    ISO_FREE_ALL(judge->returned.aggregates, judge->returned.copies, judge->returned.bag.spans);
    iso_text_release(&judge->returned.bag.text);
    iso_text_release(&judge->texts.returned);
}
