/* Avro and Protobuf in detail: what libavro writes we read, every type of column, decimals in every
 * mode, schemas that are none, framing, and messages that are cut. */
#include <avro.h>

#include "base/memory.h"
#include "connectors/debezium/debezium.h"
#include "tests/support/decoder_case.h"
#include "tests/support/feed_debezium.h"

/* ---- a registry of one schema for keys and one for payloads ---- */

struct schemas {
    enum iso_schema_type type;
    const char *key, *payload;
};

static enum iso_status find(void *context, uint32_t id, struct iso_schema *schema,
                            struct iso_error *error)
{
    const struct schemas *schemas = context;
    const char *text = id == 1 ? schemas->payload : schemas->key;
    if (id > 2)
        return iso_error_set(error, ISO_BAD_INPUT, "schema %u: not found", id);
    *schema = (struct iso_schema){schemas->type, text, strlen(text)};
    return ISO_OK;
}

static const char key_schema[] =
    "{\"type\":\"record\",\"name\":\"Key\",\"fields\":[{\"name\":\"k\",\"type\":\"int\"}]}";

#define ENVELOPE(columns)                                                                                                        \
    "{\"type\":\"record\",\"name\":\"Envelope\",\"namespace\":\"a.b\",\"fields\":[{\"name\":\"before\",\"type\":[\"null\","      \
    "{\"type\":\"record\",\"name\":\"Value\",\"fields\":[{\"name\":\"k\",\"type\":\"int\"}" columns                              \
    "]}]},"                                                                                                                      \
    "{\"name\":\"after\",\"type\":[\"null\",\"Value\"]},{\"name\":\"source\",\"type\":{\"type\":\"record\",\"name\":\"Source\"," \
    "\"fields\":[{\"name\":\"connector\",\"type\":\"string\"},{\"name\":\"table\",\"type\":\"string\"}]}},"                      \
    "{\"name\":\"op\",\"type\":\"string\"}]}"

static const char columns_schema[] = ENVELOPE(
    ",{\"name\":\"b\",\"type\":\"boolean\"},{\"name\":\"l\",\"type\":[\"long\",\"null\"],\"default\":5},{\"name\":\"f\",\"type\":\"float\"},"
    "{\"name\":\"d\",\"type\":\"double\"},{\"name\":\"y\",\"type\":\"bytes\"},"
    "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"UP\",\"DOWN\"]}},"
    "{\"name\":\"x\",\"type\":{\"type\":\"fixed\",\"name\":\"X\",\"size\":2}},"
    "{\"name\":\"n\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":12,\"scale\":2}},"
    "{\"name\":\"a\",\"type\":{\"type\":\"array\",\"items\":[\"null\",\"int\"]}},"
    "{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":\"string\"}},"
    "{\"name\":\"v\",\"type\":{\"type\":\"record\",\"name\":\"VariableScaleDecimal\",\"namespace\":\"io.debezium.data\",\"fields\":["
    "{\"name\":\"scale\",\"type\":\"int\"},{\"name\":\"value\",\"type\":\"bytes\"}],"
    "\"connect.name\":\"io.debezium.data.VariableScaleDecimal\"}},"
    "{\"name\":\"s\",\"type\":{\"type\":\"record\",\"name\":\"Point\",\"fields\":[{\"name\":\"x\",\"type\":\"double\"}]}}");

/* ---- libavro writes ---- */

static avro_value_t member(avro_value_t *record, const char *name)
{
    avro_value_t value = {NULL, NULL};
    assert_int_equal(avro_value_get_by_name(record, name, &value, NULL), 0);
    return value;
}

static avro_value_t branch(avro_value_t *record, const char *name, int index)
{
    avro_value_t field = member(record, name), value = {NULL, NULL};
    assert_int_equal(avro_value_set_branch(&field, index, &value), 0);
    return value;
}

static void set_text(avro_value_t *record, const char *name, const char *text)
{
    avro_value_t value = member(record, name);
    avro_value_set_string(&value, text);
}

