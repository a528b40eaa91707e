/* Client records in three formats: the same transaction from each, watermarks, framing, and what is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <transaction.pb-c.h>

#include "connectors/history/record.h"
#include "tests/support/block_text.h"

static const char published[] =
#include <transaction.avsc.h>
    ;

static const char sample[] =
    "{\"tid\":7,\"sid\":\"s1\",\"sno\":3,\"sts\":\"467257846263971800\",\"cts\":467257846263971855,\"status\":\"unknown\",\"ops\":["
    "{\"t\":\"r\",\"k\":-5,\"v\":null},{\"t\":\"w\",\"k\":\"caf\xc3\xa9\",\"v\":2},{\"t\":\"r\",\"k\":9,\"v\":1,\"ots\":\"467257846263971801\"},"
    "{\"t\":\"r\",\"k\":3,\"v\":[4,\"x\"]},{\"t\":\"d\",\"k\":8},{\"t\":\"a\",\"k\":3,\"v\":6},{\"t\":\"w\",\"k\":1,\"v\":2,\"lock\":true}]}";

struct world {
    struct iso_decoder *decoder;
    struct iso_events events;
    struct iso_error error;
};

static void open_world(struct world *world, struct iso_decoder_options options)
{
    *world = (struct world){0};
    iso_events_init(&world->events);
    world->decoder = iso_record_decoder.create(&options, &world->error);
    assert_string_equal(world->error.text, "");
}

static void close_world(struct world *world)
{
    iso_record_decoder.destroy(world->decoder);
    iso_events_release(&world->events);
}

static enum iso_status decode(struct world *world, const void *payload, size_t size)
{
    struct iso_message message = {
        .topic = "t", .input = 2, .offset = 41, .payload = {payload, (uint32_t)size}};
    world->error = (struct iso_error){0};
    return iso_record_decoder.decode(world->decoder, &message, &world->events, &world->error);
}

static void expected_text(char *text, size_t size)
{
    struct world world;
    open_world(&world, (struct iso_decoder_options){.format = "json"});
    assert_int_equal(decode(&world, sample, strlen(sample)), ISO_OK);
    assert_int_equal(world.events.count, 1);
    block_text(&world.events.block, text, size);
    assert_non_null(strstr(text, "T7 Ss1 "));
    assert_non_null(strstr(text, "caf\xc3\xa9"));
    close_world(&world);
}

static void assert_same_as_json(struct world *world)
{
    char expected[4096], actual[4096];
    expected_text(expected, sizeof expected);
    block_text(&world->events.block, actual, sizeof actual);
    assert_string_equal(actual, expected);
}

/* ---- JSON ---- */

static void json_watermarks_and_tombstones(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, (struct iso_decoder_options){0});
    static const char watermark[] = " { \"watermark\" : \"467257846263971800\", \"by\":[1] }",
                      plain[] = "{\"watermark\":7}",
                      largest[] = "{\"watermark\":\"18446744073709551615\"}";
    assert_int_equal(decode(&world, watermark, strlen(watermark)), ISO_OK);
    assert_int_equal(decode(&world, plain, strlen(plain)), ISO_OK);
    assert_int_equal(decode(&world, NULL, 0), ISO_OK);
    assert_int_equal(decode(&world, largest, strlen(largest)), ISO_OK);
    assert_int_equal(world.events.count, 4);
    assert_int_equal(world.events.list[0].type, ISO_EVENT_WATERMARK);
    assert_true(world.events.list[0].cts.physical == 467257846263971800u);
    assert_true(world.events.list[0].origin == iso_origin(2, 41));
    assert_int_equal(world.events.list[1].cts.physical, 7);
    assert_int_equal(world.events.list[2].type, ISO_EVENT_IGNORED);
    assert_true(world.events.list[3].cts.physical == UINT64_MAX);
    close_world(&world);
}

static void json_that_is_refused_leaves_nothing(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "{",
        "[]",
        "{\"tid\":1}",
        "{\"watermark\":-1}",
        "{\"watermark\":\"x\"}",
        "{\"watermark\":\"\"}",
        "{\"watermark\":\"18446744073709551616\"}",
        "{\"watermark\":1",
        "{\"watermark\":1.5}",
        "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"q\",\"k\":1}]}",
        "{\"tid\":1,\"sid\":1,\"sts\":{\"p\":1,\"l\":2},\"ops\":[]}"};
    struct world world;
    open_world(&world, (struct iso_decoder_options){0});
    assert_int_equal(decode(&world, sample, strlen(sample)), ISO_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(decode(&world, wrong[i], strlen(wrong[i])), ISO_BAD_INPUT);
        assert_true(strlen(world.error.text) > 0);
        assert_int_equal(world.events.count, 1);
    }
    assert_same_as_json(&world);
    close_world(&world);
}

