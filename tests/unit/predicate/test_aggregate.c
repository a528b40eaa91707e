/* Aggregates by tables of cases, and sums against small numbers that cannot go wrong. */
#include <stdio.h>

#include "tests/support/test.h"

#include "predicate/aggregate.h"

enum { CELLS = 6 };

struct aggregated {
    const char *function;
    struct iso_scalar_type type;
    const char *cells[CELLS]; /* "-" is NULL, "?" unknown */
    const char *value;        /* NULL: of no rows, or unjudged */
    const char *reason;
};

#define INTEGER                                                                                    \
    {                                                                                              \
        .value = {.kind = ISO_VALUE_INTEGER }                                                      \
    }
#define NUMERIC                                                                                    \
    {                                                                                              \
        .value = {.kind = ISO_VALUE_NUMERIC }                                                      \
    }
#define ORDERED                                                                                    \
    {                                                                                              \
        .value = {.kind = ISO_VALUE_TEXT}, .text = ISO_TEXT_ORDERED                                \
    }
#define DISTINCT                                                                                   \
    {                                                                                              \
        .value = {.kind = ISO_VALUE_TEXT}, .text = ISO_TEXT_DISTINCT                               \
    }

static struct iso_json_text text_of(const char *text)
{
    return (struct iso_json_text){text, text ? strlen(text) : 0};
}

static struct iso_scalar cell_of(struct iso_scalar_type type, const char *cell)
{
    if (!strcmp(cell, "-") || !strcmp(cell, "?"))
        return iso_scalar_of_kind(*cell == '?' ? ISO_SCALAR_UNKNOWN : ISO_SCALAR_NULL);
    return iso_scalar_read(type, text_of(cell));
}

