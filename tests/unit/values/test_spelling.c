/* Values by their type: canonical spellings, and which texts are one value. */
#include <string.h>

#include "tests/support/test.h"

#include "values/labels.h"
#include "values/spelling.h"

static const struct iso_spellers of_client = {.client = true}, of_stream = {.client = false},
                                 of_write = {.client = true, .write = true},
                                 of_signed = {.client = true, .only_signed = true};

static struct iso_json_text text_of(const char *text)
{
    return (struct iso_json_text){text, strlen(text)};
}

#define TYPE(kind, detail)                                                                         \
    {                                                                                              \
        ISO_VALUE_##kind, false, detail                                                            \
    }

/* What is expected of a text, or of two in both orders; CLEAR: not UNCLEAR, whichever. */
enum expected { SPELT, LEFT, EQUAL, UNCLEAR, DIFFERENT, CLEAR };
struct row {
    struct iso_value_type type;
    enum expected expected;
    const char *text, *other;            /* other: as it is spelt, or what it is compared with */
    const struct iso_spellers *spellers; /* who spelt those that are compared */
};

/* Says which row it is that fails. */
static void check_that(bool holds, const struct row *row)
{
    if (!holds)
        fail_msg("%s, %s", row->text, row->other ? row->other : "left as it is");
}

/* Also that what is canonical stays. */
static void check_spelling(const struct row *row)
{
    struct iso_json_text text = text_of(row->text);
    for (int again = 0; again < 2; again++, text = text_of(row->other)) {
        struct iso_text out = {0};
        check_that(iso_value_spell(row->type, text, &out), row);
        check_that(out.used == strlen(row->other) && !memcmp(out.bytes, row->other, out.used), row);
        iso_text_release(&out);
    }
}

static void check_left(const struct row *row)
{
    struct iso_text out = {0};
    check_that(!iso_value_spell(row->type, text_of(row->text), &out) && !out.used, row);
    iso_text_release(&out);
}

static void check_likeness(const struct row *row)
{
    static const enum iso_likeness expected[] = {[EQUAL] = ISO_VALUES_EQUAL,
                                                 [UNCLEAR] = ISO_VALUES_UNCLEAR,
                                                 [DIFFERENT] = ISO_VALUES_DIFFER};
    struct iso_json_text one = text_of(row->text), other = text_of(row->other);
    enum iso_likeness likeness = iso_values_compare(row->type, one, other, *row->spellers);
    check_that(iso_values_compare(row->type, other, one, *row->spellers) == likeness, row);
    check_that(row->expected == CLEAR ? likeness != ISO_VALUES_UNCLEAR
                                      : likeness == expected[row->expected],
               row);
}

/* Rows up to one without a text. */
static void check_rows(void **state)
{
    for (const struct row *row = *state; row->text; row++) {
        void (*check)(const struct row *row) = row->expected == SPELT  ? check_spelling
                                               : row->expected == LEFT ? check_left
                                                                       : check_likeness;
        check(row);
    }
}

static struct row numbers[] = {
    {TYPE(DECIMAL, 2), SPELT, "1.5", "1.50", NULL},
    {TYPE(DECIMAL, 2), SPELT, "+001.5000", "1.50", NULL},
    {TYPE(DECIMAL, 2), SPELT, "Decimal('-1.5')", "-1.50", NULL},
    {TYPE(DECIMAL, 2), SPELT, "0", "0.00", NULL},
    {TYPE(DECIMAL, 2), SPELT, "-0.00", "0.00", NULL},
    {TYPE(DECIMAL, 2), SPELT, "1.2E+3", "1200.00", NULL},
    {TYPE(DECIMAL, 2), SPELT, "0.005", "0.005", NULL}, /* no value of the column: as it is */
    {TYPE(DECIMAL, -2), SPELT, "1200", "1200", NULL},
    {TYPE(NUMERIC, 0), SPELT, "1.50", "1.5", NULL},
    {TYPE(NUMERIC, 0), SPELT, "1E-7", "0.0000001", NULL},
    {TYPE(NUMERIC, 0), SPELT, "nan", "NaN", NULL},
    {TYPE(NUMERIC, 0), SPELT, "12345678901234567890123456789012345678901234567890.50",
     "12345678901234567890123456789012345678901234567890.5", NULL},
    {TYPE(DECIMAL, 2), LEFT, "1,5", NULL, NULL},
    {TYPE(DECIMAL, 2), LEFT, "$1.50", NULL, NULL},
    {TYPE(DECIMAL, 2), LEFT, "", NULL, NULL},
    {TYPE(DECIMAL, 2), LEFT, ".", NULL, NULL},
    {TYPE(DECIMAL, 2), LEFT, "1e", NULL, NULL},
    {TYPE(DECIMAL, 2), LEFT, "1e99999", NULL, NULL},
    {TYPE(DECIMAL, 2), DIFFERENT, "1.50", "1.51", &of_client},
    {TYPE(DECIMAL, 2), DIFFERENT, "1.50", "-1.50", &of_client},
    {TYPE(DECIMAL, 2), DIFFERENT, "1.50", "15.0", &of_client},
    {TYPE(DECIMAL, 2), DIFFERENT, "1.50", "1.504", &of_client},
    {TYPE(DECIMAL, 2), UNCLEAR, "1.50", "1.504", &of_write}, /* the column rounds */
    {TYPE(DECIMAL, 2), UNCLEAR, "1.51", "1.505", &of_write},
    {TYPE(DECIMAL, 2), DIFFERENT, "1.52", "1.505", &of_write},
    {TYPE(DECIMAL, 2), UNCLEAR, "12.30", "$12.30", &of_client},
    {TYPE(DECIMAL, 2), DIFFERENT, "12.30", "$12.30", &of_stream},
    {.text = NULL},
};

