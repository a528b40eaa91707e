/* TiCDC's debezium protocol: rows with and without start timestamp, watermarks, DDLs, and what is
 * refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/ticdc/ticdc.h"
#include "tests/support/decoding.h"
#include "tests/support/test.h"

static const char key[] =
    "{\"payload\":{\"id\":1},\"schema\":{\"type\":\"struct\",\"fields\":[{\"field\":\"id\",\"type\":\"int32\"}]}}";

static void start(struct decoding *decoding, struct iso_decoder_options options)
{
    options.format = "debezium";
    decoding_start(decoding, &iso_ticdc_decoder, &options);
}

/* The payload's members behind `source`, whose timestamps are given. */
static const char *say(struct decoding *decoding, const char *stamps, const char *members)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"field\":\"after\",\"fields\":[{\"field\":\"id\"},{\"field\":\"v\"}]}]},\"payload\":{\"source\":{\"version\":\"2.4.0.Final\",\"connector\":\"TiCDC\","
        "\"name\":\"c1\",\"ts_ms\":1,\"snapshot\":\"false\",\"db\":\"db\",\"table\":\"t\",\"gtid\":null,%s\"cluster_id\":\"c1\"},"
        "\"ts_ms\":2,\"transaction\":null,%s}}",
        stamps, members);
    return decoding_of(decoding, key, sizeof key - 1, text, strlen(text));
}

#define COMMIT "\"commit_ts\":447984099186180098,"

static void rows(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(
        say(&decoding, COMMIT,
            "\"op\":\"c\",\"before\":null,\"after\":{\"id\":1,\"v\":9007199254740993}"),
        "ROW insert db.t/1: - -> {\"v\":9007199254740993} cts 447984099186180098\n");
    assert_string_equal(
        say(&decoding, COMMIT "\"start_ts\":447984099186180097,",
            "\"after\":{\"id\":1,\"v\":11},\"before\":{\"id\":1,\"v\":10},\"op\":\"u\""),
        "ROW update db.t/1: {\"v\":10} -> {\"v\":11} sts 447984099186180097 cts 447984099186180098\n");
    assert_string_equal(say(&decoding, COMMIT, "\"op\":\"u\",\"after\":{\"id\":1,\"v\":1.50}"),
                        "ROW update db.t/1: ? -> {\"v\":1.5} cts 447984099186180098\n");
    assert_string_equal(
        say(&decoding, COMMIT, "\"op\":\"d\",\"before\":{\"id\":1,\"v\":\"a\"},\"after\":null"),
        "ROW delete db.t/1: {\"v\":\"a\"} -> - cts 447984099186180098\n");
    assert_string_equal(
        say(&decoding, COMMIT,
            "\"op\":\"u\",\"before\":{\"id\":2,\"v\":10},\"after\":{\"id\":1,\"v\":11}"),
        "ROW delete db.t/2: {\"v\":10} -> - cts 447984099186180098\n"
        "ROW insert db.t/1: ? -> {\"v\":11} cts 447984099186180098\n");
    assert_string_equal(decoding_of_text(&decoding, NULL), "IGNORED tombstone\n");
    decoding_end(&decoding);
}

static void watermarks_and_ddls(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){0});
    assert_string_equal(say(&decoding, COMMIT, "\"op\":\"m\""), "WATERMARK 447984099186180098\n");
    assert_string_equal(
        say(&decoding, COMMIT,
            "\"databaseName\":\"db\",\"ddl\":\"DROP TABLE db.t\",\"tableChanges\":[{\"type\":\"DROP\",\"id\":\"x\",\"table\":null}]"),
        "DROP db.t cts 447984099186180098\n");
    assert_string_equal(say(&decoding, COMMIT, "\"ddl\":\"truncate table t\""),
                        "DROP db.t cts 447984099186180098\n");
    assert_string_equal(
        say(&decoding, COMMIT, "\"ddl\":\"CREATE TABLE db.t(id int(10) primary key)\""),
        "SCHEMA db.t cts 447984099186180098\n");
    decoding_end(&decoding);
}