static void values(void **state)
{
    static const struct aggregated list[] = {
        {"count", INTEGER, {"1", "-", "?"}, "3", ""},
        {"COUNT(*)", INTEGER, {NULL}, "0", ""},
        {"count(c)", INTEGER, {"1", "-", "2"}, "2", ""},
        {"count(c)", INTEGER, {"1", "?"}, NULL, "unknown-value"},
        {"count(c)", {.value = {.kind = ISO_VALUE_LIST}}, {"[1]"}, "1", ""},
        {"sum(c)", INTEGER, {"1", "-", "-8"}, "-7", ""},
        {"sum(c)", INTEGER, {NULL}, NULL, ""},
        {"sum(c)", INTEGER, {"-", "-"}, NULL, ""},
        {"sum(c)",
         INTEGER,
         {"9223372036854775807", "9223372036854775807", "2"},
         "18446744073709551616",
         ""},
        {"sum(c)", NUMERIC, {"0.10", "0.20", "0.30"}, "0.6", ""},
        {"sum(c)", NUMERIC, {"1.50", "-1.5"}, "0", ""},
        {"sum(c)", NUMERIC, {"-0.05", "0.04"}, "-0.01", ""},
        {"sum(c)", NUMERIC, {"999999999.999999999", "0.000000001"}, "1000000000", ""},
        {"sum(c)",
         NUMERIC,
         {"1", "-0.0000000000000000000000000000001"},
         "0.9999999999999999999999999999999",
         ""},
        {"sum(c)",
         NUMERIC,
         {"-1000000000000000000000000000", "1"},
         "-999999999999999999999999999",
         ""},
        {"sum(c)", NUMERIC, {"1", "?"}, NULL, "unknown-value"},
        {"sum(c)", NUMERIC, {"NaN"}, NULL, "type"},
        {"sum(c)", {.value = {.kind = ISO_VALUE_DOUBLE}}, {"1.5"}, NULL, "type"},
        {"sum(c)", {.value = {.kind = ISO_VALUE_INTEGER_64}}, {"-1"}, NULL, "sign"},
        {"sum(c)", {.value = {.kind = ISO_VALUE_UNKNOWN}}, {"1", "2"}, "3", ""},
        {"sum(c)", {.value = {.kind = ISO_VALUE_UNKNOWN}}, {"1", "2.5"}, NULL, "type"},
        {"avg(c)", INTEGER, {"1", "-", "2"}, "1.5", ""},
        {"avg(c)", INTEGER, {"1", "2", "2"}, "1.66666666666667", ""},
        {"avg(c)", NUMERIC, {"-0.10", "-0.30"}, "-0.2", ""},
        {"avg(c)", INTEGER, {"-"}, NULL, ""},
        {"avg(c)", {.value = {.kind = ISO_VALUE_DOUBLE}}, {"1.5"}, NULL, "type"},
        {"count(DISTINCT c)", INTEGER, {"1", "-", "2", "1"}, "2", ""},
        {"count(distinct \"c\")", NUMERIC, {"1.50", "1.5", "1.51"}, "2", ""},
        {"count(distinct)", INTEGER, {"1", "1"}, "2", ""},
        {"count(DISTINCT c)", DISTINCT, {"a", "b", "a"}, "2", ""},
        {"count(DISTINCT c)", INTEGER, {NULL}, "0", ""},
        {"count(DISTINCT c)", {.value = {.kind = ISO_VALUE_TEXT}}, {"a", "a"}, "1", ""},
        {"count(DISTINCT c)", {.value = {.kind = ISO_VALUE_TEXT}}, {"a", "A"}, NULL, "collation"},
        {"count(DISTINCT c)", {.text = ISO_TEXT_DISTINCT}, {"open", "paid", "7", "8"}, "4", ""},
        {"count(DISTINCT c)", {.text = ISO_TEXT_DISTINCT}, {"7", "7.0"}, NULL, "spelling"},
        {"bool_and(c)",
         {.value = {.kind = ISO_VALUE_BOOLEAN}},
         {"true", "-", "false"},
         "false",
         ""},
        {"every(c)", {.value = {.kind = ISO_VALUE_BOOLEAN}}, {"true", "-"}, "true", ""},
        {"bool_or(c)", {.value = {.kind = ISO_VALUE_UNKNOWN}}, {"false", "true"}, "true", ""},
        {"bool_or(c)", {.value = {.kind = ISO_VALUE_BOOLEAN}}, {"-"}, NULL, ""},
        {"bool_or(c)", INTEGER, {"1"}, NULL, "type"},
        {"min(c)", INTEGER, {"10", "9", "-", "11"}, "9", ""},
        {"max(c)", INTEGER, {"-10", "-9", "-11"}, "-9", ""},
        {"max(c)", NUMERIC, {"1.50", "1.5", "1.49"}, "1.5", ""},
        {"max(c)", NUMERIC, {"-"}, NULL, ""},
        {"min(\"c\")", ORDERED, {"b", "a"}, "a", ""},
        {"min(`c`)", DISTINCT, {"b"}, "b", ""},
        {"min(c)", DISTINCT, {"b", "a"}, NULL, "collation"},
        {"max(c)", {.value = {.kind = ISO_VALUE_DATE}}, {"1", "2"}, "2", ""},
        {"max(c)", {.value = {.kind = ISO_VALUE_DOUBLE}}, {"0.1", "0.25"}, "0.25", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct iso_aggregate aggregate;
        struct iso_aggregation total;
        struct iso_error error = ISO_NO_ERROR;
        struct iso_text text = {0};
        assert_int_equal(
            iso_aggregate_parse(&aggregate, list[i].function, strlen(list[i].function), &error),
            ISO_OK);
        iso_aggregation_init(&total, &aggregate, list[i].type);
        for (int c = 0; c < CELLS && list[i].cells[c]; c++) {
            struct iso_scalar cell = cell_of(list[i].type, list[i].cells[c]);
            iso_aggregation_add(&total, &cell);
        }
        iso_truth truth = iso_aggregation_is(&total, text_of(list[i].value));
        assert_string_equal(iso_predicate_reason_name(iso_truth_reason(truth)), list[i].reason);
        if (!*list[i].reason)
            assert_int_equal(truth, ISO_TRUTH_TRUE);
        assert_int_equal(iso_aggregation_put(&total, &text), list[i].value != NULL);
        if (list[i].value) {
            assert_int_equal(text.used, strlen(list[i].value));
            assert_memory_equal(text.bytes, list[i].value, text.used);
            assert_int_equal(iso_aggregation_is(&total, text_of(NULL)), ISO_TRUTH_FALSE);
        }
        iso_text_release(&text);
        iso_aggregation_release(&total);
        iso_aggregate_release(&aggregate);
    }
}

/* 1.50 is 1.5, and not 1.51. */
static void told(void **state)
{
    static const struct iso_scalar_type numeric = NUMERIC;
    static const struct iso_aggregate sum = {.kind = ISO_AGGREGATE_SUM};
    struct iso_aggregation total;
    struct iso_scalar cell = cell_of(numeric, "1.5");
    (void)state;
    iso_aggregation_init(&total, &sum, numeric);
    iso_aggregation_add(&total, &cell);
    assert_int_equal(iso_aggregation_is(&total, text_of("1.50")), ISO_TRUTH_TRUE);
    assert_int_equal(iso_aggregation_is(&total, text_of("15E-1")), ISO_TRUTH_TRUE);
    assert_int_equal(iso_aggregation_is(&total, text_of("1.51")), ISO_TRUTH_FALSE);
    assert_int_equal(iso_truth_reason(iso_aggregation_is(&total, text_of("much"))),
                     ISO_PREDICATE_TYPE);
    iso_aggregation_release(&total);
}

/* As servers and drivers tell an average: rounded, cut, as a double; with fewer digits it is not
 * known. */
static void averages(void **state)
{
    static const struct {
        const char *told;
        unsigned outcomes;
    } list[] = {
        {"1.6666666666666667", ISO_TRUTH_TRUE},
        {"1.66666666666666666667", ISO_TRUTH_TRUE},
        {"1.6667", ISO_TRUTH_TRUE},
        {"1.6666", ISO_TRUTH_TRUE},
        {"1.6665", ISO_TRUTH_FALSE},
        {"1.6666666666666665", ISO_TRUTH_TRUE}, /* the next double */
        {"1.6666666666666500", ISO_TRUTH_FALSE},
        {"1.67", ISO_TRUTH_TRUE | ISO_TRUTH_FALSE},
        {"2", ISO_TRUTH_TRUE | ISO_TRUTH_FALSE},
        {"3", ISO_TRUTH_FALSE},
        {"-1.6667", ISO_TRUTH_FALSE},
        {"much", ISO_TRUTH_TRUE | ISO_TRUTH_FALSE},
    };
    static const struct iso_aggregate average = {.kind = ISO_AGGREGATE_AVERAGE};
    static const struct iso_scalar_type numeric = NUMERIC;
    struct iso_aggregation total;
    (void)state;
    iso_aggregation_init(&total, &average, numeric);
    for (int i = 0; i < 3; i++) {
        struct iso_scalar cell = cell_of(numeric, i ? "2" : "1.00");
        iso_aggregation_add(&total, &cell);
    }
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        assert_int_equal(iso_truth_outcomes(iso_aggregation_is(&total, text_of(list[i].told))),
                         list[i].outcomes);
    iso_aggregation_release(&total);
}

/* Where nobody said what a column has: integers by size, if the caller knows that they are
 * numbers. */
static void without_a_type(void **state)
{
    static const struct {
        enum iso_aggregate_kind kind;
        bool of_numbers;
        const char *cells[2], *told;
        unsigned outcomes;
        const char *reason;
    } list[] = {
        {ISO_AGGREGATE_MIN, false, {"10", "9"}, "9", ISO_TRUTH_TRUE | ISO_TRUTH_FALSE, "type"},
        {ISO_AGGREGATE_MIN, true, {"10", "9"}, "9", ISO_TRUTH_TRUE, ""},
        {ISO_AGGREGATE_MAX, true, {"10", "9"}, "9", ISO_TRUTH_FALSE, ""},
        {ISO_AGGREGATE_MAX, true, {"10", "9"}, "1e1", ISO_TRUTH_TRUE, ""},
        {ISO_AGGREGATE_MAX, true, {"-10", "-9"}, "-9", ISO_TRUTH_TRUE, ""},
        {ISO_AGGREGATE_MIN, true, {"10", "9.5"}, "9", ISO_TRUTH_TRUE | ISO_TRUTH_FALSE, "type"},
        {ISO_AGGREGATE_MIN, true, {"10", "x"}, "10", ISO_TRUTH_TRUE | ISO_TRUTH_FALSE, "type"},
    };
    static const struct iso_scalar_type untyped = {.text = ISO_TEXT_DISTINCT};
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct iso_aggregate aggregate = {.kind = list[i].kind};
        struct iso_aggregation total;
        iso_aggregation_init(&total, &aggregate, untyped);
        if (list[i].of_numbers)
            iso_aggregation_of_numbers(&total);
        for (int c = 0; c < 2; c++) {
            struct iso_scalar cell = cell_of(untyped, list[i].cells[c]);
            iso_aggregation_add(&total, &cell);
        }
        iso_truth truth = iso_aggregation_is(&total, text_of(list[i].told));
        assert_int_equal(iso_truth_outcomes(truth), list[i].outcomes);
        assert_string_equal(iso_predicate_reason_name(iso_truth_reason(truth)), list[i].reason);
        iso_aggregation_release(&total);
    }
}

