#include "predicate/aggregate.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "predicate/lexer.h"
#include "predicate/place.h"
#include "values/spelling.h"

/* ---- reading ---- */

static const struct {
    const char *name;
    enum iso_aggregate_kind kind;
    bool of_booleans;
} functions[] = {{"count", ISO_AGGREGATE_COUNT, false}, {"sum", ISO_AGGREGATE_SUM, false},
                 {"avg", ISO_AGGREGATE_AVERAGE, false}, {"min", ISO_AGGREGATE_MIN, false},
                 {"max", ISO_AGGREGATE_MAX, false},     {"bool_and", ISO_AGGREGATE_MIN, true},
                 {"every", ISO_AGGREGATE_MIN, true},    {"bool_or", ISO_AGGREGATE_MAX, true}};

static bool parse_function(struct predicate_lexer *lexer, struct iso_aggregate *aggregate)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (predicate_word_is(&lexer->word, functions[i].name)) {
            aggregate->kind = functions[i].kind;
            aggregate->of_booleans = functions[i].of_booleans;
            return predicate_lexer_next(lexer);
        }
    return predicate_lexer_refuse(lexer, "count, sum, avg, min, max, bool_and or bool_or");
}

/* DISTINCT of a count, if it is no column of that name. */
static bool parse_distinct(struct predicate_lexer *lexer, struct iso_aggregate *aggregate)
{
    struct predicate_lexer before = *lexer;
    if (aggregate->kind != ISO_AGGREGATE_COUNT || !predicate_word_is(&lexer->word, "distinct"))
        return true;
    if (!predicate_lexer_next(lexer))
        return false;
    if (lexer->word.kind == PREDICATE_CLOSE)
        *lexer = before;
    else
        aggregate->kind = ISO_AGGREGATE_DISTINCT;
    return true;
}

static bool parse_column(struct predicate_lexer *lexer, struct iso_aggregate *aggregate)
{
    struct iso_text name = {0};
    enum predicate_word_kind kind = lexer->word.kind;
    if (kind == PREDICATE_NAME)
        iso_text_put_bytes(&name, lexer->word.text.at, lexer->word.text.length);
    else if (kind == PREDICATE_QUOTED || kind == PREDICATE_TICKED)
        predicate_word_unquote(&lexer->word, &name);
    else
        return predicate_lexer_refuse(lexer, "a column");
    aggregate->column = (struct iso_condition_column){.name = {name.bytes, name.used},
                                                      .location = predicate_lexer_location(lexer),
                                                      .is_exact = kind == PREDICATE_QUOTED};
    return predicate_lexer_next(lexer);
}

static bool parse(struct predicate_lexer *lexer, struct iso_aggregate *aggregate)
{
    if (!parse_function(lexer, aggregate))
        return false;
    if (aggregate->kind == ISO_AGGREGATE_COUNT && lexer->word.kind == PREDICATE_END) {
        aggregate->kind = ISO_AGGREGATE_ROWS;
        return true;
    }
    if (lexer->word.kind != PREDICATE_OPEN)
        return predicate_lexer_refuse(lexer, "'(' and a column");
    if (!predicate_lexer_next(lexer) || !parse_distinct(lexer, aggregate))
        return false;
    bool rows = aggregate->kind == ISO_AGGREGATE_COUNT && lexer->word.kind == PREDICATE_STAR;
    aggregate->kind = rows ? ISO_AGGREGATE_ROWS : aggregate->kind;
    if (rows ? !predicate_lexer_next(lexer) : !parse_column(lexer, aggregate))
        return false;
    if (lexer->word.kind != PREDICATE_CLOSE)
        return predicate_lexer_refuse(lexer, "')'");
    return predicate_lexer_next(lexer) &&
           (lexer->word.kind == PREDICATE_END || predicate_lexer_refuse(lexer, "the end"));
}