static struct row integers[] = {
    {TYPE(INTEGER, 0), SPELT, "5.0", "5", NULL},
    {TYPE(INTEGER, 0), SPELT, "True", "1", NULL}, /* of MySQL's BOOLEAN */
    {TYPE(INTEGER_64, 0), SPELT, "18446744073709551615", "-1", NULL},
    {TYPE(INTEGER_64, 0), SPELT, "9223372036854775807", "9223372036854775807", NULL},
    {TYPE(INTEGER_64, 0), SPELT, "9223372036854775808", "-9223372036854775808", NULL},
    {TYPE(INTEGER_64, 0), SPELT, "18446744073709551616", "18446744073709551616",
     NULL}, /* beyond 64 bits */
    {TYPE(INTEGER, 0), LEFT, "5.5", NULL, NULL},
    {TYPE(INTEGER, 0), LEFT, "five", NULL, NULL},
    {TYPE(INTEGER, 0), DIFFERENT, "5", "5.5", &of_client},
    {TYPE(INTEGER, 0), DIFFERENT, "5", "five", &of_client},
    {TYPE(INTEGER_64, 0), DIFFERENT, "-2", "18446744073709551615", &of_client},
    {.text = NULL},
};

static struct row booleans[] = {
    {TYPE(BOOLEAN, 0), SPELT, "true", "true", NULL},
    {TYPE(BOOLEAN, 0), SPELT, "True", "true", NULL},
    {TYPE(BOOLEAN, 0), SPELT, "t", "true", NULL},
    {TYPE(BOOLEAN, 0), SPELT, "1", "true", NULL},
    {TYPE(BOOLEAN, 0), SPELT, "b'\\x01'", "true", NULL},
    {TYPE(BOOLEAN, 0), SPELT, "\x01", "true", NULL},
    {TYPE(BOOLEAN, 0), SPELT, "false", "false", NULL},
    {TYPE(BOOLEAN, 0), SPELT, "FALSE", "false", NULL},
    {TYPE(BOOLEAN, 0), SPELT, "f", "false", NULL},
    {TYPE(BOOLEAN, 0), SPELT, "0", "false", NULL},
    {TYPE(BOOLEAN, 0), SPELT, "b'\\x00'", "false", NULL},
    {TYPE(BOOLEAN, 0), DIFFERENT, "false", "true", &of_client},
    {TYPE(BOOLEAN, 0), DIFFERENT, "FALSE", "True", &of_client},
    {TYPE(BOOLEAN, 0), DIFFERENT, "f", "t", &of_client},
    {TYPE(BOOLEAN, 0), DIFFERENT, "0", "1", &of_client},
    {TYPE(BOOLEAN, 0), DIFFERENT, "b'\\x00'", "b'\\x01'", &of_client},
    {TYPE(BOOLEAN, 0), UNCLEAR, "true", "yes", &of_client},
    {.text = NULL},
};

static char *label_lists[] = {"a\x1f"
                              "b\x1f",
                              "2\x1f"
                              "1\x1f",
                              "a\x1f"
                              "b\x1f"
                              "c\x1f"};