static void fill_row(avro_value_t *row)
{
    avro_value_t value, element, inner;
    value = member(row, "k"), avro_value_set_int(&value, -7);
    value = member(row, "b"), avro_value_set_boolean(&value, 1);
    value = branch(row, "l", 0), avro_value_set_long(&value, INT64_MIN);
    value = member(row, "f"), avro_value_set_float(&value, 0.1f);
    value = member(row, "d"), avro_value_set_double(&value, 1e-7);
    value = member(row, "y"), avro_value_set_bytes(&value, "\xff\x00\x01", 3);
    value = member(row, "e"), avro_value_set_enum(&value, 1);
    value = member(row, "x"), avro_value_set_fixed(&value, "ab", 2);
    value = member(row, "n"), avro_value_set_bytes(&value, "\xcf\xc7", 2);
    value = member(row, "a");
    avro_value_append(&value, &element, NULL);
    avro_value_set_branch(&element, 1, &inner), avro_value_set_int(&inner, 4);
    avro_value_append(&value, &element, NULL);
    avro_value_set_branch(&element, 0, &inner), avro_value_set_null(&inner);
    value = member(row, "m");
    avro_value_add(&value, "ke\"y", &element, NULL, NULL);
    avro_value_set_string(&element, "caf\xc3\xa9");
    value = member(row, "v");
    element = member(&value, "scale"), avro_value_set_int(&element, 1);
    element = member(&value, "value"), avro_value_set_bytes(&element, "\x30\x39", 2);
    value = member(row, "s");
    element = member(&value, "x"), avro_value_set_double(&element, 2.5);
}

/* The framed message; its size. */
static size_t write_with_libavro(char *bytes, size_t capacity)
{
    avro_schema_t schema;
    avro_value_t envelope, value;
    assert_int_equal(
        avro_schema_from_json_length(columns_schema, sizeof columns_schema - 1, &schema), 0);
    avro_value_iface_t *class = avro_generic_class_from_schema(schema);
    avro_generic_value_new(class, &envelope);
    value = branch(&envelope, "before", 0), avro_value_set_null(&value);
    value = branch(&envelope, "after", 1);
    fill_row(&value);
    value = member(&envelope, "source");
    set_text(&value, "connector", "postgresql");
    set_text(&value, "table", "t");
    set_text(&envelope, "op", "c");
    memcpy(bytes, "\0\0\0\0\1", 5);
    avro_writer_t writer = avro_writer_memory(bytes + 5, (int64_t)capacity - 5);
    assert_int_equal(avro_value_write(writer, &envelope), 0);
    size_t size = 5 + (size_t)avro_writer_tell(writer);
    avro_writer_free(writer);
    avro_value_decref(&envelope);
    avro_value_iface_decref(class);
    avro_schema_decref(schema);
    return size;
}

static const struct iso_bytes key_seven = {(const uint8_t *)"\0\0\0\0\2\x0d", 6}; /* -7 */

static void reads_what_libavro_writes(void **state)
{
    (void)state;
    static const char row[] =
        "row c  t t/-7 before - after {\"a\":[4,null],\"b\":true,\"d\":1e-07,\"e\":\"DOWN\",\"f\":0.1,"
        "\"l\":-9223372036854775808,\"m\":{\"ke\\\"y\":\"caf\xc3\xa9\"},\"n\":\"-123.45\",\"s\":{\"x\":2.5},"
        "\"v\":\"1234.5\",\"x\":\"YWI=\",\"y\":\"/wAB\"}";
    struct schemas schemas = {ISO_SCHEMA_AVRO, key_schema, columns_schema};
    struct iso_schema_provider registry = {find, &schemas};
    struct decoder_case test;
    char bytes[512];
    size_t size = write_with_libavro(bytes, sizeof bytes);
    case_open(
        &test, &iso_debezium_decoder,
        (struct iso_decoder_options){.format = "avro", .framed = true, .registry = &registry});
    struct iso_bytes payload = {(const uint8_t *)bytes, (uint32_t)size};
    assert_string_equal(case_bytes(&test, "x", key_seven, payload), row);
    /* cut anywhere it is refused, and with a byte more too */
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = iso_allocate(cut + !cut);
        memcpy(copy, bytes, cut);
        case_bytes(&test, "x", key_seven, (struct iso_bytes){copy, (uint32_t)cut});
        assert_int_equal(test.error.status, ISO_BAD_INPUT);
        iso_free(copy);
    }
    payload.size++;
    assert_non_null(
        strstr(case_bytes(&test, "x", key_seven, payload), "expected the message's end"));
    case_close(&test);
}