enum iso_status iso_aggregate_parse(struct iso_aggregate *aggregate, const char *text,
                                    size_t length, struct iso_error *error)
{
    struct predicate_lexer lexer;
    *aggregate = (struct iso_aggregate){0};
    if (predicate_lexer_start(&lexer, text, length, error) && parse(&lexer, aggregate))
        return ISO_OK;
    iso_aggregate_release(aggregate);
    return error->status;
}

void iso_aggregate_release(struct iso_aggregate *aggregate)
{
    iso_free((char *)(uintptr_t)aggregate->column.name.at);
    *aggregate = (struct iso_aggregate){0};
}

static const struct iso_scalar_type numeric = {.value = {.kind = ISO_VALUE_NUMERIC}},
                                    boolean = {.value = {.kind = ISO_VALUE_BOOLEAN}};

/* ---- adding ---- */

void iso_aggregation_init(struct iso_aggregation *total, const struct iso_aggregate *aggregate,
                          struct iso_scalar_type type)
{
    *total = (struct iso_aggregation){.kind = aggregate->kind,
                                      .type = aggregate->of_booleans ? boolean : type,
                                      .of_booleans = aggregate->of_booleans,
                                      .places_only = true,
                                      .best = {.kind = ISO_SCALAR_NULL}};
}

void iso_aggregation_of_numbers(struct iso_aggregation *total)
{
    assert(!total->count);
    total->of_numbers = true;
}

void iso_aggregation_release(struct iso_aggregation *total)
{
    for (uint32_t i = 0; i < total->distinct_count; i++)
        if (iso_scalar_has_text(&total->distinct[i]))
            iso_free((char *)(uintptr_t)total->distinct[i].text);
    iso_free(total->distinct);
    iso_number_map_release(&total->places);
    iso_sum_release(&total->sum);
}

void iso_aggregation_doubt(struct iso_aggregation *total, enum iso_predicate_reason reason)
{
    total->doubt = total->doubt ? total->doubt : (uint8_t)reason;
}

/* An integer is one, whatever it was meant for. False: it is no number that can be added up. */
static bool read_number(struct iso_aggregation *total, const struct iso_scalar *cell,
                        struct iso_scalar *number)
{
    *number = *cell;
    if (cell->kind == ISO_SCALAR_UNTYPED)
        *number = iso_scalar_read(numeric, (struct iso_json_text){cell->text, cell->length});
    if (number->kind == ISO_SCALAR_INTEGER ||
        (number->kind == ISO_SCALAR_DECIMAL && cell->kind != ISO_SCALAR_UNTYPED))
        return true;
    iso_aggregation_doubt(total, number->kind == ISO_SCALAR_WRAPPED ? ISO_PREDICATE_SIGN
                                                                    : ISO_PREDICATE_TYPE);
    return false;
}

static void add_number(struct iso_aggregation *total, const struct iso_scalar *cell)
{
    struct iso_scalar number;
    if (read_number(total, cell, &number))
        iso_sum_add(&total->sum, &number);
}

/* Whether one of those that came is the value, or nobody knows. */
static bool is_found(struct iso_aggregation *total, const struct iso_scalar *cell)
{
    struct iso_scalar_place place;
    bool has_place = iso_scalar_place(cell, &place) && !place.classes;
    if (has_place) {
        uint32_t first = iso_number_map_add(&total->places, place.hash, total->distinct_count);
        if (first == total->distinct_count && total->places_only)
            return false;
        if (first < total->distinct_count &&
            iso_scalar_compare(&total->distinct[first], cell) == ISO_ORDER_EQUAL)
            return true;
    }
    for (uint32_t i = 0; i < total->distinct_count; i++) {
        iso_order order = iso_scalar_compare(&total->distinct[i], cell);
        if (order == ISO_ORDER_EQUAL)
            return true;
        if (iso_order_outcomes(order) & ISO_ORDER_EQUAL)
            iso_aggregation_doubt(total, iso_order_reason(order));
    }
    total->places_only &= has_place;
    return false;
}

