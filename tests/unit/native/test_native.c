/* One transaction: every member, in any order and spelling; and each mistake, with its message. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/history.h"
#include "tests/support/native_case.h"

static enum iso_status read_text(struct fixture *fixture, const char *text)
{
    return read_bytes(fixture, text, strlen(text));
}

static void reads(struct fixture *fixture, const char *text)
{
    if (read_text(fixture, text) != ISO_OK)
        fail_msg("%s: byte %zu: %s", text, fixture->fault.position, fixture->fault.text);
}

static void every_member(void **state)
{
    struct fixture *fixture = *state;
    struct iso_history *history = &fixture->history;
    reads(
        fixture,
        "{\"tid\":67,\"sid\":\"s\",\"sno\":4,\"sts\":\"467257846263971800\",\"cts\":467257846263971855,"
        "\"status\":\"unknown\",\"xid\":\"99\",\"snapshot\":\"5:9:6\",\"ops\":[{\"t\":\"w\",\"k\":7,\"v\":2},"
        "{\"t\":\"r\",\"k\":\"user:8\",\"v\":null},{\"t\":\"r\",\"k\":5,\"v\":1,\"ots\":"
        "\"467257846263971801\"},"
        "{\"t\":\"a\",\"k\":3,\"v\":1},{\"t\":\"r\",\"k\":3,\"v\":[4,\"x\"]},{\"t\":\"d\",\"k\":9},"
        "{\"t\":\"w\",\"k\":1,\"v\":-2,\"lock\":true},{\"t\":\"r\",\"k\":1,\"snapshot\":\"6:6:\"}]}");
    assert_int_equal(history->txns.count, 1);
    assert_int_equal(history->txns.tid[0], 67);
    assert_int_equal(history->sessions.atom[history->txns.session[0]], test_atom(history, "s"));
    assert_int_equal(history->txns.flags[0], ISO_UNKNOWN | ISO_HAS_STS | ISO_HAS_CTS | ISO_HAS_SNO |
                                                 ISO_WRITES | ISO_OWN_TIMES);
    assert_int_equal(history->txns.sno[0], 4);
    assert_true(history->txns.sts[0] == 467257846263971800u &&
                history->txns.cts[0] == 467257846263971855u);
    assert_int_equal(history->txns.xid[0], 99);
    assert_int_equal(history->snapshots.list[history->txns.snapshot[0]].xmax, 9);
    assert_int_equal(history->clock, ISO_CLOCK_SCALAR);
    static const uint8_t kinds[] = {ISO_WRITE,
                                    ISO_READ,
                                    ISO_READ | ISO_OPERATION_OTS,
                                    ISO_APPEND,
                                    ISO_READ_LIST,
                                    ISO_DELETE,
                                    ISO_WRITE | ISO_OPERATION_LOCK,
                                    ISO_READ | ISO_OPERATION_SNAPSHOT};
    assert_int_equal(history->ops.count, sizeof kinds);
    assert_int_equal(history->txns.first_op[1], sizeof kinds);
    assert_memory_equal(history->ops.kind, kinds, sizeof kinds);
    assert_int_equal(history->ops.value[0], 2);
    assert_int_equal(history->ops.value[1], ISO_ABSENT);
    assert_true(history->ops.ots[2] == 467257846263971801u);
    assert_int_equal(history->lists.first[1], 2);
    assert_int_equal(history->lists.element[0], 4);
    assert_int_equal(history->lists.element[1], test_atom(history, "x"));
    assert_int_equal(history->ops.value[5], ISO_ABSENT);
    assert_int_equal(history->ops.value[6], test_atom(history, "-2"));
    assert_int_equal(history->ops.value[7], ISO_ABSENT);
    assert_int_equal(history->snapshots.list[history->ops.ots[7]].xmax, 6);
    assert_int_equal(history->keys.atom[history->ops.key[1]], test_atom(history, "user:8"));
}

/* All of these say the same. */
static void spellings(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"tid\":1,\"sid\":2,\"sts\":{\"p\":5,\"l\":0},\"ops\":[{\"t\":\"w\",\"k\":7,\"v\":8},{\"t\":\"r\","
        "\"k\":7,\"v\":null},{\"t\":\"a\",\"k\":9,\"v\":1}]}",
        "{\"ops\":[{\"v\":8,\"k\":7,\"t\":\"W\"},{\"k\":7,\"t\":\"READ\"},{\"v\":1,\"t\":\"Append\",\"k\":9}]"
        ",\"sts\":{\"l\":\"0\",\"p\":\"5\"},\"sid\":\"2\",\"tid\":\"1\"}",
        "{\"tid\": 1, \"sid\": 2, \"sts\": {\"p\": 5, \"l\": 0}, \"ops\": [{\"t\": \"w\", \"k\": 7, \"v\": "
        "8}, {\"t\": \"r\", \"k\": 7, \"v\": null}, {\"t\": \"a\", \"k\": 9, \"v\": 1}]}",
        "{\"tid\":\"\\u0031\",\"sid\":2,\"cts\":null,\"sno\":null,\"status\":null,\"x\":{\"tid\":[1,{}]},"
        "\"sts\":{\"p\":\"5\",\"q\":[],\"l\":0},"
        "\"ops\":[{\"t\":\"write\",\"k\":\"7\",\"v\":\"8\",\"ots\":null,\"lock\":false},{\"t\":\"r\",\"k\":7,"
        "\"y\":1.5e9},{\"t\":\"append\",\"k\":\"9\",\"v\":\"\\u0031\",\"lock\":null}]}",
        "\n{\r\n\t\"tid\" : 1 , \"sid\" : 2 , \"sts\" : { \"p\" : 5 , \"l\" : 0 } , \"ops\" : [ {\"t\" : "
        "\"w\" , \"k\" : 7 , \"v\" : 8 } , { \"t\":\"r\",\"k\":7 },{\"t\":\"a\",\"k\":9,\"v\":1 }\n] } \n"};
    struct iso_history first;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        void *one;
        set_up(&one);
        struct fixture *fixture = one;
        reads(fixture, texts[i]);
        if (i == 0)
            first = fixture->history;
        else
            test_same_history(&first, &fixture->history, texts[i]);
        if (i == 0)
            iso_history_init(&fixture->history);
        tear_down(&one);
    }
    iso_history_release(&first);
}