/* Schemas from a file instead of a registry, for messages without frames. */
static void takes_schemas_from_a_file(void **state)
{
    (void)state;
    static char file[8192];
    struct decoder_case test;
    char bytes[512];
    size_t size = write_with_libavro(bytes, sizeof bytes);
    snprintf(file, sizeof file, "{\"key\":%s,\"payload\":%s}", key_schema, columns_schema);
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){.format = "avro", .schema = file, .value = "e"});
    assert_string_equal(
        case_bytes(&test, "x", (struct iso_bytes){key_seven.data + 5, 1},
                   (struct iso_bytes){(const uint8_t *)bytes + 5, (uint32_t)size - 5}),
        "row c  t t/-7 before - after DOWN");
    case_close(&test);
}

/* ---- what is refused ---- */

static const char *create_error(struct iso_decoder_options options)
{
    static struct iso_error error;
    error = (struct iso_error){0};
    assert_null(iso_debezium_decoder.create(&options, &error));
    assert_int_equal(error.status, ISO_BAD_INPUT);
    return error.text;
}

static void refuses_options(void **state)
{
    (void)state;
    assert_string_equal(create_error((struct iso_decoder_options){.format = "xml"}),
                        "format=xml: expected json, avro, protobuf or test_decoding");
    assert_string_equal(create_error((struct iso_decoder_options){.format = "avro"}),
                        "format=avro: expected registry=URL and framing, or schema=FILE");
    assert_string_equal(create_error((struct iso_decoder_options){.format = "protobuf"}),
                        "format=protobuf: expected registry=URL and framing");
    assert_string_equal(
        create_error((struct iso_decoder_options){.format = "avro", .schema = "{\"key\":\"int\"}"}),
        "schema file: expected {\"key\":SCHEMA,\"payload\":SCHEMA}, both of Avro");
}

static const char *schema_error(enum iso_schema_type type, const char *schema)
{
    static char text[4096];
    struct schemas schemas = {type, schema, schema};
    struct iso_schema_provider registry = {find, &schemas};
    struct decoder_case test;
    const char *format = type == ISO_SCHEMA_AVRO ? "avro" : "protobuf";
    case_open(
        &test, &iso_debezium_decoder,
        (struct iso_decoder_options){.format = format, .framed = true, .registry = &registry});
    snprintf(text, sizeof text, "%s",
             case_bytes(&test, "x", (struct iso_bytes){NULL, 0},
                        (struct iso_bytes){(const uint8_t *)"\0\0\0\0\1\0", 6}));
    case_close(&test);
    return text;
}

static void refuses_avro_schemas(void **state)
{
    (void)state;
    assert_string_equal(
        schema_error(ISO_SCHEMA_AVRO, ""),
        "schema 1: not an Avro schema: expected a type's name, an object or an array");
    assert_string_equal(schema_error(ISO_SCHEMA_AVRO, "{"),
                        "schema 1: byte 2: the text ends here, expected a member's name in quotes");
    assert_string_equal(schema_error(ISO_SCHEMA_AVRO, "\"decimal\""),
                        "schema 1: not an Avro schema: no type is named decimal");
    assert_string_equal(schema_error(ISO_SCHEMA_AVRO, "[]"),
                        "schema 1: not an Avro schema: an empty union");
    assert_string_equal(schema_error(ISO_SCHEMA_AVRO, "{\"name\":\"x\"}"),
                        "schema 1: not an Avro schema: an object without a type");
    assert_string_equal(schema_error(ISO_SCHEMA_AVRO, "{\"type\":\"record\",\"name\":\"x\"}"),
                        "schema 1: not an Avro schema: fields or symbols are missing");
    assert_string_equal(
        schema_error(
            ISO_SCHEMA_AVRO,
            "[{\"type\":\"fixed\",\"name\":\"x\",\"size\":1},{\"type\":\"enum\",\"name\":\"x\","
            "\"symbols\":[]}]"),
        "schema 1: not an Avro schema: a name is defined as two types");
    assert_string_equal(schema_error(ISO_SCHEMA_AVRO, "\"int\""), "byte 1: expected a record");
    char deep[400];
    memset(deep, '[', sizeof deep);
    deep[sizeof deep - 1] = 0;
    assert_non_null(strstr(schema_error(ISO_SCHEMA_AVRO, deep), "nested too deep"));
}