/* ---- Protobuf ---- */

static Isochron__Value *number(Isochron__Value *value, int64_t n)
{
    isochron__value__init(value);
    value->value_case = ISOCHRON__VALUE__VALUE_NUMBER;
    value->number = n;
    return value;
}

static Isochron__Value *text(Isochron__Value *value, const char *bytes)
{
    isochron__value__init(value);
    value->value_case = ISOCHRON__VALUE__VALUE_TEXT;
    value->text = (ProtobufCBinaryData){strlen(bytes), (uint8_t *)bytes};
    return value;
}

static Isochron__Timestamp *stamp(Isochron__Timestamp *timestamp, uint64_t physical)
{
    isochron__timestamp__init(timestamp);
    timestamp->physical = physical;
    return timestamp;
}

/* The sample, packed behind `head` bytes; returns the size of all. */
static size_t pack_sample(uint8_t *bytes, size_t head)
{
    static const Isochron__Kind kinds[] = {
        ISOCHRON__KIND__READ,   ISOCHRON__KIND__WRITE,  ISOCHRON__KIND__READ, ISOCHRON__KIND__READ,
        ISOCHRON__KIND__DELETE, ISOCHRON__KIND__APPEND, ISOCHRON__KIND__WRITE};
    Isochron__Operation operations[7], *pointers[7];
    Isochron__Value keys[7], values[7], elements[2], *element_pointers[2], tid, sid;
    Isochron__Timestamp sts, cts, ots;
    Isochron__List list = ISOCHRON__LIST__INIT;
    Isochron__Transaction transaction = ISOCHRON__TRANSACTION__INIT;
    Isochron__Record record = ISOCHRON__RECORD__INIT;
    for (int i = 0; i < 7; i++) {
        isochron__operation__init(&operations[i]);
        operations[i].kind = kinds[i];
        pointers[i] = &operations[i];
    }
    operations[0].key = number(&keys[0], -5);
    operations[1].key = text(&keys[1], "caf\xc3\xa9");
    operations[1].value = number(&values[1], 2);
    operations[2].key = text(&keys[2], "9");
    operations[2].value = number(&values[2], 1);
    operations[2].ots = stamp(&ots, 467257846263971801u);
    operations[3].key = number(&keys[3], 3);
    operations[3].list = &list;
    list.n_elements = 2;
    list.elements = element_pointers;
    element_pointers[0] = number(&elements[0], 4);
    element_pointers[1] = text(&elements[1], "x");
    operations[4].key = number(&keys[4], 8);
    operations[5].key = number(&keys[5], 3);
    operations[5].value = text(&values[5], "6");
    operations[6].key = number(&keys[6], 1);
    operations[6].value = number(&values[6], 2);
    operations[6].lock = true;
    transaction.tid = number(&tid, 7);
    transaction.sid = text(&sid, "s1");
    transaction.position_case = ISOCHRON__TRANSACTION__POSITION_SNO;
    transaction.sno = 3;
    transaction.sts = stamp(&sts, 467257846263971800u);
    transaction.cts = stamp(&cts, 467257846263971855u);
    transaction.status = ISOCHRON__STATUS__UNKNOWN;
    transaction.n_ops = 7;
    transaction.ops = pointers;
    record.record_case = ISOCHRON__RECORD__RECORD_TRANSACTION;
    record.transaction = &transaction;
    return head + isochron__record__pack(&record, bytes + head);
}

static void protobuf_says_the_same(void **state)
{
    (void)state;
    uint8_t bytes[1024];
    struct world world;
    open_world(&world, (struct iso_decoder_options){.format = "protobuf"});
    assert_int_equal(decode(&world, bytes, pack_sample(bytes, 0)), ISO_OK);
    assert_same_as_json(&world);
    close_world(&world);
}