static void booleans_are_words(void **state)
{
    struct fixture *fixture = *state;
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    reads(
        fixture,
        "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":true},{\"t\":\"r\",\"k\":2,\"v\": false},"
        "{\"t\":\"w\",\"k\":1,\"v\":\"true\"}]}");
    assert_int_equal(fixture->history.ops.value[0], fixture->history.ops.value[2]);
    const char *text =
        iso_atom_text(&fixture->history.atoms, fixture->history.ops.value[1], buffer, &length);
    assert_int_equal(length, 5);
    assert_memory_equal(text, "false", 5);
}

static void ids_keys_and_values_at_the_edges(void **state)
{
    struct fixture *fixture = *state;
    static const char *const texts[] = {
        "0",  "2147483647",           "2147483648", "9999999999", "18446744073709551615",
        "-1", "-9223372036854775808", "-0"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int quoted = 0; quoted < 4; quoted++) {
            char text[300], digit[32];
            snprintf(digit, sizeof digit, quoted & 1 ? "\"%s\"" : "%s", texts[i]);
            snprintf(text, sizeof text,
                     quoted & 2 ? "{\"tid\":1,\"sid\":1,\"ops\":[{\"v\":%s,\"t\":\"w\",\"k\":%s}]}"
                                : "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"w\",\"k\":%s,\"v\":%s}]}",
                     digit, digit);
            reads(fixture, text);
            uint32_t operation = fixture->history.ops.count - 1;
            assert_int_equal(fixture->history.ops.value[operation],
                             test_atom(&fixture->history, texts[i]));
            assert_int_equal(fixture->history.keys.atom[fixture->history.ops.key[operation]],
                             test_atom(&fixture->history, texts[i]));
        }
    }
    reads(
        fixture,
        "{\"tid\":\"007\",\"sid\":\"\",\"ops\":[{\"t\":\"w\",\"k\":\"0123456789abcdef0123456789\","
        "\"v\":\"a\\nb\"}]}");
    assert_int_equal(fixture->history.ops.value[fixture->history.ops.count - 1],
                     test_atom(&fixture->history, "a\nb"));
    assert_int_not_equal(test_atom(&fixture->history, "007"), 7);
}