static void add_distinct(struct iso_aggregation *total, const struct iso_scalar *cell)
{
    struct iso_scalar kept = *cell;
    if (cell->kind == ISO_SCALAR_OPAQUE)
        iso_aggregation_doubt(total, ISO_PREDICATE_TYPE);
    if (total->doubt || is_found(total, cell))
        return;
    if (iso_scalar_has_text(cell))
        kept.text = iso_copy_text(cell->text, cell->length);
    ISO_PUSH(total->distinct, total->distinct_count, total->distinct_capacity, kept);
}

static void add_ordered(struct iso_aggregation *total, const struct iso_scalar *cell)
{
    struct iso_scalar number;
    if (total->of_numbers && cell->kind == ISO_SCALAR_UNTYPED) {
        if (!read_number(total, cell, &number))
            return;
        cell = &number;
    }
    if (total->of_booleans && cell->kind != ISO_SCALAR_BOOLEAN) {
        number = cell->kind == ISO_SCALAR_UNTYPED
                     ? iso_scalar_read(boolean, (struct iso_json_text){cell->text, cell->length})
                     : iso_scalar_of_kind(ISO_SCALAR_OPAQUE);
        if (number.kind != ISO_SCALAR_BOOLEAN) {
            iso_aggregation_doubt(total, ISO_PREDICATE_TYPE);
            return;
        }
        cell = &number;
    }
    unsigned better = total->kind == ISO_AGGREGATE_MIN ? ISO_ORDER_LESS : ISO_ORDER_GREATER;
    if (total->best.kind == ISO_SCALAR_NULL) {
        total->best = *cell;
        return;
    }
    iso_order order = iso_scalar_compare(cell, &total->best);
    if (iso_order_reason(order))
        iso_aggregation_doubt(total, iso_order_reason(order));
    else if (order == better)
        total->best = *cell;
}

void iso_aggregation_add(struct iso_aggregation *total, const struct iso_scalar *cell)
{
    if (total->kind != ISO_AGGREGATE_ROWS && cell->kind == ISO_SCALAR_NULL)
        return;
    total->count++;
    if (total->kind == ISO_AGGREGATE_ROWS)
        return;
    if (cell->kind == ISO_SCALAR_UNKNOWN)
        iso_aggregation_doubt(total, ISO_PREDICATE_UNKNOWN);
    else if (total->kind == ISO_AGGREGATE_DISTINCT)
        add_distinct(total, cell);
    else if (total->kind == ISO_AGGREGATE_SUM || total->kind == ISO_AGGREGATE_AVERAGE)
        add_number(total, cell);
    else if (total->kind >= ISO_AGGREGATE_MIN)
        add_ordered(total, cell);
}

/* ---- the value ---- */

static double real_of_sum(struct iso_sum *sum)
{
    struct iso_text text = {0};
    iso_sum_put(sum, &text);
    iso_text_put_bytes(&text, "", 1);
    double real = strtod(text.bytes, NULL);
    iso_text_release(&text);
    return real;
}

static void put_average(struct iso_aggregation *total, struct iso_text *text)
{
    char digits[40];
    int length =
        snprintf(digits, sizeof digits, "%.15g", real_of_sum(&total->sum) / (double)total->count);
    struct iso_json_text quotient = {digits, (size_t)length};
    if (!iso_value_spell(numeric.value, quotient, text))
        iso_text_put(text, digits);
}

bool iso_aggregation_put(struct iso_aggregation *total, struct iso_text *text)
{
    if (total->doubt)
        return false;
    if (total->kind == ISO_AGGREGATE_DISTINCT)
        iso_text_put_unsigned(text, total->distinct_count);
    else if (total->kind < ISO_AGGREGATE_DISTINCT)
        iso_text_put_unsigned(text, total->count);
    else if (!total->count || total->best.kind == ISO_SCALAR_OPAQUE)
        return false;
    else if (total->kind == ISO_AGGREGATE_SUM)
        iso_sum_put(&total->sum, text);
    else if (total->kind == ISO_AGGREGATE_AVERAGE)
        put_average(total, text);
    else
        iso_scalar_put(text, &total->best);
    return true;
}