static void protobuf_in_confluent_framing(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        size_t size;
        enum iso_status status;
    } heads[] = {
        {"\0\0\1\x86\xa1\0", 6, ISO_OK},      /* id 100001, indexes [0] */
        {"\0\0\0\0\7\2\0", 7, ISO_OK},        /* [0], written out */
        {"\0\0\0\0\7\2\2", 7, ISO_BAD_INPUT}, /* [1] */
        {"\1\0\0\0\7\0", 6, ISO_BAD_INPUT},   /* magic 1 */
        {"\0\0\0\0\7\x80", 6, ISO_BAD_INPUT},
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        uint8_t bytes[1024];
        struct world world;
        open_world(&world, (struct iso_decoder_options){.format = "protobuf", .framed = true});
        memcpy(bytes, heads[i].head, heads[i].size);
        size_t size = pack_sample(bytes, heads[i].size);
        assert_int_equal(decode(&world, bytes, size), heads[i].status);
        if (heads[i].status == ISO_OK)
            assert_same_as_json(&world);
        else
            assert_int_equal(world.events.count, 0);
        for (size_t cut = 0; cut < heads[i].size; cut++)
            assert_int_equal(decode(&world, bytes, cut), ISO_BAD_INPUT);
        close_world(&world);
    }
}

static void protobuf_cut_anywhere_is_no_crash(void **state)
{
    (void)state;
    uint8_t bytes[1024];
    struct world world;
    size_t size = pack_sample(bytes, 0), refused = 0;
    open_world(&world, (struct iso_decoder_options){.format = "protobuf"});
    for (size_t cut = 0; cut < size; cut++)
        refused += decode(&world, bytes, cut) == ISO_BAD_INPUT;
    assert_int_equal(refused, size);
    assert_int_equal(world.events.block.txns.count, 0);
    close_world(&world);
}

/* ---- Avro ---- */

static void put_long(uint8_t **at, int64_t value)
{
    uint64_t bits = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
    for (; bits > 127; bits >>= 7)
        *(*at)++ = (uint8_t)(bits | 128);
    *(*at)++ = (uint8_t)bits;
}

/* A branch of a union, then a long. */
static void put_branch(uint8_t **at, int branch, int64_t value)
{
    put_long(at, branch);
    put_long(at, value);
}

static void put_text(uint8_t **at, int branch, const char *text)
{
    put_branch(at, branch, (int64_t)strlen(text));
    memcpy(*at, text, strlen(text));
    *at += strlen(text);
}

/* The sample by hand, after the Avro specification and the published schema. */
static size_t write_sample(uint8_t *bytes)
{
    uint8_t *at = bytes;
    put_long(&at, 0); /* Transaction */
    put_branch(&at, 0, 7);
    put_text(&at, 1, "s1");
    put_branch(&at, 1, 3);
    put_branch(&at, 1, 467257846263971800);
    put_branch(&at, 1, 467257846263971855);
    put_long(&at, 2);
    put_long(&at, 7);
    put_long(&at, 0), put_branch(&at, 0, -5), put_long(&at, 0), put_long(&at, 0), *at++ = 0;
    put_long(&at, 1), put_text(&at, 1, "caf\xc3\xa9"), put_branch(&at, 1, 2), put_long(&at, 0),
        *at++ = 0;
    put_long(&at, 0), put_branch(&at, 0, 9), put_text(&at, 2, "1"),
        put_branch(&at, 1, 467257846263971801), *at++ = 0;
    put_long(&at, 0), put_branch(&at, 0, 3), put_branch(&at, 3, 2), put_branch(&at, 0, 4),
        put_text(&at, 1, "x"), put_long(&at, 0), put_long(&at, 0), *at++ = 0;
    put_long(&at, 2), put_branch(&at, 0, 8), put_long(&at, 0), put_long(&at, 0), *at++ = 0;
    put_long(&at, 3), put_branch(&at, 0, 3), put_branch(&at, 1, 6), put_long(&at, 0), *at++ = 0;
    put_long(&at, 1), put_branch(&at, 0, 1), put_branch(&at, 1, 2), put_long(&at, 0), *at++ = 1;
    put_long(&at, 0);
    return (size_t)(at - bytes);
}

static void avro_says_the_same(void **state)
{
    (void)state;
    uint8_t bytes[1024], *at = bytes;
    struct world world;
    open_world(&world, (struct iso_decoder_options){.format = "avro"});
    assert_int_equal(decode(&world, bytes, write_sample(bytes)), ISO_OK);
    assert_same_as_json(&world);
    put_branch(&at, 1, 99); /* Watermark */
    assert_int_equal(decode(&world, bytes, (size_t)(at - bytes)), ISO_OK);
    assert_int_equal(world.events.list[1].type, ISO_EVENT_WATERMARK);
    assert_int_equal(world.events.list[1].cts.physical, 99);
    close_world(&world);
}

static void avro_cut_anywhere_is_no_crash(void **state)
{
    (void)state;
    uint8_t bytes[1024];
    struct world world;
    size_t size = write_sample(bytes), refused = 0;
    open_world(&world, (struct iso_decoder_options){.format = "avro"});
    for (size_t cut = 0; cut < size; cut++)
        refused += decode(&world, bytes, cut) == ISO_BAD_INPUT;
    assert_int_equal(refused, size);
    close_world(&world);
}

