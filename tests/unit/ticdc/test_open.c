/* open-protocol: batches, rows, columns of every type, and frames that are wrong. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "connectors/ticdc/ticdc.h"
#include "tests/support/decoding.h"
#include "tests/support/test.h"

struct batch {
    struct iso_text key, value;
};

static void put_word(struct iso_text *text, uint64_t word)
{
    char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(word >> (56 - 8 * i));
    iso_text_put_bytes(text, bytes, 8);
}

static void put_part(struct iso_text *text, const char *part)
{
    put_word(text, strlen(part));
    iso_text_put(text, part);
}

static void add(struct batch *batch, const char *key, const char *value)
{
    if (!batch->key.used)
        put_word(&batch->key, 1);
    put_part(&batch->key, key);
    put_part(&batch->value, value);
}

static const char *send(struct decoding *decoding, struct batch *batch)
{
    const char *said = decoding_of(decoding, batch->key.bytes, batch->key.used, batch->value.bytes,
                                   batch->value.used);
    iso_text_release(&batch->key);
    iso_text_release(&batch->value);
    return said;
}

static const char *one(struct decoding *decoding, const char *key, const char *value)
{
    struct batch batch = {0};
    add(&batch, key, value);
    return send(decoding, &batch);
}

#define ROW_KEY "{\"ts\":447984099186180098,\"scm\":\"test\",\"tbl\":\"t1\",\"t\":1}"
#define ID(value) "\"id\":{\"t\":3,\"h\":true,\"f\":11,\"v\":" #value "}"
#define V(value) "\"v\":{\"t\":3,\"f\":64,\"v\":" #value "}"

static void start(struct decoding *decoding, struct iso_decoder_options options)
{
    options.format = "open-protocol";
    decoding_start(decoding, &iso_ticdc_decoder, &options);
}

static void rows(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(
        one(&decoding, ROW_KEY, "{\"u\":{" ID(1) ",\"val\":{\"t\":15,\"f\":64,\"v\":\"aa\"}}}"),
        "ROW update test.t1/1: ? -> {\"val\":\"aa\"} cts 447984099186180098\n");
    assert_string_equal(
        one(&decoding, ROW_KEY, "{\"u\":{" ID(1) "," V(11) "},\"p\":{" ID(1) "," V(10) "}}"),
        "ROW update test.t1/1: {\"v\":10} -> {\"v\":11} cts 447984099186180098\n");
    /* A `u` alone may still be an update: what a message says does not depend on those before
     * it. */
    assert_string_equal(one(&decoding, ROW_KEY, "{\"u\":{" ID(2) "," V(1) "}}"),
                        "ROW update test.t1/2: ? -> {\"v\":1} cts 447984099186180098\n");
    assert_string_equal(one(&decoding, ROW_KEY, "{\"d\":{" ID(1) "," V(11) "}}"),
                        "ROW delete test.t1/1: {\"v\":11} -> - cts 447984099186180098\n");
    assert_string_equal(one(&decoding, ROW_KEY, "{\"d\":{" ID(1) "}}"),
                        "ROW delete test.t1/1: ? -> - cts 447984099186180098\n");
    assert_string_equal(
        one(&decoding, ROW_KEY, "{\"p\":{" V(10) "},\"u\":{" V(11) "," ID(1) "},\"x\":{}}"),
        "ROW update test.t1/1: {\"v\":10} -> {\"v\":11} cts 447984099186180098\n");
    assert_string_equal(one(&decoding, ROW_KEY, "{\"p\":{" ID(1) "},\"u\":{" V(11) "," ID(2) "}}"),
                        "ROW delete test.t1/1: {\"v\":11} -> - cts 447984099186180098\n"
                        "ROW insert test.t1/2: ? -> {\"v\":11} cts 447984099186180098\n");
    decoding_end(&decoding);
    start(&decoding, (struct iso_decoder_options){.identity = ISO_IDENTITY_FULL, .value = "v"});
    assert_string_equal(one(&decoding, ROW_KEY, "{\"u\":{" ID(2) "," V(1) "}}"),
                        "ROW insert test.t1/2: - -> 1 cts 447984099186180098\n");
    decoding_end(&decoding);
}

