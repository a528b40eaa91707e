/* Values by their type: canonical spellings, and which texts are one value. */
#include <string.h>

#include "tests/support/test.h"

#include "values/spelling.h"

static const struct iso_spellers of_client = {.client = true}, of_stream = {.client = false},
                                 of_write = {.client = true, .write = true};

static struct iso_json_text text_of(const char *text)
{
    return (struct iso_json_text){text, strlen(text)};
}

static struct iso_value_type typed(enum iso_value_kind kind, int detail)
{
    return (struct iso_value_type){(uint8_t)kind, false, (int16_t)detail};
}

/* Also that what is canonical stays. */
static void spells(struct iso_value_type type, const char *text, const char *canonical)
{
    struct iso_text once = {0}, twice = {0};
    assert_true(iso_value_spell(type, text_of(text), &once));
    assert_int_equal(once.used, strlen(canonical));
    assert_memory_equal(once.bytes, canonical, once.used);
    assert_true(iso_value_spell(type, (struct iso_json_text){once.bytes, once.used}, &twice));
    assert_int_equal(twice.used, once.used);
    assert_memory_equal(twice.bytes, canonical, once.used);
    iso_text_release(&once);
    iso_text_release(&twice);
}

static void leaves(struct iso_value_type type, const char *text)
{
    struct iso_text out = {0};
    assert_false(iso_value_spell(type, text_of(text), &out));
    assert_int_equal(out.used, 0);
    iso_text_release(&out);
}

/* In both orders. */
static enum iso_likeness likeness(struct iso_value_type type, const char *one, const char *other,
                                  struct iso_spellers spellers)
{
    enum iso_likeness there = iso_values_compare(type, text_of(one), text_of(other), spellers);
    assert_int_equal(iso_values_compare(type, text_of(other), text_of(one), spellers), there);
    return there;
}

#define EQUAL(type, one, other) assert_int_equal(likeness(type, one, other, of_client), ISO_VALUES_EQUAL)
#define UNCLEAR(type, one, other) assert_int_equal(likeness(type, one, other, of_client), ISO_VALUES_UNCLEAR)
#define DIFFER(type, one, other) assert_int_equal(likeness(type, one, other, of_client), ISO_VALUES_DIFFER)

static void numbers(void **state)
{
    const struct iso_value_type two = typed(ISO_VALUE_DECIMAL, 2), any = typed(ISO_VALUE_NUMERIC, 0);
    (void)state;
    spells(two, "1.5", "1.50");
    spells(two, "+001.5000", "1.50");
    spells(two, "Decimal('-1.5')", "-1.50");
    spells(two, "0", "0.00");
    spells(two, "-0.00", "0.00");
    spells(two, "1.2E+3", "1200.00");
    spells(two, "0.005", "0.005"); /* no value of the column: as it is */
    spells(typed(ISO_VALUE_DECIMAL, -2), "1200", "1200");
    spells(any, "1.50", "1.5");
    spells(any, "1E-7", "0.0000001");
    spells(any, "nan", "NaN");
    spells(any, "12345678901234567890123456789012345678901234567890.50",
           "12345678901234567890123456789012345678901234567890.5");
    leaves(two, "1,5");
    leaves(two, "$1.50");
    leaves(two, "");
    leaves(two, ".");
    leaves(two, "1e");
    leaves(two, "1e99999");
    DIFFER(two, "1.50", "1.51");
    DIFFER(two, "1.50", "-1.50");
    DIFFER(two, "1.50", "15.0");
    DIFFER(two, "1.50", "1.504");
    assert_int_equal(likeness(two, "1.50", "1.504", of_write), ISO_VALUES_UNCLEAR); /* the column rounds */
    assert_int_equal(likeness(two, "1.51", "1.505", of_write), ISO_VALUES_UNCLEAR);
    assert_int_equal(likeness(two, "1.52", "1.505", of_write), ISO_VALUES_DIFFER);
    UNCLEAR(two, "12.30", "$12.30");
    assert_int_equal(likeness(two, "12.30", "$12.30", of_stream), ISO_VALUES_DIFFER);
}

