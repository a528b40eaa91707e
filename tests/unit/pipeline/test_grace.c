/* Finality from Kafka's message times: records of several processes, in partitions of their own,
 * and a change stream.
 */
#define _GNU_SOURCE
#include "tests/support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "connectors/debezium/debezium.h"
#include "connectors/history/record.h"
#include "connectors/ticdc/ticdc.h"
#include "pipeline/archive.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_private.h"

/* Milliseconds. Message times are START and later; the caller's clock has nothing to do with
 * them. */
enum { GRACE = 1000, START = 500000, IDLE = 300 };

enum { TABLE, ENDS, CLIENT_A, CLIENT_B, EMPTY, PARTITIONS };

static const struct {
    const char *topic;
    int32_t partition;
} places[PARTITIONS] = {
    {"s.public.kv", 0}, {"s.transaction", 0}, {"clients", 0}, {"clients", 1}, {"s.public.kv", 1}};

struct bench {
    struct iso_pipeline *pipeline;
    struct iso_text lines, timeless;
    uint64_t idle_timeout_ms, now, restored;
    int64_t offsets[PARTITIONS];
    uint64_t lsn;
    bool restores; /* between any two messages it is saved and restored */
    bool no_ends;  /* no transaction metadata */
};

static enum iso_status sink(void *context, const char *line, size_t length, struct iso_error *error)
{
    struct bench *bench = context;
    (void)error;
    iso_text_put_bytes(&bench->lines, line, length);
    return ISO_OK;
}

static void on_timeless(void *context, const struct iso_inputs_entry *input)
{
    struct bench *bench = context;
    iso_text_put(&bench->timeless, input->topic);
    iso_text_put(&bench->timeless, "[");
    iso_text_put_signed(&bench->timeless, input->partition);
    iso_text_put(&bench->timeless, "]");
}

static struct iso_pipeline *make_pipeline(struct bench *bench)
{
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    struct iso_decoder_options rows = {.value = "v", .identity = ISO_IDENTITY_FULL};
    iso_pipeline_options_init(&options);
    options.join.kind = "debezium";
    options.join.clients = options.join.initial_known = true;
    options.grace_ms = GRACE;
    options.idle_timeout_ms = bench->idle_timeout_ms;
    options.sink = sink;
    options.on_timeless = on_timeless;
    options.sink_context = options.context = bench;
    struct iso_pipeline *pipeline = iso_pipeline_new(&options);
    iso_pipeline_route(pipeline, "s.public.kv", iso_debezium_decoder.create(&rows, &error), true);
    iso_pipeline_route(pipeline, "s.transaction", iso_debezium_decoder.create(&rows, &error), true);
    iso_pipeline_route(
        pipeline, "clients",
        iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, &error), false);
    return pipeline;
}

static void open_bench(struct bench *bench, bool restores, uint64_t idle_timeout_ms)
{
    *bench = (struct bench){
        .restores = restores, .lsn = 100, .idle_timeout_ms = idle_timeout_ms, .now = 7};
    bench->pipeline = make_pipeline(bench);
    for (uint32_t i = 0; i < EMPTY; i++) {
        uint32_t input = iso_inputs_number(iso_pipeline_inputs(bench->pipeline), places[i].topic,
                                           strlen(places[i].topic), places[i].partition);
        assert_int_equal(input, i);
        iso_pipeline_declare(bench->pipeline, input, bench->now);
    }
}

static void close_bench(struct bench *bench)
{
    iso_pipeline_free(bench->pipeline);
    iso_text_release(&bench->lines);
    iso_text_release(&bench->timeless);
}

/* As a restart does: another process has other hashes. What is saved is what the pipeline has by
 * now; a state that is no state is refused, and then there is a new pipeline. */
static enum iso_status try_restore(struct bench *bench, struct iso_error *error)
{
    struct iso_archive archive;
    int state = memfd_create("state", MFD_CLOEXEC);
    iso_archive_save(&archive, state, "state", error);
    iso_pipeline_archive(&archive, bench->pipeline);
    iso_archive_close(&archive);
    iso_pipeline_free(bench->pipeline);
    iso_hash_seed.number++;
    iso_hash_seed.factor += 2;
    bench->pipeline = make_pipeline(bench);
    assert_int_equal(lseek(state, 0, SEEK_SET), 0);
    iso_archive_restore(&archive, state, "state", error);
    iso_pipeline_archive(&archive, bench->pipeline);
    iso_archive_close(&archive);
    close(state);
    bench->restored++;
    return error->status;
}

