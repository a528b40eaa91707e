/* Schemas and bytes of Avro: numbers as libavro writes them, messages cut anywhere, and what is
 * there to waste time. */
#include <avro.h>
#include <stdio.h>
#include <stdlib.h>

#include "connectors/avro/cursor.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

static struct iso_avro_schema *parse(const char *text)
{
    struct iso_error error = {0};
    struct iso_avro_schema *schema = iso_avro_schema_parse(text, strlen(text), &error);
    assert_string_equal(error.text, "");
    assert_non_null(schema);
    return schema;
}

/* ---- numbers ---- */

static size_t write_long(int64_t number, char bytes[16])
{
    avro_value_t value;
    avro_generic_long_new(&value, number);
    avro_writer_t writer = avro_writer_memory(bytes, 16);
    assert_int_equal(avro_value_write(writer, &value), 0);
    size_t size = (size_t)avro_writer_tell(writer);
    avro_writer_free(writer);
    avro_value_decref(&value);
    return size;
}

/* Read where other bytes follow, and at the very end, in a block of its own. */
static void assert_reads(int64_t number)
{
    struct iso_avro_cursor cursor;
    char bytes[32];
    memset(bytes, 0xff, sizeof bytes);
    size_t size = write_long(number, bytes);
    iso_avro_start(&cursor, bytes, sizeof bytes);
    assert_true(iso_avro_long(&cursor) == number);
    assert_int_equal(cursor.at - cursor.start, size);
    for (size_t cut = 0; cut <= size; cut++) {
        char *copy = malloc(cut + 1);
        assert_non_null(copy);
        memcpy(copy, bytes, cut);
        iso_avro_start(&cursor, copy, cut);
        assert_true(iso_avro_long(&cursor) == (cut == size ? number : 0));
        assert_int_equal(iso_avro_finish(&cursor), cut == size);
        free(copy);
    }
}

static void numbers_as_libavro_writes_them(void **state)
{
    (void)state;
    struct random random = {88172645463325252u};
    for (int bits = 0; bits < 64; bits++)
        for (int64_t near = -2; near <= 2; near++) {
            assert_reads((int64_t)(((uint64_t)1 << bits) + (uint64_t)near));
            assert_reads((int64_t)((uint64_t)near - ((uint64_t)1 << bits)));
        }
    for (int i = 0; i < 2000; i++)
        assert_reads((int64_t)(random_bits(&random) >> random_below(&random, 64)));
    assert_reads(INT64_MAX);
    assert_reads(INT64_MIN);
}

static void numbers_that_are_too_long(void **state)
{
    (void)state;
    static const char *const wrong[] = {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\2",
                                        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (size_t behind = 0; behind < 16; behind += 15) {
            struct iso_avro_cursor cursor;
            char bytes[32] = {0};
            memcpy(bytes, wrong[i], strlen(wrong[i]));
            iso_avro_start(&cursor, bytes, strlen(wrong[i]) + behind);
            assert_int_equal(iso_avro_long(&cursor), 0);
            assert_string_equal(cursor.expected, "a number of at most 64 bits");
            assert_int_equal(cursor.position, 0);
        }
}

/* ---- schemas ---- */

static void what_connect_says_beside_types(void **state)
{
    (void)state;
    struct iso_avro_schema *schema = parse(
        "{\"type\":\"record\",\"name\":\"T\",\"namespace\":\"a.b\",\"fields\":["
        "{\"name\":\"n\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"scale\":3}},"
        "{\"name\":\"u\",\"type\":[\"null\",{\"type\":\"long\",\"connect.parameters\":{\"x\":\"y\"}}]},"
        "{\"name\":\"v\",\"type\":{\"type\":\"record\",\"name\":\"V\",\"connect.name\":\"c.V\",\"fields\":[]}}]}");
    const struct iso_avro_type *record = schema->root;
    const struct iso_avro_field *fields = record->fields;
    assert_string_equal(record->name, "a.b.T");
    assert_int_equal(record->count, 3);
    assert_string_equal(fields[1].name, "u");
    assert_true(fields[0].type->is_decimal);
    assert_int_equal(fields[0].type->scale, 3);
    assert_string_equal(fields[1].type->branches[1]->parameters, "{\"x\":\"y\"}");
    assert_string_equal(fields[2].type->connect_name, "c.V");
    assert_string_equal(fields[2].type->name, "a.b.V");
    iso_avro_schema_free(schema);
}

static void schemas_that_are_none(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"{\"type\":\"fixed\",\"size\":1}",
         "not an Avro schema: a record, an enumeration or a fixed without a name"},
        {"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"scale\":1001}",
         "not an Avro schema: a decimal's scale is above 1000"},
        {"{\"type\":\"array\"}", "not an Avro schema: an attribute of a type is missing"},
        {"{\"type\":\"map\",\"values\":\"nothing\"}",
         "not an Avro schema: no type is named nothing"},
        {"\"int\" \"int\"", "byte 7: found '\"', expected nothing more"},
        {"7", "not an Avro schema: expected a type's name, an object or an array"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct iso_error error = {0};
        assert_null(iso_avro_schema_parse(wrong[i][0], strlen(wrong[i][0]), &error));
        assert_string_equal(error.text, wrong[i][1]);
    }
}