/* Every byte in the place of t's letter, in each shape that has a way of its own: in a run, alone,
 * members turned. */
/* Whether what a transaction wrote is listed, and whether values are whole rows. */
static void writes_of_the_stream_and_whole_rows(void **state)
{
    struct fixture *fixture = *state;
    static const char *const plain[] = {"\"writes\":\"all\",\"whole\":false,",
                                        "\"writes\":null,\"whole\":null,", ""};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"tid\":%zu,\"sid\":1,%s\"ops\":[]}", i, plain[i]);
        reads(fixture, text);
    }
    assert_null(fixture->history.txns.marks);
    assert_false(fixture->history.whole_rows);
    assert_int_equal(read_text(fixture, "{\"tid\":8,\"sid\":1,\"whole\":true,\"ops\":[]}x"),
                     ISO_BAD_INPUT);
    assert_false(fixture->history.whole_rows);
    reads(fixture, "{\"tid\":8,\"sid\":1,\"ops\":[],\"writes\":\"cdc\"}");
    assert_false(fixture->history.whole_rows);
    reads(fixture, "{\"tid\":9,\"sid\":1,\"whole\":true,\"ops\":[]}");
    assert_true(fixture->history.whole_rows);
    static const uint8_t marks[] = {0, 0, 0, ISO_MARK_CDC_WRITES, 0};
    assert_memory_equal(fixture->history.txns.marks, marks, sizeof marks);
}

/* Histories of files have writes whose values nobody knows; U+0002 is free in keys, and inside of
 * values. */
static void values_that_nobody_knows(void **state)
{
    struct fixture *fixture = *state;
    struct iso_history *history = &fixture->history;
    static const struct {
        const char *operation, *message;
        size_t position;
    } wrong[] = {
        {"{'t':'w','k':1,'unknown':''}", "unknown is \"\", expected a word of a to z and -", 49},
        {"{'t':'w','k':1,'unknown':'Toast'}",
         "unknown is \"Toast\", expected a word of a to z and -", 49},
        {"{'t':'w','k':1,'unknown':'abcdefghijklmnopqrstuvwxyz-toolong'}",
         "unknown is \"abcdefghijklmnopqrstuvwxyz-toolong\", expected a word of a to z and -", 49},
        {"{'t':'w','k':1,'unknown':1}", "unknown is a number, expected a word of a to z and -", 49},
        {"{'t':'r','k':1,'unknown':'x'}",
         "an operation of a value that nobody knows, expected a write without \"v\"", 24},
        {"{'unknown':'x','t':'d','k':1}",
         "an operation of a value that nobody knows, expected a write without \"v\"", 24},
        {"{'t':'a','k':1,'unknown':'x'}",
         "an operation of a value that nobody knows, expected a write without \"v\"", 24},
        {"{'t':'w','k':1,'unknown':'x','v':2}",
         "a write with \"v\" of a value that nobody knows, expected a write without \"v\"", 24},
        {"{'t':'w','k':1,'v':null,'unknown':'x'}",
         "a write with \"v\" of a value that nobody knows, expected a write without \"v\"", 24},
        {"{'t':'w','k':1,'v':'\\u0002x'}", "v begins with U+0002, which is reserved", 43},
    };
    fixture->native.of_file = true;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[200];
        int length =
            snprintf(text, sizeof text, "{\"tid\":1,\"sid\":1,\"ops\":[%s]}", wrong[i].operation);
        for (int at = 0; at < length; at++)
            text[at] = text[at] == '\'' ? '"' : text[at];
        assert_int_equal(read_text(fixture, text), ISO_BAD_INPUT);
        assert_string_equal(fixture->fault.text, wrong[i].message);
        assert_int_equal(fixture->fault.position, wrong[i].position);
    }
    reads(
        fixture,
        "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"w\",\"k\":\"\\u0002\",\"v\":\"x\\u0002\"},"
        "{\"t\":\"w\",\"k\":1,\"unknown\":\"unknown-value\"},{\"unknown\":null,\"v\":5,\"t\":\"w\",\"k\":1}]}");
    assert_int_equal(history->ops.value[1], test_atom(history, "\x02unknown-value"));
    assert_true(iso_atom_is_unknown(&history->atoms, history->ops.value[1]));
    assert_false(iso_atom_is_unknown(&history->atoms, history->ops.value[0]));
    assert_false(iso_atom_is_unknown(&history->atoms, history->ops.value[2]));
    assert_false(iso_atom_is_unknown(&history->atoms, ISO_ABSENT));
    assert_int_equal(history->ops.kind[1], ISO_WRITE);
}