static void restore(struct bench *bench)
{
    struct iso_error error = {.status = ISO_OK};
    assert_int_equal(try_restore(bench, &error), ISO_OK);
    assert_string_equal(error.text, "");
}

static void feed(struct bench *bench, uint32_t input, uint64_t time, const char *key,
                 const char *payload)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_message message = {.topic = places[input].topic,
                                  .partition = places[input].partition,
                                  .input = input,
                                  .offset = bench->offsets[input]++,
                                  .timestamp = (int64_t)time,
                                  .timestamp_type =
                                      time ? ISO_TIMESTAMP_CREATE : ISO_TIMESTAMP_NONE,
                                  .key = {(const uint8_t *)key, (uint32_t)strlen(key)},
                                  .payload = {(const uint8_t *)payload, (uint32_t)strlen(payload)}};
    iso_pipeline_feed(bench->pipeline, &message, 1, bench->now, &error);
    assert_string_equal(error.text, "");
    if (bench->restores)
        restore(bench);
}

/* A whole transaction of one row: k=1 becomes `xid`. */
static void deliver(struct bench *bench, uint64_t time, uint64_t xid, uint64_t before)
{
    char row[600], end[200], old[40] = "null";
    if (before)
        snprintf(old, sizeof old, "{\"k\":1,\"v\":%" PRIu64 "}", before);
    snprintf(
        row, sizeof row,
        "{\"before\":%s,\"after\":{\"k\":1,\"v\":%" PRIu64
        "},\"source\":{\"connector\":\"postgresql\",\"name\":\"s\",\"snapshot\":\"false\",\"sequence\":"
        "\"[\\\"%" PRIu64 "\\\",\\\"%" PRIu64
        "\\\"]\",\"schema\":\"public\",\"table\":\"kv\",\"txId\":%" PRIu64 ",\"lsn\":%" PRIu64
        "},\"op\":\"%s\"}",
        old, xid, bench->lsn, bench->lsn + 5, xid, bench->lsn + 5, before ? "u" : "c");
    feed(bench, TABLE, time, "{\"k\":1}", row);
    bench->lsn += 10;
    snprintf(end, sizeof end,
             "{\"status\":\"END\",\"id\":\"%" PRIu64 ":%" PRIu64
             "\",\"event_count\":1,\"data_collections\":"
             "[{\"data_collection\":\"public.kv\",\"event_count\":1}],\"ts_ms\":1700000000123}",
             xid, bench->lsn);
    if (!bench->no_ends)
        feed(bench, ENDS, time, "", end);
}

/* A client's record: it saw k=1 as it was `read`, and wrote its xid, if it has one. */
static void record(struct bench *bench, uint32_t client, uint64_t time, const char *tid,
                   uint64_t xmin, uint64_t read, uint64_t xid)
{
    char text[400], number[40] = "", write[80] = "", value[24] = "null";
    if (xid) {
        snprintf(number, sizeof number, ",\"xid\":%" PRIu64, xid);
        snprintf(write, sizeof write, ",{\"t\":\"w\",\"k\":\"public.kv/1\",\"v\":%" PRIu64 "}",
                 xid);
    }
    if (read)
        snprintf(value, sizeof value, "%" PRIu64, read);
    snprintf(text, sizeof text,
             "{\"tid\":\"%s\",\"sid\":\"%s\"%s,\"snapshot\":\"%" PRIu64 ":%" PRIu64
             ":\",\"ops\":[{\"t\":\"r\",\"k\":\"public.kv/1\",\"v\":%s}%s]}",
             tid, tid, number, xmin, xmin, value, write);
    feed(bench, client, time, "", text);
}

/* What the caller of a live run does after each batch. */
static bool reach(struct bench *bench)
{
    struct iso_error error = {.status = ISO_OK};
    uint64_t time;
    if (!iso_pipeline_time(bench->pipeline, bench->now, &time))
        return false;
    assert_int_equal(iso_pipeline_reached(bench->pipeline, time, bench->now, &error), ISO_OK);
    if (bench->restores)
        restore(bench);
    return true;
}

static void end_of(struct bench *bench, uint32_t input)
{
    struct iso_error error = {.status = ISO_OK};
    assert_int_equal(iso_pipeline_at_end(bench->pipeline, input, bench->now, &error), ISO_OK);
}

static struct iso_pipeline_stats stats_of(const struct bench *bench)
{
    struct iso_pipeline_stats stats;
    iso_pipeline_stats(bench->pipeline, &stats);
    return stats;
}