/* By how much so many times the number is more than the sum, exactly. */
static double excess(struct iso_aggregation *total, const struct iso_scalar *number)
{
    struct iso_sum product = {0};
    struct iso_text text = {0};
    iso_sum_add(&product, number);
    iso_sum_multiply(&product, total->count);
    iso_sum_put(&total->sum, &text);
    struct iso_scalar sum = iso_scalar_read(numeric, (struct iso_json_text){text.bytes, text.used});
    iso_sum_subtract(&product, &sum);
    double real = real_of_sum(&product);
    iso_text_release(&text);
    iso_sum_release(&product);
    return real;
}

/* Whether it is the quotient of sum and count, rounded or cut. */
static iso_truth is_average(struct iso_aggregation *total, struct iso_json_text told)
{
    enum { PLACES = 4, DIGITS = 15 };
    const double one_more = 1 + 1e-9, of_double = 1e-15;
    struct iso_text spelt = {0};
    struct iso_scalar number = iso_scalar_spell(numeric, told, &spelt);
    iso_truth truth = iso_truth_make(ISO_TRUTH_TRUE | ISO_TRUTH_FALSE, ISO_PREDICATE_TYPE);
    if (number.kind == ISO_SCALAR_INTEGER || number.kind == ISO_SCALAR_DECIMAL) {
        const char *point =
            number.kind == ISO_SCALAR_DECIMAL ? memchr(number.text, '.', number.length) : NULL;
        size_t places = point ? (size_t)(number.text + number.length - point) - 1 : 0;
        double beyond = fabs(excess(total, &number)) / (double)total->count,
               unit = pow(10, -(double)places), real = fabs(iso_scalar_real(&number));
        bool is_long = places >= PLACES || number.length >= DIGITS,
             is_near = beyond <= unit * one_more || (is_long && beyond <= real * of_double);
        truth = beyond == 0 ? ISO_TRUTH_TRUE
                : is_near && !is_long
                    ? iso_truth_make(ISO_TRUTH_TRUE | ISO_TRUTH_FALSE, ISO_PREDICATE_SPELLING)
                    : iso_truth_of(is_near);
    }
    iso_text_release(&spelt);
    return truth;
}

/* Whether the total of a count or a sum is the number that was returned. */
static iso_truth is_number(struct iso_aggregation *total, struct iso_json_text told)
{
    struct iso_text text = {0}, spelt = {0};
    iso_aggregation_put(total, &text);
    struct iso_scalar value =
        iso_scalar_read(numeric, (struct iso_json_text){text.bytes, text.used});
    struct iso_scalar other = iso_scalar_spell(numeric, told, &spelt);
    iso_truth truth = iso_scalar_test(&value, &other, ISO_ORDER_EQUAL);
    iso_text_release(&text);
    iso_text_release(&spelt);
    return truth;
}

static iso_truth is_best(const struct iso_aggregation *total, struct iso_json_text told)
{
    struct iso_text spelt = {0};
    bool as_number = total->of_numbers && total->type.value.kind == ISO_VALUE_UNKNOWN;
    struct iso_scalar other = iso_scalar_spell(as_number ? numeric : total->type, told, &spelt);
    iso_truth truth = iso_scalar_test(&total->best, &other, ISO_ORDER_EQUAL);
    iso_text_release(&spelt);
    return truth;
}

iso_truth iso_aggregation_is(struct iso_aggregation *total, struct iso_json_text told)
{
    bool counts = total->kind <= ISO_AGGREGATE_DISTINCT;
    if (total->doubt)
        return iso_truth_make(ISO_TRUTH_TRUE | ISO_TRUTH_FALSE, total->doubt);
    if (!told.at || (!counts && !total->count))
        return iso_truth_of(!told.at && !counts && !total->count);
    if (total->kind == ISO_AGGREGATE_AVERAGE)
        return is_average(total, told);
    return counts || total->kind == ISO_AGGREGATE_SUM ? is_number(total, told)
                                                      : is_best(total, told);
}
