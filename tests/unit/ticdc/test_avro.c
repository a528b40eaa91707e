/* The Avro protocol: framed records by their schemas, the row before, watermarks, and what is
 * refused. */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "connectors/ticdc/ticdc.h"
#include "tests/support/decoding.h"
#include "tests/support/test.h"

#define TYPE(type, tidb)                                                                           \
    "{\"type\":\"" type "\",\"connect.parameters\":{\"tidb_type\":\"" tidb "\"}}"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"
/* clang-format off: schemas, a field a line */
#define EXTENSION                                                                                  \
    FIELD("_tidb_op", "\"string\"")                                                                \
    "," FIELD("_tidb_commit_ts", "\"long\"") "," FIELD("_tidb_commit_physical_time", "\"long\"")
#define RECORD(fields)                                                                             \
    "{\"name\":\"t\",\"namespace\":\"default.db\",\"type\":\"record\",\"fields\":[" fields "]}"

static const char *const schemas[] = {
    [1] = RECORD(FIELD("id", TYPE("int", "INT"))),
    [2] = RECORD(FIELD("id", TYPE("int", "INT")) "," FIELD(
        "name", "[\"null\"," TYPE("string", "TEXT") "]") "," EXTENSION),
    [3] = RECORD(FIELD("id", TYPE("int", "INT")) "," FIELD(
        "name",
        "[\"null\"," TYPE(
            "string",
            "TEXT") "]") "," EXTENSION
                         "," FIELD(
                             "_ticdc_before",
                             "[\"null\",{\"type\":\"record\",\"name\":\"t_before\",\"fields\":[" FIELD(
                                 "id",
                                 TYPE("int", "INT")) "," FIELD("name",
                                                               "[\"null\"," TYPE(
                                                                   "string", "TEXT") "]") "]}]")),
    [4] = RECORD(FIELD("id", TYPE("int", "INT")) "," FIELD("dec", "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":10,\"scale\":2,\"connect.parameters\":{\"tidb_type\":\"DECIMAL\"}}") "," FIELD(
        "u",
        TYPE(
            "long",
            "BIGINT UNSIGNED")) "," FIELD("i",
                                          TYPE(
                                              "long",
                                              "BIGINT")) "," FIELD("bit",
                                                                   TYPE(
                                                                       "bytes",
                                                                       "BIT")) "," FIELD("blob",
                                                                                         TYPE(
                                                                                             "bytes",
                                                                                             "BLOB")) "," FIELD("f",
                                                                                                                TYPE(
                                                                                                                    "float",
                                                                                                                    "FLOAT")) "," FIELD("d",
                                                                                                                                        "[" TYPE(
                                                                                                                                            "double",
                                                                                                                                            "DOUBLE") ",\"null\"]") "," FIELD("b",
                                                                                                                                                                              "\"boolean\"") ",{\"name\":\"e\",\"default\":\"a\",\"type\":{\"type\":\"string\",\"connect.parameters\":{\"allowed\":\"a,b\",\"tidb_type\":\"ENUM\"}}}," EXTENSION),
    [5] = RECORD(
        FIELD("id", TYPE("int", "INT")) "," FIELD("name", "[\"null\"," TYPE("string", "TEXT") "]")),
    [6] = RECORD(FIELD("id", "{\"type\":\"array\",\"items\":\"int\"}")),
    [7] = "\"string\"",
    [8] = RECORD(FIELD("id", "\"integer\"")),
    [9] = RECORD(""),
    [10] = RECORD(FIELD(
        "id",
        "[\"null\",{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"s\",\"type\":[\"null\",\"r\"]}]}]")),
};
/* clang-format on */

static enum iso_status find(void *context, uint32_t id, struct iso_schema *schema,
                            struct iso_error *error)
{
    unsigned *asked = context;
    ++*asked;
    if (id >= sizeof schemas / sizeof *schemas || !schemas[id])
        return iso_error_set(error, ISO_BAD_INPUT, "schema %u is not there", id);
    *schema = (struct iso_schema){id == 7 ? ISO_SCHEMA_JSON : ISO_SCHEMA_AVRO, schemas[id],
                                  strlen(schemas[id])};
    return ISO_OK;
}

static unsigned asked;
static const struct iso_schema_provider registry = {find, &asked};

static void start(struct decoding *decoding)
{
    asked = 0;
    decoding_start(
        decoding, &iso_ticdc_decoder,
        &(struct iso_decoder_options){.format = "avro", .registry = &registry, .framed = true});
}