static const char *lines_so_far(struct bench *bench)
{
    *iso_text_reserve(&bench->lines, 1) = 0;
    return bench->lines.bytes;
}

static const char *lines(struct bench *bench)
{
    const char *all = lines_so_far(bench);
    bench->lines.used = 0;
    return all;
}

/* A row a step, written and recorded by one process, read by the other; the reader of step 3
 * lies. */
static void run(struct bench *bench, uint64_t first, uint64_t steps)
{
    for (uint64_t i = first; i < first + steps; i++) {
        uint64_t time = START + i * 400, xid = 700 + i;
        char writer[24], reader[24];
        snprintf(writer, sizeof writer, "w%" PRIu64, i);
        snprintf(reader, sizeof reader, "r%" PRIu64, i);
        deliver(bench, time, xid, i ? xid - 1 : 0);
        record(bench, CLIENT_A, time + 5, writer, xid, i ? xid - 1 : 0, xid);
        record(bench, CLIENT_B, time + 10, reader, xid + 1, i == 3 ? 666 : xid, 0);
        reach(bench);
        bench->now += 400;
    }
}

static void grace_alone_makes_verdicts_final(void **state)
{
    (void)state;
    for (int restores = 0; restores < 2; restores++) {
        struct bench bench;
        open_bench(&bench, restores, 0);
        run(&bench, 0, 6);
        assert_in_range(stats_of(&bench).engine.transactions, 5, 7); /* of the first three steps */
        assert_null(strstr(lines(&bench), "\"final\""));
        run(&bench, 6, 4);
        const char *told = lines(&bench);
        assert_non_null(strstr(told, "\"state\":\"final\""));
        assert_non_null(
            strstr(told, "\"axiom\":\"EXT\",\"kind\":\"uncommitted\",\"tids\":[\"r3\"]"));
        struct iso_pipeline_stats stats = stats_of(&bench);
        assert_int_equal(stats.engine.counts[ISO_EXT], 1);
        assert_in_range(stats.engine.transactions, 12, 14); /* of the first seven steps */
        assert_int_equal(stats.join.late_records, 0);
        assert_int_equal(stats.watermarks, 0);
        assert_true(!restores == !bench.restored);
        close_bench(&bench);
    }
}

/* What was reached stays reached, whatever a recording says later; and it is not asked for
 * again. */
static void time_that_was_reached_is_not_taken_back(void **state)
{
    struct bench bench;
    struct iso_error error = {.status = ISO_OK};
    uint64_t time, first;
    (void)state;
    open_bench(&bench, false, 0);
    run(&bench, 0, 6);
    record(&bench, CLIENT_A, START + 6000, "a", 706, 705, 0);
    record(&bench, CLIENT_B, START + 6000, "b", 706, 705, 0);
    assert_true(iso_pipeline_time(bench.pipeline, bench.now, &first));
    assert_int_equal(iso_pipeline_reached(bench.pipeline, first, bench.now, &error), ISO_OK);
    assert_int_equal(iso_pipeline_reached(bench.pipeline, first - 1, bench.now, &error), ISO_OK);
    assert_false(iso_pipeline_time(bench.pipeline, bench.now, &time));
    close_bench(&bench);
}

/* A time is reached once: what old messages promise counts from the next one on. */
static void time_that_was_reached_promises_nothing_new(void **state)
{
    struct bench bench;
    struct iso_error error = {.status = ISO_OK};
    (void)state;
    open_bench(&bench, false, 0);
    deliver(&bench, START, 700, 0);
    record(&bench, CLIENT_A, START, "a", 700, 0, 700);
    deliver(&bench, START + 2000, 701, 700);
    record(&bench, CLIENT_A, START + 2000, "b", 701, 700, 701);
    end_of(&bench, CLIENT_B);
    assert_int_equal(iso_pipeline_reached(bench.pipeline, START + 2000, bench.now, &error), ISO_OK);
    assert_int_equal(stats_of(&bench).watermark, 700);
    record(&bench, CLIENT_B, START + 500, "c", 701, 700, 0);
    assert_int_equal(iso_pipeline_reached(bench.pipeline, START + 2000, bench.now, &error), ISO_OK);
    assert_int_equal(stats_of(&bench).watermark, 700);
    assert_int_equal(iso_pipeline_reached(bench.pipeline, START + 2001, bench.now, &error), ISO_OK);
    assert_int_equal(stats_of(&bench).watermark, 701);
    close_bench(&bench);
}