static void refuses_protobuf_schemas(void **state)
{
    (void)state;
    assert_string_equal(schema_error(ISO_SCHEMA_PROTOBUF, ""),
                        "schema 1: not a Protobuf schema: found \"\", expected a message");
    assert_string_equal(schema_error(ISO_SCHEMA_PROTOBUF, "message X { string a = 0; }"),
                        "schema 1: not a Protobuf schema: found \"0\", expected a field's number");
    assert_string_equal(schema_error(ISO_SCHEMA_PROTOBUF, "message X { Y a = 1; }"),
                        "schema 1: not a Protobuf schema: no type is named Y");
    assert_string_equal(schema_error(ISO_SCHEMA_PROTOBUF, "message X { string a 1; }"),
                        "schema 1: not a Protobuf schema: found \"1\", expected =");
    assert_string_equal(schema_error(ISO_SCHEMA_PROTOBUF, "message X { string a = 1"),
                        "schema 1: not a Protobuf schema: found \"\", expected ;");
}

static void refuses_frames(void **state)
{
    (void)state;
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder, feed_debezium_decoding(FEED_AVRO));
    struct iso_bytes none = {NULL, 0};
#define BYTES(text) ((struct iso_bytes){(const uint8_t *)(text), sizeof(text) - 1})
    assert_string_equal(case_bytes(&test, "x", none, BYTES("\0\0\0")),
                        "expected Confluent framing: a byte 0 and a schema id of four bytes");
    assert_string_equal(case_bytes(&test, "x", none, BYTES("\0\0\0\0\x63")),
                        "schema 99: not found");
    assert_string_equal(
        case_bytes(&test, "x", none, BYTES("\1\0\0\0\1")),
        "expected a schema id of four bytes (magic 0); schema GUIDs (magic 1) are not supported");
    case_close(&test);
    struct schemas schemas = {ISO_SCHEMA_JSON, "{}", "{}"};
    struct iso_schema_provider registry = {find, &schemas};
    case_open(
        &test, &iso_debezium_decoder,
        (struct iso_decoder_options){.format = "avro", .framed = true, .registry = &registry});
    assert_string_equal(case_bytes(&test, "x", none, BYTES("\0\0\0\0\1")),
                        "schema 1 is of another format, expected Avro");
    case_close(&test);
}

/* ---- Protobuf's columns ---- */

static const char proto_schema[] =
    "syntax = \"proto3\";\nimport \"google/protobuf/wrappers.proto\";\nenum Mood { GOOD = 0; BAD = 1; }\n"
    "message Envelope { Value before = 1; Value after = 2; Source source = 3; string op = 4;\n"
    "  message Source { string connector = 1; string table = 2; }\n"
    "  message Value { int32 k = 1; int64 plain = 2; optional int64 o = 3; google.protobuf.Int64Value w = 4; Mood mood = 5;\n"
    "    repeated int32 list = 6; VariableScaleDecimal v = 7; bool b = 8; sint64 z = 9; fixed32 f = 10; double d = 11;\n"
    "    oneof choice { string c1 = 12; bytes c2 = 13; } map<string, string> m = 14; Nested n = 15; }\n"
    "  message VariableScaleDecimal { int32 scale = 1; bytes value = 2; }\n"
    "  message Nested { string a = 1; int32 number = 2; } reserved 9, 10; }\n";

#define SOURCE "\x1a\x0f\x0a\x0apostgresql\x12\x01t"
#define HEAD "\0\0\0\0\1\0"