static const struct iso_labels known_labels = {.list = label_lists, .count = 3};
static const struct iso_spellers of_labels = {.client = true, .labels = &known_labels};

enum {
    ENUM_AB = 1 * ISO_LABELS_LIST,
    ENUM_DIGITS = 2 * ISO_LABELS_LIST,
    ENUM_ABC = 3 * ISO_LABELS_LIST,
    SET_ABC = ENUM_ABC + ISO_LABELS_SET,
};

static struct row labels[] = {
    {TYPE(LABEL, ENUM_AB), LEFT, "b", NULL, NULL}, /* another list may come to be known */
    {TYPE(LABEL, ENUM_AB), EQUAL, "b", "2", &of_labels},
    {TYPE(LABEL, ENUM_AB), EQUAL, "B", "2", &of_labels},
    {TYPE(LABEL, ENUM_AB), EQUAL, "", "0", &of_labels},
    {TYPE(LABEL, ENUM_AB), DIFFERENT, "a", "2", &of_labels},
    {TYPE(LABEL, ENUM_AB), DIFFERENT, "a", "b", &of_labels},
    {TYPE(LABEL, ENUM_AB), UNCLEAR, "c", "2", &of_labels},
    {TYPE(LABEL, ENUM_AB), UNCLEAR, "b", "2", &of_client},
    {TYPE(LABEL, ENUM_DIGITS), UNCLEAR, "2", "1", &of_labels}, /* the first, or the second */
    {TYPE(LABEL, ENUM_DIGITS), DIFFERENT, "2", "3", &of_labels},
    {TYPE(LABEL, SET_ABC), EQUAL, "b,a", "3", &of_labels},
    {TYPE(LABEL, SET_ABC), EQUAL, "", "0", &of_labels},
    {TYPE(LABEL, SET_ABC), UNCLEAR, "a,x", "1", &of_labels},
    {TYPE(LABEL, SET_ABC), DIFFERENT, "a", "3", &of_labels},
    {TYPE(LABEL, 0), UNCLEAR, "b", "2", &of_labels},
    {TYPE(LABEL, 0), DIFFERENT, "1", "2", &of_labels},
    {TYPE(LABEL, 0), DIFFERENT, "b", "a", &of_labels},
    {TYPE(LABEL, 99 * ISO_LABELS_LIST), UNCLEAR, "b", "2", &of_labels},
    {TYPE(LABEL, ISO_LABELS_NAMED), UNCLEAR, "1", "10", &of_client},
    {TYPE(LABEL, ISO_LABELS_NAMED), UNCLEAR, "B,a", "a,b", &of_client},
    {TYPE(LABEL, ISO_LABELS_NAMED), DIFFERENT, "a,b", "a,bc", &of_client},
    {TYPE(UNKNOWN, ISO_MAY_BE_LABEL), UNCLEAR, "b", "2", &of_client},
    {TYPE(UNKNOWN, ISO_MAY_BE_LABEL), DIFFERENT, "1", "2", &of_client},
    {TYPE(ANY, ISO_MAY_BE_LABEL), UNCLEAR, "b", "2", &of_client},
    {TYPE(ANY, 0), DIFFERENT, "b", "2", &of_client},
    {.text = NULL},
};

static int joined(int known, int said)
{
    return iso_labels_join(&known_labels,
                           (struct iso_value_type){ISO_VALUE_LABEL, false, (int16_t)known},
                           (struct iso_value_type){ISO_VALUE_LABEL, false, (int16_t)said})
        .detail;
}

/* A list that grew is one list. */
static void lists_that_are_joined(void **state)
{
    (void)state;
    assert_int_equal(joined(ENUM_AB, ENUM_ABC), ENUM_ABC);
    assert_int_equal(joined(ENUM_ABC, ENUM_AB), ENUM_ABC);
    assert_int_equal(joined(0, ENUM_AB), ENUM_AB);
    assert_int_equal(joined(ENUM_AB, 0), ENUM_AB);
    assert_int_equal(joined(ENUM_AB, ENUM_DIGITS), ISO_LABELS_DIFFER);
    assert_int_equal(joined(ISO_LABELS_DIFFER, ENUM_AB), ISO_LABELS_DIFFER);
    assert_int_equal(joined(ENUM_ABC, SET_ABC), ISO_LABELS_DIFFER);
}

