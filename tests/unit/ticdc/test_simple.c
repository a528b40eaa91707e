/* The simple protocol as JSON and as Avro: schemas before rows, rows, watermarks, DDLs. */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "connectors/ticdc/ticdc.h"
#include "tests/support/decoding.h"
#include "tests/support/test.h"

static void start(struct decoding *decoding, struct iso_decoder_options options)
{
    decoding_start(decoding, &iso_ticdc_decoder, &options);
}

#define COLUMN(name, type)                                                                         \
    "{\"name\":\"" name "\",\"dataType\":{\"mysqlType\":\"" type                                   \
    "\",\"length\":11},\"nullable\":true,\"default\":null}"
#define SCHEMA(version, keys)                                                                                                                           \
    "{\"schema\":\"db\",\"table\":\"t\",\"tableID\":148,\"version\":" #version                                                                          \
    ",\"columns\":[" COLUMN("id", "int") "," COLUMN("n", "varchar") "," COLUMN("f", "double") "," COLUMN(                                               \
        "b",                                                                                                                                            \
        "varbinary") "," COLUMN("ts",                                                                                                                   \
                                "timestamp") "],\"indexes\":[{\"name\":\"x\",\"unique\":true,\"primary\":false,\"nullable\":true,\"columns\":[\"f\"]}," \
                                             "{\"name\":\"u\",\"unique\":true,\"primary\":false,\"nullable\":false,\"columns\":[\"n\"]}," keys          \
                                             "]}"
#define PRIMARY                                                                                    \
    "{\"name\":\"primary\",\"unique\":true,\"primary\":true,\"nullable\":false,\"columns\":[\"id\"]}"
#define BOOTSTRAP                                                                                  \
    "{\"version\":1,\"type\":\"BOOTSTRAP\",\"commitTs\":0,\"buildTs\":1,\"tableSchema\":" SCHEMA(  \
        4, PRIMARY) "}"

static const char *row(struct decoding *decoding, const char *members)
{
    char text[1024];
    snprintf(
        text, sizeof text,
        "{\"version\":1,\"database\":\"db\",\"table\":\"t\",\"tableID\":148,\"buildTs\":1,\"schemaVersion\":4,%s}",
        members);
    return decoding_of_text(decoding, text);
}

static void rows(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.format = "simple", .one_zone = true});
    assert_string_equal(
        row(&decoding, "\"type\":\"INSERT\",\"commitTs\":9,\"data\":{\"id\":\"1\"}"),
        "ERROR no schema of db.t, version 4: expected a BOOTSTRAP or DDL message before, or schema=FILE\n");
    assert_string_equal(decoding_of_text(&decoding, BOOTSTRAP),
                        "IGNORED a bootstrap: the table's schema\n");
    assert_string_equal(
        row(&decoding,
            "\"type\":\"INSERT\",\"commitTs\":447984099186180098,\"startTs\":447984099186180097,"
            "\"data\":{\"id\":\"1\",\"n\":\"7\",\"f\":\"1.50\",\"b\":\"AP8=\",\"ts\":{\"location\":\"Asia/Shanghai\",\"value\":\"2024-01-01 00:00:00\"}}"),
        "ROW insert db.t/1: - -> {\"b\":\"AP8=\",\"f\":1.5,\"n\":\"7\",\"ts\":\"2024-01-01 00:00:00\"} "
        "sts 447984099186180097 cts 447984099186180098\n");
    assert_string_equal(
        row(&decoding,
            "\"type\":\"UPDATE\",\"commitTs\":9,\"data\":{\"id\":\"1\",\"n\":null},\"old\":{\"id\":\"1\",\"n\":\"a\"}"),
        "ROW update db.t/1: {\"n\":\"a\"} -> {\"n\":null} cts 9\n");
    assert_string_equal(
        row(&decoding,
            "\"type\":\"UPDATE\",\"commitTs\":9,\"data\":{\"id\":\"1\",\"n\":\"b\"},\"old\":null"),
        "ROW update db.t/1: ? -> {\"n\":\"b\"} cts 9\n");
    assert_string_equal(
        row(&decoding, "\"type\":\"DELETE\",\"commitTs\":9,\"old\":{\"id\":\"1\",\"n\":\"a\"}"),
        "ROW delete db.t/1: {\"n\":\"a\"} -> - cts 9\n");
    assert_string_equal(
        row(&decoding,
            "\"type\":\"INSERT\",\"commitTs\":9,\"handleKeyOnly\":true,\"data\":{\"id\":\"1\"}"),
        "ROW insert db.t/1: - -> ? cts 9\n");
    assert_string_equal(
        row(&decoding,
            "\"type\":\"INSERT\",\"commitTs\":9,\"claimCheckLocation\":\"x\",\"handleKeyOnly\":false,\"data\":{\"id\":\"1\"}"),
        "ROW insert db.t/1: - -> ? cts 9\n");
    decoding_end(&decoding);
}