static void integers(void **state)
{
    const struct iso_value_type small = typed(ISO_VALUE_INTEGER, 0), wide = typed(ISO_VALUE_INTEGER_64, 0);
    (void)state;
    spells(small, "5.0", "5");
    spells(small, "True", "1"); /* of MySQL's BOOLEAN */
    spells(wide, "18446744073709551615", "-1");
    spells(wide, "9223372036854775807", "9223372036854775807");
    spells(wide, "9223372036854775808", "-9223372036854775808");
    spells(wide, "18446744073709551616", "18446744073709551616"); /* beyond 64 bits */
    leaves(small, "5.5");
    leaves(small, "five");
    DIFFER(small, "5", "5.5");
    DIFFER(small, "5", "five");
    DIFFER(wide, "-2", "18446744073709551615");
}

static void booleans(void **state)
{
    static const char *const yes[] = {"true", "True", "t", "1", "b'\\x01'", "\x01"};
    static const char *const no[] = {"false", "FALSE", "f", "0", "b'\\x00'"};
    const struct iso_value_type type = typed(ISO_VALUE_BOOLEAN, 0);
    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        spells(type, yes[i], "true");
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        spells(type, no[i], "false");
        DIFFER(type, no[i], yes[i]);
    }
    UNCLEAR(type, "true", "yes");
}

static void floating(void **state)
{
    const struct iso_value_type wide = typed(ISO_VALUE_DOUBLE, 0), narrow = typed(ISO_VALUE_FLOAT, 0);
    (void)state;
    spells(wide, "3.0", "3");
    spells(wide, "0.1000", "0.1");
    spells(wide, "100000000000000000000", "1e+20");
    spells(wide, "inf", "Infinity");
    spells(narrow, "1.100000023841858", "1.1");
    leaves(wide, "1e400");
    EQUAL(wide, "0", "-0");
    DIFFER(wide, "0.1", "0.10000000000000002");
    DIFFER(wide, "1234570", "1234567.8");
    UNCLEAR(narrow, "1234570", "1234567.8"); /* with six digits, or with all of them */
    assert_int_equal(likeness(narrow, "1234570", "1234567.8", of_stream), ISO_VALUES_UNCLEAR);
    DIFFER(narrow, "1234580", "1234567.8");
    DIFFER(narrow, "1.5", "1.6");
}

static void moments(void **state)
{
    const struct iso_value_type local = typed(ISO_VALUE_TIMESTAMP, 6), milli = typed(ISO_VALUE_TIMESTAMP, 3),
                                instant = typed(ISO_VALUE_INSTANT, 0);
    (void)state;
    spells(local, "2024-02-29 12:34:56.5", "1709210096500000");
    spells(local, "2024-02-29T12:34:56.500000", "1709210096500000");
    spells(milli, "1969-12-31 23:59:59.999", "-1");
    spells(milli, "0001-01-01 00:00:00", "-62135596800000");
    spells(milli, "2024-02-29", "1709164800000");
    leaves(milli, "2024-02-29 12:34:56.5001"); /* finer than the column */
    leaves(local, "2023-02-29 00:00:00");
    leaves(local, "2024-02-29 24:00:00");
    leaves(local, "2024-02-29 12:34:56Z"); /* in a column without a zone */
    spells(instant, "2024-02-29 12:34:56.500000+01", "2024-02-29T11:34:56.5Z");
    spells(instant, "2024-02-29T11:34:56.5Z", "2024-02-29T11:34:56.5Z");
    spells(instant, "2024-02-29 23:30:00 -0130", "2024-03-01T01:00:00Z");
    spells(instant, "2100-03-01 00:00:00+00:00", "2100-03-01T00:00:00Z");
    leaves(instant, "2024-02-29 12:34:56"); /* of a zone that nobody says */
    UNCLEAR(instant, "2024-02-29 12:34:56", "2024-02-29T12:34:56Z");
    UNCLEAR(instant, "2024-02-29 14:34:56", "2024-02-29T12:34:56Z");
    DIFFER(instant, "2024-02-29 14:34:57", "2024-02-29T12:34:56Z");
    DIFFER(instant, "2024-03-02 14:34:56", "2024-02-29T12:34:56Z");
    DIFFER(instant, "2024-02-29T12:34:56+01:00", "2024-02-29T12:34:56Z");
    UNCLEAR(local, "1709210096500000", "2024-02-29 10:34:56.5Z");
    DIFFER(local, "1709210096500000", "2024-02-29 10:34:56.5");
    UNCLEAR(local, "1709210096500000", "1709210096500"); /* of another unit */
    DIFFER(local, "1709210096500000", "1709210096501");
    assert_int_equal(likeness(local, "1709210096500000", "2024-02-29 12:34:56.5000004", of_write), ISO_VALUES_UNCLEAR);
    assert_int_equal(likeness(instant, "2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00.6Z", of_stream),
                     ISO_VALUES_DIFFER);
    assert_int_equal(likeness(instant, "2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00.500000Z", of_stream),
                     ISO_VALUES_EQUAL);
}