static const uint8_t key[] = {0, 0, 0, 0, 1, 2};

#define VALUE(id, bytes) "\0\0\0\0" id bytes
#define AT "\x84\x80\xa0\x90\xc5\xca\xc7\xb7\x0c\x82\xa9\xd4\xbc\xbc\x63"
#define SAY(decoding, value) decoding_of(decoding, key, sizeof key, value, sizeof(value) - 1)

static void rows(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding);
    assert_string_equal(SAY(&decoding, VALUE("\2", "\2\2\4aa\2c" AT)),
                        "ROW insert db.t/1: - -> {\"name\":\"aa\"} cts 447984099186180098\n");
    assert_string_equal(SAY(&decoding, VALUE("\2", "\2\0\2u" AT)),
                        "ROW update db.t/1: ? -> {\"name\":null} cts 447984099186180098\n");
    assert_string_equal(
        SAY(&decoding, VALUE("\3", "\2\2\4bb\2u" AT "\2\2\2\4aa")),
        "ROW update db.t/1: {\"name\":\"aa\"} -> {\"name\":\"bb\"} cts 447984099186180098\n");
    assert_string_equal(SAY(&decoding, VALUE("\3", "\2\2\4bb\2u" AT "\2\4\2\4aa")),
                        "ROW delete db.t/2: {\"name\":\"aa\"} -> - cts 447984099186180098\n"
                        "ROW insert db.t/1: ? -> {\"name\":\"bb\"} cts 447984099186180098\n");
    assert_string_equal(SAY(&decoding, VALUE("\3", "\2\2\4aa\2d" AT "\0")),
                        "ROW delete db.t/1: {\"name\":\"aa\"} -> - cts 447984099186180098\n");
    assert_int_equal(asked, 3); /* each schema once */
    decoding_end(&decoding);
}

static void columns(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding);
    assert_string_equal(
        SAY(&decoding, VALUE("\4", "\2"
                                   "\4\x30\x39"
                                   "\1"
                                   "\1"
                                   "\4\1\2"
                                   "\2\xff"
                                   "\0\0\xc0\x3f"
                                   "\0\0\0\0\0\0\0\xf8\x3f"
                                   "\1"
                                   "\2b"
                                   "\2c" AT)),
        "ROW insert db.t/1: - -> {\"b\":true,\"bit\":258,\"blob\":\"/w==\",\"d\":1.5,\"dec\":\"123.45\",\"e\":2,\"f\":1.5,"
        "\"i\":-1,\"u\":18446744073709551615} cts 447984099186180098\n");
    decoding_end(&decoding);
}

static void watermarks_and_deletes(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding);
    assert_string_equal(SAY(&decoding, "\2\x06\x37\x8f\x30\x1b\xb0\0\1"),
                        "WATERMARK 447984124732375041\n");
    assert_string_equal(SAY(&decoding, "\3\x06\x37\x8f\x2a\x29\x04\0\2"),
                        "ROW delete db.t/1: ? -> - cts 447984099186180098\n");
    assert_string_equal(
        SAY(&decoding,
            "\1{\"query\":\"drop table t\",\"type\":\"x\",\"schema\":\"db\",\"table\":\"t\",\"commitTs\":8}"),
        "DROP db.t cts 8\n");
    assert_string_equal(
        SAY(&decoding,
            "\1{\"query\":\" TRUNCATE  t\",\"schema\":\"db\",\"table\":\"t\",\"commitTs\":8}"),
        "DROP db.t cts 8\n");
    assert_string_equal(
        SAY(&decoding,
            "\1{\"query\":\"drop index i\",\"schema\":\"db\",\"table\":\"t\",\"commitTs\":8}"),
        "SCHEMA db.t cts 8\n");
    assert_string_equal(SAY(&decoding, "\1{\"query\":\"drop table t\"}"),
                        "ERROR a DDL: expected commitTs\n");
    assert_string_equal(
        decoding_of(&decoding, key, sizeof key, NULL, 0),
        "ERROR a delete without a commit timestamp: expected avro-include-before-value=true\n");
    assert_string_equal(decoding_of_text(&decoding, NULL), "IGNORED tombstone\n");
    decoding_end(&decoding);
}