static void versions_of_schemas(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.format = "simple", .value = "n"});
    decoding_of_text(&decoding, BOOTSTRAP);
    /* A newer schema without a primary key: the unique one without NULL identifies. Rows of both
     * versions come. */
    assert_string_equal(
        decoding_of_text(
            &decoding,
            "{\"version\":1,\"type\":\"ALTER\",\"sql\":\"x\",\"commitTs\":8,\"buildTs\":1,\"tableSchema\":" SCHEMA(
                5,
                "{\"name\":\"y\",\"unique\":true,\"primary\":false,\"nullable\":false,\"columns\":[\"b\"]}") "}"),
        "SCHEMA db.t cts 8\n");
    assert_string_equal(
        decoding_of_text(
            &decoding,
            "{\"version\":1,\"database\":\"db\",\"table\":\"t\",\"type\":\"INSERT\",\"commitTs\":9,"
            "\"schemaVersion\":5,\"data\":{\"id\":\"1\",\"n\":\"a/b\"}}"),
        "ROW insert db.t/a%2Fb: - -> a/b cts 9\n");
    assert_string_equal(
        row(&decoding, "\"type\":\"INSERT\",\"commitTs\":9,\"data\":{\"id\":\"1\",\"n\":\"a/b\"}"),
        "ROW insert db.t/1: - -> a/b cts 9\n");
    for (unsigned version = 10; version < 20; version++) {
        char text[2048];
        snprintf(
            text, sizeof text,
            "{\"version\":1,\"type\":\"BOOTSTRAP\",\"tableSchema\":{\"schema\":\"db\",\"table\":\"t\",\"version\":%u,"
            "\"columns\":[" COLUMN("id", "int") "],\"indexes\":[" PRIMARY "]}}",
            version);
        decoding_of_text(&decoding, text);
    }
    assert_memory_equal(
        row(&decoding, "\"type\":\"INSERT\",\"commitTs\":9,\"data\":{\"id\":\"1\"}"),
        "ERROR no schema", 15);
    decoding_end(&decoding);
    /* From a file: for every version. */
    start(&decoding,
          (struct iso_decoder_options){.format = "simple",
                                       .value = "n",
                                       .schema = SCHEMA(1, PRIMARY) "\n" SCHEMA(2, PRIMARY)});
    assert_string_equal(
        row(&decoding, "\"type\":\"INSERT\",\"commitTs\":9,\"data\":{\"id\":\"1\",\"n\":\"a\"}"),
        "ROW insert db.t/1: - -> a cts 9\n");
    decoding_end(&decoding);
}

static void watermarks_and_ddls(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.format = "simple"});
    assert_string_equal(
        decoding_of_text(
            &decoding,
            "{\"version\":1,\"type\":\"WATERMARK\",\"commitTs\":447984124732375041,\"buildTs\":1708923816911}"),
        "WATERMARK 447984124732375041\n");