static void days_and_hours(void **state)
{
    const struct iso_value_type date = typed(ISO_VALUE_DATE, 0), time = typed(ISO_VALUE_TIME, 6),
                                zoned = typed(ISO_VALUE_ZONED_TIME, 0);
    (void)state;
    spells(date, "2024-02-29", "19782");
    spells(date, "2024-02-29 00:00:00", "19782");
    spells(date, "1969-12-31", "-1");
    leaves(date, "2024-02-29 00:00:01");
    leaves(date, "2024-02-30");
    spells(time, "12:34:56.5", "45296500000");
    spells(time, "-12:34:56.500000", "-45296500000");
    spells(time, "-1 day, 11:25:03.500000", "-45296500000"); /* as Python prints it */
    spells(time, "1 day 02:00:00", "93600000000");
    spells(time, "34 days, 22:59:59", "3020399000000");
    spells(time, "838:59:59", "3020399000000");
    leaves(time, "12:60");
    leaves(time, "1 mon");
    UNCLEAR(time, "93600000000", "1 mon");
    spells(zoned, "12:34:56.5+02", "10:34:56.5Z");
    spells(zoned, "00:30:00+01", "23:30:00Z");
    UNCLEAR(zoned, "23:30:00Z", "00:30:00");
    DIFFER(zoned, "23:30:00Z", "00:31:00");
}

static void bytes(void **state)
{
    const struct iso_value_type type = typed(ISO_VALUE_BYTES, 0), nine = typed(ISO_VALUE_BITS, 9);
    (void)state;
    spells(type, "\\xff00", "/wA=");
    spells(type, "b'\\xff\\x00'", "/wA=");
    spells(type, "bytearray(b'a\\'\\n')", "YScK");
    spells(type, "/wA=", "/wA=");
    leaves(type, "b'\\x4");
    leaves(type, "hello!");
    UNCLEAR(type, "/wA=", "ff00");
    UNCLEAR(type, "/wA=", "0xFF00");
    UNCLEAR(type, "aGVsbG8h", "hello!");
    DIFFER(type, "/wA=", "/wE=");
    DIFFER(type, "/wA=", "\\xff01");
    spells(nine, "100000001", "AQE=");
    spells(nine, "AQE=", "AQE=");
    leaves(nine, "10");
    UNCLEAR(nine, "AQE=", "257");
}

