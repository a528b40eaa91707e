/* What the pipeline makes of a change stream's own contradictions: before images, tables that were
 * emptied. */
#include "tests/support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "connectors/debezium/debezium.h"
#include "connectors/history/record.h"
#include "pipeline/pipeline.h"

struct bench {
    struct iso_pipeline *pipeline;
    struct iso_text lines;
    int64_t offset;
    uint64_t lsn;
};

/* Connect names topics by server and table. */
static const char *const topics[] = {"s.public.kv", "s.transaction"};

static enum iso_status sink(void *context, const char *line, size_t length, struct iso_error *error)
{
    struct bench *bench = context;
    (void)error;
    iso_text_put_bytes(&bench->lines, line, length);
    return ISO_OK;
}

/* `settle_ms`: tentative verdicts are kept back for so long. */
static void open_bench(struct bench *bench, bool clients, uint64_t settle_ms)
{
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    struct iso_decoder_options rows = {.value = "v", .identity = ISO_IDENTITY_FULL};
    *bench = (struct bench){.lsn = 100};
    iso_pipeline_options_init(&options);
    options.join.kind = "debezium";
    options.join.initial_known = true;
    options.join.clients = clients;
    options.engine.settle_ms = settle_ms;
    options.sink = sink;
    options.sink_context = bench;
    bench->pipeline = iso_pipeline_new(&options);
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        iso_pipeline_route(bench->pipeline, topics[i], iso_debezium_decoder.create(&rows, &error),
                           true);
    iso_pipeline_route(
        bench->pipeline, "clients",
        iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, &error), false);
    assert_string_equal(error.text, "");
}

static void close_bench(struct bench *bench)
{
    iso_pipeline_free(bench->pipeline);
    iso_text_release(&bench->lines);
}

static void feed(struct bench *bench, const char *topic, const char *key, const char *payload)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_message message = {.topic = topic,
                                  .offset = bench->offset++,
                                  .key = {(const uint8_t *)key, (uint32_t)strlen(key)},
                                  .payload = {(const uint8_t *)payload, (uint32_t)strlen(payload)}};
    message.input =
        iso_inputs_number(iso_pipeline_inputs(bench->pipeline), topic, strlen(topic), 0);
    iso_pipeline_feed(bench->pipeline, &message, 1, 0, &error);
    assert_string_equal(error.text, "");
}

/* A whole transaction of PostgreSQL: `op` "c", "u", "d" of the row k=1, or "t", all of the
 * table. */
static void deliver(struct bench *bench, unsigned xid, const char *op, const char *before,
                    const char *after)
{
    char text[600], old[40] = "null", new[40] = "null";
    if (before)
        snprintf(old, sizeof old, "{\"k\":1,\"v\":%s}", before);
    if (after)
        snprintf(new, sizeof new, "{\"k\":1,\"v\":%s}", after);
    snprintf(
        text, sizeof text,
        "{\"before\":%s,\"after\":%s,\"source\":{\"connector\":\"postgresql\",\"name\":\"s\",\"snapshot\":\"false\","
        "\"sequence\":\"[\\\"%" PRIu64 "\\\",\\\"%" PRIu64
        "\\\"]\",\"schema\":\"public\",\"table\":\"kv\","
        "\"txId\":%u,\"lsn\":%" PRIu64 "},\"op\":\"%s\"}",
        old, new, bench->lsn, bench->lsn + 5, xid, bench->lsn + 5, op);
    feed(bench, topics[0], "{\"k\":1}", text);
    bench->lsn += 10;
    snprintf(text, sizeof text,
             "{\"status\":\"END\",\"id\":\"%u:%" PRIu64 "\",\"event_count\":1,\"data_collections\":"
             "[{\"data_collection\":\"public.kv\",\"event_count\":1}],\"ts_ms\":1}",
             xid, bench->lsn);
    feed(bench, topics[1], "", text);
}