static void check_list(iso_labels_reader *read, const char *text, const char *expected)
{
    struct iso_text list = {0};
    bool fine = read(text_of(text), &list);
    assert_int_equal(fine, expected != NULL);
    if (expected) {
        iso_text_put_bytes(&list, "", 1);
        assert_string_equal(list.bytes, expected);
    }
    iso_text_release(&list);
}

static void lists_of_labels(void **state)
{
    (void)state;
    check_list(iso_labels_of_allowed, "a,c\\,d,e\\f",
               "a\x1f"
               "c,d\x1f"
               "e\\f\x1f");
    check_list(iso_labels_of_allowed, "", NULL);
    check_list(iso_labels_of_sql, "enum( 'it''s' ,\"x\", 'q\\'r')  COLLATE",
               "it's\x1fx\x1fq'r\x1f");
    check_list(iso_labels_of_sql, "set('')", "\x1f");
    check_list(iso_labels_of_sql, "enum", NULL);
    check_list(iso_labels_of_sql, "enum('a'", NULL);
    check_list(iso_labels_of_sql, "enum(x'61')", NULL);
    check_list(iso_labels_of_sql, "enum('a' 'b')", NULL);
}

static struct row floating[] = {
    {TYPE(DOUBLE, 0), SPELT, "3.0", "3", NULL},
    {TYPE(DOUBLE, 0), SPELT, "0.1000", "0.1", NULL},
    {TYPE(DOUBLE, 0), SPELT, "100000000000000000000", "1e+20", NULL},
    {TYPE(DOUBLE, 0), SPELT, "inf", "Infinity", NULL},
    {TYPE(FLOAT, 0), SPELT, "1.100000023841858", "1.1", NULL},
    {TYPE(DOUBLE, 0), LEFT, "1e400", NULL, NULL},
    {TYPE(DOUBLE, 0), EQUAL, "0", "-0", &of_client},
    {TYPE(DOUBLE, 0), DIFFERENT, "0.1", "0.10000000000000002", &of_client},
    {TYPE(DOUBLE, 0), DIFFERENT, "1234570", "1234567.8", &of_client},
    {TYPE(FLOAT, 0), UNCLEAR, "1234570", "1234567.8",
     &of_client}, /* with six digits, or with all of them */
    {TYPE(FLOAT, 0), UNCLEAR, "1234570", "1234567.8", &of_stream},
    {TYPE(FLOAT, 0), DIFFERENT, "1234580", "1234567.8", &of_client},
    {TYPE(FLOAT, 0), DIFFERENT, "1.5", "1.6", &of_client},
    {.text = NULL},
};