static void uuids(void **state)
{
    const struct iso_value_type type = typed(ISO_VALUE_UUID, 0);
    (void)state;
    spells(type, "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
    spells(type, "{a0eebc999c0b4ef8bb6d6bb9bd380a11}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
    leaves(type, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1");
    leaves(type, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g");
    DIFFER(type, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12");
}

static void documents(void **state)
{
    const struct iso_value_type json = typed(ISO_VALUE_JSON, 0), list = typed(ISO_VALUE_LIST, 0),
                                nested = typed(ISO_VALUE_NESTED, 0);
    (void)state;
    spells(json, "{\"bb\": 1, \"a\": [1, 2.50, {\"d\":null,\"c\":\"\\u0041\"}]}",
           "{\"a\":[1,2.5,{\"c\":\"A\",\"d\":null}],\"bb\":1}");
    spells(json, " {} ", "{}");
    leaves(json, "{\"a\":1,\"a\":2}");
    leaves(json, "{'a': 1}");
    leaves(json, "[1,]");
    DIFFER(json, "[1,2]", "[2,1]");
    DIFFER(json, "{\"a\":1}", "{\"a\":\"1\"}");
    UNCLEAR(json, "{\"a\":1}", "{'a': 1}");
    UNCLEAR(json, "[12345678901234567890.5]", "[1.2345678901234567e+19]"); /* through doubles */
    spells(list, "[1, 2]", "[1,2]");
    DIFFER(list, "[1,2]", "[1,3]");
    UNCLEAR(list, "[1,2]", "{1,2}");
    UNCLEAR(nested, "[\"AJY=\"]", "[\"1.50\"]");
    assert_int_equal(likeness(nested, "[\"AJY=\"]", "[\"AJc=\"]", of_stream), ISO_VALUES_DIFFER);
    leaves(typed(ISO_VALUE_TEXT, 0), "1.5");
    DIFFER(typed(ISO_VALUE_TEXT, 0), "1.5", "1.50");
}

/* Whether something that nobody knows could make them one. */
static bool alike(const char *one, const char *other)
{
    return likeness(typed(ISO_VALUE_UNKNOWN, 0), one, other, of_stream) == ISO_VALUES_UNCLEAR;
}

static bool alike_to_client(const char *one, const char *other)
{
    return likeness(typed(ISO_VALUE_ANY, 0), one, other, of_client) == ISO_VALUES_UNCLEAR;
}

static void untyped(void **state)
{
    (void)state;
    assert_true(alike("1.5", "1.50"));
    assert_true(alike("-0.050", "-0.05"));
    assert_true(alike("3", "3.0"));
    assert_true(alike("1e3", "1000"));
    assert_true(alike("0.0", "0"));
    assert_true(alike("0.001", "1E-3"));
    assert_true(alike("1234570.0", "1234567.8")); /* a FLOAT */
    assert_true(alike("999999.5", "1000000"));
    assert_false(alike("1234570", "1234567"));
    assert_false(alike("007", "7")); /* codes */
    assert_false(alike("1.5", "1.51"));
    assert_false(alike("1.5", "-1.5"));
    assert_false(alike("15", "1.5"));
    assert_false(alike("10", "100"));
    assert_false(alike("", "0"));
    assert_false(alike("1e", "1"));
    assert_true(alike("2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00.500000Z"));
    assert_true(alike("2024-01-01 00:00:00", "2024-01-01T00:00:00.000"));
    assert_false(alike("2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00.6Z"));
    assert_false(alike("2024-01-01T00:00:00Z", "2024-01-01T01:00:00Z"));
    assert_false(alike("2024-01-01 12:00:00", "2024-01-01T10:00:00Z"));
    assert_true(alike_to_client("2024-01-01 12:00:00", "2024-01-01T10:00:00Z"));
    assert_true(alike_to_client("1709210096500000", "2024-02-29 12:34:56.5"));
    assert_true(alike_to_client("19782", "2024-02-29"));
    assert_false(alike_to_client("19783", "2024-02-29"));
    assert_true(alike_to_client("true", "1"));
    assert_true(alike_to_client("AJY=", "1.50")); /* a decimal as bytes */
    assert_false(alike_to_client("AJY=", "1.51"));
    assert_true(alike_to_client("/wA=", "\\xff00"));
    assert_true(alike_to_client("{\"a\":1,\"b\":2}", "{\"b\": 2, \"a\": 1}"));
    assert_true(alike_to_client("-1", "18446744073709551615"));
    assert_int_equal(likeness(typed(ISO_VALUE_ANY, 0), "-1", "18446744073709551615",
                              (struct iso_spellers){.client = true, .only_signed = true}),
                     ISO_VALUES_DIFFER);
    assert_true(alike_to_client("AQE=", "100000001"));
    assert_true(alike_to_client("{\"scale\":1,\"value\":\"Dw==\"}", "1.50"));
    assert_true(alike_to_client("[1,2]", "{1,2}"));
    assert_false(alike_to_client("[1,2]", "[1,3]"));
    assert_false(alike_to_client("7", "007"));
    assert_false(alike_to_client("5000", "5")); /* whole numbers are themselves */
    assert_false(alike_to_client("abc", "abd"));
    assert_false(alike_to_client("12", "13"));
    assert_false(alike_to_client("1.5", "1.6"));
}

/* ---- rows ---- */

static struct iso_value_type type_of(void *context, struct iso_json_text column)
{
    (void)context;
    return column.length != 1  ? typed(ISO_VALUE_UNKNOWN, 0)
           : *column.at == 'd' ? typed(ISO_VALUE_DECIMAL, 2)
           : *column.at == 'b' ? typed(ISO_VALUE_BOOLEAN, 0)
           : *column.at == 't' ? typed(ISO_VALUE_TIMESTAMP, 6)
           : *column.at == 'f' ? typed(ISO_VALUE_DOUBLE, 0)
                               : typed(ISO_VALUE_TEXT, 0);
}

static const struct iso_column_types types = {type_of, NULL};

static void row_spells(const char *row, const char *canonical)
{
    struct iso_text out = {0};
    assert_true(iso_row_spell(&types, text_of(row), &out));
    assert_int_equal(out.used, strlen(canonical));
    assert_memory_equal(out.bytes, canonical, out.used);
    iso_text_release(&out);
}

static void rows(void **state)
{
    struct iso_text out = {0};
    struct iso_row_difference difference;
    (void)state;
    row_spells("{\"x\":\"1.5\",\"d\": 1.5, \"b\":\"t\"}", "{\"b\":true,\"d\":\"1.50\",\"x\":\"1.5\"}");
    row_spells("{\"t\":\"2024-02-29 12:34:56\",\"f\":\"3.0\",\"n\":null}",
               "{\"f\":3,\"n\":null,\"t\":1709210096000000}");
    row_spells("{\"f\":\"NaN\"}", "{\"f\":\"NaN\"}");
    row_spells("{}", "{}");
    assert_false(iso_row_spell(&types, text_of("[1]"), &out));
    assert_false(iso_row_spell(&types, text_of("{\"a\":"), &out));
    assert_int_equal(out.used, 0);
    assert_int_equal(iso_rows_compare(&types, text_of("{\"b\":true,\"d\":\"1.50\"}"), text_of("{\"d\":1.5,\"b\":1}"),
                                      of_client, &difference),
                     ISO_VALUES_EQUAL);
    assert_int_equal(iso_rows_compare(&types, text_of("{\"b\":true,\"d\":\"1.50\"}"),
                                      text_of("{\"d\":1.6,\"b\":\"yes\"}"), of_client, &difference),
                     ISO_VALUES_DIFFER);
    assert_string_equal(difference.column, "d");
    assert_string_equal(difference.other, "1.6");
    assert_int_equal(
        iso_rows_compare(&types, text_of("{\"b\":true}"), text_of("{\"b\":\"yes\"}"), of_client, &difference),
        ISO_VALUES_UNCLEAR);
    assert_string_equal(difference.column, "b");
    assert_int_equal(iso_rows_compare(&types, text_of("{\"b\":true}"), text_of("{\"c\":true}"), of_client, &difference),
                     ISO_VALUES_DIFFER);
    assert_int_equal(
        iso_rows_compare(&types, text_of("{\"b\":null}"), text_of("{\"b\":false}"), of_client, &difference),
        ISO_VALUES_DIFFER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),  cmocka_unit_test(integers), cmocka_unit_test(booleans),
        cmocka_unit_test(floating), cmocka_unit_test(moments),  cmocka_unit_test(days_and_hours),
        cmocka_unit_test(bytes),    cmocka_unit_test(uuids),    cmocka_unit_test(documents),
        cmocka_unit_test(untyped),  cmocka_unit_test(rows),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