static void record_below_the_promise_is_late(void **state)
{
    struct bench bench;
    const char *reason;
    (void)state;
    open_bench(&bench, false, 0);
    run(&bench, 0, 3);
    record(&bench, CLIENT_A, START + 1400, "slow", 702, 701, 0); /* in time */
    for (uint64_t i = 3; i < 8; i++) {
        char tid[] = {'b', (char)('0' + i), 0};
        deliver(&bench, START + i * 400, 700 + i, 699 + i); /* of somebody else */
        record(&bench, CLIENT_B, START + i * 400 + 10, tid, 701 + i, 700 + i, 0);
    }
    record(&bench, CLIENT_A, START + 4000, "now", 708, 707, 0);
    assert_true(reach(&bench));
    uint64_t judged = stats_of(&bench).engine.transactions;
    assert_int_equal(stats_of(&bench).join.late_records, 0);
    record(&bench, CLIENT_A, START + 4100, "late", 702, 1,
           0); /* a lie, which nobody can judge any more */
    assert_int_equal(stats_of(&bench).join.late_records, 1);
    assert_int_equal(stats_of(&bench).engine.transactions, judged);
    struct iso_error error = {.status = ISO_OK};
    assert_int_equal(iso_pipeline_end(bench.pipeline, bench.now, &error), ISO_OK);
    assert_null(strstr(lines(&bench), "\"late\""));
    assert_int_equal(iso_pipeline_outcome(bench.pipeline, false, &reason), ISO_UNDECIDED);
    assert_string_equal(reason, "late-records");
    close_bench(&bench);
}

/* What clients say themselves counts, in the partition that they say it of. */
static void explicit_watermarks_win(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, false, 0);
    feed(&bench, CLIENT_A, START, "", "{\"watermark\":\"701\"}");
    run(&bench, 0, 8);
    assert_int_equal(stats_of(&bench).watermark, 701);
    feed(&bench, CLIENT_A, START + 4000, "", "{\"watermark\":\"708\"}");
    assert_true(stats_of(&bench).watermark > 701);
    assert_true(stats_of(&bench).watermark < 708); /* the other partition's */
    close_bench(&bench);
}

/* A partition that never gets a message, and all of them once everybody is silent. */
static void silent_partitions_go_by_the_streams_time(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, false, 0);
    deliver(&bench, START, 700, 0);
    record(&bench, CLIENT_A, START + 300, "a", 700, 0, 700);
    deliver(&bench, START + 2000, 701, 700);
    record(&bench, CLIENT_A, START + 2000, "b", 701, 700, 701);
    assert_false(reach(&bench)); /* CLIENT_B may hold anything */
    end_of(&bench, CLIENT_B);
    assert_true(reach(&bench));
    assert_int_equal(stats_of(&bench).watermark, 700);
    bench.now += 5000;
    assert_false(reach(&bench)); /* CLIENT_A may have more */
    end_of(&bench, CLIENT_A);
    assert_true(reach(&bench));
    assert_int_equal(stats_of(&bench).watermark, 701);
    assert_false(reach(&bench)); /* there is nothing more to promise */
    deliver(&bench, START + 7100, 702, 701);
    record(&bench, CLIENT_A, START + 7100, "c", 702, 701, 702); /* not at its end any more */
    bench.now += 5000;
    assert_false(reach(&bench));
    assert_int_equal(stats_of(&bench).watermark, 701);
    end_of(&bench, CLIENT_A);
    assert_true(reach(&bench));
    assert_int_equal(stats_of(&bench).watermark, 702);
    close_bench(&bench);
}

static void message_time_goes_back(void **state)
{
    struct bench bench;
    struct iso_error error = {.status = ISO_OK};
    (void)state;
    open_bench(&bench, false, 0);
    deliver(&bench, START + 5000, 700, 0);
    record(&bench, CLIENT_A, START + 5000, "a", 700, 0, 700);
    record(&bench, CLIENT_B, START + 5000, "b", 700, 0, 0);
    deliver(&bench, START, 701, 700);
    record(&bench, CLIENT_A, START, "c", 701, 700,
           0); /* counts as of START + 5000, where it was read */
    assert_false(reach(&bench));
    record(&bench, CLIENT_B, START + 6100, "d", 702, 701, 0);
    assert_false(reach(&bench)); /* CLIENT_A is still at START + 5000 */
    record(&bench, CLIENT_A, START + 6050, "e", 702, 701, 0);
    assert_true(reach(&bench));
    assert_int_equal(stats_of(&bench).watermark, 701);
    assert_int_equal(iso_pipeline_reached(bench.pipeline, START, bench.now, &error), ISO_OK);
    assert_int_equal(stats_of(&bench).watermark, 701);
    close_bench(&bench);
}