static void letters_of_kinds(void **state)
{
    struct fixture *fixture = *state;
    static const char *const shapes[] = {
        "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"~\",\"k\":1,\"v\":2}]}",
        "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\": \"~\", \"k\": 1, \"v\": 2}]}",
        "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"~\",\"k\":\"x\",\"v\":null}]}",
        "{\"tid\":1,\"sid\":1,\"ops\":[{\"k\":1,\"v\":null,\"t\":\"~\"}]}",
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int byte = 0; byte < 256; byte++) {
            char text[100];
            size_t size = strlen(shapes[i]);
            bool with_value = i < 2, known = byte && strchr(with_value ? "rRwWaA" : "rRwWdD", byte);
            memcpy(text, shapes[i], size);
            *(char *)memchr(text, '~', size) = (char)byte;
            assert_int_equal(read_bytes(fixture, text, size), known ? ISO_OK : ISO_BAD_INPUT);
        }
    }
    assert_int_equal(fixture->history.txns.count, 24);
}

/* An explicit ots wins over snapshot and lock; both stamps and snapshots of a transaction are
 * kept. */
static void own_times(void **state)
{
    struct fixture *fixture = *state;
    struct iso_history *history = &fixture->history;
    reads(fixture, "{\"tid\":1,\"sid\":1,\"sts\":1,\"cts\":9,\"snapshot\":\"4:4:\",\"ops\":["
                   "{\"t\":\"w\",\"k\":1,\"v\":1,\"lock\":true,\"snapshot\":\"3:3:\",\"ots\":5},"
                   "{\"t\":\"w\",\"k\":1,\"v\":2,\"lock\":true,\"snapshot\":\"3:3:\"}]}");
    assert_int_equal(history->ops.kind[0], ISO_WRITE | ISO_OPERATION_OTS);
    assert_int_equal(history->ops.ots[0], 5);
    assert_int_equal(history->ops.kind[1], ISO_WRITE | ISO_OPERATION_SNAPSHOT | ISO_OPERATION_LOCK);
    assert_true(history->txns.flags[0] & ISO_HAS_STS);
    assert_int_equal(history->snapshots.list[history->txns.snapshot[0]].xmin, 4);
}

static void a_fault_takes_the_transaction_back(void **state)
{
    struct fixture *fixture = *state;
    reads(fixture, "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":1}]}");
    struct iso_history_mark before = iso_history_mark(&fixture->history);
    assert_int_equal(read_text(fixture,
                               "{\"tid\":2,\"sid\":9,\"sts\":{\"p\":1,\"l\":2},\"ops\":[{\"t\":"
                               "\"r\",\"k\":2,\"v\":[1,2],\"snapshot\":\"1:1:\"},7]}"),
                     ISO_BAD_INPUT);
    struct iso_history_mark after = iso_history_mark(&fixture->history);
    assert_int_equal(before.transactions, after.transactions);
    assert_int_equal(before.operations, after.operations);
    assert_int_equal(before.lists, after.lists);
    assert_int_equal(before.snapshots, after.snapshots);
    assert_int_equal(before.elements, after.elements);
    assert_int_equal(before.clock, after.clock);
    assert_int_equal(fixture->history.sessions.count, 1);
    reads(fixture, "{\"tid\":2,\"sid\":1,\"sts\":7,\"ops\":[{\"t\":\"w\",\"k\":2,\"v\":1}]}");
    assert_int_equal(fixture->history.keys.use[fixture->history.ops.key[1]], ISO_KEY_SCALAR);
}