#define DDL(type, schemas)                                                                         \
    "{\"version\":1,\"type\":\"" type "\",\"sql\":\"x\",\"commitTs\":8,\"buildTs\":1" schemas "}"
    assert_string_equal(
        decoding_of_text(
            &decoding, DDL("TRUNCATE", ",\"tableSchema\":" SCHEMA(
                                           4, PRIMARY) ",\"preTableSchema\":" SCHEMA(3, PRIMARY))),
        "DROP db.t cts 8\n");
    assert_string_equal(
        decoding_of_text(&decoding, DDL("ERASE", ",\"tableSchema\":null,\"preTableSchema\":" SCHEMA(
                                                     3, PRIMARY))),
        "DROP db.t cts 8\n");
    assert_string_equal(decoding_of_text(&decoding, DDL("ERASE", "")),
                        "ERROR a table that is dropped: expected tableSchema\n");
    assert_string_equal(decoding_of_text(&decoding, DDL("QUERY", "")), "SCHEMA  cts 8\n");
    assert_string_equal(
        row(&decoding, "\"type\":\"INSERT\",\"commitTs\":9,\"data\":{\"id\":\"1\",\"n\":\"a\"}"),
        "ROW insert db.t/1: - -> {\"n\":\"a\"} cts 9\n");
    decoding_end(&decoding);
}

static void wrong_messages(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{}", "ERROR version 0 of the simple protocol, expected 1\n"},
        {"{\"version\":2,\"type\":\"WATERMARK\",\"commitTs\":1}",
         "ERROR version 2 of the simple protocol, expected 1\n"},
        {"{\"version\":1}", "ERROR expected the member type\n"},
        {"{\"version\":1,\"type\":\"MERGE\"}",
         "ERROR byte 21: found '\"', expected a type: INSERT, UPDATE, DELETE, WATERMARK, BOOTSTRAP or a DDL's\n"},
        {"{\"version\":1,\"type\":\"WATERMARK\"}", "ERROR expected the member commitTs\n"},
        {"{\"version\":1,\"type\":\"BOOTSTRAP\"}", "ERROR a bootstrap: expected tableSchema\n"},
        {"{\"version\":1,\"type\":\"INSERT\",\"commitTs\":1,\"old\":{}}",
         "ERROR a row: expected data, for an update also old, for a delete old alone\n"},
        {"{\"version\":1,\"type\":\"DELETE\",\"commitTs\":1,\"data\":{}}",
         "ERROR a row: expected data, for an update also old, for a delete old alone\n"},
        {"{\"version\":1,\"type\":\"INSERT\",\"commitTs\":1,\"data\":{}}",
         "ERROR a row: expected schemaVersion\n"},
        {"{\"version\":1,\"type\":\"BOOTSTRAP\",\"tableSchema\":{}}",
         "ERROR byte 47: found '{', expected a table's schema with the table's name and columns\n"},
        {"{\"version\":1,\"type\":\"BOOTSTRAP\",\"tableSchema\":{\"table\":\"t\",\"columns\":[{}]}}",
         "ERROR byte 71: found '{', expected a column with a name\n"},
        {"{\"version\":1,\"type\":\"BOOTSTRAP\",\"tableSchema\":{\"indexes\":7}}",
         "ERROR byte 58: found '7', expected '['\n"},
    };
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.format = "simple"});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(decoding_of_text(&decoding, cases[i][0]), cases[i][1]);
    decoding_of_text(&decoding, BOOTSTRAP);
    assert_string_equal(
        row(&decoding, "\"type\":\"INSERT\",\"commitTs\":9,\"data\":{\"id\":\"1\",\"z\":\"a\"}"),
        "ERROR column \"z\": expected one that the table's schema has\n");
    assert_string_equal(
        row(&decoding, "\"type\":\"INSERT\",\"commitTs\":9,\"data\":{\"id\":\"1\",\"b\":\"?\"}"),
        "ERROR column \"b\": expected base64\n");
    assert_string_equal(
        row(&decoding, "\"type\":\"INSERT\",\"commitTs\":9,\"data\":{\"id\":1}"),
        "ERROR column \"id\": expected a string, null or a timestamp's location and value\n");
    assert_string_equal(
        row(&decoding, "\"type\":\"INSERT\",\"commitTs\":9,\"data\":{\"id\":\"1\",\"ts\":{}}"),
        "ERROR column \"ts\": expected a string, null or a timestamp's location and value\n");
    static const char whole[] = BOOTSTRAP;
    for (size_t length = 0; length < strlen(whole); length++)
        assert_memory_equal(decoding_of(&decoding, NULL, 0, whole, length), "ERROR byte ", 11);
    assert_string_equal(decoding_refused(&iso_ticdc_decoder,
                                         &(struct iso_decoder_options){.format = "simple",
                                                                       .schema = "{\"table\":7}"}),
                        "a table's schema, byte 10: found '7', expected a string");
    decoding_end(&decoding);
}