static void reads_columns_of_protobuf(void **state)
{
    (void)state;
    struct schemas schemas = {ISO_SCHEMA_PROTOBUF, "message Key { int32 k = 1; }", proto_schema};
    struct iso_schema_provider registry = {find, &schemas};
    struct decoder_case test;
    struct iso_bytes key = BYTES("\0\0\0\0\2\0\x08\x07");
    case_open(
        &test, &iso_debezium_decoder,
        (struct iso_decoder_options){.format = "protobuf", .framed = true, .registry = &registry});
    /* all of them; list in two packed parts and a single element; field 99 is not in the schema */
    assert_string_equal(
        case_bytes(
            &test, "x", key,
            BYTES(
                HEAD
                "\x12\x3e\x08\x07\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x18\x00\x22\x00"
                "\x28\x01\x32\x02\x01\x02\x3a\x06\x08\x02\x12\x02\x00\x96\x40\x01\x48\x03\x55\x01\x00\x00\x00"
                "\x30\x03\x59\x00\x00\x00\x00\x00\x00\xf8\x3f\x6a\x01\xff\x7a\x03\x0a\x01\x78\x98\x06\x05" SOURCE
                "\x22\x01"
                "c")),
        "row c  t t/7 before - after {\"b\":true,\"c1\":null,\"c2\":\"/w==\",\"d\":1.5,\"f\":1,\"list\":[1,2,3],\"m\":null,\"mood\":1,"
        "\"n\":{\"a\":\"x\",\"number\":0},\"o\":0,\"plain\":-1,\"v\":\"1.5\",\"w\":0,\"z\":-2}");
    case_close(&test);
}

static const char *proto_value(const char *column, struct iso_bytes payload)
{
    static char text[4096];
    struct schemas schemas = {ISO_SCHEMA_PROTOBUF, "message Key { int32 k = 1; }", proto_schema};
    struct iso_schema_provider registry = {find, &schemas};
    struct decoder_case test;
    case_open(&test, &iso_debezium_decoder,
              (struct iso_decoder_options){
                  .format = "protobuf", .framed = true, .registry = &registry, .value = column});
    snprintf(text, sizeof text, "%s",
             case_bytes(&test, "x", BYTES("\0\0\0\0\2\0\x08\x07"), payload));
    case_close(&test);
    return strncmp(text, "row c  t t/7 before - after ", 28) ? text : text + 28;
}

static void reads_each_column_of_protobuf(void **state)
{
    (void)state;
#define ROW(length, bytes)                                                                         \
    BYTES(HEAD "\x12" length bytes SOURCE "\x22\x01"                                               \
               "c")
    assert_string_equal(
        proto_value("plain", ROW("\x0d", "\x08\x07\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")),
        "-1");
    assert_string_equal(proto_value("plain", ROW("\x02", "\x08\x07")), "?"); /* 0 or null */
    assert_string_equal(proto_value("o", ROW("\x02", "\x08\x07")), "-");
    assert_string_equal(proto_value("o", ROW("\x04", "\x08\x07\x18\x00")), "0");
    assert_string_equal(proto_value("w", ROW("\x02", "\x08\x07")), "-");
    assert_string_equal(proto_value("w", ROW("\x04", "\x08\x07\x22\x00")), "0");
    assert_string_equal(proto_value("w", ROW("\x06", "\x08\x07\x22\x02\x08\x09")), "9");
    assert_string_equal(proto_value("mood", ROW("\x04", "\x08\x07\x28\x01")), "1");
    assert_string_equal(proto_value("list", ROW("\x08", "\x08\x07\x32\x02\x01\x02\x30\x03")),
                        "[1,2,3]");
    assert_string_equal(proto_value("v", ROW("\x0a", "\x08\x07\x3a\x06\x08\x02\x12\x02\x00\x96")),
                        "1.5");
    assert_string_equal(proto_value("b", ROW("\x04", "\x08\x07\x40\x01")), "true");
    assert_string_equal(proto_value("z", ROW("\x04", "\x08\x07\x48\x03")), "-2");
    assert_string_equal(proto_value("f", ROW("\x07", "\x08\x07\x55\x01\x00\x00\x00")), "1");
    assert_string_equal(
        proto_value("d", ROW("\x0b", "\x08\x07\x59\x00\x00\x00\x00\x00\x00\xf8\x3f")), "1.5");
    assert_string_equal(proto_value("c2", ROW("\x05", "\x08\x07\x6a\x01\xff")), "/w==");
    assert_string_equal(proto_value("c1", ROW("\x02", "\x08\x07")), "-");
    assert_string_equal(proto_value("n", ROW("\x07", "\x08\x07\x7a\x03\x0a\x01\x78")),
                        "{\"a\":\"x\",\"number\":0}");
    assert_string_equal(proto_value("b", ROW("\x04", "\x08\x07\x98\x06")),
                        "byte 7: expected a number of at most ten bytes");
    assert_string_equal(proto_value("b", ROW("\x03", "\x08\x07\x43")),
                        "byte 6: expected an encoding of 0, 1, 2 or 5");
    assert_string_equal(proto_value("b", ROW("\x07", "\x08\x07\x45\x01\x00\x00\x00")),
                        "byte 1: expected fields encoded as the schema says");
    assert_string_equal(proto_value("c1", ROW("\x05", "\x08\x07\x62\x01\xff")),
                        "byte 7: expected UTF-8");
}

