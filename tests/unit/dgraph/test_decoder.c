/* Dgraph's messages: every kind that a real server sent, every kind that it may send, and what is
 * refused. */
#include <stdio.h>
#include <stdlib.h>

#include "connectors/dgraph/dgraph.h"
#include "capture/capture.h"
#include "tests/support/archived.h"
#include "tests/support/decoding.h"
#include "tests/support/test.h"

static const char schema[] =
    "name: string @index(exact) .\nbal: int .\nfriend: uid .\ntags: [int] .\n"
    "lname: string @lang .\n";

static void start(struct decoding *decoding, struct iso_decoder_options options)
{
    decoding_start(decoding, &iso_dgraph_decoder, &options);
}

/* The event of one mutation, its members as given. */
static const char *mutation(struct decoding *decoding, const char *members)
{
    char text[512];
    snprintf(text, sizeof text, "{\"meta\":{\"commit_ts\":9},\"type\":\"mutation\",\"event\":{%s}}",
             members);
    return decoding_of_text(decoding, text);
}

static const char *set(struct decoding *decoding, const char *value, const char *type)
{
    char members[256];
    snprintf(members, sizeof members,
             "\"operation\":\"set\",\"uid\":31,\"attr\":\"p\",\"value\":%s,\"value_type\":\"%s\"",
             value, type);
    return mutation(decoding, members);
}

/* Of the last message's event. */
static const char *table_of(struct decoding *decoding)
{
    static char name[100];
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *text = iso_atom_text(&decoding->events.block.atoms, decoding->events.list[0].table,
                                     buffer, &length);
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    return name;
}

/* ---- what a server sent ---- */

static void samples(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "ROW update name/0xde: ? -> alice cts 20823\n",
        "ROW update bal/0xde: ? -> 9007199254740993 cts 20823\n",
        "ROW update flt/0xde: ? -> 1.5 cts 20823\n",
        "ROW update flag/0xde: ? -> true cts 20823\n",
        "ROW update dt/0xde: ? -> 2026-01-02T03:04:05.678Z cts 20823\n",
        "IGNORED a predicate of several values, or one a language\n",
        "IGNORED a predicate of several values, or one a language\n",
        "ROW update friend/0xde: ? -> 0xdf cts 20823\n",
        "ROW update pw/0xde: ? -> ? cts 20823\n",
        "IGNORED a predicate of several values, or one a language\n",
        "ROW update untyped/0xde: ? -> hello cts 20823\n",
        "ROW update big/0xde: ? -> ? cts 20823\n",
        "DELETE_IF bal/0xde: 9007199254740993 cts 20825\n",
        "IGNORED a predicate of several values, or one a language\n",
        "IGNORED a predicate of several values, or one a language\n",
        "DELETE_IF friend/0xde: 0xdf cts 20850\n",
        "ROW update bal/0xde: ? -> 5 cts 20852\n",
        "ROW update bal/0xde: ? -> 5 cts 20854\n",
        "DELETE_IF bal/0xde: 777 cts 20856\n",
        "ROW delete name/0xde: ? -> - cts 20858\n",
        "ROW delete bal/0xde: ? -> - cts 20858\n",
        "ROW update name/0xe0: ? -> bob cts 20860\n",
        "ROW update bal/0xe0: ? -> 10 cts 20860\n",
        "ROW update bal/0xe0: ? -> 11 cts 20862\n",
        "DROP flt cts 20868\n",
        "IGNORED a drop of a type, which holds no data\n",
        "DROP 0. cts 20873\n",
        "DROP * cts 20884\n",
    };
    struct decoding decoding;
    struct iso_inputs inputs;
    struct iso_error error = {0};
    const struct iso_message *messages;
    uint32_t count, total = 0;
    start(&decoding, (struct iso_decoder_options){.schema = schema});
    iso_inputs_init(&inputs);
    struct iso_capture_reader *reader = iso_capture_reader_new(
        "tests/data/recordings/dgraph/samples.capture.jsonl", &inputs, &error);
    assert_non_null(reader);
    while (iso_capture_read(reader, &messages, &count, &error) == ISO_OK && count)
        for (uint32_t i = 0; i < count; i++, total++) {
            assert_in_range(total, 0, sizeof expected / sizeof *expected - 1);
            assert_string_equal(decoding_of(&decoding, messages[i].key.data, messages[i].key.size,
                                            messages[i].payload.data, messages[i].payload.size),
                                expected[total]);
        }
    assert_int_equal(total, sizeof expected / sizeof *expected);
    iso_capture_reader_free(reader);
    iso_inputs_release(&inputs);
    decoding_end(&decoding);
}

