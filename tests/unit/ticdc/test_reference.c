#define _GNU_SOURCE
/* Messages that TiCDC's own tests and documentation publish, as far as ../shared holds them; else
 * nothing is tested. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "connectors/ticdc/ticdc.h"
#include "tests/support/decoding.h"
#include "tests/support/test.h"

/* A member that is text, JSON, or bytes in hexadecimal; NULL: not there. The caller frees it. */
static char *part(const json_t *line, const char *text, const char *object, const char *hex,
                  size_t *size)
{
    const json_t *value = json_object_get(line, hex);
    if (json_is_string(value)) {
        const char *digits = json_string_value(value);
        *size = strlen(digits) / 2;
        char *bytes = malloc(*size + 1);
        assert_non_null(bytes);
        for (size_t i = 0; i < *size; i++) {
            unsigned byte;
            assert_int_equal(sscanf(digits + 2 * i, "%2x", &byte), 1);
            bytes[i] = (char)byte;
        }
        return bytes;
    }
    value = json_object_get(line, object);
    char *copy = json_is_object(value) ? json_dumps(value, JSON_COMPACT) : NULL;
    value = json_object_get(line, text);
    if (json_is_string(value))
        copy = strdup(json_string_value(value));
    *size = copy ? strlen(copy) : 0;
    return copy;
}

/* Decodes the file's lines; `expected` is what comes of each. */
static void compare(const char *name, const struct iso_decoder_options *options,
                    const char *const *expected, size_t count)
{
    char path[128], *line = NULL;
    size_t capacity = 0, number = 0;
    struct decoding decoding;
    snprintf(path, sizeof path, "../shared/captures/ticdc/ticdc-%s.reference.jsonl", name);
    FILE *file = fopen(path, "r");
    if (!file)
        skip();
    decoding_start(&decoding, &iso_ticdc_decoder, options);
    while (getline(&line, &capacity, file) > 0) {
        json_t *object = json_loads(line, 0, NULL);
        size_t key_size, value_size;
        assert_non_null(object);
        assert_in_range(number, 0, count - 1);
        char *key = part(object, "key", "key_json", "key_hex_framed_by_probe", &key_size);
        char *value = part(object, "value", "value_json", "value_hex_framed_by_probe", &value_size);
        assert_string_equal(decoding_of(&decoding, key, key_size, value, value_size),
                            expected[number++]);
        free(key);
        free(value);
        json_decref(object);
    }
    assert_int_equal(number, count);
    free(line);
    fclose(file);
    decoding_end(&decoding);
}
#define COMPARE(name, expected, ...)                                                               \
    compare(name, &(struct iso_decoder_options){__VA_ARGS__}, expected,                            \
            sizeof expected / sizeof *expected)

static void canal_json(void **state)
{
    (void)state;
#define BOB(place, date)                                                                           \
    "{\"FirstName\":\"Bob\",\"HireDate\":\"" date                                                  \
    "\",\"LastName\":\"Smith\",\"OfficeLocation\":\"" place "\"}"
    static const char *const expected[] = {
        "ROW insert test.employee/101: - -> " BOB("New York", "2014-06-04") "\n",
        "ROW update test.employee/101: " BOB("New York", "2014-06-04") " -> " BOB(
            "Los Angeles", "2015-10-08") "\n",
        "ROW delete test.employee/101: " BOB("Los Angeles", "2015-10-08") " -> -\n",
        "DROP test. cts 429918007904436226\n",
        ("ROW insert test.tp_int/2: - -> {\"c_bigint\":9223372036854775807,\"c_int\":2147483647,\"c_mediumint\":8388607,"
         "\"c_smallint\":32767,\"c_tinyint\":127} cts 429918007904436226\n"),
        "WATERMARK 429918007904436226\n",
    };
    COMPARE("canal-json", expected, .format = "canal-json");
}

static void open_protocol(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "SCHEMA test.t1 cts 415508856908021766\n",
        "WATERMARK 415508856908021766\n",
        "ROW update test.t1/1: ? -> aa cts 415508878783938562\n",
        "ROW update test.t1/2: ? -> bb cts 415508878783938562\n",
        "ROW update test.t1/3: ? -> cc cts 415508878783938562\n",
        "ROW delete test.t1/1: ? -> - cts 415508881418485761\n",
        "ROW delete test.t1/2: ? -> - cts 415508881418485761\n",
        "ROW update test.t1/3: ? -> dd cts 415508881418485761\n",
        "WATERMARK 415508881038376963\n",
    };
    COMPARE("open", expected, .format = "open-protocol", .value = "val");
}