/* ---- Avro ---- */

static void put_long(struct iso_text *text, int64_t number)
{
    uint64_t bits = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
    do {
        uint8_t byte = (uint8_t)((bits & 0x7f) | (bits > 0x7f ? 0x80 : 0));
        iso_text_put_bytes(text, &byte, 1);
        bits >>= 7;
    } while (bits);
}

static void put_string(struct iso_text *text, const char *string)
{
    put_long(text, (int64_t)strlen(string));
    iso_text_put(text, string);
}

static void put_column(struct iso_text *text, const char *name, const char *type)
{
    static const uint8_t rest[] = {
        2, 2, 2, 4,   2, 'a', 2, 'b', 0, /* decimal 1; elements [a, b] */
        2, 1, 2, 0,                      /* unsigned, zerofill */
        1, 2, 2, 'x',                    /* nullable, default "x" */
    };
    put_string(text, name);
    put_string(text, type);
    put_string(text, "utf8mb4");
    put_string(text, "utf8mb4_bin");
    put_long(text, 11);
    iso_text_put_bytes(text, rest, sizeof rest);
}

static void put_index(struct iso_text *text, bool unique, bool primary, bool nullable,
                      const char *column)
{
    uint8_t flags[] = {unique, primary, nullable};
    put_string(text, "name");
    iso_text_put_bytes(text, flags, sizeof flags);
    put_long(text, 1);
    put_string(text, column);
    put_long(text, 0);
}

static void put_schema(struct iso_text *text, int64_t version)
{
    put_string(text, "db");
    put_string(text, "t");
    put_long(text, 148);
    put_long(text, version);
    put_long(text, -3); /* a block with its size, which nobody needs */
    put_long(text, 1000);
    put_column(text, "id", "bigint");
    put_column(text, "n", "varchar");
    put_column(text, "e", "enum");
    put_long(text, 1);
    put_column(text, "b", "blob");
    put_long(text, 0);
    put_long(text, 2);
    put_index(text, true, false, false, "n");
    put_index(text, true, true, false, "id");
    put_long(text, 0);
}

static void put_head(struct iso_text *text, int64_t kind)
{
    text->used = 0;
    put_long(text, 11);
    put_long(text, kind);
    put_long(text, kind);
    put_long(text, 1); /* version */
}

static const char *decode(struct decoding *decoding, const struct iso_text *text)
{
    return decoding_of(decoding, NULL, 0, text->bytes, text->used);
}

/* A row whose map stands in `map`, with `old` null or the same map. */
static void put_dml(struct iso_text *text, int64_t type, const struct iso_text *data,
                    const struct iso_text *old, int flags)
{
    put_head(text, 3);
    put_string(text, "db");
    put_string(text, "t");
    put_long(text, 148);
    put_long(text, type);
    put_long(text, 447984099186180098);
    put_long(text, 1);
    put_long(text, 4);
    put_long(text, flags & 1);
    if (flags & 1)
        put_string(text, "s3://x");
    put_long(text, !!(flags & 2));
    if (flags & 2)
        iso_text_put_bytes(text, "\1", 1);
    put_long(text, 1); /* checksum */
    put_long(text, 1);
    iso_text_put_bytes(text, "\0", 1);
    put_long(text, 5);
    put_long(text, 6);
    put_long(text, data != NULL);
    if (data)
        iso_text_put_bytes(text, data->bytes, data->used);
    put_long(text, old != NULL);
    if (old)
        iso_text_put_bytes(text, old->bytes, old->used);
}