/* ---- values ---- */

static void values_of_every_type(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(set(&decoding, "-9223372036854775808", "int"),
                        "ROW update p/0x1f: ? -> -9223372036854775808 cts 9\n");
    assert_string_equal(set(&decoding, "9223372036854775807", "int"),
                        "ROW update p/0x1f: ? -> 9223372036854775807 cts 9\n");
    assert_string_equal(set(&decoding, "0", "int"), "ROW update p/0x1f: ? -> 0 cts 9\n");
    assert_string_equal(set(&decoding, "-1.5e-7", "float"),
                        "ROW update p/0x1f: ? -> -1.5e-7 cts 9\n");
    assert_string_equal(set(&decoding, "false", "bool"), "ROW update p/0x1f: ? -> false cts 9\n");
    assert_string_equal(set(&decoding, "\"\"", "string"), "ROW update p/0x1f: ? ->  cts 9\n");
    assert_string_equal(set(&decoding, "\"a\\\"\\u00e9\"", "string"),
                        "ROW update p/0x1f: ? -> a\"\xc3\xa9 cts 9\n");
    assert_string_equal(set(&decoding, "\"_STAR_ALL\"", "default"),
                        "ROW update p/0x1f: ? -> _STAR_ALL cts 9\n");
    assert_string_equal(set(&decoding, "\"AAEC\"", "binary"),
                        "ROW update p/0x1f: ? -> AAEC cts 9\n");
    assert_string_equal(
        set(&decoding, "{\"type\": \"Point a\",\n \"coordinates\":[1.5, -2]}", "geo"),
        "ROW update p/0x1f: ? -> {\"type\":\"Point a\",\"coordinates\":[1.5,-2]} cts 9\n");
    assert_string_equal(set(&decoding, "{}", "geo"), "ROW update p/0x1f: ? -> ? cts 9\n");
    assert_string_equal(set(&decoding, "null", "int"), "ROW update p/0x1f: ? -> ? cts 9\n");
    assert_string_equal(set(&decoding, "[1, 2.5]", "float32vector"),
                        "ROW update p/0x1f: ? -> [1,2.5] cts 9\n");
    decoding_end(&decoding);
}

static void a_number_and_its_text_are_one_value(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    set(&decoding, "7", "int");
    iso_atom number = decoding.events.list[0].after;
    set(&decoding, "\"7\"", "string");
    assert_int_equal(decoding.events.list[0].after, number);
    decoding_end(&decoding);
}

static void edges(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.schema = "p: uid ."});
    assert_string_equal(set(&decoding, "18446744073709551615", "uid"),
                        "ROW update p/0x1f: ? -> 0xffffffffffffffff cts 9\n");
    assert_string_equal(set(&decoding, "-1", "uid"),
                        "ERROR event.value of type \"uid\": expected an unsigned integer\n");
    decoding_end(&decoding);
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(
        set(&decoding, "2", "uid"),
        "IGNORED an edge without a schema that says whether there is one or several\n");
    assert_string_equal(table_of(&decoding), "p");
    decoding_end(&decoding);
}

static void operations(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(
        mutation(&decoding,
                 "\"value\":4,\"value_type\":\"int\",\"x\":[{}],\"attr\":\"a,b/c%\",\"uid\":"
                 "18446744073709551615,\"operation\":\"ovr\""),
        "ROW update a%2Cb%2Fc%25/0xffffffffffffffff: ? -> 4 cts 9\n");
    assert_string_equal(mutation(&decoding,
                                 "\"operation\":\"del\",\"uid\":1,\"attr\":\"p\",\"value\":\"v\","
                                 "\"value_type\":\"string\""),
                        "DELETE_IF p/0x1: v cts 9\n");
    assert_string_equal(
        mutation(&decoding, "\"operation\":\"del\",\"uid\":1,\"attr\":\"p\",\"value\":\"****\","
                            "\"value_type\":\"password\""),
        "ROW update p/0x1: ? -> ? cts 9\n");
    assert_string_equal(mutation(&decoding,
                                 "\"operation\":\"inc\",\"uid\":1,\"attr\":\"p\",\"value\":1,"
                                 "\"value_type\":\"int\""),
                        "ERROR event.operation \"inc\": expected set, del or ovr\n");
    assert_string_equal(decoding_of_text(&decoding, NULL), "IGNORED tombstone\n");
    decoding_end(&decoding);
}