static void kinds_of_timestamps_do_not_mix(void **state)
{
    struct fixture *fixture = *state;
    reads(fixture, "{\"tid\":1,\"sid\":1,\"sts\":1,\"ops\":[]}");
    assert_int_equal(
        read_text(fixture, "{\"tid\":2,\"sid\":1,\"sts\":{\"p\":1,\"l\":2},\"ops\":[]}"),
        ISO_BAD_INPUT);
    assert_int_equal(fixture->fault.kind, ISO_FAULT_CLOCK);
    assert_int_equal(
        read_text(
            fixture,
            "{\"tid\":2,\"sid\":1,\"ops\":[{\"t\":\"r\",\"k\":1,\"ots\":{\"p\":1,\"l\":2}}]}"),
        ISO_BAD_INPUT);
    assert_int_equal(fixture->fault.kind, ISO_FAULT_CLOCK);
    assert_int_equal(fixture->history.txns.count, 1);
}

struct mistake {
    const char *text, *message;
    size_t position;
};

#define TX "{\"tid\":1,\"sid\":1,"
#define OP "{\"tid\":1,\"sid\":1,\"ops\":["
static const struct mistake mistakes[] = {
    {"7", "a transaction is a number, expected {\"tid\":..,\"sid\":..,\"ops\":[..]}", 0},
    {"{\"sid\":1,\"ops\":[]}", "a transaction lacks \"tid\", expected tid, sid and ops", 0},
    {"{\"tid\":1,\"ops\":[]}", "a transaction lacks \"sid\", expected tid, sid and ops", 0},
    {"{\"tid\":1,\"sid\":1}", "a transaction lacks \"ops\", expected tid, sid and ops", 0},
    {"{\"tid\":null,\"sid\":1,\"ops\":[]}", "tid is null, expected an integer or a string", 7},
    {"{\"tid\":1.5,\"sid\":1,\"ops\":[]}",
     "tid is a number with a fraction or exponent, expected an integer", 7},
    {"{\"tid\":1,\"sid\":[],\"ops\":[]}", "sid is a list, expected an integer or a string", 15},
    {"{\"tid\":18446744073709551616,\"sid\":1,\"ops\":[]}",
     "tid is a number beyond 64 bits, expected an integer from -2^63 to 2^64-1", 7},
    {TX "\"tid\":1,\"ops\":[]}", "member \"tid\" occurs here a second time, expected it once", 23},
    {TX "\"ops\":0}", "ops is a number, expected a list of operations", 23},
    {TX "\"ops\":{}}", "ops is an object, expected a list of operations", 23},
    {TX "\"sts\":-1,\"ops\":[]}", "sts is negative, expected an integer from 0 to 2^64-1", 23},
    {TX "\"sts\":-0,\"ops\":[]}", "sts is negative, expected an integer from 0 to 2^64-1", 23},
    {TX "\"sts\":\"-1\",\"ops\":[]}",
     "sts is \"-1\", expected decimal digits for a number from 0 to 2^64-1", 23},
    {TX "\"sts\":\"\",\"ops\":[]}",
     "sts is \"\", expected decimal digits for a number from 0 to 2^64-1", 23},
    {TX "\"cts\":\"18446744073709551616\",\"ops\":[]}",
     "cts is \"18446744073709551616\", expected decimal digits for a number from 0 to 2^64-1", 23},
    {TX "\"cts\":1e3,\"ops\":[]}",
     "cts is a number with a fraction or exponent, expected an integer", 23},
    {TX "\"sts\":true,\"ops\":[]}",
     "sts is true, expected an integer, a decimal string or {\"p\":..,\"l\":..}", 23},
    {TX "\"sts\":{\"p\":1},\"ops\":[]}", "sts lacks \"l\", expected {\"p\":..,\"l\":..}", 23},
    {TX "\"sts\":{\"l\":1},\"ops\":[]}", "sts lacks \"p\", expected {\"p\":..,\"l\":..}", 23},
    {TX "\"sts\":{\"p\":1,\"l\":-2},\"ops\":[]}",
     "l is negative, expected an integer from 0 to 2^64-1", 34},
    {TX "\"sts\":{\"p\":1,\"p\":2,\"l\":2},\"ops\":[]}",
     "member \"p\" occurs here a second time, expected it once", 34},
    {TX "\"sts\":1,\"cts\":{\"p\":1,\"l\":2},\"ops\":[]}",
     "cts is a pair {p,l}, expected the same kind of timestamp as before it", 31},
    {TX "\"sno\":-3,\"ops\":[]}", "sno is negative, expected an integer from 0 to 2^64-1", 23},
    {TX "\"sno\":[],\"ops\":[]}", "sno is a list, expected an integer or a decimal string", 23},
    {TX "\"xid\":0,\"ops\":[]}", "xid is 0, expected an integer from 1 to 2^64-1", 23},
    {TX "\"status\":\"done\",\"ops\":[]}",
     "status is \"done\", expected \"committed\", \"aborted\" or \"unknown\"", 26},
    {TX "\"status\":1,\"ops\":[]}",
     "status is a number, expected \"committed\", \"aborted\" or \"unknown\"", 26},
    {TX "\"writes\":\"some\",\"ops\":[]}", "writes is \"some\", expected \"all\" or \"cdc\"", 26},
    {TX "\"writes\":true,\"ops\":[]}", "writes is true, expected \"all\" or \"cdc\"", 26},
    {TX "\"writes\":\"cdc\",\"writes\":null,\"ops\":[]}",
     "member \"writes\" occurs here a second time, expected it once", 41},
    {TX "\"whole\":\"yes\",\"ops\":[]}", "whole is a string, expected true or false", 25},
    {OP "{\"t\":\"w\",\"k\":1,\"v\":\"\\u0002x\"}]}", "v begins with U+0002, which is reserved",
     43},
    {OP "{\"t\":\"r\",\"k\":1,\"v\": \"\\u0002\"}]}", "v begins with U+0002, which is reserved",
     44},
    {OP "{\"t\":\"r\",\"k\":1,\"v\":[1, \"\\u0002\"]}]}",
     "an element of v begins with U+0002, which is reserved", 47},
    {OP "{\"t\":\"a\",\"k\":1,\"v\":\"\\u0002x\"}]}", "v begins with U+0002, which is reserved",
     43},
    {OP "{\"t\":\"w\",\"k\":1,\"unknown\":\"x\"}]}",
     "unknown stands in joined histories only, expected \"v\"", 49},
    {TX "\"snapshot\":\"5:4:\",\"ops\":[]}", "snapshot is \"5:4:\", expected \"xmin:xmax:xip,...\"",
     28},
    {TX "\"snapshot\":5,\"ops\":[]}",
     "snapshot is a number, expected a string \"xmin:xmax:xip,...\"", 28},
    {OP "7]}", "an operation is a number, expected {\"t\":..,\"k\":..,\"v\":..}", 24},
    {OP "{\"k\":1}]}", "an operation lacks \"t\", expected {\"t\":..,\"k\":..,\"v\":..}", 24},
    {OP "{\"t\":\"r\"}]}", "an operation lacks \"k\", expected {\"t\":..,\"k\":..,\"v\":..}", 24},
    {OP "{\"t\":\"x\",\"k\":1}]}", "t is \"x\", expected \"r\", \"w\", \"a\", \"d\" or \"q\"", 29},
    {OP "{\"t\":1,\"k\":1}]}", "t is a number, expected \"r\", \"w\", \"a\", \"d\" or \"q\"", 29},
    {OP "{\"t\":\"r\",\"k\":null}]}", "k is null, expected an integer or a string", 37},
    {OP "{\"t\":\"r\",\"k\":{}}]}", "k is an object, expected an integer or a string", 37},
    {OP "{\"t\":\"w\",\"k\":1,\"v\":2.0}]}",
     "v is a number with a fraction or exponent, expected an integer", 43},
    {OP "{\"t\":\"w\",\"k\":1,\"v\":{}}]}", "v is an object, expected an integer or a string", 43},
    {OP "{\"t\":\"w\",\"k\":1,\"v\":99999999999999999999}]}",
     "v is a number beyond 64 bits, expected an integer from -2^63 to 2^64-1", 43},
    {OP "{\"t\":\"w\",\"k\":01,\"v\":2}]}",
     "found '1' in a number, expected no digit after a leading zero", 38},
    {OP "{\"t\":\"r\",\"k\":1,\"v\":[null]}]}",
     "an element of v is null, expected an integer or a string", 44},
    {OP "{\"t\":\"w\",\"k\":1,\"v\":[1]}]}",
     "a write of a list, expected an integer, a string or null", 24},
    {OP "{\"t\":\"a\",\"k\":1}]}", "an append of nothing, expected one element", 24},
    {OP "{\"t\":\"a\",\"k\":1,\"v\":null}]}", "an append of nothing, expected one element", 24},
    {OP "{\"t\":\"a\",\"k\":1,\"v\":[1]}]}", "an append of a list, expected one element", 24},
    {OP "{\"t\":\"d\",\"k\":1,\"v\":1}]}", "a delete with a value, expected none", 24},
    {OP "{\"t\":\"r\",\"k\":1,\"k\":1}]}",
     "member \"k\" occurs here a second time, expected it once", 43},
    {OP "{\"t\":\"r\",\"k\":1,\"lock\":1}]}", "lock is a number, expected true or false", 46},
    {OP "{\"t\":\"r\",\"k\":1,\"ots\":\"x\"}]}",
     "ots is \"x\", expected decimal digits for a number from 0 to 2^64-1", 45},
    {OP "{\"t\":\"w\",\"k\":1,\"v\":2},]}", "found ']', expected {\"t\":..,\"k\":..,\"v\":..}", 46},
    {OP "{\"t\":\"w\",\"k\":1,\"v\":2} {", "found '{', expected ',' or ']'", 46},
    {OP "{\"t\":\"w\",\"k\":1,\"v\":2}", "the text ends here, expected ',' or ']'", 45},
    {OP "{\"t\":\"w\",\"k\":1,\"v\":2", "the text ends here, expected ',' or '}'", 44},
    {OP "{\"t\":\"w\",\"k\":1,\"v\":", "the text ends here, expected an integer or a string", 43},
    {OP "{\"t\":\"w\",\"k\":1", "the text ends here, expected ',' or '}'", 38},
    {OP "{\"t\":\"w\",\"k\":\"ab", "the text ends here, expected '\"'", 40},
    {OP "]} {}", "found '{', expected nothing more", 27},
    {TX "\"x\":\"\x01\",\"ops\":[]}", "control character 0x01 in a string, expected it escaped",
     22},
    {TX "\"x\":\"\xff\",\"ops\":[]}", "found byte 0xff in a string, expected UTF-8", 22},
    {TX "\"x\":\"\\ud800\",\"ops\":[]}",
     "half of a surrogate pair, expected its second half after it", 24},
    {TX "\"x\":tru,\"ops\":[]}", "found ',', expected true", 24},
};