/* A writer's own schema: other order, other types, more members, one of them recursive, operations
 * before what they belong to. */
static const char own_schema[] =
    "{\"type\":\"record\",\"name\":\"R\",\"fields\":["
    "{\"name\":\"note\",\"type\":{\"type\":\"map\",\"values\":[\"null\",\"double\",{\"type\":\"array\",\"items\":\"bytes\"}]}},"
    "{\"name\":\"ops\",\"type\":{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"O\",\"fields\":["
    "{\"name\":\"v\",\"type\":[\"string\",\"null\",\"int\"]},{\"name\":\"under\",\"type\":[\"null\",\"O\"]},"
    "{\"name\":\"t\",\"type\":\"string\"},{\"name\":\"k\",\"type\":\"int\"}]}}},"
    "{\"name\":\"fixed\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"size\":3}},{\"name\":\"float\",\"type\":\"float\"},"
    "{\"name\":\"status\",\"type\":\"string\"},{\"name\":\"sid\",\"type\":\"string\"},{\"name\":\"sts\",\"type\":\"int\"},"
    "{\"name\":\"tid\",\"type\":\"int\"},{\"name\":\"cts\",\"type\":[\"long\",\"null\"]},{\"name\":\"flag\",\"type\":\"boolean\"}]}";

static void put_bytes(uint8_t **at, const char *text)
{
    put_long(at, (int64_t)strlen(text));
    memcpy(*at, text, strlen(text));
    *at += strlen(text);
}

static size_t write_own(uint8_t *bytes)
{
    uint8_t *at = bytes, *start;
    put_long(&at, 2), put_bytes(&at, "a"), put_long(&at, 0), put_bytes(&at, "b"), put_long(&at, 1),
        at += 8;
    put_long(&at, 1), put_bytes(&at, "c"), put_long(&at, 2), put_long(&at, 1), put_bytes(&at, "??"),
        put_long(&at, 0);
    put_long(&at, 0);
    put_long(&at, -1); /* a block of one operation, with its size */
    start = at++;
    put_long(&at, 0), put_bytes(&at, "x"), put_long(&at, 0), put_bytes(&at, "Write"),
        put_long(&at, 3);
    *start = (uint8_t)((at - start - 1) << 1);
    put_long(&at, 2); /* and one of two */
    put_long(&at, 1), put_long(&at, 1), put_long(&at, 2), put_long(&at, 7), put_long(&at, 0),
        put_bytes(&at, "r"), put_long(&at, 9), put_bytes(&at, "d"), put_long(&at, -4);
    put_long(&at, 2), put_long(&at, 1000000), put_long(&at, 0), put_bytes(&at, "READ"),
        put_long(&at, 300);
    put_long(&at, 0);
    at += 3 + 4;
    put_bytes(&at, "Aborted"), put_bytes(&at, "s"), put_long(&at, 10), put_long(&at, 5),
        put_branch(&at, 0, 467257846263971855);
    *at++ = 1;
    return (size_t)(at - bytes);
}

static void avro_under_the_writers_own_schema(void **state)
{
    static const char json[] =
        "{\"tid\":5,\"sid\":\"s\",\"sts\":10,\"cts\":467257846263971855,\"status\":\"aborted\",\"ops\":["
        "{\"t\":\"w\",\"k\":3,\"v\":\"x\"},{\"t\":\"d\",\"k\":-4},{\"t\":\"r\",\"k\":300,\"v\":1000000}]}";
    (void)state;
    uint8_t bytes[1024] = {0};
    char expected[2048], actual[2048];
    struct world world;
    open_world(&world, (struct iso_decoder_options){0});
    assert_int_equal(decode(&world, json, strlen(json)), ISO_OK);
    block_text(&world.events.block, expected, sizeof expected);
    close_world(&world);
    open_world(&world, (struct iso_decoder_options){.format = "avro", .schema = own_schema});
    size_t size = write_own(bytes);
    assert_int_equal(decode(&world, bytes, size), ISO_OK);
    block_text(&world.events.block, actual, sizeof actual);
    assert_string_equal(actual, expected);
    for (size_t cut = 0; cut < size;
         cut++) /* a copy of its own size, so that a sanitizer sees what lies behind */
    {
        uint8_t *copy = malloc(cut + 1);
        memcpy(copy, bytes, cut);
        assert_int_equal(decode(&world, copy, cut), ISO_BAD_INPUT);
        assert_memory_equal(world.error.text, "not one Avro value of its schema: byte ", 39);
        free(copy);
    }
    assert_int_equal(decode(&world, bytes, size + 1), ISO_BAD_INPUT);
    assert_int_equal(world.events.count, 1);
    block_text(&world.events.block, actual, sizeof actual);
    assert_string_equal(actual, expected);
    close_world(&world);
}