static void simple(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "ROW insert simple.user/1: - -> {\"age\":25,\"name\":\"John Doe\",\"score\":90.5} cts 447984084414103554\n",
        "ROW update simple.user/1: {\"age\":25,\"name\":\"John Doe\",\"score\":90.5} -> {\"age\":25,\"name\":\"John Doe\",\"score\":95} cts 447984099186180098\n",
        "ROW delete simple.user/1: {\"age\":25,\"name\":\"John Doe\",\"score\":95} -> - cts 447984114259722243\n",
        "WATERMARK 447984124732375041\n",
    };
    COMPARE(
        "simple", expected, .format = "simple",
        .schema =
            "{\"schema\":\"simple\",\"table\":\"user\",\"version\":1,\"columns\":[{\"name\":\"id\",\"dataType\":{\"mysqlType\":\"int\"}},"
            "{\"name\":\"name\",\"dataType\":{\"mysqlType\":\"varchar\"}},{\"name\":\"age\",\"dataType\":{\"mysqlType\":\"int\"}},"
            "{\"name\":\"score\",\"dataType\":{\"mysqlType\":\"float\"}}],"
            "\"indexes\":[{\"primary\":true,\"unique\":true,\"nullable\":false,\"columns\":[\"id\"]}]}");
}

static void debezium(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "SCHEMA test.table2 cts 1\nDROP test.table1 cts 1\n",
        "SCHEMA test.table1 cts 1\n",
        "DROP test.table2 cts 1\n",
        "WATERMARK 3\n",
        "ROW insert test.table1/1: - -> 1 cts 1\n",
        "ROW insert test.table1/1: - -> 1 cts 1\n",
        "ROW delete test.table1/2: 2 -> - cts 1\nROW insert test.table1/1: ? -> 1 cts 1\n",
        "ROW delete test.table1/2: 2 -> - cts 1\nROW insert test.table1/1: ? -> 1 cts 1\n",
        "ROW update test.table1/1: ? -> 1 cts 1\n",
        "ROW delete test.table1/2: 2 -> - cts 1\n",
        "ROW delete test.table1/2: 2 -> - cts 1\n",
    };
    COMPARE("debezium", expected, .format = "debezium", .value = "tiny");
}

/* Lines of many tables, each with its own delimiter and quote: those that fit one set of
 * options. */
static void csv(void **state)
{
    (void)state;
#define TABLE(name, columns)                                                                       \
    "{\"Schema\":\"test\",\"Table\":\"" name "\",\"TableColumns\":[" columns "]}"
#define KEY(name) "{\"ColumnName\":\"" name "\",\"ColumnType\":\"VARCHAR\",\"ColumnIsPk\":\"true\"}"
#define OTHER(name) "{\"ColumnName\":\"" name "\",\"ColumnType\":\"VARCHAR\"}"
#define SHORT                                                                                      \
    "ERROR line 1: expected operation, table, database, commit timestamp (include-commit-ts=true) and columns\n"
    static const char *const expected[] = {
        "ROW insert test.table1/123: - -> {\"b\":\"hello,world\"} cts 435661838416609281\n",
        SHORT,
        SHORT,
        "ROW update test.table3/a%2Cb%2Cc: ? -> {\"b\":\"def\",\"c\":\"2022-08-31 17:07:00\"} cts 435661838416609281\n",
        SHORT,
        SHORT,
        "ROW update test.table6/a\\\\b\\\\c: ? -> {\"b\":\"def\\\\n\"} cts 435661838416609281\n",
        SHORT,
        "ERROR line 1: something behind a closing quote\n",
    };
    COMPARE("csv", expected, .format = "csv",
            .schema = TABLE("table1", KEY("a") "," OTHER("b"))
                TABLE("table3", KEY("a") "," OTHER("b") "," OTHER("c"))
                    TABLE("table6", KEY("a") "," OTHER("b")));
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {cmocka_unit_test(canal_json),
                                       cmocka_unit_test(open_protocol), cmocka_unit_test(simple),
                                       cmocka_unit_test(debezium), cmocka_unit_test(csv)};
    return cmocka_run_group_tests_name("ticdc reference", tests, NULL, NULL);
}