static struct row moments[] = {
    {TYPE(TIMESTAMP, 6), SPELT, "2024-02-29 12:34:56.5", "1709210096500000", NULL},
    {TYPE(TIMESTAMP, 6), SPELT, "2024-02-29T12:34:56.500000", "1709210096500000", NULL},
    {TYPE(TIMESTAMP, 3), SPELT, "1969-12-31 23:59:59.999", "-1", NULL},
    {TYPE(TIMESTAMP, 3), SPELT, "0100-01-01 00:00:00", "-59011459200000", NULL},
    /* a year that senders may take for one of two digits */
    {TYPE(TIMESTAMP, 3), LEFT, "0001-01-01 00:00:00", NULL, NULL},
    {TYPE(TIMESTAMP, 3), EQUAL, "-62135596800000", "0001-01-01 00:00:00", &of_client},
    {TYPE(TIMESTAMP, 3), UNCLEAR, "978307200000", "0001-01-01 00:00:00", &of_client},
    {TYPE(DATE, 0), UNCLEAR, "10956", "0099-12-31", &of_client},
    {TYPE(DATE, 0), DIFFERENT, "10957", "0099-12-31", &of_client},
    {TYPE(TIMESTAMP, 3), SPELT, "2024-02-29", "1709164800000", NULL},
    {TYPE(TIMESTAMP, 3), LEFT, "2024-02-29 12:34:56.5001", NULL, NULL}, /* finer than the column */
    {TYPE(TIMESTAMP, 6), LEFT, "2023-02-29 00:00:00", NULL, NULL},
    {TYPE(TIMESTAMP, 6), LEFT, "2024-02-29 24:00:00", NULL, NULL},
    {TYPE(TIMESTAMP, 6), LEFT, "2024-02-29 12:34:56Z", NULL, NULL}, /* in a column without a zone */
    {TYPE(INSTANT, 0), SPELT, "2024-02-29 12:34:56.500000+01", "2024-02-29T11:34:56.5Z", NULL},
    {TYPE(INSTANT, 0), SPELT, "2024-02-29T11:34:56.5Z", "2024-02-29T11:34:56.5Z", NULL},
    {TYPE(INSTANT, 0), SPELT, "2024-02-29 23:30:00 -0130", "2024-03-01T01:00:00Z", NULL},
    {TYPE(INSTANT, 0), SPELT, "2100-03-01 00:00:00+00:00", "2100-03-01T00:00:00Z", NULL},
    {TYPE(INSTANT, 0), LEFT, "2024-02-29 12:34:56", NULL, NULL}, /* of a zone that nobody says */
    {TYPE(INSTANT, 0), UNCLEAR, "2024-02-29 12:34:56", "2024-02-29T12:34:56Z", &of_client},
    {TYPE(INSTANT, 0), UNCLEAR, "2024-02-29 14:34:56", "2024-02-29T12:34:56Z", &of_client},
    {TYPE(INSTANT, 0), DIFFERENT, "2024-02-29 14:34:57", "2024-02-29T12:34:56Z", &of_client},
    {TYPE(INSTANT, 0), DIFFERENT, "2024-03-02 14:34:56", "2024-02-29T12:34:56Z", &of_client},
    {TYPE(INSTANT, 0), DIFFERENT, "2024-02-29T12:34:56+01:00", "2024-02-29T12:34:56Z", &of_client},
    {TYPE(TIMESTAMP, 6), UNCLEAR, "1709210096500000", "2024-02-29 10:34:56.5Z", &of_client},
    {TYPE(TIMESTAMP, 6), DIFFERENT, "1709210096500000", "2024-02-29 10:34:56.5", &of_client},
    {TYPE(TIMESTAMP, 6), UNCLEAR, "1709210096500000", "1709210096500",
     &of_client}, /* of another unit */
    {TYPE(TIMESTAMP, 6), DIFFERENT, "1709210096500000", "1709210096501", &of_client},
    {TYPE(TIMESTAMP, 6), UNCLEAR, "1709210096500000", "2024-02-29 12:34:56.5000004", &of_write},
    {TYPE(INSTANT, 0), DIFFERENT, "2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00.6Z", &of_stream},
    {TYPE(INSTANT, 0), EQUAL, "2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00.500000Z", &of_stream},
    {.text = NULL},
};

static struct row days_and_hours[] = {
    {TYPE(DATE, 0), SPELT, "2024-02-29", "19782", NULL},
    {TYPE(DATE, 0), SPELT, "2024-02-29 00:00:00", "19782", NULL},
    {TYPE(DATE, 0), SPELT, "1969-12-31", "-1", NULL},
    {TYPE(DATE, 0), LEFT, "2024-02-29 00:00:01", NULL, NULL},
    {TYPE(DATE, 0), LEFT, "2024-02-30", NULL, NULL},
    {TYPE(TIME, 6), SPELT, "12:34:56.5", "45296500000", NULL},
    {TYPE(TIME, 6), SPELT, "-12:34:56.500000", "-45296500000", NULL},
    {TYPE(TIME, 6), SPELT, "-1 day, 11:25:03.500000", "-45296500000",
     NULL}, /* as Python prints it */
    {TYPE(TIME, 6), SPELT, "1 day 02:00:00", "93600000000", NULL},
    {TYPE(TIME, 6), SPELT, "34 days, 22:59:59", "3020399000000", NULL},
    {TYPE(TIME, 6), SPELT, "838:59:59", "3020399000000", NULL},
    {TYPE(TIME, 6), LEFT, "12:60", NULL, NULL},
    {TYPE(TIME, 6), LEFT, "1 mon", NULL, NULL},
    {TYPE(TIME, 6), UNCLEAR, "93600000000", "1 mon", &of_client},
    {TYPE(ZONED_TIME, 0), SPELT, "12:34:56.5+02", "10:34:56.5Z", NULL},
    {TYPE(ZONED_TIME, 0), SPELT, "00:30:00+01", "23:30:00Z", NULL},
    {TYPE(ZONED_TIME, 0), UNCLEAR, "23:30:00Z", "00:30:00", &of_client},
    {TYPE(ZONED_TIME, 0), DIFFERENT, "23:30:00Z", "00:31:00", &of_client},
    {.text = NULL},
};