static void wrong_messages(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.tables = "db.t"});
    assert_string_equal(say(&decoding, COMMIT, "\"op\":\"r\",\"after\":{\"id\":1}"),
                        "ERROR op \"r\": expected c, u, d or m\n");
    assert_string_equal(say(&decoding, COMMIT, "\"op\":\"c\",\"after\":null"),
                        "ERROR op \"c\": expected a row in after (d: in before)\n");
    assert_string_equal(say(&decoding, COMMIT, "\"op\":\"d\",\"after\":{\"id\":1}"),
                        "ERROR op \"d\": expected a row in after (d: in before)\n");
    assert_string_equal(say(&decoding, "", "\"op\":\"c\",\"after\":{\"id\":1}"),
                        "ERROR expected payload.source.commit_ts\n");
    assert_string_equal(say(&decoding, COMMIT, "\"x\":1"),
                        "ERROR expected payload.op, or payload.ddl\n");
    assert_string_equal(say(&decoding, COMMIT, "\"op\":\"c\",\"after\":{\"v\":1}"),
                        "ERROR db.t: the row lacks its key's column \"id\"\n");
    assert_string_equal(decoding_of_text(&decoding, "{\"op\":\"c\"}"),
                        "ERROR expected payload.source.commit_ts\n");
    assert_string_equal(
        decoding_of_text(&decoding, "{\"payload\":{\"source\":{\"connector\":\"mysql\"}}}"),
        "ERROR byte 35: found '\"', expected \"TiCDC\" (for other connectors: --source debezium:)\n");
    assert_string_equal(
        decoding_of_text(
            &decoding,
            "{\"payload\":{\"source\":{\"commit_ts\":1,\"db\":\"db\",\"table\":\"t\"},\"op\":\"c\",\"after\":{\"id\":1}}}"),
        "ERROR a row without a key\n");
    assert_string_equal(
        decoding_of_text(
            &decoding,
            "{\"payload\":{\"source\":{\"commit_ts\":1,\"db\":\"db\",\"table\":\"u\"},\"op\":\"c\",\"after\":{\"id\":1}}}"),
        "IGNORED a table that is not in tables=\n");
    static const char whole[] =
        "{\"payload\":{\"source\":{\"commit_ts\":1,\"db\":\"db\",\"table\":\"t\"},\"op\":\"c\",\"after\":{\"id\":1}}}";
    for (size_t length = 0; length < sizeof whole - 1; length++)
        assert_memory_equal(decoding_of(&decoding, key, sizeof key - 1, whole, length),
                            "ERROR byte ", 11);
    for (size_t length = 0; length < sizeof key - 1; length++)
        assert_memory_equal(decoding_of(&decoding, key, length, whole, sizeof whole - 1),
                            "ERROR key, byte ", 16);
    assert_string_equal(
        decoding_of(&decoding, "{}", 2, whole, sizeof whole - 1),
        "IGNORED its rows have no key that their messages name: if it has one that is unique and never null, "
        "set key=COLUMN;COLUMN of its source\n");
    decoding_end(&decoding);
}

static bool covers(struct decoding *decoding, const char *table)
{
    return iso_ticdc_decoder.covers(decoding->decoder, "cdc", table, strlen(table));
}

/* One topic may have every table. */
static void coverage(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.marker = "db.tx.tid"});
    assert_true(covers(&decoding, "db.t"));
    assert_false(covers(&decoding, "db.tx"));
    decoding_end(&decoding);
    start(&decoding, (struct iso_decoder_options){.tables = "db.t;db.u"});
    assert_true(covers(&decoding, "db.u"));
    assert_false(covers(&decoding, "db.v"));
    decoding_end(&decoding);
}

static void unreported_tables(void **state)
{
    (void)state;
    struct decoding decoding;
    start(&decoding, (struct iso_decoder_options){.unreported = true});
    assert_string_equal(
        say(&decoding, COMMIT, "\"op\":\"c\",\"before\":null,\"after\":{\"id\":1,\"v\":9}"),
        "ROW insert db.t/1: - -> {\"v\":9} unreported cts 447984099186180098\n");
    decoding_end(&decoding);
}

/* Its Avro is another format, which is refused with what to set. */
static void avro_is_refused_by_name(void **state)
{
    (void)state;
    struct iso_error error = {0};
    assert_null(
        iso_ticdc_decoder.create(&(struct iso_decoder_options){.format = "debezium-avro"}, &error));
    assert_non_null(strstr(error.text, "set protocol=debezium"));
}

/* What may stand for another value is unknown; what says the same in other words is what other
 * protocols have. */