static void put_map(struct iso_text *map, const char *n)
{
    map->used = 0;
    put_long(map, 3);
    put_string(map, "n");
    put_long(map, 4);
    put_string(map, n);
    put_string(map, "id");
    put_long(map, 7); /* UnsignedBigint */
    put_long(map, -1);
    put_string(map, "e");
    put_long(map, 4);
    put_string(map, "2");
    put_long(map, 1);
    put_string(map, "b");
    put_long(map, 5);
    put_string(map, "\xff");
    put_long(map, 0);
}

static void avro_rows(void **state)
{
    (void)state;
    struct decoding decoding;
    struct iso_text text = {0}, now = {0}, old = {0};
    start(&decoding, (struct iso_decoder_options){.format = "simple-avro"});
    put_map(&now, "new");
    put_map(&old, "old");
    put_dml(&text, 0, &now, NULL, 0);
    assert_memory_equal(decode(&decoding, &text), "ERROR no schema of db.t, version 4", 34);
    put_head(&text, 1);
    put_long(&text, 1);
    put_schema(&text, 4);
    assert_string_equal(decode(&decoding, &text), "IGNORED a bootstrap: the table's schema\n");
    put_dml(&text, 0, &now, NULL, 0);
    assert_int_equal((uint8_t)text.bytes[0], 0x16);
#define KEY "db.t/18446744073709551615"
#define VALUE(n) "{\"b\":\"/w==\",\"e\":2,\"n\":\"" n "\"}"
    assert_string_equal(decode(&decoding, &text),
                        "ROW insert " KEY ": - -> " VALUE("new") " cts 447984099186180098\n");
    put_dml(&text, 1, &now, &old, 0);
    assert_string_equal(decode(&decoding, &text), "ROW update " KEY ": " VALUE("old") " -> " VALUE(
                                                      "new") " cts 447984099186180098\n");
    put_dml(&text, 2, NULL, &old, 0);
    assert_string_equal(decode(&decoding, &text),
                        "ROW delete " KEY ": " VALUE("old") " -> - cts 447984099186180098\n");
    put_dml(&text, 0, &now, NULL, 1);
    assert_string_equal(decode(&decoding, &text),
                        "ROW insert " KEY ": - -> ? cts 447984099186180098\n");
    put_dml(&text, 0, &now, NULL, 2);
    assert_string_equal(decode(&decoding, &text),
                        "ROW insert " KEY ": - -> ? cts 447984099186180098\n");
    put_dml(&text, 1, &now, &old, 0);
    for (size_t length = 0; length < text.used; length++)
        assert_memory_equal(decoding_of(&decoding, NULL, 0, text.bytes, length), "ERROR byte ", 11);
    iso_text_put(&text, "x");
    assert_memory_equal(decode(&decoding, &text), "ERROR byte ", 11);
    assert_string_equal(decoding_of_text(&decoding, NULL), "IGNORED tombstone\n");
    iso_text_release(&text);
    iso_text_release(&now);
    iso_text_release(&old);
    decoding_end(&decoding);
}

