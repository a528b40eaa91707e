/* Aggregates: one value of many rows, and whether it is what a client was told.
 *
 *     iso_aggregate_parse(&aggregate, "sum(amount)", 11, &error)       count, count(*), count(c),
 *                                                                      count(DISTINCT c), sum(c),
 *                                                                      avg(c), min(c), max(c),
 *                                                                      bool_and(c), bool_or(c)
 *     iso_aggregation_init(&total, &aggregate, type)                   the type of the column
 *     iso_aggregation_add(&total, &cell)                               of each row that matches
 *     iso_aggregation_is(&total, told)                                 true, false, or not known
 *                                                                      for a reason
 *
 * NULLs are passed over; over nothing a count is 0 and all else NULL. Sums are exact, of integers
 * and numerics; min and max of whatever has an order (scalar.h). A cell that is unknown or not of
 * its type, a double in a sum, or two of which it is not known which is less make the whole
 * unjudged, with the reason of the first. A count needs only to know what is NULL. Of a column
 * without a type a sum is one of integers; so are min and max where the caller knows that there are
 * numbers in it (iso_aggregation_of_numbers), and else they are not known: texts of digits may have
 * another order. An average is what was told if that is the quotient, cut or rounded to as many
 * digits as any database gives (4 behind the point, or 15), or a double's; with fewer it is not
 * known. bool_and and bool_or are the least and the greatest of booleans.
 *
 * Errors: ISO_BAD_INPUT, "byte 5: found 'x', expected ...". Ownership: an aggregate owns its
 * column's name; an aggregation owns its sum, and refers to the text of the least or greatest cell
 * until it is released, of distinct ones it has copies. Threads: one at a time.
 */
#pragma once

#include "base/error.h"
#include "base/number_map.h"
#include "predicate/condition.h"
#include "predicate/sum.h"

enum iso_aggregate_kind {
    ISO_AGGREGATE_ROWS,
    ISO_AGGREGATE_COUNT,
    ISO_AGGREGATE_DISTINCT, /* up to here counts */
    ISO_AGGREGATE_SUM,
    ISO_AGGREGATE_AVERAGE,
    ISO_AGGREGATE_MIN, /* from here on one of the cells */
    ISO_AGGREGATE_MAX
};

struct iso_aggregate {
    enum iso_aggregate_kind kind;
    bool of_booleans;
    struct iso_condition_column column; /* but of ISO_AGGREGATE_ROWS */
};

enum iso_status iso_aggregate_parse(struct iso_aggregate *aggregate, const char *text,
                                    size_t length, struct iso_error *error);
void iso_aggregate_release(struct iso_aggregate *aggregate); /* a zeroed one is empty */

struct iso_aggregation {
    enum iso_aggregate_kind kind;
    struct iso_scalar_type type;
    uint64_t count; /* of rows or cells that were added */
    struct iso_sum sum;
    struct iso_scalar best, *distinct; /* each once, with a text of its own */
    uint32_t distinct_count, distinct_capacity;
    struct iso_number_map places; /* of those that have a place of their own (place.h) */
    bool places_only;             /* all of them have */
    bool of_numbers, of_booleans;
    uint8_t doubt; /* enum iso_predicate_reason */
};

void iso_aggregation_init(struct iso_aggregation *total, const struct iso_aggregate *aggregate,
                          struct iso_scalar_type type);
void iso_aggregation_release(struct iso_aggregation *total);

/* Before anything is added: what a column without a type has are numbers, and no texts. */
void iso_aggregation_of_numbers(struct iso_aggregation *total);

/* A row that matches, by its cell of the column; of ISO_AGGREGATE_ROWS any. */
void iso_aggregation_add(struct iso_aggregation *total, const struct iso_scalar *cell);

/* It is not known whether some row matches. */
void iso_aggregation_doubt(struct iso_aggregation *total, enum iso_predicate_reason reason);

/* Whether it is the value, as clients spell it; a NULL text is NULL. */
iso_truth iso_aggregation_is(struct iso_aggregation *total, struct iso_json_text told);

/* Adds its canonical text; false: it is NULL, or not known. */
bool iso_aggregation_put(struct iso_aggregation *total, struct iso_text *text);