static void values_that_were_lost(void **state)
{
    (void)state;
#define FIELD(name, type, more)                                                                    \
    "{\"field\":\"" name "\",\"tidb_type\":\"" type "\",\"optional\":true" more "}"
#define ROWS(field, value)                                                                                                   \
    "{\"payload\":{\"source\":{\"db\":\"db\",\"table\":\"t\",\"commit_ts\":9},\"op\":\"c\",\"after\":{\"id\":1,\"v\":" value \
    "}},\"schema\":{\"fields\":[{\"field\":\"after\",\"fields\":[{\"field\":\"id\"}," field                                  \
    "]}]}}"
    static const struct {
        const char *message, *value;
    } cases[] = {
        {ROWS(FIELD("v", "int", ",\"default\":7"), "7"), "?"},
        {ROWS(FIELD("v", "int", ",\"default\":7"), "8"), "8"},
        {ROWS(FIELD("v", "int", ""), "7"), "7"},
        {ROWS(FIELD("v", "varchar", ",\"default\":\"x\""), "\"y\""), "y"},
        {ROWS(FIELD("v", "date", ""), "null"), "?"},
        {ROWS(FIELD("v", "time", ""), "null"), "-"},
        {ROWS(FIELD("v", "timestamp", ""), "\"1970-01-01T00:00:00Z\""), "?"},
        {ROWS(FIELD("v", "decimal", ""), "1.5"), "?"},
        {ROWS(FIELD("v", "bigint unsigned", ""), "-1"), "?"},
        {ROWS(FIELD("v", "bigint unsigned", ""), "-9223372036854775808"), "9223372036854775808"},
        {ROWS(FIELD("v", "bit", ""), "\"AAAAAAAAAIA=\""), "9223372036854775808"},
        {ROWS(FIELD("v", "bit", ""), "true"), "1"},
        {ROWS(FIELD("v", "enum", ",\"parameters\":{\"allowed\":\"a,b,c\\\\,d\"}"), "\"c,d\""), "3"},
        {ROWS(FIELD("v", "set", ",\"parameters\":{\"allowed\":\"a,b,c\"}"), "\"a,c\""), "5"},
        {ROWS(FIELD("w", "int", ""), "7"), "?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct decoding decoding;
        char expected[128];
        start(&decoding, (struct iso_decoder_options){.value = "v"});
        for (int again = 0; again < 2; again++) {
            const char *found = decoding_of(&decoding, key, sizeof key - 1, cases[i].message,
                                            strlen(cases[i].message));
            bool tells = *cases[i].value == '?' && !again; /* a column once */
            snprintf(expected, sizeof expected, "ROW insert db.t/1: - -> %s cts 9\n",
                     cases[i].value);
            assert_int_equal(tells, !strncmp(found, "IGNORED its value may stand for another", 39));
            assert_string_equal(tells ? strchr(found, '\n') + 1 : found, expected);
        }
        decoding_end(&decoding);
    }
}

/* The key's column of each type: as the other formats have it, or nobody's. */
static void keys_of_every_type(void **state)
{
    (void)state;
#define KEYED(type, more, value)                                                                   \
    "{\"payload\":{\"source\":{\"db\":\"db\",\"table\":\"t\",\"commit_ts\":9},\"op\":\"c\","       \
    "\"after\":{\"id\":" value                                                                     \
    ",\"v\":7}},\"schema\":{\"fields\":[{\"field\":\"after\",\"fields\":["                         \
    "{\"field\":\"id\",\"tidb_type\":\"" type "\"" more                                            \
    "},{\"field\":\"v\",\"tidb_type\":\"int\"}]}]}}"
    static const struct {
        const char *message, *key;
    } cases[] = {
        {KEYED("int", "", "7"), "7"},
        {KEYED("varchar", "", "\"a,b\""), "a%2Cb"},
        {KEYED("bigint unsigned", "", "-9223372036854775808"), "9223372036854775808"},
        {KEYED("bit", "", "\"AAAAAAAAAIA=\""), "9223372036854775808"},
        {KEYED("enum", ",\"parameters\":{\"allowed\":\"a,b\"}", "\"b\""), "2"},
        {KEYED("enum", "", "\"b\""), NULL},
        {KEYED("date", "", "19782"), NULL},
        {KEYED("datetime", "", "1709210096500000"), NULL},
        {KEYED("timestamp", "", "\"2024-02-29T12:34:56Z\""), NULL},
        {KEYED("time", "", "1000000"), NULL},
        {KEYED("decimal", "", "1.5"), NULL},
        {KEYED("double", "", "1.5"), NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct decoding decoding;
        char expected[128];
        start(&decoding, (struct iso_decoder_options){.value = "v"});
        const char *found =
            decoding_of(&decoding, key, sizeof key - 1, cases[i].message, strlen(cases[i].message));
        snprintf(expected, sizeof expected, "ROW insert db.t/%s: - -> 7 cts 9\n", cases[i].key);
        if (cases[i].key)
            assert_string_equal(found, expected);
        else
            assert_int_equal(strncmp(found, "IGNORED its key has ", 20), 0);
        decoding_end(&decoding);
    }
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows),
                                       cmocka_unit_test(watermarks_and_ddls),
                                       cmocka_unit_test(wrong_messages),
                                       cmocka_unit_test(coverage),
                                       cmocka_unit_test(unreported_tables),
                                       cmocka_unit_test(avro_is_refused_by_name),
                                       cmocka_unit_test(keys_of_every_type),
                                       cmocka_unit_test(values_that_were_lost)};
    return cmocka_run_group_tests_name("ticdc debezium", tests, NULL, NULL);
}