static void members_in_another_order(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(
        decoding_of_text(
            &decoding,
            " { \"event\" : {\"value_type\":\"string\",\"value\":\"\\n\",\"attr\":\"\\u0070\","
            "\"uid\":1,\"operation\":\"set\"} , \"new\":1, \"type\":\"mutation\","
            "\"meta\":{\"later\":null,\"commit_ts\":18446744073709551615}}"),
        "ROW update p/0x1: ? -> \n cts 18446744073709551615\n");
    decoding_end(&decoding);
}

/* ---- namespaces, tables, drops ---- */

static const char plain[] =
    "{\"meta\":{\"commit_ts\":9},\"type\":\"mutation\",\"event\":{\"operation\":\"set\",\"uid\":1,"
    "\"attr\":\"p\",\"value\":1,\"value_type\":\"int\"}}";

static void namespaces(void **state)
{
    (void)state;
    struct decoding decoding;
    static const uint8_t zero[8], other[8] = {[6] = 1, [7] = 4};
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(decoding_of(&decoding, zero, 8, plain, strlen(plain)),
                        "ROW update p/0x1: ? -> 1 cts 9\n");
    assert_string_equal(decoding_of(&decoding, other, 8, plain, strlen(plain)),
                        "ROW update 260.p/0x1: ? -> 1 cts 9\n");
    assert_string_equal(decoding_of(&decoding, other, 7, plain, strlen(plain)),
                        "ERROR the message's key: 7 bytes, expected the 8 of a namespace\n");
    static const char member[] =
        "{\"meta\":{\"namespace\":5,\"commit_ts\":9},\"type\":\"drop\",\"event\":{\"operation\":"
        "\"predicate\",\"type\":\"\",\"pred\":\"p\"}}";
    assert_string_equal(decoding_of(&decoding, other, 8, member, strlen(member)),
                        "DROP 5.p cts 9\n");
    static const char data[] =
        "{\"meta\":{\"commit_ts\":9},\"type\":\"drop\",\"event\":{\"operation\":\"data\"}}";
    assert_string_equal(decoding_of(&decoding, other, 8, data, strlen(data)), "DROP 260. cts 9\n");
    decoding_end(&decoding);
}

static const char *drop(struct decoding *decoding, const char *event)
{
    char text[256];
    snprintf(text, sizeof text, "{\"meta\":{\"commit_ts\":9},\"type\":\"drop\",\"event\":%s}",
             event);
    return decoding_of_text(decoding, text);
}

static void drops(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.tables = "q;p"});
    assert_string_equal(drop(&decoding, "{\"operation\":\"all\",\"type\":\"\",\"pred\":\"\"}"),
                        "DROP * cts 9\n");
    assert_string_equal(drop(&decoding, "{\"operation\":\"predicate\",\"pred\":\"p\"}"),
                        "DROP p cts 9\n");
    assert_string_equal(drop(&decoding, "{\"operation\":\"predicate\",\"pred\":\"r\"}"),
                        "IGNORED a predicate that is not in tables=\n");
    assert_string_equal(drop(&decoding, "{\"operation\":\"predicate\",\"pred\":\"\"}"),
                        "ERROR a drop of a predicate: expected its name in event.pred\n");
    assert_string_equal(
        drop(&decoding, "{\"operation\":\"index\"}"),
        "ERROR event.operation of a drop \"index\": expected all, data, type or predicate\n");
    assert_string_equal(drop(&decoding, "{}"), "ERROR event lacks its member \"operation\"\n");
    assert_string_equal(decoding_of_text(&decoding, plain), "ROW update p/0x1: ? -> 1 cts 9\n");
    assert_string_equal(
        mutation(&decoding, "\"operation\":\"set\",\"uid\":1,\"attr\":\"pw\",\"value\":\"****\","
                            "\"value_type\":\"password\""),
        "IGNORED a predicate that is not in tables=\n");
    decoding_end(&decoding);
}

/* ---- what is covered ---- */