static void refusals(void **state)
{
    static const struct {
        const char *function, *error;
    } list[] = {
        {"stddev(c)",
         "byte 1: found 'stddev', expected count, sum, avg, min, max, bool_and or bool_or"},
        {"sum", "byte 4: found the end, expected '(' and a column"},
        {"sum(*)", "byte 5: found '*', expected a column"},
        {"sum(a", "byte 6: found the end, expected ')'"},
        {"sum(a) ", NULL},
        {"sum(a) b", "byte 8: found 'b', expected the end"},
        {"sum(distinct a)", "byte 14: found 'a', expected ')'"},
        {"count(distinct a b)", "byte 18: found 'b', expected ')'"},
        {"", "byte 1: found the end, expected count, sum, avg, min, max, bool_and or bool_or"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct iso_aggregate aggregate;
        struct iso_error error = ISO_NO_ERROR;
        iso_aggregate_parse(&aggregate, list[i].function, strlen(list[i].function), &error);
        assert_string_equal(error.text, list[i].error ? list[i].error : "");
        iso_aggregate_release(&aggregate);
    }
}

/* Hundredths of up to 20 digits, added up as integers of 128 bits; read again in between, as the
 * sum stays. */
static void sums(void **state)
{
    static const struct iso_scalar_type numeric = NUMERIC;
    struct iso_sum sum = {0};
    __int128 expected = 0;
    uint64_t random = 5;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        char cell[64], digits[64];
        struct iso_text text = {0};
        int64_t hundredths = (int64_t)test_random(&random) >> (test_random(&random) % 60);
        uint64_t size = hundredths < 0 ? 0 - (uint64_t)hundredths : (uint64_t)hundredths;
        snprintf(cell, sizeof cell, "%s%llu.%02u", hundredths < 0 ? "-" : "",
                 (unsigned long long)size / 100, (unsigned)(size % 100));
        struct iso_scalar scalar = iso_scalar_read(numeric, text_of(cell));
        iso_sum_add(&sum, &scalar);
        expected += hundredths;
        if (i % 100)
            continue;
        unsigned __int128 left =
            expected < 0 ? -(unsigned __int128)expected : (unsigned __int128)expected;
        snprintf(digits, sizeof digits, "%s%llu%017llu.%02u", expected < 0 ? "-" : "",
                 (unsigned long long)(left / 100 / 100000000000000000u),
                 (unsigned long long)(left / 100 % 100000000000000000u), (unsigned)(left % 100));
        iso_sum_put(&sum, &text);
        struct iso_scalar one = iso_scalar_read(numeric, text_of(digits));
        struct iso_scalar other =
            iso_scalar_read(numeric, (struct iso_json_text){text.bytes, text.used});
        assert_int_equal(iso_scalar_compare(&one, &other), ISO_ORDER_EQUAL);
        iso_text_release(&text);
    }
    iso_sum_release(&sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),         cmocka_unit_test(told),     cmocka_unit_test(averages),
        cmocka_unit_test(without_a_type), cmocka_unit_test(refusals), cmocka_unit_test(sums),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