/* A group of MariaDB's binlog: k=1 becomes `after`, or there is no row in it. */
static void deliver_group(struct bench *bench, unsigned gtid, const char *before, const char *after)
{
    char text[600], old[40] = "null";
    if (before)
        snprintf(old, sizeof old, "{\"k\":1,\"v\":%s}", before);
    if (after) {
        snprintf(
            text, sizeof text,
            "{\"before\":%s,\"after\":{\"k\":1,\"v\":%s},\"source\":{\"connector\":\"mariadb\","
            "\"name\":\"s\",\"ts_ms\":1,\"snapshot\":\"false\",\"db\":\"public\",\"sequence\":null,\"table\":\"kv\","
            "\"server_id\":1,\"gtid\":\"0-1-%u\",\"file\":\"b.000001\",\"pos\":%u,\"row\":0},\"op\":\"%s\"}",
            old, after, gtid, 100 * gtid, before ? "u" : "c");
        feed(bench, topics[0], "{\"k\":1}", text);
    }
    snprintf(
        text, sizeof text,
        "{\"status\":\"END\",\"id\":\"0-1-%u\",\"event_count\":%d,\"data_collections\":[],\"ts_ms\":1}",
        gtid, after != NULL);
    feed(bench, topics[1], "", text);
}

static void read_by(struct bench *bench, const char *tid, const char *snapshot)
{
    char text[200];
    snprintf(
        text, sizeof text,
        "{\"tid\":\"%s\",\"sid\":\"%s\",\"snapshot\":\"%s\",\"ops\":[{\"t\":\"r\",\"k\":\"public.kv/1\",\"v\":null}]}",
        tid, tid, snapshot);
    feed(bench, "clients", "", text);
}

/* The session goes on, and does nothing. */
static void go_on(struct bench *bench, const char *sid, const char *snapshot)
{
    char text[200];
    snprintf(text, sizeof text, "{\"tid\":\"%s.1\",\"sid\":\"%s\",\"snapshot\":\"%s\",\"ops\":[]}",
             sid, sid, snapshot);
    feed(bench, "clients", "", text);
}

static void write_by(struct bench *bench, const char *tid, unsigned xid, const char *value)
{
    char text[200];
    snprintf(
        text, sizeof text,
        "{\"tid\":\"%s\",\"sid\":\"%s\",\"xid\":%u,\"snapshot\":\"%u:%u:\",\"ops\":[{\"t\":\"w\",\"k\":\"public.kv/1\","
        "\"v\":%s}]}",
        tid, tid, xid, xid, xid, value);
    feed(bench, "clients", "", text);
}

static struct iso_pipeline_stats ended(struct bench *bench)
{
    struct iso_pipeline_stats stats;
    struct iso_error error = {.status = ISO_OK};
    struct iso_accounting accounting;
    assert_int_equal(iso_pipeline_end(bench->pipeline, 0, &error), ISO_OK);
    iso_pipeline_accounting(bench->pipeline, &accounting);
    assert_true(accounting.balanced);
    iso_pipeline_stats(bench->pipeline, &stats);
    *iso_text_reserve(&bench->lines, 1) = 0;
    return stats;
}

/* The list of the summary; freed with the lines. */
static const char *violations(struct bench *bench)
{
    struct iso_accounting accounting;
    iso_pipeline_accounting(bench->pipeline, &accounting);
    bench->lines.used = 0;
    iso_pipeline_summary(bench->pipeline, &accounting, false, NULL, &bench->lines);
    *iso_text_reserve(&bench->lines, 1) = 0;
    return strstr(bench->lines.bytes, "\"violations\":");
}

/* A snapshot older than a TRUNCATE shows an empty table: absence is unjudged then. Else it is a
 * violation, where it is known that none was on its way: the reader's session goes on. */