static void batches(void **state)
{
    (void)state;
    struct decoding decoding;
    struct batch batch = {0};
    start(&decoding, (struct iso_decoder_options){.value = "v", .tables = "test.t1"});
    add(&batch, ROW_KEY, "{\"u\":{" ID(1) "," V(1) "}}");
    add(&batch, "{\"ts\":9,\"scm\":\"test\",\"tbl\":\"other\",\"t\":1}", "{}");
    add(&batch, "{\"ts\":9,\"scm\":\"test\",\"tbl\":\"t1\",\"t\":1,\"ptn\":70}",
        "{\"d\":{" ID(2) "," V(2) "}}");
    assert_string_equal(send(&decoding, &batch),
                        "ROW update test.t1/1: ? -> 1 cts 447984099186180098\n"
                        "IGNORED a table that is not in tables=\n"
                        "ROW delete test.t1/2: 2 -> - cts 9\n");
    /* The second of two is wrong: nothing of the message is left. */
    add(&batch, ROW_KEY, "{\"u\":{" ID(1) "," V(1) "}}");
    add(&batch, ROW_KEY, "{\"u\":{" ID(1) "," V("1") "}}");
    assert_string_equal(send(&decoding, &batch), "ERROR column \"v\": not a value of type 3\n");
    decoding_end(&decoding);
}

static void watermarks_and_ddls(void **state)
{
    (void)state;
    static const uint8_t key[] = {0,   0,   0,   0,    0,   0,   0,   1,   0,   0,   0,   0,
                                  0,   0,   0,   0x1f, '{', '"', 't', 's', '"', ':', '4', '4',
                                  '7', '9', '8', '4',  '1', '2', '4', '7', '3', '2', '3', '7',
                                  '5', '0', '4', '1',  ',', '"', 't', '"', ':', '3', '}'},
                         value[8];
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(decoding_of(&decoding, key, sizeof key, value, sizeof value),
                        "WATERMARK 447984124732375041\n");
#define DDL "{\"ts\":8,\"scm\":\"test\",\"tbl\":\"t1\",\"t\":2}"
    assert_string_equal(one(&decoding, DDL, "{\"q\":\"create table\",\"t\":3}"),
                        "SCHEMA test.t1 cts 8\n");
    assert_string_equal(one(&decoding, DDL, "{\"q\":\"drop table\",\"t\":4}"),
                        "DROP test.t1 cts 8\n");
    assert_string_equal(one(&decoding, DDL, "{\"t\":11}"), "DROP test.t1 cts 8\n");
    assert_string_equal(
        one(&decoding, "{\"ts\":8,\"scm\":\"test\",\"tbl\":\"\",\"t\":2}", "{\"t\":2}"),
        "SCHEMA test. cts 8\n");
    assert_string_equal(one(&decoding, "{\"ts\":8,\"t\":3}", "{}"),
                        "ERROR a watermark with a value of 2 bytes, expected none\n");
    assert_string_equal(one(&decoding, "{\"ts\":8,\"t\":4}", "{}"),
                        "ERROR an event of type 4, expected 1, 2 or 3\n");
    assert_string_equal(one(&decoding, "{\"ts\":8}", "{}"),
                        "ERROR an event of type 0, expected 1, 2 or 3\n");
    assert_string_equal(one(&decoding, "{\"t\":3}", ""),
                        "ERROR an event's key: expected its member ts\n");
    decoding_end(&decoding);
}