static bool covers(struct decoding *decoding, const char *table)
{
    return iso_dgraph_decoder.covers(decoding->decoder, "dgraph-cdc", table, strlen(table));
}

static void covered_predicates(void **state)
{
    (void)state;
    struct decoding decoding;
    static const struct iso_decoder_options by_schema = {
        .schema = "one: int .\n<a/b>: [int] .\nname: string @lang .\n", .marker = "tx"};
    start(&decoding, by_schema);
    assert_true(covers(&decoding, "one"));
    assert_true(covers(&decoding, "another"));
    assert_true(covers(&decoding, "260.one"));
    assert_false(covers(&decoding, "dgraph.type"));
    assert_false(covers(&decoding, "260.Dgraph.xid"));
    assert_false(covers(&decoding, "~one"));
    assert_false(covers(&decoding, "a%2Fb"));
    assert_false(covers(&decoding, "name"));
    assert_false(covers(&decoding, "260.name"));
    assert_false(covers(&decoding, "tx"));
    decoding_end(&decoding);
    start(&decoding, (struct iso_decoder_options){.tables = "p;r"});
    assert_true(covers(&decoding, "r"));
    assert_false(covers(&decoding, "q"));
    decoding_end(&decoding);
}

/* An edge without a schema is covered until it comes, and then no more, also after a restart. */
static void uncovered_edges(void **state)
{
    (void)state;
    struct decoding decoding;
    static const struct iso_decoder_options options = {0};
    start(&decoding, options);
    assert_true(covers(&decoding, "p"));
    assert_string_equal(set(&decoding, "1", "int"), "ROW update p/0x1f: ? -> 1 cts 9\n");
    assert_true(covers(&decoding, "p"));
    assert_string_equal(
        set(&decoding, "2", "uid"),
        "IGNORED an edge without a schema that says whether there is one or several\n");
    assert_false(covers(&decoding, "p"));
    assert_true(covers(&decoding, "q"));
    decoding.decoder = decoder_archived(decoding.decoder, &options);
    assert_false(covers(&decoding, "p"));
    assert_true(covers(&decoding, "q"));
    decoding_end(&decoding);
}

static void unreported_predicates(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.unreported = true});
    assert_string_equal(set(&decoding, "1", "int"), "ROW update p/0x1f: ? -> 1 unreported cts 9\n");
    assert_string_equal(drop(&decoding, "{\"operation\":\"all\"}"), "DROP * unreported cts 9\n");
    assert_string_equal(mutation(&decoding,
                                 "\"operation\":\"del\",\"uid\":1,\"attr\":\"p\",\"value\":\"v\","
                                 "\"value_type\":\"string\""),
                        "DELETE_IF p/0x1: v unreported cts 9\n");
    decoding_end(&decoding);
}

/* ---- what is refused ---- */

static void every_truncation(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    for (size_t length = 0; length < strlen(plain); length++) {
        const char *said = decoding_of(&decoding, NULL, 0, plain, length);
        assert_memory_equal(said, "ERROR byte ", 11);
        assert_int_equal(strtoul(said + 11, NULL, 10), length + 1);
    }
    decoding_end(&decoding);
}