/* ---- values that are passed over ---- */

#define EVERYTHING                                                                                                              \
    "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":\"null\"},{\"name\":\"b\",\"type\":\"boolean\"}," \
    "{\"name\":\"c\",\"type\":\"int\"},{\"name\":\"d\",\"type\":\"float\"},{\"name\":\"e\",\"type\":\"double\"},"               \
    "{\"name\":\"f\",\"type\":\"bytes\"},{\"name\":\"g\",\"type\":\"string\"},"                                                 \
    "{\"name\":\"h\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"size\":2}},"                                                 \
    "{\"name\":\"i\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"x\",\"y\"]}},"                                   \
    "{\"name\":\"j\",\"type\":{\"type\":\"array\",\"items\":\"long\"}},"                                                        \
    "{\"name\":\"k\",\"type\":{\"type\":\"map\",\"values\":[\"null\",\"R\"]}}]}"

static const char everything[] = "\1"
                                 "\3"
                                 "1234"
                                 "12345678"
                                 "\2b"
                                 "\4\xc3\xa9"
                                 "12"
                                 "\2"
                                 "\3\4\x80\1\1"
                                 "\0"
                                 "\2\2k\0\0";

static const char *pass(const char *schema, const char *bytes, size_t size, size_t *position)
{
    struct iso_avro_schema *parsed = parse(schema);
    struct iso_avro_cursor cursor;
    char *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    iso_avro_start(&cursor, copy, size);
    iso_avro_skip(parsed->root, &cursor);
    iso_avro_finish(&cursor);
    *position = cursor.position;
    free(copy);
    iso_avro_schema_free(parsed);
    return cursor.expected;
}

static void passes_over_every_type(void **state)
{
    (void)state;
    size_t size = sizeof everything - 1, position;
    assert_null(pass(EVERYTHING, everything, size, &position));
    assert_string_equal(pass(EVERYTHING, everything, size + 1, &position), "the message's end");
    assert_int_equal(position, size);
    for (size_t cut = 0; cut < size; cut++)
        assert_non_null(pass(EVERYTHING, everything, cut, &position));
}

static void passes_over_nothing_that_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *schema, *bytes;
        size_t size;
        const char *expected;
    } cases[] = {
        {"\"boolean\"", "\2", 1, "a byte 0 or 1"},
        {"\"int\"", "\x80\x80\x80\x80\x10", 5, "a number of 32 bits"},
        {"\"bytes\"", "\1", 1, "a length within the message"},
        {"\"bytes\"", "\4a", 2, "a length within the message"},
        {"\"string\"", "\2\xff", 2, "UTF-8"},
        {"[\"null\",\"int\"]", "\4\2", 2, "an index within the union or enumeration"},
        {"[\"null\",\"int\"]", "\1\2", 2, "an index within the union or enumeration"},
        {"{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[]}", "\0", 1,
         "an index within the union or enumeration"},
        {"{\"type\":\"fixed\",\"name\":\"F\",\"size\":3}", "ab", 2, "a length within the message"},
        {"{\"type\":\"array\",\"items\":\"null\"}", "\xfe\xff\xff\xff\x0f\0", 6,
         "no more items than the message has bytes"},
        {"{\"type\":\"array\",\"items\":\"null\"}", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\2\0",
         12, "no more items than the message has bytes"},
        {"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"r\",\"type\":\"R\"}]}", "", 0,
         "fewer levels"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t position;
        assert_string_equal(pass(cases[i].schema, cases[i].bytes, cases[i].size, &position),
                            cases[i].expected);
    }
}

/* Thirty levels of records, each with the next one four times, and nothing in the last: 4^30 values
 * in no byte. */
static void values_of_no_bytes_end(void **state)
{
    (void)state;
    char schema[8192];
    size_t used = 0, position;
    for (int level = 0; level < 30; level++)
        used += (size_t)snprintf(
            schema + used, sizeof schema - used,
            "{\"type\":\"record\",\"name\":\"R%d\",\"fields\":[{\"name\":\"a\",\"type\":", level);
    used += (size_t)snprintf(schema + used, sizeof schema - used, "\"null\"");
    for (int level = 29; level >= 0; level--)
        used += (size_t)snprintf(
            schema + used, sizeof schema - used,
            level == 29 ? "}]}"
                        : "},{\"name\":\"b\",\"type\":\"R%d\"},{\"name\":\"c\",\"type\":\"R%d\"},"
                          "{\"name\":\"d\",\"type\":\"R%d\"}]}",
            level + 1, level + 1, level + 1);
    assert_string_equal(pass(schema, "", 0, &position), "fewer values in so few bytes");
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_as_libavro_writes_them),
        cmocka_unit_test(numbers_that_are_too_long),
        cmocka_unit_test(what_connect_says_beside_types),
        cmocka_unit_test(schemas_that_are_none),
        cmocka_unit_test(passes_over_every_type),
        cmocka_unit_test(passes_over_nothing_that_is_wrong),
        cmocka_unit_test(values_of_no_bytes_end),
    };
    return cmocka_run_group_tests_name("avro", tests, NULL, NULL);
}