static void absence_is_suppressed_by_a_truncate_behind_the_snapshot(void **state)
{
    struct bench bench;
    const char *reason;
    (void)state;
    open_bench(&bench, true, 0);
    deliver(&bench, 700, "c", NULL, "5");
    write_by(&bench, "w", 700, "5");
    read_by(&bench, "zz", "701:701:");
    read_by(&bench, "aa", "701:701:");
    deliver(&bench, 701, "t", NULL, NULL);
    struct iso_pipeline_stats stats = ended(&bench);
    assert_int_equal(stats.engine.counts[ISO_EXT], 0);
    assert_int_equal(stats.unjudged[ISO_UNJUDGED_DDL], 2);
    assert_int_equal(iso_pipeline_outcome(bench.pipeline, false, &reason), ISO_UNDECIDED);
    assert_string_equal(reason, "ddl");
    close_bench(&bench);

    open_bench(&bench, true, 0);
    deliver(&bench, 700, "c", NULL, "5");
    write_by(&bench, "w", 700, "5");
    deliver(&bench, 701, "t", NULL, NULL);
    deliver(&bench, 702, "c", NULL, "6");
    read_by(&bench, "zz", "703:703:");
    read_by(&bench, "aa", "703:703:");
    read_by(&bench, "mm", "703:703:");
    go_on(&bench, "zz", "703:703:");
    go_on(&bench, "aa", "703:703:");
    stats = ended(&bench);
    assert_int_equal(stats.engine.counts[ISO_EXT], 2);
    assert_int_equal(stats.beyond, 1);
    assert_int_equal(stats.unjudged[ISO_UNJUDGED_DDL], 0);
    const char *all = violations(&bench), *first = strstr(all, "\"tids\":[\"aa\"]"),
               *last = strstr(all, "\"tids\":[\"zz\"]");
    assert_true(first && last &&
                first < last); /* in the order of their names, whatever was final first */
    close_bench(&bench);
}

/* The engine's answer to the join's question is a violation of the stream, and none of
 * isolation. */
static void a_wrong_before_image_is_one_violation_of_the_stream(void **state)
{
    struct bench bench;
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool clients = i & 1;
        open_bench(&bench, clients, i & 2 ? 1000 : 0);
        deliver(&bench, 700, "c", NULL, "5");
        deliver(&bench, 701, "u", "4", "6");
        if (clients) {
            write_by(&bench, "one", 700, "5");
            write_by(&bench, "two", 701, "6");
        }
        struct iso_pipeline_stats stats = ended(&bench);
        assert_int_equal(stats.engine.counts[ISO_CDC], 1);
        assert_int_equal(stats.engine.counts[ISO_EXT], 0);
        assert_int_equal(stats.engine.counts[ISO_INT], 0);
        assert_non_null(strstr(bench.lines.bytes, "\"state\":\"final\""));
        assert_non_null(strstr(bench.lines.bytes, "\"axiom\":\"CDC\",\"kind\":\"before-image\""));
        close_bench(&bench);
    }
}

/* Where a transaction of the binlog came without its rows, what does not fit was lost on its
 * way. */
static void rows_that_came_to_nothing_are_a_gap(void **state)
{
    static const char *const kinds[] = {"\"kind\":\"before-image\"", "\"kind\":\"gap\""};
    (void)state;
    for (int empty = 0; empty < 2; empty++) {
        struct bench bench;
        open_bench(&bench, false, 0);
        deliver_group(&bench, 7, NULL, "5");
        if (empty)
            deliver_group(&bench, 8, NULL, NULL);
        deliver_group(&bench, 9, "6", "7");
        struct iso_pipeline_stats stats = ended(&bench);
        assert_int_equal(stats.join.empty_ends, empty);
        assert_int_equal(stats.engine.counts[ISO_CDC], 1);
        assert_non_null(strstr(bench.lines.bytes, kinds[empty]));
        assert_null(strstr(bench.lines.bytes, kinds[!empty]));
        close_bench(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absence_is_suppressed_by_a_truncate_behind_the_snapshot),
        cmocka_unit_test(a_wrong_before_image_is_one_violation_of_the_stream),
        cmocka_unit_test(rows_that_came_to_nothing_are_a_gap),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