static void mistakes_have_messages(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const struct mistake *mistake = &mistakes[i];
        fixture->fault = (struct iso_native_fault){.position = 9999};
        if (read_text(fixture, mistake->text) != ISO_BAD_INPUT)
            fail_msg("accepted: %s", mistake->text);
        if (strcmp(fixture->fault.text, mistake->message) ||
            fixture->fault.position != mistake->position)
            fail_msg("%s\n  says  %zu: %s\n  for   %zu: %s", mistake->text, fixture->fault.position,
                     fixture->fault.text, mistake->position, mistake->message);
        assert_int_equal(fixture->history.txns.count, 0);
        assert_int_equal(fixture->history.ops.count, 0);
    }
}

/* No prefix of a transaction is one, whatever stands in the padding. */
static void every_cut_is_noticed(void **state)
{
    struct fixture *fixture = *state;
    static const char text[] =
        "{\"tid\":12,\"sid\":\"a\\n\",\"sts\":\"123\",\"cts\":{},\"ops\":[{\"t\":"
        "\"w\",\"k\":7,\"v\":2},{\"t\":\"r\",\"k\":\"x\",\"v\":null,\"ots\":17}]}";
    for (size_t length = 0; length < sizeof text - 1; length++) {
        char *padded = test_padded(text, length, text[length]);
        memcpy(padded + length, text + length,
               sizeof text - length < 64 ? sizeof text - length : 64);
        assert_int_equal(iso_native_read_transaction(&fixture->native, padded, length, 1,
                                                     &fixture->history, &fixture->fault),
                         ISO_BAD_INPUT);
        assert_true(fixture->fault.position <= length);
        free(padded);
    }
}