/* ---- every message of a feed, cut ---- */

/* A message that lacks bytes is refused; in Protobuf one that lacks whole fields may still be
 * one. */
static void cut_messages_are_refused(void **state)
{
    (void)state;
    for (int format = FEED_JSON; format <= FEED_PROTOBUF; format++) {
        struct iso_history history;
        struct feed feed;
        struct decoder_case test;
        uint32_t tables = 1, accepted = 0, cuts = 0;
        iso_history_init(&history);
        history.clock = ISO_CLOCK_SCALAR;
        iso_history_begin(&history, 1, 1, ISO_COMMITTED, 1);
        iso_history_set_cts(&history, (struct iso_stamp){5, 0});
        iso_history_operation(&history, ISO_WRITE, 1, 7);
        iso_history_operation(&history, ISO_WRITE, 1, 8);
        iso_history_operation(&history, ISO_DELETE, 1, ISO_ABSENT);
        feed_rename_keys(&history, feed_debezium_name, &tables);
        feed_init(&feed);
        assert_true(feed_debezium_write(
            &feed, &history,
            &(struct feed_debezium_options){.format = (enum feed_debezium_format)format,
                                            .partitions = 1,
                                            .metadata = true,
                                            .in_band = true,
                                            .first_xid = 5}));
        feed_finish(&feed);
        case_open(&test, &iso_debezium_decoder,
                  feed_debezium_decoding((enum feed_debezium_format)format));
        for (uint32_t i = 0; i < feed.count; i++) {
            const struct iso_message *message = &feed.list[i];
            for (uint32_t size = 0; size < message->payload.size; size++, cuts++) {
                uint8_t *copy = iso_allocate(size + !size);
                memcpy(copy, message->payload.data, size);
                case_bytes(&test, message->topic, message->key, (struct iso_bytes){copy, size});
                accepted += test.error.status == ISO_OK;
                iso_free(copy);
            }
            for (uint32_t size = 0; message->payload.data && size < message->key.size;
                 size++, cuts++) {
                uint8_t *copy = iso_allocate(size + !size);
                memcpy(copy, message->key.data, size);
                case_bytes(&test, message->topic, (struct iso_bytes){copy, size}, message->payload);
                accepted += test.error.status == ISO_OK;
                iso_free(copy);
            }
        }
        assert_true(cuts > 200);
        assert_true(format == FEED_PROTOBUF ? accepted < cuts / 20 : accepted == 0);
        case_close(&test);
        feed_release(&feed);
        iso_history_release(&history);
    }
}

/* ---- collections of an END ---- */