static void columns(void **state)
{
    (void)state;
    static const struct {
        const char *column, *expected;
    } cases[] = {
        {"{\"t\":1,\"f\":0,\"v\":-128}", "-128"},
        {"{\"t\":8,\"f\":128,\"v\":18446744073709551615}", "18446744073709551615"},
        {"{\"t\":4,\"f\":0,\"v\":1.5}", "1.5"},
        {"{\"t\":5,\"f\":0,\"v\":2}", "2"},
        {"{\"t\":7,\"f\":0,\"v\":\"2024-01-01 00:00:00\"}", "\"2024-01-01 00:00:00\""},
        {"{\"t\":13,\"f\":0,\"v\":2024}", "2024"},
        {"{\"t\":16,\"f\":0,\"v\":81}", "81"},
        {"{\"t\":245,\"f\":0,\"v\":\"{\\\"a\\\": 1}\"}", "\"{\\\"a\\\": 1}\""},
        {"{\"t\":246,\"f\":0,\"v\":\"1.50\"}", "\"1.50\""},
        {"{\"t\":247,\"f\":0,\"v\":2}", "2"},
        {"{\"t\":15,\"f\":64,\"v\":\"YWE=\"}", "\"YWE=\""},
        {"{\"t\":15,\"v\":\"YWE=\"}", "\"aa\""}, /* an encoder of before flags */
        {"{\"t\":15,\"f\":65,\"v\":\"\\\\x89PNG\\\\r\\\\n\\\\u00e9\\\\\\\\\\\"\"}",
         "\"iVBORw0Kw6lcIg==\""},
        {"{\"t\":252,\"f\":65,\"v\":\"AP8=\"}", "\"AP8=\""},
        {"{\"t\":252,\"f\":64,\"v\":\"YWE=\"}", "\"aa\""}, /* text */
        {"{\"t\":252,\"f\":65,\"v\":\"\"}", "\"\""},
        {"{\"t\":3,\"f\":64,\"v\":null,\"new\":[]}", "null"},
    };
    static const char *const wrong[] = {
        "{\"t\":3,\"f\":0,\"v\":\"1\"}",
        "{\"t\":3,\"f\":0,\"v\":1.5}",
        "{\"t\":5,\"f\":0,\"v\":\"1\"}",
        "{\"t\":15,\"f\":0,\"v\":1}",
        "{\"t\":252,\"f\":0,\"v\":\"===\"}",
        "{\"t\":252,\"f\":0,\"v\":\"/w==\"}",
        "{\"t\":15,\"f\":1,\"v\":\"\\\\q\"}",
        "{\"t\":15,\"f\":1,\"v\":\"\\\\x8\"}",
        "{\"t\":15,\"f\":1,\"v\":\"\\\\ud800\"}",
        "{\"t\":15,\"f\":1,\"v\":\"\\\\\"}",
        "{\"t\":99,\"f\":0,\"v\":1}",
        "{\"t\":6,\"f\":0,\"v\":1}",
        "{\"t\":3,\"f\":0,\"v\":{}}",
    };
    struct decoding decoding;
    char text[512], expected[256];
    start(&decoding, (struct iso_decoder_options){.one_zone = true});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "{\"u\":{" ID(1) ",\"v\":%s}}", cases[i].column);
        snprintf(expected, sizeof expected,
                 "ROW update test.t1/1: ? -> {\"v\":%s} cts 447984099186180098\n",
                 cases[i].expected);
        assert_string_equal(one(&decoding, ROW_KEY, text), expected);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "{\"u\":{" ID(1) ",\"v\":%s}}", wrong[i]);
        assert_memory_equal(one(&decoding, ROW_KEY, text),
                            "ERROR column \"v\": not a value of type ", 38);
    }
    assert_string_equal(one(&decoding, ROW_KEY, "{\"u\":{\"v\":{\"t\":3}}}"),
                        "ERROR column \"v\": expected its type t and value v\n");
    decoding_end(&decoding);
}