static void wrong_values(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    static const struct {
        const char *value, *type, *expected;
    } cases[] = {
        {"\"7\"", "int", "an integer"},
        {"1.5", "int", "an integer"},
        {"18446744073709551616", "int", "an integer"},
        {"-0", "int", "an integer"},
        {"\"1.5\"", "float", "a number"},
        {"1", "bool", "true or false"},
        {"7", "string", "a string"},
        {"5", "datetime", "a string"},
        {"[]", "binary", "a string"},
        {"\"Point\"", "geo", "an object"},
        {"1", "float32vector", "an array"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[200];
        snprintf(expected, sizeof expected, "ERROR event.value of type \"%s\": expected %s\n",
                 cases[i].type, cases[i].expected);
        assert_string_equal(set(&decoding, cases[i].value, cases[i].type), expected);
    }
    assert_string_equal(set(&decoding, "1", "int64"),
                        "ERROR event.value_type \"int64\": expected a type of Dgraph's\n");
    decoding_end(&decoding);
}

static void wrong_messages(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "ERROR byte 1: the text ends here, expected '{'\n"},
        {"[]", "ERROR byte 1: found '[', expected '{'\n"},
        {"{}", "ERROR expected the members meta with a commit_ts above 0, type and event\n"},
        {"{\"meta\":{\"commit_ts\":0},\"type\":\"drop\",\"event\":{}}",
         "ERROR expected the members meta with a commit_ts above 0, type and event\n"},
        {"{\"meta\":{\"commit_ts\":-3},\"type\":\"drop\",\"event\":{}}",
         "ERROR byte 22: found '-', expected an unsigned integer\n"},
        {"{\"meta\":{\"commit_ts\":\"3\"},\"type\":\"drop\",\"event\":{}}",
         "ERROR byte 22: found '\"', expected a number\n"},
        {"{\"meta\":{\"commit_ts\":18446744073709551616}}",
         "ERROR byte 22: a number beyond 64 bits, expected an integer from -2^63 to 2^64-1\n"},
        {"{\"meta\":7}", "ERROR byte 9: found '7', expected '{'\n"},
        {"{\"meta\":{\"commit_ts\":3},\"meta\":{}}",
         "ERROR byte 32: found '{', expected each member once\n"},
        {"{\"meta\":{\"commit_ts\":3},\"type\":\"mutations\",\"event\":{}}",
         "ERROR type \"mutations\": expected mutation or drop\n"},
        {"{\"meta\":{\"commit_ts\":3},\"type\":\"mutation\",\"event\":{\"operation\":\"set\",\"uid\":1,\"attr\":\"p\",\"value\":1}}",
         "ERROR event lacks its member \"value_type\"\n"},
        {"{\"meta\":{\"commit_ts\":3},\"type\":\"mutation\",\"event\":{\"operation\":\"set\",\"uid\":0,\"attr\":\"p\",\"value\":1,"
         "\"value_type\":\"int\"}}",
         "ERROR event: expected a uid above 0 and an attr\n"},
        {"{\"meta\":{\"commit_ts\":3},\"type\":\"mutation\",\"event\":{\"uid\":-1}}",
         "ERROR byte 58: found '-', expected an unsigned integer\n"},
        {"{\"meta\":{\"commit_ts\":3},\"type\":\"mutation\",\"event\":{\"uid\":1,\"uid\":1}}",
         "ERROR byte 66: found '1', expected each member once\n"},
        {"{\"meta\":{\"commit_ts\":3}} x", "ERROR byte 26: found 'x', expected nothing more\n"},
        {"\xff", "ERROR byte 1: found byte 0xff, expected '{'\n"},
    };
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(decoding_of_text(&decoding, cases[i][0]), cases[i][1]);
    decoding_end(&decoding);
}

static void an_oversized_payload(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(decoding_of(&decoding, NULL, 0, "{", (64 << 20) + 1),
                        "ERROR a payload of 67108865 bytes, expected at most 67108864\n");
    decoding_end(&decoding);
}

static void options(void **state)
{
    (void)state;
    static const struct {
        struct iso_decoder_options options;
        const char *expected;
    } cases[] = {
        {{.format = "avro"}, "format=avro of a dgraph source: expected json"},
        {{.framed = true}, "a dgraph source with framing or a registry: expected plain JSON"},
        {{.value = "v"}, "value=v of a dgraph source: expected none, a predicate is its own value"},
        {{.compression = "lz4"}, "compression=lz4 of a dgraph source: expected none"},
        {{.schema = "name string"},
         "Dgraph schema, line 1: expected \"predicate: type @directives .\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(decoding_refused(&iso_dgraph_decoder, &cases[i].options),
                            cases[i].expected);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples),
        cmocka_unit_test(values_of_every_type),
        cmocka_unit_test(a_number_and_its_text_are_one_value),
        cmocka_unit_test(edges),
        cmocka_unit_test(operations),
        cmocka_unit_test(members_in_another_order),
        cmocka_unit_test(namespaces),
        cmocka_unit_test(drops),
        cmocka_unit_test(covered_predicates),
        cmocka_unit_test(uncovered_edges),
        cmocka_unit_test(unreported_predicates),
        cmocka_unit_test(every_truncation),
        cmocka_unit_test(wrong_values),
        cmocka_unit_test(wrong_messages),
        cmocka_unit_test(an_oversized_payload),
        cmocka_unit_test(options),
    };
    return cmocka_run_group_tests_name("dgraph decoder", tests, NULL, NULL);
}