/* One column, whatever its branch. */
static void avro_columns(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *expected;
        size_t size;
    } cases[] = {
        {"\0", "null", 1},
        {"\2\1", "-1", 2},
        {"\4\0\0\xc0\x3f", "1.5", 5},
        {"\6\0\0\0\0\0\0\xf8\x3f", "1.5", 9},
        {"\x8\2x", "\"x\"", 3},
        {"\xa\2\xff", "\"/w==\"", 3},
        {"\xc\6UTC\2z", "\"zZ\"", 7},
        {"\xc\0\2z", "\"z\"", 4},
        {"\xe\2", "1", 2},
    };
    struct decoding decoding;
    struct iso_text text = {0}, map = {0};
    start(&decoding, (struct iso_decoder_options){.format = "simple-avro"});
    put_head(&text, 2); /* a DDL brings the schema */
    put_long(&text, 1);
    put_string(&text, "alter table");
    put_long(&text, 8);
    put_long(&text, 1);
    put_long(&text, 1);
    put_schema(&text, 4);
    put_long(&text, 0);
    assert_string_equal(decode(&decoding, &text), "SCHEMA db.t cts 8\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[100];
        map.used = 0;
        put_long(&map, 2);
        put_string(&map, "id");
        put_long(&map, 1);
        put_long(&map, 3);
        put_string(&map, "n");
        iso_text_put_bytes(&map, cases[i].bytes, cases[i].size);
        put_long(&map, 0);
        put_dml(&text, 0, &map, NULL, 0);
        snprintf(expected, sizeof expected,
                 "ROW insert db.t/3: - -> {\"n\":%s} cts 447984099186180098\n", cases[i].expected);
        assert_string_equal(decode(&decoding, &text), expected);
    }
    iso_text_release(&text);
    iso_text_release(&map);
    decoding_end(&decoding);
}

static void avro_other_messages(void **state)
{
    (void)state;
    struct decoding decoding;
    struct iso_text text = {0};
    start(&decoding, (struct iso_decoder_options){.format = "simple-avro"});
    put_head(&text, 0);
    put_long(&text, 447984124732375041);
    put_long(&text, 1);
    assert_string_equal(decode(&decoding, &text), "WATERMARK 447984124732375041\n");
    put_head(&text, 2);
    put_long(&text, 4); /* TRUNCATE */
    put_string(&text, "truncate table");
    put_long(&text, 8);
    put_long(&text, 1);
    put_long(&text, 1);
    put_schema(&text, 4);
    put_long(&text, 0);
    assert_string_equal(decode(&decoding, &text), "DROP db.t cts 8\n");
    static const struct {
        const char *bytes, *expected;
        size_t size;
    } wrong[] = {
        {"", "ERROR byte 1: expected a number of at most 64 bits\n", 0},
        {"\x14\0\0\2\2\2", "ERROR byte 2: expected a Message of the simple protocol's schema\n", 6},
        {"\x18\0\0\2\2\2", "ERROR byte 2: expected an index within the union or enumeration\n", 6},
        {"\x16\0\2\2\2\2", "ERROR byte 4: expected a payload of the Message's type\n", 6},
        {"\x16\0\0\4\2\2", "ERROR version 2 of the simple protocol, expected 1\n", 6},
        {"\x16\2\2\2\2\x02\xff", "ERROR byte 8: expected UTF-8\n", 7},
        {"\x16\2\2\2\2\x40"
         "ab",
         "ERROR byte 7: expected a length within the message\n", 8},
        {"\x16\2\2\2\2\0\0\2\2\xfe\xff\xff\xff\x0f",
         "ERROR byte 15: expected no more items than the message has bytes\n", 14},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1",
         "ERROR byte 1: expected a number of at most 64 bits\n", 12},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_string_equal(decoding_of(&decoding, NULL, 0, wrong[i].bytes, wrong[i].size),
                            wrong[i].expected);
    iso_text_release(&text);
    decoding_end(&decoding);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(versions_of_schemas),
        cmocka_unit_test(watermarks_and_ddls),
        cmocka_unit_test(wrong_messages),
        cmocka_unit_test(avro_rows),
        cmocka_unit_test(avro_columns),
        cmocka_unit_test(avro_other_messages),
    };
    return cmocka_run_group_tests_name("ticdc simple", tests, NULL, NULL);
}