static void values_that_were_left_out(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.value = "v"});
    assert_string_equal(one(&decoding,
                            "{\"ts\":9,\"scm\":\"test\",\"tbl\":\"t1\",\"t\":1,\"ohk\":true}",
                            "{\"u\":{" ID(1) "}}"),
                        "ROW update test.t1/1: ? -> ? cts 9\n");
    assert_string_equal(
        one(&decoding, "{\"ts\":9,\"scm\":\"test\",\"tbl\":\"t1\",\"t\":1,\"ccl\":\"s3://a/b\"}",
            "{\"d\":{" ID(1) "}}"),
        "ROW delete test.t1/1: ? -> - cts 9\n");
    decoding_end(&decoding);
}

static void frames(void **state)
{
    (void)state;
    struct decoding decoding;
    struct batch batch = {0};
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(decoding_of(&decoding, NULL, 0, NULL, 0),
                        "ERROR the message's key: expected version 1 in its first 8 bytes\n");
    put_word(&batch.key, 2);
    assert_string_equal(send(&decoding, &batch),
                        "ERROR the message's key: expected version 1 in its first 8 bytes\n");
    put_word(&batch.key, 1);
    assert_string_equal(send(&decoding, &batch), "ERROR a message without events\n");
    put_word(&batch.key, 1);
    put_word(&batch.key, UINT64_MAX);
    assert_string_equal(send(&decoding, &batch), "ERROR event 1: the key is cut off\n");
    add(&batch, ROW_KEY, "{\"u\":{" ID(1) "}}");
    put_part(&batch.key, ROW_KEY);
    assert_string_equal(send(&decoding, &batch), "ERROR event 2: the value is cut off\n");
    add(&batch, ROW_KEY, "{\"u\":{" ID(1) "}}");
    put_part(&batch.value, "{}");
    assert_string_equal(send(&decoding, &batch), "ERROR 10 bytes behind the last event's value\n");
    assert_string_equal(one(&decoding, ROW_KEY, "{}"),
                        "ERROR a row: expected u, p with u, or d, each once\n");
    assert_string_equal(one(&decoding, ROW_KEY, "{\"p\":{" ID(1) "}}"),
                        "ERROR a row: expected u, p with u, or d, each once\n");
    assert_string_equal(one(&decoding, ROW_KEY, "{\"u\":{" ID(1) "},\"d\":{" ID(1) "}}"),
                        "ERROR a row: expected u, p with u, or d, each once\n");
    assert_string_equal(one(&decoding, ROW_KEY, "{\"d\":{" ID(1) "},\"d\":{" ID(1) "}}"),
                        "ERROR a row: expected u, p with u, or d, each once\n");
    assert_string_equal(one(&decoding, ROW_KEY, "{\"u\":7}"),
                        "ERROR byte 6: found '7', expected '{'\n");
    decoding_end(&decoding);
}

static void every_truncation(void **state)
{
    (void)state;
    struct decoding decoding;
    struct batch batch = {0};
    start(&decoding, (struct iso_decoder_options){0});
    add(&batch, ROW_KEY, "{\"u\":{" ID(1) "," V(1) "}}");
    for (size_t length = 0; length < batch.key.used; length++)
        assert_memory_equal(
            decoding_of(&decoding, batch.key.bytes, length, batch.value.bytes, batch.value.used),
            "ERROR ", 6);
    for (size_t length = 0; length < batch.value.used; length++)
        assert_memory_equal(
            decoding_of(&decoding, batch.key.bytes, batch.key.used, batch.value.bytes, length),
            "ERROR ", 6);
    assert_memory_equal(send(&decoding, &batch), "ROW ", 4);
    decoding_end(&decoding);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(batches),
        cmocka_unit_test(watermarks_and_ddls),
        cmocka_unit_test(columns),
        cmocka_unit_test(values_that_were_left_out),
        cmocka_unit_test(frames),
        cmocka_unit_test(every_truncation),
    };
    return cmocka_run_group_tests_name("ticdc open-protocol", tests, NULL, NULL);
}