static void messages_without_time_are_told_once(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, false, 0);
    run(&bench, 0, 2);
    for (int i = 0; i < 3; i++) {
        char tid[] = {'x', (char)('0' + i), 0};
        record(&bench, CLIENT_A, 0, tid, 702, 701, 0);
    }
    end_of(&bench, CLIENT_A);
    run(&bench, 2, 10);
    *iso_text_reserve(&bench.timeless, 1) = 0;
    assert_string_equal(bench.timeless.bytes, "clients[0]");
    assert_false(stats_of(&bench).has_watermark);
    assert_int_equal(stats_of(&bench).engine.transactions, 0);
    close_bench(&bench);
}

/* Without ENDs a partition that has nothing to say holds up what later positions close, until it is
 * idle. */
static void partition_without_rows(void **state)
{
    struct bench bench;
    struct iso_error error = {.status = ISO_OK};
    (void)state;
    open_bench(&bench, false, IDLE);
    iso_pipeline_declare(bench.pipeline,
                         iso_inputs_number(iso_pipeline_inputs(bench.pipeline), places[EMPTY].topic,
                                           strlen(places[EMPTY].topic), places[EMPTY].partition),
                         bench.now);
    end_of(&bench, EMPTY);
    end_of(&bench, ENDS);
    bench.no_ends = true;
    run(&bench, 0, 8);
    assert_int_equal(stats_of(&bench).join.joined, 0);
    assert_int_equal(stats_of(&bench).went_idle, 0);
    assert_int_equal(iso_pipeline_tick(bench.pipeline, bench.now - 150, &error), ISO_OK);
    assert_int_equal(stats_of(&bench).went_idle, 2);
    assert_in_range(stats_of(&bench).join.joined, 4,
                    5); /* those whose records are below the promise */
    assert_in_range(stats_of(&bench).engine.reads_judged, 8, 20);
    assert_int_equal(stats_of(&bench).join.late_records, 0);
    close_bench(&bench);
}

/* With timestamps, the stream's own watermark of then bounds what clients may still say. */
static void stream_bounds_clients(void **state)
{
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    struct bench bench = {.now = 7};
    (void)state;
    iso_pipeline_options_init(&options);
    options.join.kind = "ticdc";
    options.join.clients = true;
    options.grace_ms = GRACE;
    options.sink = sink;
    options.sink_context = options.context = &bench;
    bench.pipeline = iso_pipeline_new(&options);
    iso_pipeline_route(
        bench.pipeline, "rows",
        iso_ticdc_decoder.create(&(struct iso_decoder_options){.format = "canal-json"}, &error),
        true);
    iso_pipeline_route(
        bench.pipeline, "clients",
        iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, &error), false);
    assert_string_equal(error.text, "");
    struct iso_inputs *inputs = iso_pipeline_inputs(bench.pipeline);
    iso_pipeline_declare(bench.pipeline, iso_inputs_number(inputs, "rows", 4, 0), 0);
    iso_pipeline_declare(bench.pipeline, iso_inputs_number(inputs, "clients", 7, 0), 0);
    for (uint64_t i = 0; i < 8; i++) {
        char watermark[200], text[200];
        uint64_t time = START + 400 * i;
        snprintf(
            watermark, sizeof watermark,
            "{\"id\":0,\"database\":\"\",\"table\":\"\",\"pkNames\":null,\"isDdl\":false,\"type\":"
            "\"TIDB_WATERMARK\",\"es\":1,\"ts\":2,\"sql\":\"\",\"_tidb\":{\"watermarkTs\":%" PRIu64
            "}}",
            1000 + 10 * i);
        snprintf(text, sizeof text,
                 "{\"tid\":%" PRIu64 ",\"sid\":%" PRIu64 ",\"sts\":%" PRIu64
                 ",\"ops\":[{\"t\":\"r\",\"k\":\"db.t/1\",\"v\":%s}]}",
                 i, i, 1000 + 10 * i, i == 2 ? "5" : "null");
        struct iso_message pair[] = {
            {.topic = "rows",
             .input = 0,
             .payload = {(const uint8_t *)watermark, (uint32_t)strlen(watermark)}},
            {.topic = "clients",
             .input = 1,
             .payload = {(const uint8_t *)text, (uint32_t)strlen(text)}}};
        for (int m = 0; m < 2; m++) {
            pair[m].offset = (int64_t)i;
            pair[m].timestamp_type = ISO_TIMESTAMP_LOG_APPEND;
            pair[m].timestamp = (int64_t)time;
        }
        iso_pipeline_feed(bench.pipeline, pair, 2, bench.now, &error);
        assert_string_equal(error.text, "");
        reach(&bench);
    }
    assert_int_equal(stats_of(&bench).watermark, 1040); /* of START + 1600 */
    assert_non_null(strstr(lines(&bench), "\"state\":\"final\""));
    close_bench(&bench);
}