/* A schema in which what is asked for has another type, or is not there. */
static void avro_members_of_other_types(void **state)
{
    static const struct {
        const char *fields, *bytes;
        size_t size;
        const char *wrong;
    } cases[] = {
        {"{\"name\":\"sid\",\"type\":\"int\"},{\"name\":\"ops\",\"type\":{\"type\":\"array\",\"items\":\"null\"}}",
         "\2\0", 2, "tid: expected a long or a UTF-8 string"},
        {"{\"name\":\"tid\",\"type\":\"null\"},{\"name\":\"sid\",\"type\":\"int\"}", "\2", 1,
         "tid: expected a long or a UTF-8 string"},
        {"{\"name\":\"tid\",\"type\":\"int\"},{\"name\":\"sid\",\"type\":\"boolean\"}", "\2\1", 2,
         "sid: expected a long or a UTF-8 string"},
        {"{\"name\":\"tid\",\"type\":\"int\"},{\"name\":\"sid\",\"type\":\"string\"}", "\2\2\xff",
         3, "sid: expected a long or a UTF-8 string"},
        {"{\"name\":\"tid\",\"type\":\"int\"},{\"name\":\"sid\",\"type\":\"int\"}", "\2\2", 2,
         "ops: expected an array of operations"},
        {"{\"name\":\"tid\",\"type\":\"int\"},{\"name\":\"sid\",\"type\":\"int\"},{\"name\":\"ops\",\"type\":\"int\"}",
         "\2\2\2", 3, "ops: expected an array of operations"},
        {"{\"name\":\"tid\",\"type\":\"int\"},{\"name\":\"sid\",\"type\":\"int\"},{\"name\":\"cts\",\"type\":\"long\"},"
         "{\"name\":\"ops\",\"type\":{\"type\":\"array\",\"items\":\"int\"}}",
         "\2\2\1\0", 4, "cts: expected an unsigned long"},
        {"{\"name\":\"tid\",\"type\":\"int\"},{\"name\":\"sid\",\"type\":\"int\"},{\"name\":\"status\",\"type\":\"string\"}",
         "\2\2\2x", 4, "status: expected COMMITTED, ABORTED or UNKNOWN"},
        {"{\"name\":\"tid\",\"type\":\"int\"},{\"name\":\"sid\",\"type\":\"int\"},"
         "{\"name\":\"ops\",\"type\":{\"type\":\"array\",\"items\":\"int\"}}",
         "\2\2\2\2\0", 5, "t of an operation: expected READ, WRITE, DELETE or APPEND"},
        {"{\"name\":\"tid\",\"type\":\"int\"},{\"name\":\"sid\",\"type\":\"int\"},{\"name\":\"ops\",\"type\":{\"type\":\"array\",\"items\":"
         "{\"type\":\"record\",\"name\":\"O\",\"fields\":[{\"name\":\"t\",\"type\":\"string\"}]}}}",
         "\2\2\2\2r\0", 6, "k: expected a long or a UTF-8 string"},
        {"{\"name\":\"tid\",\"type\":\"int\"},{\"name\":\"watermark\",\"type\":\"long\"}", "\2\1",
         2, "watermark: expected an unsigned long"},
        {"{\"name\":\"tid\",\"type\":\"int\"}", "\x80\x80\x80\x80\x10", 5,
         "not one Avro value of its schema: byte 6: expected a number of 32 bits"}, /* 2^31 */
        {"{\"name\":\"all\",\"type\":{\"type\":\"array\",\"items\":\"null\"}}",
         "\xfe\xff\xff\x0f\0", 5,
         "not one Avro value of its schema: byte 5: expected no more items than the message has bytes"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char schema[600];
        struct world world;
        snprintf(schema, sizeof schema, "{\"type\":\"record\",\"name\":\"R\",\"fields\":[%s]}",
                 cases[i].fields);
        open_world(&world, (struct iso_decoder_options){.format = "avro", .schema = schema});
        assert_int_equal(decode(&world, cases[i].bytes, cases[i].size), ISO_BAD_INPUT);
        assert_string_equal(world.error.text, cases[i].wrong);
        assert_int_equal(world.events.count, 0);
        assert_int_equal(world.events.block.txns.count, 0);
        close_world(&world);
    }
}

/* ---- whose writes are listed ---- */

static void assert_marks(struct iso_decoder_options options, const void *bytes, size_t size,
                         uint8_t marks)
{
    struct world world;
    open_world(&world, options);
    assert_int_equal(decode(&world, bytes, size), ISO_OK);
    assert_int_equal(world.events.block.txns.count, 1);
    assert_int_equal(iso_marks_of(&world.events.block, 0), marks);
    close_world(&world);
}

static void json_says_whose_writes_are_listed(void **state)
{
    static const struct {
        const char *text;
        uint8_t marks;
    } cases[] = {{"{\"tid\":1,\"sid\":1,\"writes\":\"cdc\",\"ops\":[]}", ISO_MARK_CDC_WRITES},
                 {"{\"tid\":1,\"sid\":1,\"writes\":\"all\",\"ops\":[]}", 0},
                 {"{\"tid\":1,\"sid\":1,\"ops\":[]}", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_marks((struct iso_decoder_options){0}, cases[i].text, strlen(cases[i].text),
                     cases[i].marks);
}

static void protobuf_says_whose_writes_are_listed(void **state)
{
    uint8_t bytes[64];
    Isochron__Value id;
    Isochron__Transaction transaction = ISOCHRON__TRANSACTION__INIT;
    Isochron__Record record = ISOCHRON__RECORD__INIT;
    struct world world;
    (void)state;
    transaction.tid = transaction.sid = number(&id, 1);
    record.record_case = ISOCHRON__RECORD__RECORD_TRANSACTION;
    record.transaction = &transaction;
    assert_marks((struct iso_decoder_options){.format = "protobuf"}, bytes,
                 isochron__record__pack(&record, bytes), 0);
    transaction.writes = ISOCHRON__WRITES__CDC;
    assert_marks((struct iso_decoder_options){.format = "protobuf"}, bytes,
                 isochron__record__pack(&record, bytes), ISO_MARK_CDC_WRITES);
    transaction.writes = (Isochron__Writes)2;
    open_world(&world, (struct iso_decoder_options){.format = "protobuf"});
    assert_int_equal(decode(&world, bytes, isochron__record__pack(&record, bytes)), ISO_BAD_INPUT);
    assert_string_equal(world.error.text, "writes: expected ALL or CDC");
    close_world(&world);
}

/* A member of the writer's schema, of the types that it may have; last of all, too, as an evolved
 * schema has it. */
static void avro_says_whose_writes_are_listed(void **state)
{
    static const struct {
        const char *type, *bytes;
        size_t size;
        int marks; /* -1: refused */
    } cases[] = {
        {"[\"null\",\"string\"]", "\2\6cdc", 5, ISO_MARK_CDC_WRITES},
        {"[\"null\",\"string\"]", "\2\6all", 5, 0},
        {"[\"null\",\"string\"]", "\0", 1, 0},
        {"\"string\"", "\6cdc", 4, ISO_MARK_CDC_WRITES},
        {"{\"type\":\"enum\",\"name\":\"W\",\"symbols\":[\"ALL\",\"CDC\",\"SOME\"]}", "\2", 1,
         ISO_MARK_CDC_WRITES},
        {"{\"type\":\"enum\",\"name\":\"W\",\"symbols\":[\"ALL\",\"CDC\",\"SOME\"]}", "\0", 1, 0},
        {"{\"type\":\"enum\",\"name\":\"W\",\"symbols\":[\"ALL\",\"CDC\",\"SOME\"]}", "\4", 1, -1},
        {"\"string\"", "\10some", 5, -1},
        {"\"int\"", "\2", 1, -1},
    };
    static const char ids[] =
        "{\"name\":\"tid\",\"type\":\"int\"},{\"name\":\"sid\",\"type\":\"int\"}",
                      ops[] = "{\"name\":\"ops\",\"type\":{\"type\":\"array\",\"items\":\"null\"}}";
    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        char schema[400], bytes[16] = "\2\2";
        struct world world;
        bool last = i & 1;
        size_t size = cases[i / 2].size;
        snprintf(
            schema, sizeof schema,
            "{\"type\":\"record\",\"name\":\"R\",\"fields\":[%s,%s%s{\"name\":\"writes\",\"type\":%s}%s%s]}",
            ids, last ? ops : "", last ? "," : "", cases[i / 2].type, last ? "" : ",",
            last ? "" : ops);
        memcpy(bytes + (last ? 3 : 2), cases[i / 2].bytes, size); /* an empty array is one zero */
        struct iso_decoder_options options = {.format = "avro", .schema = schema};
        if (cases[i / 2].marks >= 0) {
            assert_marks(options, bytes, size + 3, (uint8_t)cases[i / 2].marks);
            continue;
        }
        open_world(&world, options);
        assert_int_equal(decode(&world, bytes, size + 3), ISO_BAD_INPUT);
        assert_string_equal(world.error.text, "writes: expected null, \"all\" or \"cdc\"");
        assert_int_equal(world.events.block.txns.count, 0);
        close_world(&world);
    }
}

/* ---- what MariaDB says of a snapshot ---- */

static void assert_start(struct iso_decoder_options options, const void *bytes, size_t size,
                         uint64_t start, uint8_t marks)
{
    struct world world;
    open_world(&world, options);
    assert_int_equal(decode(&world, bytes, size), ISO_OK);
    const struct iso_history *block = &world.events.block;
    assert_int_equal(block->txns.count, 1);
    assert_true(block->txns.flags[0] & ISO_HAS_STS);
    assert_int_equal(block->txns.sts[0], start);
    assert_int_equal(iso_marks_of(block, 0), marks);
    close_world(&world);
}

static void snapshots_of_mariadb(void **state)
{
    static const char schema[] =
        "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"tid\",\"type\":\"int\"},"
        "{\"name\":\"sid\",\"type\":\"int\"},{\"name\":\"snapshot\",\"type\":[\"null\",\"string\"]},"
        "{\"name\":\"ops\",\"type\":{\"type\":\"array\",\"items\":\"null\"}}]}";
    static const struct {
        const char *snapshot;
        uint64_t start;
        uint8_t marks;
    } cases[] = {{"0-1-7", 120, ISO_MARK_GTID_START},
                 {"b.12:4711", (uint64_t)12 << 40 | 4711, ISO_MARK_LOG_START}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = strlen(cases[i].snapshot);
        char text[128];
        snprintf(text, sizeof text, "{\"tid\":1,\"sid\":1,\"snapshot\":\"%s\",\"ops\":[]}",
                 cases[i].snapshot);
        assert_start((struct iso_decoder_options){0}, text, strlen(text), cases[i].start,
                     cases[i].marks);

        uint8_t bytes[64] = {2, 2, 2, (uint8_t)(2 * length)};
        memcpy(bytes + 4, cases[i].snapshot, length);
        assert_start((struct iso_decoder_options){.format = "avro", .schema = schema}, bytes,
                     length + 5, cases[i].start, cases[i].marks);

        Isochron__Value id;
        Isochron__Transaction transaction = ISOCHRON__TRANSACTION__INIT;
        Isochron__Record record = ISOCHRON__RECORD__INIT;
        memcpy(text, cases[i].snapshot, length);
        transaction.tid = transaction.sid = number(&id, 1);
        transaction.snapshot.data = (uint8_t *)text;
        transaction.snapshot.len = length;
        record.record_case = ISOCHRON__RECORD__RECORD_TRANSACTION;
        record.transaction = &transaction;
        assert_start((struct iso_decoder_options){.format = "protobuf"}, bytes,
                     isochron__record__pack(&record, bytes), cases[i].start, cases[i].marks);
        transaction.snapshot.len = 3;
        struct world world;
        open_world(&world, (struct iso_decoder_options){.format = "protobuf"});
        assert_int_equal(decode(&world, bytes, isochron__record__pack(&record, bytes)),
                         ISO_BAD_INPUT);
        assert_non_null(strstr(world.error.text, "snapshot: expected"));
        assert_int_equal(world.events.block.txns.count, 0);
        close_world(&world);
    }
}

/* ---- values that no client may have ---- */

static void reserved_values_are_refused(void **state)
{
    static const char *const json[] = {
        "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":\"\\u0002x\"}]}",
        "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"r\",\"k\":1,\"v\":[\"\\u0002\"]}]}",
        "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"w\",\"k\":1,\"unknown\":\"x\"}]}",
    };
    static const char schema[] =
        "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"tid\",\"type\":\"int\"},{\"name\":\"sid\",\"type\":\"int\"},"
        "{\"name\":\"ops\",\"type\":{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"O\",\"fields\":["
        "{\"name\":\"t\",\"type\":\"string\"},{\"name\":\"k\",\"type\":\"string\"},"
        "{\"name\":\"v\",\"type\":[\"string\",{\"type\":\"array\",\"items\":\"string\"}]}]}}}]}";
    static const char *const avro[] = {"\2\2\2\2w\2k\0\4\2x\0", "\2\2\2\2r\2k\2\4\2y\2\2\0\0"};
    static const size_t sizes[] = {12, 14};
    static const char protobuf[] =
        "\x0a\x1b\x0a\x02\x08\x02\x12\x02\x08\x02\x3a\x11\x08\x01\x12\x03\x12\x01k\x1a\x08\x12\x06\2value";
    struct world world;
    (void)state;
    open_world(&world, (struct iso_decoder_options){0});
    for (size_t i = 0; i < sizeof json / sizeof *json; i++) {
        assert_int_equal(decode(&world, json[i], strlen(json[i])), ISO_BAD_INPUT);
        assert_non_null(strstr(world.error.text, i < 2
                                                     ? "begins with U+0002, which is reserved"
                                                     : "unknown stands in joined histories only"));
        assert_int_equal(world.events.count, 0);
    }
    close_world(&world);
    open_world(&world, (struct iso_decoder_options){.format = "avro", .schema = schema});
    for (size_t i = 0; i < sizeof avro / sizeof *avro; i++) {
        assert_int_equal(decode(&world, avro[i], sizes[i]), ISO_BAD_INPUT);
        assert_string_equal(world.error.text, "a value begins with U+0002, which is reserved");
    }
    assert_int_equal(world.events.count, 0);
    close_world(&world);
    open_world(&world, (struct iso_decoder_options){.format = "protobuf"});
    assert_int_equal(decode(&world, protobuf, sizeof protobuf - 1), ISO_BAD_INPUT);
    assert_string_equal(world.error.text, "a value begins with U+0002, which is reserved");
    close_world(&world);
}

static unsigned asked;

static enum iso_status find_schema(void *context, uint32_t id, struct iso_schema *schema,
                                   struct iso_error *error)
{
    (void)context;
    asked++;
    if (id != 7)
        return iso_error_set(error, ISO_FAILED, "no schema %u", id);
    *schema = (struct iso_schema){ISO_SCHEMA_AVRO, published, strlen(published)};
    return ISO_OK;
}

static void avro_asks_the_registry_once(void **state)
{
    (void)state;
    struct iso_schema_provider provider = {find_schema, NULL};
    uint8_t bytes[1024] = {0, 0, 0, 0, 7};
    struct world world;
    asked = 0;
    open_world(&world, (struct iso_decoder_options){
                           .format = "avro", .framed = true, .registry = &provider});
    size_t size = 5 + write_sample(bytes + 5);
    assert_int_equal(decode(&world, bytes, size), ISO_OK);
    assert_same_as_json(&world);
    assert_int_equal(decode(&world, bytes, size), ISO_OK);
    assert_int_equal(asked, 1);
    bytes[4] = 8;
    assert_int_equal(decode(&world, bytes, size), ISO_FAILED);
    assert_string_equal(world.error.text, "no schema 8");
    close_world(&world);
}

static void wrong_options(void **state)
{
    (void)state;
    struct iso_error error = {0};
    assert_null(iso_record_decoder.create(&(struct iso_decoder_options){.format = "xml"}, &error));
    assert_string_equal(error.text,
                        "format=xml of a history source: expected json, avro or protobuf");
    error = (struct iso_error){0};
    assert_null(iso_record_decoder.create(
        &(struct iso_decoder_options){.format = "avro", .schema = "{"}, &error));
    assert_int_equal(error.status, ISO_BAD_INPUT);
    error = (struct iso_error){0};
    assert_null(iso_record_decoder.create(
        &(struct iso_decoder_options){.format = "avro", .framed = true}, &error));
    assert_int_equal(error.status, ISO_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_watermarks_and_tombstones),
        cmocka_unit_test(json_that_is_refused_leaves_nothing),
        cmocka_unit_test(protobuf_says_the_same),
        cmocka_unit_test(protobuf_in_confluent_framing),
        cmocka_unit_test(protobuf_cut_anywhere_is_no_crash),
        cmocka_unit_test(avro_says_the_same),
        cmocka_unit_test(avro_cut_anywhere_is_no_crash),
        cmocka_unit_test(avro_under_the_writers_own_schema),
        cmocka_unit_test(avro_members_of_other_types),
        cmocka_unit_test(avro_asks_the_registry_once),
        cmocka_unit_test(json_says_whose_writes_are_listed),
        cmocka_unit_test(protobuf_says_whose_writes_are_listed),
        cmocka_unit_test(avro_says_whose_writes_are_listed),
        cmocka_unit_test(snapshots_of_mariadb),
        cmocka_unit_test(reserved_values_are_refused),
        cmocka_unit_test(wrong_options),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