static struct row bytes[] = {
    {TYPE(BYTES, 0), SPELT, "\\xff00", "/wA=", NULL},
    {TYPE(BYTES, 0), SPELT, "b'\\xff\\x00'", "/wA=", NULL},
    {TYPE(BYTES, 0), SPELT, "bytearray(b'a\\'\\n')", "YScK", NULL},
    {TYPE(BYTES, 0), SPELT, "/wA=", "/wA=", NULL},
    {TYPE(BYTES, 0), LEFT, "b'\\x4", NULL, NULL},
    {TYPE(BYTES, 0), LEFT, "hello!", NULL, NULL},
    {TYPE(BYTES, 0), UNCLEAR, "/wA=", "ff00", &of_client},
    {TYPE(BYTES, 0), UNCLEAR, "/wA=", "0xFF00", &of_client},
    {TYPE(BYTES, 0), UNCLEAR, "aGVsbG8h", "hello!", &of_client},
    {TYPE(BYTES, 0), DIFFERENT, "/wA=", "/wE=", &of_client},
    {TYPE(BYTES, 0), DIFFERENT, "/wA=", "\\xff01", &of_client},
    {TYPE(BITS, 9), SPELT, "100000001", "AQE=", NULL},
    {TYPE(BITS, 9), SPELT, "AQE=", "AQE=", NULL},
    {TYPE(BITS, 9), LEFT, "10", NULL, NULL},
    {TYPE(BITS, 9), UNCLEAR, "AQE=", "257", &of_client},
    {.text = NULL},
};