static void reads_collections(void **state)
{
    (void)state;
    static const char avro[] =
        "{\"type\":\"record\",\"name\":\"V\",\"fields\":[{\"name\":\"status\",\"type\":\"string\"},"
        "{\"name\":\"id\",\"type\":\"string\"},{\"name\":\"event_count\",\"type\":[\"null\",\"long\"]},"
        "{\"name\":\"data_collections\",\"type\":[\"null\",{\"type\":\"array\",\"items\":{\"type\":\"record\","
        "\"name\":\"B\",\"fields\":[{\"name\":\"data_collection\",\"type\":\"string\"},"
        "{\"name\":\"event_count\",\"type\":\"long\"}]}}]},{\"name\":\"ts_ms\",\"type\":\"long\"}]}";
    static const char protobuf[] =
        "syntax = \"proto3\"; message V { string status = 1; string id = 2; optional int64 event_count = 3; "
        "repeated B data_collections = 4; int64 ts_ms = 5; message B { string data_collection = 1; int64 event_count = "
        "2; } }";
    const struct {
        const char *format;
        struct schemas schemas;
        struct iso_bytes payload;
    } cases[] = {{"avro",
                  {ISO_SCHEMA_AVRO, key_schema, avro},
                  BYTES("\0\0\0\0\1\6END\6"
                        "5:7\2\6\2\4\10s1.a\2\10s1.b\4\0\0")},
                 {"protobuf",
                  {ISO_SCHEMA_PROTOBUF, "message Key { string id = 1; }", protobuf},
                  BYTES("\0\0\0\0\1\0\x0a\3END\x12\3"
                        "5:7\"\10\x0a\4s1.a\x10\1\x18\3\"\10\x0a\4s1.b\x10\2")}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct schemas schemas = cases[i].schemas;
        struct iso_schema_provider registry = {find, &schemas};
        struct decoder_case test;
        case_open(&test, &iso_debezium_decoder,
                  (struct iso_decoder_options){
                      .format = cases[i].format, .framed = true, .registry = &registry});
        assert_string_equal(
            case_bytes(&test, "x.transaction", case_text(NULL), cases[i].payload),
            "collection s1.a id 5 count 1 at 0,7\ncollection s1.b id 5 count 2 at 0,7\n"
            "end id 5 count 3 at 0,7");
        case_close(&test);
    }
}

/* ---- schemas ---- */

/* One column `n`, of another type from message to message: a registry's schemas are as many ids. */
static enum iso_status find_each(void *context, uint32_t id, struct iso_schema *schema,
                                 struct iso_error *error)
{
    static const char *const texts[] = {
        key_schema,
        ENVELOPE(",{\"name\":\"n\",\"type\":[\"null\",\"int\"]}"),
        ENVELOPE(",{\"name\":\"n\",\"type\":\"int\"}"),
        ENVELOPE(
            ",{\"name\":\"n\",\"type\":[\"null\",{\"type\":\"int\",\"connect.name\":\"io.debezium.time.Date\"}]}"),
    };
    (void)context;
    (void)error;
    *schema = (struct iso_schema){ISO_SCHEMA_AVRO, texts[id], strlen(texts[id])};
    return ISO_OK;
}

static void tells_types_of_avro(void **state)
{
    (void)state;
    struct iso_schema_provider registry = {find_each, NULL};
    struct decoder_case test;
    struct iso_bytes key = BYTES("\0\0\0\0\0\2");
#define SOURCE_AND_OP "\x14postgresql\2t\2"
    case_open(
        &test, &iso_debezium_decoder,
        (struct iso_decoder_options){.format = "avro", .framed = true, .registry = &registry});
    /* an update that shows a value where null may be */
    assert_string_equal(
        case_bytes(&test, "x", key, BYTES("\0\0\0\0\1\2\2\2\4\2\2\2\6" SOURCE_AND_OP "u")),
        "row u  t t/1 before {\"n\":2} after {\"n\":3}");
    assert_string_equal(
        case_bytes(&test, "x", key, BYTES("\0\0\0\0\2\0\2\2\4" SOURCE_AND_OP "c")),
        "row c  t t/1 before - after {\"n\":2}"); /* NOT NULL now: its values are what they were */
    assert_string_equal(
        case_bytes(&test, "x", key, BYTES("\0\0\0\0\3\0\2\2\2\4" SOURCE_AND_OP "c")),
        "schema t epoch of t#n\nschema t epoch\nrow c  t t/1 before - after {\"n\":2}");
    case_close(&test);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_libavro_writes),
        cmocka_unit_test(takes_schemas_from_a_file),
        cmocka_unit_test(refuses_options),
        cmocka_unit_test(refuses_avro_schemas),
        cmocka_unit_test(refuses_protobuf_schemas),
        cmocka_unit_test(refuses_frames),
        cmocka_unit_test(reads_columns_of_protobuf),
        cmocka_unit_test(reads_each_column_of_protobuf),
        cmocka_unit_test(cut_messages_are_refused),
        cmocka_unit_test(reads_collections),
        cmocka_unit_test(tells_types_of_avro),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