/* A client wrote another value than the stream delivered: what others read of it is doubtful, also
 * behind restarts. */
static void doubts_outlive_a_restart(void **state)
{
    char first[16384];
    (void)state;
    for (int restores = 0; restores < 2; restores++) {
        struct bench bench;
        struct iso_error error = {.status = ISO_OK};
        open_bench(&bench, restores, 0);
        deliver(&bench, START, 700, 0);
        record(&bench, CLIENT_A, START, "w0", 700, 0, 700);
        feed(&bench, CLIENT_A, START, "",
             "{\"tid\":\"liar\",\"sid\":\"liar\",\"xid\":701,\"snapshot\":\"701:701:\",\"ops\":"
             "[{\"t\":\"w\",\"k\":\"public.kv/1\",\"v\":9}]}");
        deliver(&bench, START, 701, 700);
        for (uint64_t i = 2; i < 7; i++) {
            char tid[] = {'r', (char)('0' + i), 0};
            deliver(&bench, START + 1000 * i, 700 + i, 699 + i);
            record(&bench, CLIENT_A, START + 1000 * i, tid, 700 + i, 699 + i, 700 + i);
            tid[0] = 's';
            record(&bench, CLIENT_B, START + 1000 * i, tid, 700 + i, i == 2 ? 666 : 699 + i, 0);
            reach(&bench);
            if (i == 4) { /* the contradiction was found, and nothing is final that rests on it */
                assert_non_null(
                    strstr(lines_so_far(&bench), "\"kind\":\"value\",\"tids\":[\"liar\"]"));
                assert_null(strstr(lines_so_far(&bench), "\"doubtful\""));
            }
        }
        assert_int_equal(iso_pipeline_end(bench.pipeline, bench.now, &error), ISO_OK);
        const char *told = lines(&bench);
        if (!restores)
            snprintf(first, sizeof first, "%s", told);
        assert_string_equal(told, first);
        assert_non_null(strstr(told, "\"state\":\"final\",\"doubtful\":\"contradiction\""));
        assert_non_null(strstr(
            told,
            "{\"tid\":\"liar\",\"xid\":\"701\",\"lsn\":\"0/78\",\"time\":\"2023-11-14T22:13:20.123Z\"}"));
        close_bench(&bench);
    }
}

/* A saved state whose parts do not fit together is refused, whatever its checksums say. */
static void states_that_contradict_themselves_are_refused(void **state)
{
    (void)state;
    for (int part = 0; part < 3; part++) {
        struct bench bench;
        struct iso_error error = {.status = ISO_OK};
        open_bench(&bench, false, 0);
        run(&bench, 0, 6);
        struct iso_pipeline *pipeline = bench.pipeline;
        if (part == 1)
            pipeline->grace.promise.first = pipeline->grace.promise.count + 1;
        else if (part == 2)
            pipeline->inputs.list[0].route = pipeline->routes.count + 1;
        assert_int_equal(try_restore(&bench, &error), part ? ISO_FAILED : ISO_OK);
        close_bench(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grace_alone_makes_verdicts_final),
        cmocka_unit_test(time_that_was_reached_is_not_taken_back),
        cmocka_unit_test(time_that_was_reached_promises_nothing_new),
        cmocka_unit_test(record_below_the_promise_is_late),
        cmocka_unit_test(explicit_watermarks_win),
        cmocka_unit_test(silent_partitions_go_by_the_streams_time),
        cmocka_unit_test(message_time_goes_back),
        cmocka_unit_test(messages_without_time_are_told_once),
        cmocka_unit_test(partition_without_rows),
        cmocka_unit_test(stream_bounds_clients),
        cmocka_unit_test(doubts_outlive_a_restart),
        cmocka_unit_test(states_that_contradict_themselves_are_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