static struct row uuids[] = {
    {TYPE(UUID, 0), SPELT, "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
     "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", NULL},
    {TYPE(UUID, 0), SPELT, "{a0eebc999c0b4ef8bb6d6bb9bd380a11}",
     "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", NULL},
    {TYPE(UUID, 0), LEFT, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1", NULL, NULL},
    {TYPE(UUID, 0), LEFT, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g", NULL, NULL},
    {TYPE(UUID, 0), DIFFERENT, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
     "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12", &of_client},
    {.text = NULL},
};

static struct row documents[] = {
    {TYPE(JSON, 0), SPELT, "{\"bb\": 1, \"a\": [1, 2.50, {\"d\":null,\"c\":\"\\u0041\"}]}",
     "{\"a\":[1,2.5,{\"c\":\"A\",\"d\":null}],\"bb\":1}", NULL},
    {TYPE(JSON, 0), SPELT, " {} ", "{}", NULL},
    {TYPE(JSON, 0), LEFT, "{\"a\":1,\"a\":2}", NULL, NULL},
    {TYPE(JSON, 0), LEFT, "{'a': 1}", NULL, NULL},
    {TYPE(JSON, 0), LEFT, "[1,]", NULL, NULL},
    {TYPE(JSON, 0), DIFFERENT, "[1,2]", "[2,1]", &of_client},
    {TYPE(JSON, 0), DIFFERENT, "{\"a\":1}", "{\"a\":\"1\"}", &of_client},
    {TYPE(JSON, 0), UNCLEAR, "{\"a\":1}", "{'a': 1}", &of_client},
    {TYPE(JSON, 0), UNCLEAR, "[12345678901234567890.5]", "[1.2345678901234567e+19]",
     &of_client}, /* through doubles */
    {TYPE(LIST, 0), SPELT, "[1, 2]", "[1,2]", NULL},
    {TYPE(LIST, 0), DIFFERENT, "[1,2]", "[1,3]", &of_client},
    {TYPE(LIST, 0), EQUAL, "[1,2]", "{1,2}", &of_client},
    {TYPE(LIST, 0), EQUAL, "[]", "{}", &of_client},
    {TYPE(LIST, 0), EQUAL, "[1,2]", "[0:1]={1,2}", &of_client},
    {TYPE(LIST, 0), EQUAL, "[[true,false],[null,true]]", "{{t,f},{NULL,t}}", &of_client},
    {TYPE(LIST, 0), EQUAL, "[\"a \\\"b\\\"\",\"NULL\",\"\"]", "{\"a \\\"b\\\"\",\"NULL\",\"\"}",
     &of_client},
    {TYPE(LIST, 0), DIFFERENT, "[1,2]", "{1,3}", &of_client},
    {TYPE(LIST, 0), DIFFERENT, "[1]", "{}", &of_client},
    {TYPE(LIST, 0), DIFFERENT, "[\"NULL\"]", "{NULL}", &of_client},
    {TYPE(LIST, 0), UNCLEAR, "[1,2]", "{1,2", &of_client},
    {TYPE(LIST, 0), UNCLEAR, "[1,2]", "{1,,2}", &of_client},
    {TYPE(NESTED, 0), EQUAL, "[]", "{}", &of_client},
    {TYPE(NESTED, 0), UNCLEAR, "[\"AJY=\"]", "{1.50}", &of_client},
    {TYPE(NESTED, 0), DIFFERENT, "[\"AJY=\"]", "{1.50,1.50}", &of_client},
    {TYPE(UNKNOWN, 0), UNCLEAR, "[]", "{}", &of_client},
    {TYPE(NESTED, 0), UNCLEAR, "[\"AJY=\"]", "[\"1.50\"]", &of_client},
    {TYPE(NESTED, 0), DIFFERENT, "[\"AJY=\"]", "[\"AJc=\"]", &of_stream},
    {TYPE(TEXT, 0), LEFT, "1.5", NULL, NULL},
    {TYPE(TEXT, 0), DIFFERENT, "1.5", "1.50", &of_client},
    {.text = NULL},
};

static struct row untyped[] = {
    {TYPE(UNKNOWN, 0), UNCLEAR, "1.5", "1.50", &of_stream},
    {TYPE(UNKNOWN, 0), UNCLEAR, "-0.050", "-0.05", &of_stream},
    {TYPE(UNKNOWN, 0), UNCLEAR, "3", "3.0", &of_stream},
    {TYPE(UNKNOWN, 0), UNCLEAR, "1e3", "1000", &of_stream},
    {TYPE(UNKNOWN, 0), UNCLEAR, "0.0", "0", &of_stream},
    {TYPE(UNKNOWN, 0), UNCLEAR, "0.001", "1E-3", &of_stream},
    {TYPE(UNKNOWN, 0), UNCLEAR, "1234570.0", "1234567.8", &of_stream}, /* a FLOAT */
    {TYPE(UNKNOWN, 0), UNCLEAR, "999999.5", "1000000", &of_stream},
    {TYPE(UNKNOWN, 0), CLEAR, "1234570", "1234567", &of_stream},
    {TYPE(UNKNOWN, 0), CLEAR, "007", "7", &of_stream}, /* codes */
    {TYPE(UNKNOWN, 0), CLEAR, "1.5", "1.51", &of_stream},
    {TYPE(UNKNOWN, 0), CLEAR, "1.5", "-1.5", &of_stream},
    {TYPE(UNKNOWN, 0), CLEAR, "15", "1.5", &of_stream},
    {TYPE(UNKNOWN, 0), CLEAR, "10", "100", &of_stream},
    {TYPE(UNKNOWN, 0), CLEAR, "", "0", &of_stream},
    {TYPE(UNKNOWN, 0), CLEAR, "1e", "1", &of_stream},
    {TYPE(UNKNOWN, 0), UNCLEAR, "2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00.500000Z",
     &of_stream},
    {TYPE(UNKNOWN, 0), UNCLEAR, "2024-01-01 00:00:00", "2024-01-01T00:00:00.000", &of_stream},
    {TYPE(UNKNOWN, 0), CLEAR, "2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00.6Z", &of_stream},
    {TYPE(UNKNOWN, 0), CLEAR, "2024-01-01T00:00:00Z", "2024-01-01T01:00:00Z", &of_stream},
    {TYPE(UNKNOWN, 0), CLEAR, "2024-01-01 12:00:00", "2024-01-01T10:00:00Z", &of_stream},
    {TYPE(ANY, 0), UNCLEAR, "2024-01-01 12:00:00", "2024-01-01T10:00:00Z", &of_client},
    {TYPE(ANY, 0), UNCLEAR, "1709210096500000", "2024-02-29 12:34:56.5", &of_client},
    {TYPE(ANY, 0), UNCLEAR, "19782", "2024-02-29", &of_client},
    {TYPE(ANY, 0), CLEAR, "19783", "2024-02-29", &of_client},
    {TYPE(ANY, 0), UNCLEAR, "true", "1", &of_client},
    {TYPE(ANY, 0), UNCLEAR, "AJY=", "1.50", &of_client}, /* a decimal as bytes */
    {TYPE(ANY, 0), CLEAR, "AJY=", "1.51", &of_client},
    {TYPE(ANY, 0), UNCLEAR, "/wA=", "\\xff00", &of_client},
    {TYPE(ANY, 0), UNCLEAR, "{\"a\":1,\"b\":2}", "{\"b\": 2, \"a\": 1}", &of_client},
    {TYPE(ANY, 0), UNCLEAR, "-1", "18446744073709551615", &of_client},
    {TYPE(ANY, 0), DIFFERENT, "-1", "18446744073709551615", &of_signed},
    {TYPE(ANY, 0), UNCLEAR, "AQE=", "100000001", &of_client},
    {TYPE(ANY, 0), UNCLEAR, "{\"scale\":1,\"value\":\"Dw==\"}", "1.50", &of_client},
    {TYPE(ANY, 0), UNCLEAR, "[1,2]", "{1,2}", &of_client},
    {TYPE(ANY, 0), CLEAR, "[1,2]", "[1,3]", &of_client},
    {TYPE(ANY, 0), CLEAR, "7", "007", &of_client},
    {TYPE(ANY, 0), CLEAR, "5000", "5", &of_client}, /* whole numbers are themselves */
    {TYPE(ANY, 0), CLEAR, "abc", "abd", &of_client},
    {TYPE(ANY, 0), CLEAR, "12", "13", &of_client},
    {TYPE(ANY, 0), CLEAR, "1.5", "1.6", &of_client},
    {.text = NULL},
};

/* ---- rows ---- */

static struct iso_value_type typed(enum iso_value_kind kind, int detail)
{
    return (struct iso_value_type){(uint8_t)kind, false, (int16_t)detail};
}

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
    row_spells("{\"x\":\"1.5\",\"d\": 1.5, \"b\":\"t\"}",
               "{\"b\":true,\"d\":\"1.50\",\"x\":\"1.5\"}");
    row_spells("{\"t\":\"2024-02-29 12:34:56\",\"f\":\"3.0\",\"n\":null}",
               "{\"f\":3,\"n\":null,\"t\":1709210096000000}");
    row_spells("{\"f\":\"NaN\"}", "{\"f\":\"NaN\"}");
    row_spells("{}", "{}");
    assert_false(iso_row_spell(&types, text_of("[1]"), &out));
    assert_false(iso_row_spell(&types, text_of("{\"a\":"), &out));
    assert_int_equal(out.used, 0);
    assert_int_equal(iso_rows_compare(&types, text_of("{\"b\":true,\"d\":\"1.50\"}"),
                                      text_of("{\"d\":1.5,\"b\":1}"), of_client, &difference),
                     ISO_VALUES_EQUAL);
    assert_int_equal(iso_rows_compare(&types, text_of("{\"b\":true,\"d\":\"1.50\"}"),
                                      text_of("{\"d\":1.6,\"b\":\"yes\"}"), of_client, &difference),
                     ISO_VALUES_DIFFER);
    assert_string_equal(difference.column, "d");
    assert_string_equal(difference.other, "1.6");
    assert_int_equal(iso_rows_compare(&types, text_of("{\"b\":true}"), text_of("{\"b\":\"yes\"}"),
                                      of_client, &difference),
                     ISO_VALUES_UNCLEAR);
    assert_string_equal(difference.column, "b");
    assert_int_equal(iso_rows_compare(&types, text_of("{\"b\":true}"), text_of("{\"c\":true}"),
                                      of_client, &difference),
                     ISO_VALUES_DIFFER);
    assert_int_equal(iso_rows_compare(&types, text_of("{\"b\":null}"), text_of("{\"b\":false}"),
                                      of_client, &difference),
                     ISO_VALUES_DIFFER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"numbers", check_rows, NULL, NULL, numbers},
        {"integers", check_rows, NULL, NULL, integers},
        {"booleans", check_rows, NULL, NULL, booleans},
        {"labels", check_rows, NULL, NULL, labels},
        {"floating", check_rows, NULL, NULL, floating},
        {"moments", check_rows, NULL, NULL, moments},
        {"days_and_hours", check_rows, NULL, NULL, days_and_hours},
        {"bytes", check_rows, NULL, NULL, bytes},
        {"uuids", check_rows, NULL, NULL, uuids},
        {"documents", check_rows, NULL, NULL, documents},
        {"untyped", check_rows, NULL, NULL, untyped},
        cmocka_unit_test(rows),
        cmocka_unit_test(lists_of_labels),
        cmocka_unit_test(lists_that_are_joined),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