static void wrong_messages(void **state)
{
    (void)state;
    struct decoding decoding;
    static const char whole[] = VALUE("\3", "\2\2\4bb\2u" AT "\2\2\2\4aa");
    start(&decoding);
    for (size_t length = 0; length < sizeof whole - 1; length++)
        assert_memory_equal(decoding_of(&decoding, key, sizeof key, whole, length), "ERROR payload",
                            13);
    for (size_t length = 0; length < sizeof key; length++)
        assert_memory_equal(decoding_of(&decoding, key, length, whole, sizeof whole - 1),
                            "ERROR key", 9);
    assert_string_equal(decoding_of(&decoding, NULL, 0, whole, sizeof whole - 1),
                        "ERROR a row without a key\n");
    assert_string_equal(SAY(&decoding, VALUE("\2", "\2\2\4aa\2c" AT "\0")),
                        "ERROR payload, byte 23 of the record: expected the message's end\n");
    assert_string_equal(
        SAY(&decoding, VALUE("\2", "\2\4\4aa\2c" AT)),
        "ERROR payload, byte 3 of the record: expected an index within the union or enumeration\n");
    assert_string_equal(SAY(&decoding, VALUE("\2", "\2\2\2\xff\2c" AT)),
                        "ERROR payload, byte 5 of the record: expected UTF-8\n");
    assert_string_equal(SAY(&decoding, VALUE("\2", "\2\0\2x" AT)),
                        "ERROR _tidb_op \"x\": expected c, u or d\n");
    assert_string_equal(
        SAY(&decoding, VALUE("\2", "\2\0\2c\1\0")),
        "ERROR payload, byte 6 of the record: expected a commit timestamp that is an unsigned number\n");
    assert_string_equal(
        SAY(&decoding, VALUE("\5", "\2\0")),
        "ERROR a row without _tidb_op or _tidb_commit_ts: expected enable-tidb-extension=true\n");
    assert_string_equal(
        SAY(&decoding, VALUE("\4", "\2\0")),
        "ERROR payload, byte 3 of the record: expected a decimal of 1 to 64 bytes\n");
    assert_string_equal(SAY(&decoding, VALUE("\x63", "\2")), "ERROR schema 99 is not there\n");
    assert_string_equal(SAY(&decoding, VALUE("\7", "\2")),
                        "ERROR schema 7 is of another format, expected Avro\n");
    assert_string_equal(SAY(&decoding, VALUE("\6", "\2")),
                        "ERROR schema 6: not a schema of TiCDC's: expected columns of "
                        "primitive types and decimals, and maybe a record of the row "
                        "before\n");
    assert_string_equal(
        SAY(&decoding, VALUE("\x8", "\2")),
        "ERROR schema 8: not an Avro schema: no type is named default.db.integer\n");
    assert_string_equal(
        SAY(&decoding, VALUE("\x9", "\2")),
        "ERROR schema 9: not a schema of TiCDC's: expected a record with columns\n");
    assert_memory_equal(SAY(&decoding, VALUE("\xa", "\2")),
                        "ERROR schema 10: not a schema of TiCDC's", 40);
    assert_memory_equal(SAY(&decoding, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2"),
                        "ERROR payload: expected", 23);
    decoding_end(&decoding);
}

static void schemas_from_a_file(void **state)
{
    (void)state;
    struct decoding decoding;
    char text[2048];
    snprintf(text, sizeof text, "%s\n%s", schemas[2], schemas[1]);
    decoding_start(
        &decoding, &iso_ticdc_decoder,
        &(struct iso_decoder_options){.format = "avro", .schema = text, .value = "name"});
    assert_string_equal(SAY(&decoding, VALUE("\x77", "\2\2\4aa\2c" AT)),
                        "ROW insert db.t/1: - -> aa cts 447984099186180098\n");
    decoding_end(&decoding);
    assert_memory_equal(
        decoding_refused(&iso_ticdc_decoder,
                         &(struct iso_decoder_options){.format = "avro", .schema = schemas[2]}),
        "not an Avro schema: ", 20);
    assert_memory_equal(
        decoding_refused(&iso_ticdc_decoder, &(struct iso_decoder_options){.format = "avro"}),
        "format=avro of a ticdc", 22);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(columns),
        cmocka_unit_test(watermarks_and_deletes),
        cmocka_unit_test(wrong_messages),
        cmocka_unit_test(schemas_from_a_file),
    };
    return cmocka_run_group_tests_name("ticdc avro", tests, NULL, NULL);
}