static void initial_writes(void **state)
{
    struct fixture *fixture = *state;
    struct iso_history *history = &fixture->history;
    static const char text[] =
        "{\"tid\":0,\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":5},{\"t\":\"w\",\"k\":\"x\",\"v\":null},"
        "{\"t\":\"w\",\"k\":2,\"v\":[6,\"y\"]},{\"t\":\"a\",\"k\":2,\"v\":7}]} ";
    char *padded = test_padded(text, strlen(text), 0);
    assert_int_equal(
        iso_native_read_initial(&fixture->native, padded, strlen(text), history, &fixture->fault),
        ISO_OK);
    free(padded);
    assert_int_equal(history->initial.count, 5);
    assert_int_equal(history->initial.value[0], 5);
    assert_int_equal(history->initial.value[1], ISO_ABSENT);
    assert_int_equal(history->initial.value[2], 6);
    assert_int_equal(history->initial.value[3], test_atom(history, "y"));
    assert_int_equal(history->initial.value[4], 7);
    assert_false(history->initial.is_append[1]);
    assert_true(history->initial.is_append[2] && history->initial.is_append[4]);
    assert_int_equal(history->initial.key[2], history->initial.key[4]);
    assert_int_equal(history->txns.count, 0);
    static const struct mistake bad[] = {
        {"{\"ops\":[{\"t\":\"r\",\"k\":1}]}",
         "a read in the initial transaction, expected writes and appends only", 8},
        {"{\"ops\":[{\"t\":\"d\",\"k\":1}]}",
         "a delete in the initial transaction, expected writes and appends only", 8},
        {"{}", "the initial transaction lacks \"ops\", expected {\"ops\":[..]}", 0},
        {"[]", "the initial transaction is a list, expected {\"ops\":[..]}", 0},
        {"{\"ops\":[]} x", "found 'x', expected nothing more", 11},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        padded = test_padded(bad[i].text, strlen(bad[i].text), 0);
        assert_int_equal(iso_native_read_initial(&fixture->native, padded, strlen(bad[i].text),
                                                 history, &fixture->fault),
                         ISO_BAD_INPUT);
        assert_string_equal(fixture->fault.text, bad[i].message);
        assert_int_equal(fixture->fault.position, bad[i].position);
        free(padded);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_member, set_up, tear_down),
        cmocka_unit_test(spellings),
        cmocka_unit_test_setup_teardown(booleans_are_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ids_keys_and_values_at_the_edges, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writes_of_the_stream_and_whole_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_that_nobody_knows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(letters_of_kinds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(own_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_fault_takes_the_transaction_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kinds_of_timestamps_do_not_mix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mistakes_have_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_cut_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(initial_writes, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("native", tests, NULL, NULL);
}
