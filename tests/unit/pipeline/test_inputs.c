/* Inputs that fall silent, and clocks that jump: what the watermark waits for, and what becomes of
 * what comes late. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "connectors/history/record.h"
#include "pipeline/pipeline.h"

enum { IDLE_MS = 1000, YEAR = 31536000 };

struct bench {
    struct iso_pipeline *pipeline;
    struct iso_text lines;
    char idle[256], doubtful[256]; /* what on_idle and on_doubtful were told */
    int64_t offsets[2];
};

static enum iso_status sink(void *context, const char *line, size_t length, struct iso_error *error)
{
    struct bench *bench = context;
    (void)error;
    iso_text_put_bytes(&bench->lines, line, length);
    return ISO_OK;
}

static void on_idle(void *context, const struct iso_inputs_entry *input, bool idle)
{
    struct bench *bench = context;
    size_t used = strlen(bench->idle);
    snprintf(bench->idle + used, sizeof bench->idle - used, "%s[%d] %s;", input->topic,
             (int)input->partition, idle ? "idle" : "back");
}

static void on_doubtful(void *context, const struct iso_message *message, const char *place,
                        const char *reason)
{
    struct bench *bench = context;
    size_t used = strlen(bench->doubtful);
    (void)message, (void)place;
    snprintf(bench->doubtful + used, sizeof bench->doubtful - used, "%s;", reason);
}

static void on_far_ahead(void *context, const struct iso_inputs_entry *input, uint64_t offset,
                         uint64_t timestamp, uint64_t watermark)
{
    struct bench *bench = context;
    size_t used = strlen(bench->idle);
    assert_true(timestamp > watermark);
    snprintf(bench->idle + used, sizeof bench->idle - used, "%s[%d]@%llu;", input->topic,
             (int)input->partition, (unsigned long long)offset);
}

/* Of the options what the bench has no part in is the caller's. */
static void open_with(struct bench *bench, struct iso_pipeline_options *options, int32_t partitions)
{
    struct iso_error error = {.status = ISO_OK};
    *bench = (struct bench){.pipeline = NULL};
    options->sink = sink;
    options->sink_context = options->context = bench;
    options->on_idle = on_idle;
    options->on_far_ahead = on_far_ahead;
    options->on_doubtful = on_doubtful;
    bench->pipeline = iso_pipeline_new(options);
    iso_pipeline_route(
        bench->pipeline, "t",
        iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, &error), false);
    for (int32_t partition = 0; partition < partitions; partition++)
        iso_pipeline_declare(
            bench->pipeline,
            iso_inputs_number(iso_pipeline_inputs(bench->pipeline), "t", 1, partition), 0);
}

static void open_bench(struct bench *bench, uint64_t idle_timeout_ms)
{
    struct iso_pipeline_options options;
    iso_pipeline_options_init(&options);
    options.idle_timeout_ms = idle_timeout_ms;
    open_with(bench, &options, 2);
}

static void close_bench(struct bench *bench)
{
    iso_pipeline_free(bench->pipeline);
    iso_text_release(&bench->lines);
}

static struct iso_message message_of(struct bench *bench, int32_t partition, const char *record)
{
    return (struct iso_message){.topic = "t",
                                .partition = partition,
                                .input = (uint32_t)partition,
                                .offset = bench->offsets[partition]++,
                                .payload = {(const uint8_t *)record, (uint32_t)strlen(record)}};
}

static void feed(struct bench *bench, int32_t partition, uint64_t now, const char *record)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_message message = message_of(bench, partition, record);
    iso_pipeline_feed(bench->pipeline, &message, 1, now, &error);
    assert_string_equal(error.text, "");
}

static void tick(struct bench *bench, uint64_t now)
{
    struct iso_error error = {.status = ISO_OK};
    assert_int_equal(iso_pipeline_tick(bench->pipeline, now, &error), ISO_OK);
}

static struct iso_pipeline_stats stats_of(const struct bench *bench)
{
    struct iso_pipeline_stats stats;
    iso_pipeline_stats(bench->pipeline, &stats);
    return stats;
}

/* The lines told since last asked, as text. */
static const char *lines(struct bench *bench)
{
    *iso_text_reserve(&bench->lines, 1) = 0;
    bench->lines.used = 0;
    return bench->lines.bytes;
}

/* The whole run as JSON, until it is asked again, or for lines. */
static const char *summary(struct bench *bench)
{
    struct iso_accounting accounting;
    iso_pipeline_accounting(bench->pipeline, &accounting);
    assert_true(accounting.balanced);
    bench->lines.used = 0;
    iso_pipeline_summary(bench->pipeline, &accounting, false, NULL, &bench->lines);
    return lines(bench);
}

static void silent_partition_holds_the_watermark(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, 0);
    feed(&bench, 0, 0,
         "{\"tid\":1,\"sid\":1,\"sts\":50,\"cts\":50,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1}]}");
    feed(&bench, 0, 1, "{\"watermark\":100}");
    tick(&bench, 1000 * IDLE_MS);
    assert_false(stats_of(&bench).has_watermark);
    assert_null(strstr(lines(&bench), "\"final\""));
    assert_int_equal(stats_of(&bench).went_idle, 0);
    close_bench(&bench);
}

static void silent_partition_is_left_out_aloud(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, IDLE_MS);
    feed(&bench, 0, IDLE_MS / 2,
         "{\"tid\":1,\"sid\":1,\"sts\":50,\"cts\":50,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1}]}");
    feed(&bench, 0, IDLE_MS / 2, "{\"watermark\":100}");
    tick(&bench, IDLE_MS - 1);
    assert_string_equal(bench.idle, "");
    assert_false(stats_of(&bench).has_watermark);
    assert_null(strstr(lines(&bench), "\"final\""));
    tick(&bench, IDLE_MS);
    assert_string_equal(bench.idle, "t[1] idle;");
    assert_int_equal(stats_of(&bench).went_idle, 1);
    assert_int_equal(stats_of(&bench).watermark, 100);
    assert_non_null(strstr(lines(&bench), "\"state\":\"final\""));
    tick(&bench, IDLE_MS + 1); /* told once */
    assert_int_equal(stats_of(&bench).went_idle, 1);
    close_bench(&bench);
}

/* A stream that pauses as a whole: what was promised before still holds. */
static void all_partitions_fall_silent(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, IDLE_MS);
    feed(&bench, 0, 0,
         "{\"tid\":1,\"sid\":1,\"sts\":50,\"cts\":50,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1}]}");
    feed(&bench, 0, 0, "{\"watermark\":100}");
    tick(&bench, IDLE_MS);
    assert_string_equal(bench.idle, "t[0] idle;t[1] idle;");
    assert_true(stats_of(&bench).has_watermark);
    assert_int_equal(stats_of(&bench).watermark, 100);
    assert_non_null(strstr(lines(&bench), "\"state\":\"final\""));
    close_bench(&bench);
}

/* What a partition says after it was left out may explain reads whose verdict is final: it is taken
 * and counted, and EXT verdicts are no reason for "violated" any more. */
static void late_message_of_an_idle_partition(void **state)
{
    struct bench bench;
    const char *reason;
    (void)state;
    open_bench(&bench, IDLE_MS);
    feed(&bench, 0, IDLE_MS / 2,
         "{\"tid\":1,\"sid\":1,\"sts\":50,\"cts\":50,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1}]}");
    feed(&bench, 0, IDLE_MS / 2, "{\"watermark\":100}");
    tick(&bench, IDLE_MS);
    assert_non_null(strstr(lines(&bench), "\"state\":\"final\""));
    assert_int_equal(iso_pipeline_outcome(bench.pipeline, false, &reason), ISO_VIOLATED);
    feed(&bench, 1, IDLE_MS + 10,
         "{\"tid\":2,\"sid\":2,\"sts\":30,\"cts\":40,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":1}]}");
    assert_string_equal(bench.idle, "t[1] idle;t[1] back;");
    assert_int_equal(stats_of(&bench).engine.below_watermark, 1);
    assert_int_equal(iso_pipeline_outcome(bench.pipeline, false, &reason), ISO_UNDECIDED);
    assert_string_equal(reason, "below-watermark");
    /* It is waited for again, and the watermark never goes back. */
    feed(&bench, 0, IDLE_MS + 20, "{\"watermark\":200}");
    assert_int_equal(stats_of(&bench).watermark, 100);
    feed(&bench, 1, IDLE_MS + 30, "{\"watermark\":150}");
    assert_int_equal(stats_of(&bench).watermark, 150);
    close_bench(&bench);
}

/* A sender whose clock jumps a year ahead and back: its timestamps are what the database says, so
 * they stand; they make nobody else late, and what lies below the watermark is dropped as
 * before. */
static void clock_that_jumps_a_year(void **state)
{
    enum { TRANSACTIONS = 40000, JUMPED = 200, KEYS = 50, STEP = 10 };
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    struct bench bench;
    uint64_t half = 0, most = 0;
    (void)state;
    iso_pipeline_options_init(&options);
    options.engine.retention = 100 * STEP;
    options.engine.session_order = false;
    open_with(&bench, &options, 1);
    for (uint64_t i = 1; i <= TRANSACTIONS; i++) {
        char record[256];
        bool jumps = i > TRANSACTIONS / 4 && i <= TRANSACTIONS / 4 + JUMPED;
        uint64_t sts = i * STEP + (jumps ? YEAR : 0);
        /* Those that jumped write keys of their own, which the two reads at the end look at. */
        snprintf(
            record, sizeof record,
            "{\"tid\":%llu,\"sid\":1,\"sts\":%llu,\"cts\":%llu,\"ops\":[{\"t\":\"w\",\"k\":\"%s%llu\",\"v\":%llu}]}",
            (unsigned long long)i, (unsigned long long)sts, (unsigned long long)sts + 1,
            jumps ? "j" : "", (unsigned long long)i % KEYS, (unsigned long long)i);
        feed(&bench, 0, i, record);
        if (!jumps && i % 100 == 0) {
            snprintf(record, sizeof record, "{\"watermark\":%llu}",
                     (unsigned long long)i * STEP - 500);
            feed(&bench, 0, i, record);
        }
        uint64_t bytes = stats_of(&bench).engine.bytes;
        if (i <= TRANSACTIONS / 2)
            half = bytes > half ? bytes : half;
        else
            most = bytes > most ? bytes : most;
    }
    assert_true(most <= half + half / 4);
    /* A read of the future sees them, one of the present does not. */
    feed(&bench, 0, TRANSACTIONS + 1,
         "{\"tid\":\"present\",\"sid\":2,\"sts\":400010,\"cts\":400010,"
         "\"ops\":[{\"t\":\"r\",\"k\":\"j7\",\"v\":10157}]}");
    feed(&bench, 0, TRANSACTIONS + 1,
         "{\"tid\":\"future\",\"sid\":2,\"sts\":32000000,\"cts\":32000000,"
         "\"ops\":[{\"t\":\"r\",\"k\":\"j7\",\"v\":10157}]}");
    assert_int_equal(iso_pipeline_end(bench.pipeline, TRANSACTIONS + 2, &error), ISO_OK);
    assert_int_equal(stats_of(&bench).engine.below_watermark, 0);
    assert_int_equal(stats_of(&bench).engine.beyond_retention, 0);
    assert_int_equal(stats_of(&bench).engine.transactions, TRANSACTIONS + 2);
    assert_int_equal(stats_of(&bench).engine.counts[ISO_EXT], 1);
    assert_int_equal(stats_of(&bench).engine.counts[ISO_NOCONFLICT], 0);
    const char *told = lines(&bench);
    assert_non_null(strstr(told, "\"kind\":\"future\",\"tids\":[\"present\"]"));
    assert_null(strstr(told, "\"tids\":[\"future\"]"));
    printf("# at most %llu bytes in the first half, %llu in the second\n", (unsigned long long)half,
           (unsigned long long)most);
    close_bench(&bench);
}

#define TSO(milliseconds) ((uint64_t)(milliseconds) << 18)

static void open_single(struct bench *bench)
{
    struct iso_pipeline_options options;
    iso_pipeline_options_init(&options);
    options.on_bad_record = ISO_BAD_SKIP;
    open_with(bench, &options, 1);
}

static void write_at(struct bench *bench, uint64_t tid, uint64_t sts)
{
    char record[200];
    snprintf(record, sizeof record,
             "{\"tid\":%llu,\"sid\":%llu,\"sts\":%llu,\"cts\":%llu,"
             "\"ops\":[{\"t\":\"w\",\"k\":%llu,\"v\":1}]}",
             (unsigned long long)tid, (unsigned long long)tid, (unsigned long long)sts,
             (unsigned long long)sts + 1, (unsigned long long)tid);
    feed(bench, 0, 0, record);
}

static void watermark_at(struct bench *bench, uint64_t timestamp)
{
    char record[64];
    snprintf(record, sizeof record, "{\"watermark\":%llu}", (unsigned long long)timestamp);
    feed(bench, 0, 0, record);
}

/* A wall clock, whatever its unit: a year is found in it. */
static void timestamps_a_year_ahead_are_noticed(void **state)
{
    static const uint64_t now = 1795000000, year = 31556952;
    static const uint64_t per_second[] = {
        1, 1000, 1000000, 1000000000, (uint64_t)1000 << 18, (uint64_t)1000000 << 12};
    (void)state;
    for (size_t i = 0; i < sizeof per_second / sizeof *per_second; i++) {
        struct bench bench;
        struct iso_error error = {.status = ISO_OK};
        char records[2][120];
        open_single(&bench);
        write_at(&bench, 1, (now + 2 * year) * per_second[i]); /* no watermark yet */
        watermark_at(&bench, now * per_second[i]);
        write_at(&bench, 2, (now + year - 2) * per_second[i]);
        assert_int_equal(stats_of(&bench).far_ahead, 0);
        write_at(&bench, 3, (now + year) * per_second[i]);
        write_at(&bench, 4, (now + 40 * year) * per_second[i]);
        assert_int_equal(stats_of(&bench).far_ahead, 2);
        assert_string_equal(bench.idle, "t[0]@3;"); /* said once */
        watermark_at(&bench, (now + 1) * per_second[i]);
        assert_int_equal(stats_of(&bench).far_ahead, 2);
        watermark_at(&bench, (now + 3 * year) * per_second[i]);
        assert_int_equal(stats_of(&bench).far_ahead, 3);
        assert_int_equal(stats_of(&bench).engine.transactions, 4);
        close_bench(&bench);
        /* Of a transaction the later timestamp counts, and each transaction of a batch once. */
        open_single(&bench);
        watermark_at(&bench, now * per_second[i]);
        snprintf(records[0], sizeof records[0],
                 "{\"tid\":1,\"sid\":1,\"sts\":%llu,\"cts\":%llu,\"ops\":[]}",
                 (unsigned long long)(now * per_second[i] + 1),
                 (unsigned long long)(now * per_second[i] + 2));
        snprintf(records[1], sizeof records[1],
                 "{\"tid\":2,\"sid\":2,\"sts\":%llu,\"cts\":%llu,\"ops\":[]}",
                 (unsigned long long)((now + year - 2) * per_second[i]),
                 (unsigned long long)((now + year + 2) * per_second[i]));
        struct iso_message batch[] = {message_of(&bench, 0, records[0]),
                                      message_of(&bench, 0, "{\"watermark\":1}"),
                                      message_of(&bench, 0, records[1])};
        assert_int_equal(iso_pipeline_feed(bench.pipeline, batch, 3, 0, &error), ISO_OK);
        assert_int_equal(stats_of(&bench).far_ahead, 1);
        close_bench(&bench);
    }
}

/* Numbers that only count have no years. */
static void counters_know_no_year(void **state)
{
    struct bench bench;
    (void)state;
    open_single(&bench);
    watermark_at(&bench, 100);
    write_at(&bench, 1, UINT64_C(1) << 60);
    assert_int_equal(stats_of(&bench).far_ahead, 0);
    close_bench(&bench);
}

/* A watermark that jumped with its sender's clock makes what comes after it late: taken, counted,
 * and doubtful. */
static void clock_that_jumps_back(void **state)
{
    struct bench bench;
    const char *reason;
    (void)state;
    open_single(&bench);
    watermark_at(&bench, TSO(1795000000000));
    watermark_at(&bench, TSO(1820000000000)); /* most of a year */
    write_at(&bench, 1, TSO(1795000000100));
    assert_int_equal(stats_of(&bench).engine.below_watermark, 1);
    assert_int_equal(iso_pipeline_outcome(bench.pipeline, false, &reason), ISO_UNDECIDED);
    assert_string_equal(reason, "below-watermark");
    close_bench(&bench);
}

/* One that no clock explains is left out, and nobody is late for it. */
static void watermark_that_nothing_explains(void **state)
{
    static const uint64_t seen[] = {26, TSO(1795000000000), UINT64_C(1) << 57};
    static const uint64_t most[] = {UINT64_C(1) << 48, TSO(1826556952000), (UINT64_C(1) << 63) - 1};
    (void)state;
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        struct bench bench;
        const char *reason;
        open_single(&bench);
        watermark_at(&bench, UINT64_MAX - 1); /* before there was any timestamp */
        write_at(&bench, 1, seen[i] - 1);
        watermark_at(&bench, UINT64_MAX);
        watermark_at(&bench, most[i] + 1);
        assert_int_equal(stats_of(&bench).bad_records, 3);
        assert_false(stats_of(&bench).has_watermark);
        write_at(&bench, 2, seen[i] - 1);
        assert_int_equal(stats_of(&bench).engine.below_watermark, 0);
        assert_int_equal(iso_pipeline_outcome(bench.pipeline, false, &reason), ISO_UNDECIDED);
        assert_string_equal(reason, "skipped-records");
        watermark_at(&bench, most[i]);
        assert_int_equal(stats_of(&bench).bad_records, 3);
        assert_int_equal(stats_of(&bench).watermark, most[i]);
        close_bench(&bench);
    }
}

/* A record that lies far ahead moves no clock, unless many in a row do. */
static void record_that_nothing_explains(void **state)
{
    enum { ROW = 64 };
    struct bench bench;
    (void)state;
    open_single(&bench);
    write_at(&bench, 1, 26);
    for (int i = 2; i < 3 * ROW; i++) /* any other between them begins a new row */
        write_at(&bench, i, i == ROW ? 26 : i == 2 * ROW ? 27 : (UINT64_C(1) << 60) + (uint64_t)i);
    watermark_at(&bench, UINT64_C(1) << 60);
    assert_int_equal(stats_of(&bench).bad_records, 1);
    write_at(&bench, 3 * ROW, UINT64_C(1) << 60);
    watermark_at(&bench, UINT64_C(1) << 60);
    assert_int_equal(stats_of(&bench).bad_records, 1);
    close_bench(&bench);
}

/* A value that had been there before: whoever wrote what is missing may have written it again.
 * Taken or not, whatever rests on the late transaction's keys is doubtful, also where it was
 * reported as certain; and what rests on others is not. */
static void late_write_of_an_earlier_value(void **state)
{
    static const char *const wrote[] = {
        "{\"tid\":1,\"sid\":1,\"sts\":9,\"cts\":10,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":1},"
        "{\"t\":\"w\",\"k\":\"y\",\"v\":1}]}",
        "{\"tid\":2,\"sid\":2,\"sts\":19,\"cts\":20,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":2},"
        "{\"t\":\"w\",\"k\":\"y\",\"v\":2}]}",
        "{\"tid\":3,\"sid\":3,\"sts\":%d,\"cts\":%d,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1}]}",
        "{\"tid\":4,\"sid\":4,\"sts\":29,\"cts\":30,\"ops\":[{\"t\":\"w\",\"k\":\"%s\",\"v\":1}]}"};
    (void)state;
    for (int i = 0; i < 8; i++) {
        bool is_kept = i & 1, is_first = i & 2, names_key = i & 4;
        struct iso_pipeline_options options;
        struct bench bench;
        char reader[200], late[200];
        const char *reason;
        iso_pipeline_options_init(&options);
        options.idle_timeout_ms = IDLE_MS;
        options.engine.retention = is_kept ? 1000 : 10;
        open_with(&bench, &options, 2);
        snprintf(reader, sizeof reader, wrote[2], 150, 150);
        snprintf(late, sizeof late, wrote[3], names_key ? "x" : "y");
        feed(&bench, 0, IDLE_MS / 2, wrote[0]);
        feed(&bench, 0, IDLE_MS / 2, wrote[1]);
        feed(&bench, 0, IDLE_MS / 2, "{\"watermark\":140}");
        tick(&bench, IDLE_MS);
        if (is_first)
            feed(&bench, 1, IDLE_MS + 1, late);
        feed(&bench, 0, IDLE_MS + 1, reader);
        feed(&bench, 0, IDLE_MS + 1, "{\"watermark\":200}");
        tick(&bench, 3 * IDLE_MS);
        bool is_right = is_kept && is_first && names_key;
        assert_int_equal(stats_of(&bench).engine.counts[ISO_EXT], !is_right);
        if (!is_first) {
            assert_int_equal(iso_pipeline_outcome(bench.pipeline, false, &reason), ISO_VIOLATED);
            feed(&bench, 1, 3 * IDLE_MS + 1, late);
        }
        assert_int_equal(stats_of(&bench).engine.beyond_retention, !is_kept);
        assert_int_equal(iso_pipeline_outcome(bench.pipeline, false, &reason),
                         names_key ? ISO_UNDECIDED : ISO_VIOLATED);
        assert_true(
            (names_key && !is_right) ==
            !!strstr(lines(&bench), "\"state\":\"final\",\"doubtful\":\"below-watermark\""));
        close_bench(&bench);
    }
}

static void late_arrival_makes_lines_doubtful(void **state)
{
    static const char reader[] =
        "{\"tid\":%d,\"sid\":%d,\"sts\":%d,\"cts\":%d,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":%d}]}";
    struct bench bench;
    char record[200];
    (void)state;
    open_single(&bench);
    snprintf(record, sizeof record, reader, 11, 11, 50, 50, 7);
    feed(&bench, 0, 0, record);
    watermark_at(&bench, 100);
    const char *told = lines(&bench);
    assert_non_null(strstr(told, "\"state\":\"final\""));
    assert_null(strstr(told, "doubtful"));
    write_at(&bench, 1, 60);
    snprintf(record, sizeof record, reader, 12, 12, 150, 150, 8);
    feed(&bench, 0, 0, record);
    watermark_at(&bench, 200);
    told = lines(&bench);
    const char *final = strstr(
        told,
        "\"state\":\"final\",\"doubtful\":\"below-watermark\",\"level\":\"si\",\"axiom\":\"EXT\"");
    assert_non_null(strstr(told, "\"state\":\"tentative\",\"doubtful\":\"below-watermark\","));
    assert_non_null(final);
    /* A record that was left out is the graver doubt; other axioms do not rest on what others
     * wrote. */
    feed(&bench, 0, 0, "nonsense");
    snprintf(record, sizeof record, reader, 13, 13, 250, 250, 9);
    feed(&bench, 0, 0, record);
    assert_non_null(strstr(lines(&bench), "\"doubtful\":\"skipped-records\""));
    feed(&bench, 0, 0, "{\"tid\":14,\"sid\":14,\"sts\":310,\"cts\":300,\"ops\":[]}");
    told = lines(&bench);
    assert_non_null(strstr(told, "\"axiom\":\"TIMESTAMP\""));
    assert_null(strstr(told, "doubtful"));
    close_bench(&bench);
}

/* What stands when a run is interrupted is no reason to say that all is well. */
static void standing_tentative_violation_is_undecided(void **state)
{
    struct bench bench;
    const char *reason;
    (void)state;
    open_single(&bench);
    feed(&bench, 0, 0,
         "{\"tid\":2,\"sid\":2,\"sts\":50,\"cts\":50,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1}]}");
    assert_non_null(strstr(lines(&bench), "\"state\":\"tentative\""));
    assert_int_equal(stats_of(&bench).engine.standing, 1);
    assert_int_equal(iso_pipeline_outcome(bench.pipeline, false, &reason), ISO_UNDECIDED);
    assert_string_equal(reason, "tentative-violations");
    assert_non_null(
        strstr(summary(&bench), "\"verdict\":\"undecided\",\"reason\":\"tentative-violations\""));
    feed(&bench, 0, 1,
         "{\"tid\":1,\"sid\":1,\"sts\":10,\"cts\":20,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":1}]}");
    assert_non_null(strstr(lines(&bench), "\"state\":\"retracted\""));
    assert_int_equal(stats_of(&bench).engine.standing, 0);
    assert_int_equal(iso_pipeline_outcome(bench.pipeline, false, &reason), ISO_UNDECIDED);
    assert_string_equal(reason, "waiting");
    feed(&bench, 0, 2,
         "{\"tid\":3,\"sid\":3,\"sts\":60,\"cts\":60,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":2}]}");
    assert_int_equal(stats_of(&bench).engine.standing, 1);
    watermark_at(&bench, 100);
    assert_int_equal(stats_of(&bench).engine.standing, 0);
    assert_int_equal(iso_pipeline_outcome(bench.pipeline, false, &reason), ISO_VIOLATED);
    close_bench(&bench);
}

/* Of an input that has passed the watermark, messages are counted until the others have come as
 * far. */
static void messages_above_the_watermark_are_counted(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, 0);
    assert_int_equal(iso_pipeline_ahead(bench.pipeline, 7), 0);
    feed(&bench, 0, 0, "{\"watermark\":100}");
    for (int i = 0; i < 5; i++)
        feed(&bench, 0, 0, "{\"watermark\":100}");
    assert_int_equal(iso_pipeline_ahead(bench.pipeline, 0), 5);
    assert_int_equal(iso_pipeline_ahead(bench.pipeline, 1), 0);
    feed(&bench, 1, 0, "{\"watermark\":150}");
    assert_int_equal(iso_pipeline_ahead(bench.pipeline, 0), 0);
    feed(&bench, 1, 0, "{\"watermark\":160}");
    assert_int_equal(iso_pipeline_ahead(bench.pipeline, 1), 1);
    feed(&bench, 0, 0, "{\"watermark\":170}");
    assert_int_equal(iso_pipeline_ahead(bench.pipeline, 1), 0);
    close_bench(&bench);
}

/* At SER a commit timestamp is enough; there is no sts to print then. */
static void timestamp_that_is_absent(void **state)
{
    struct iso_pipeline_options options;
    struct bench bench;
    (void)state;
    iso_pipeline_options_init(&options);
    options.engine.level = ISO_SER;
    open_with(&bench, &options, 1);
    feed(
        &bench, 0, 0,
        "{\"tid\":1,\"sid\":1,\"cts\":50,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1},{\"t\":\"w\",\"k\":\"y\",\"v\":1}]}");
    watermark_at(&bench, 100);
    const char *told = lines(&bench);
    assert_non_null(strstr(told, "\"state\":\"final\""));
    assert_non_null(strstr(told, "\"sts\":null,\"cts\":\"50\""));
    assert_null(strstr(told, "\"0\""));
    close_bench(&bench);
}

/* What was final by its deadline, and told so, is taken back aloud; what never was is not
 * mentioned. */
static void final_lines_are_taken_back(void **state)
{
    struct bench bench;
    struct iso_pipeline_options options;
    (void)state;
    iso_pipeline_options_init(&options);
    options.engine.finality_timeout_ms = 1000;
    options.final_only = true;
    open_with(&bench, &options, 1);
    feed(&bench, 0, 0,
         "{\"tid\":2,\"sid\":2,\"sts\":50,\"cts\":50,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1}]}");
    assert_string_equal(lines(&bench), "");
    tick(&bench, 2000);
    assert_non_null(strstr(lines(&bench), "\"state\":\"final\",\"by\":\"deadline\""));
    feed(&bench, 0, 2000,
         "{\"tid\":3,\"sid\":3,\"sts\":60,\"cts\":60,\"ops\":[{\"t\":\"r\",\"k\":\"y\",\"v\":1}]}");
    feed(&bench, 0, 2000,
         "{\"tid\":1,\"sid\":1,\"sts\":10,\"cts\":20,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":1},"
         "{\"t\":\"w\",\"k\":\"y\",\"v\":1}]}");
    const char *told = lines(&bench);
    assert_non_null(strstr(told, "\"state\":\"retracted\""));
    assert_non_null(strstr(told, "\"key\":\"x\""));
    assert_null(strstr(told, "\"key\":\"y\""));
    close_bench(&bench);
}

/* A key that is a value to one and a list to the next becomes two, and who uses it otherwise is
 * reported. */
static void a_key_of_two_kinds_is_reported(void **state)
{
    struct bench bench;
    (void)state;
    open_single(&bench);
    feed(&bench, 0, 0,
         "{\"tid\":1,\"sid\":1,\"sts\":10,\"cts\":20,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":1}]}");
    assert_string_equal(bench.doubtful, "");
    feed(
        &bench, 0, 0,
        "{\"tid\":2,\"sid\":2,\"sts\":30,\"cts\":40,\"ops\":[{\"t\":\"append\",\"k\":\"x\",\"v\":2}]}");
    assert_string_equal(bench.doubtful,
                        "uses key x as a list, and others do not: what names it is doubtful;");
    assert_int_equal(stats_of(&bench).contradictions, 1);
    feed(&bench, 0, 0,
         "{\"tid\":3,\"sid\":3,\"sts\":50,\"cts\":50,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":7},"
         "{\"t\":\"r\",\"k\":\"y\",\"v\":7}]}");
    lines(&bench);
    watermark_at(&bench, 100);
    const char *told = lines(&bench), *of_x = strstr(told, "\"key\":\"x\""),
               *of_y = strstr(told, "\"key\":\"y\"");
    assert_true(of_x && of_y);
    assert_int_equal(stats_of(&bench).engine.counts[ISO_EXT], 2);
    assert_int_equal(stats_of(&bench).doubted[ISO_EXT], 1); /* the other key is nobody's doubt */
    assert_non_null(strstr(told, "\"doubtful\":\"contradiction\""));
    close_bench(&bench);
}

/* What was left out of an input may explain what rests on its transactions, and nothing that rests
 * on others'. */
static void a_record_left_out_makes_its_input_doubtful(void **state)
{
    struct bench bench;
    struct iso_pipeline_options options;
    (void)state;
    iso_pipeline_options_init(&options);
    options.on_bad_record = ISO_BAD_SKIP;
    open_with(&bench, &options, 2);
    feed(&bench, 0, 0,
         "{\"tid\":1,\"sid\":1,\"sts\":10,\"cts\":11,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":1}]}");
    feed(&bench, 0, 0,
         "{\"tid\":2,\"sid\":2,\"sts\":20,\"cts\":21,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":2}]}");
    feed(&bench, 0, 0,
         "{\"tid\":3,\"sid\":3,\"sts\":30,\"cts\":30,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1}]}");
    feed(&bench, 0, 0, "{\"watermark\":100}");
    feed(&bench, 1, 0, "{\"watermark\":100}");
    assert_non_null(strstr(lines(&bench), "\"state\":\"final\""));
    feed(&bench, 1, 0, "nonsense");
    assert_string_equal(lines(&bench), "");
    assert_int_equal(stats_of(&bench).doubted[ISO_EXT], 0);
    feed(&bench, 0, 0, "nonsense");
    assert_non_null(strstr(lines(&bench), "\"state\":\"final\",\"doubtful\":\"skipped-records\""));
    assert_int_equal(stats_of(&bench).doubted[ISO_EXT], 1);
    close_bench(&bench);
}

/* Timestamps of two numbers are one in every line; one that is too large names its record, and is
 * no violation. */
static void timestamps_of_two_numbers(void **state)
{
    struct bench bench;
    struct iso_error error = {.status = ISO_OK};
    struct iso_pipeline_options options;
    (void)state;
    iso_pipeline_options_init(&options);
    options.hlc_bits = 16;
    open_with(&bench, &options, 1);
    feed(&bench, 0, 0,
         "{\"tid\":1,\"sid\":1,\"sts\":{\"p\":10,\"l\":1},\"cts\":{\"p\":10,\"l\":1},"
         "\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1}]}");
    assert_non_null(strstr(lines(&bench), "\"sts\":\"655361\",\"cts\":\"655361\""));
    struct iso_message message =
        message_of(&bench, 0, "{\"tid\":2,\"sid\":2,\"sts\":{\"p\":10,\"l\":65536},\"ops\":[]}");
    assert_int_equal(iso_pipeline_feed(bench.pipeline, &message, 1, 0, &error), ISO_BAD_INPUT);
    assert_string_equal(
        error.text,
        "topic t partition 0 offset 1: a timestamp {p,l} does not fit into 64 bits, expected --hlc-bits with room for both");
    close_bench(&bench);
}

/* Snapshots are positions in a change stream, and where there is none the record is named. */
static void snapshots_need_a_change_stream(void **state)
{
    static const char *const records[] = {
        "{\"tid\":2,\"sid\":2,\"snapshot\":\"7:7:\",\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1}]}",
        "{\"tid\":2,\"sid\":2,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1},"
        "{\"t\":\"r\",\"k\":\"y\",\"v\":1,\"snapshot\":\"7:7:\"}]}"};
    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        struct bench bench;
        struct iso_error error = {.status = ISO_OK};
        open_bench(&bench, 0);
        feed(&bench, 1, 0, "{\"watermark\":100}");
        struct iso_message batch[] = {message_of(&bench, 0, "{\"tid\":1,\"sid\":1,\"ops\":[]}"),
                                      message_of(&bench, 1, records[i])};
        assert_int_equal(iso_pipeline_feed(bench.pipeline, batch, 2, 0, &error), ISO_BAD_INPUT);
        assert_string_equal(
            error.text,
            "topic t partition 1 offset 1: snapshots in a stream need a CDC source to be "
            "joined with: expected --source KIND:TOPIC,cells=true of the change stream, "
            "too");
        close_bench(&bench);
    }
}

/* What went with the retention is neither judged nor silent. */
static void what_was_dropped_is_in_the_books(void **state)
{
    struct bench bench;
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    (void)state;
    iso_pipeline_options_init(&options);
    options.engine.retention = 10;
    open_with(&bench, &options, 1);
    for (unsigned i = 1; i <= 200; i++) {
        char record[160];
        snprintf(
            record, sizeof record,
            "{\"tid\":%u,\"sid\":%u,\"sts\":%u,\"cts\":%u,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":%u}]}",
            i, i, 10 * i, 10 * i + 5, i);
        feed(&bench, 0, 0, record);
        watermark_at(&bench, 10 * i + 5);
    }
    feed(
        &bench, 0, 0,
        "{\"tid\":1000,\"sid\":1000,\"sts\":100,\"cts\":5000,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":9}]}");
    feed(
        &bench, 0, 0,
        "{\"tid\":1001,\"sid\":1001,\"sts\":5001,\"cts\":5001,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":200}]}");
    assert_int_equal(iso_pipeline_end(bench.pipeline, 0, &error), ISO_OK);
    const char *whole = summary(&bench);
    assert_non_null(strstr(whole, "\"verdict\":\"undecided\",\"reason\":\"retention\""));
    assert_non_null(strstr(whole, "\"read\":{\"came\":2,\"judged\":1,\"forgotten\":1}"));
    close_bench(&bench);
}

/* Over the list of a key what there is more is counted, and reported at the end: a line for each
 * key. */
static void what_is_not_listed_is_counted(void **state)
{
    enum { KEYS = 100 };
    struct bench bench;
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    char record[160], expected[64];
    (void)state;
    iso_pipeline_options_init(&options);
    options.engine.max_per_key = 1;
    open_with(&bench, &options, 2);
    for (unsigned i = 0; i < 3 * KEYS; i++) {
        snprintf(
            record, sizeof record,
            "{\"tid\":%u,\"sid\":%u,\"sts\":%u,\"cts\":%u,\"ops\":[{\"t\":\"r\",\"k\":\"k%u\",\"v\":7}]}",
            i + 1, i + 1, 10 * i + 10, 10 * i + 11, i % KEYS);
        feed(&bench, 0, 0, record);
    }
    assert_int_equal(iso_pipeline_end(bench.pipeline, 0, &error), ISO_OK);
    const char *all = lines(&bench);
    assert_non_null(strstr(all, "\"state\":\"unlisted\""));
    for (unsigned k = 0; k < KEYS; k++) {
        snprintf(expected, sizeof expected, "\"key\":\"k%u\",\"count\":2}", k);
        assert_non_null(strstr(all, expected));
    }
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silent_partition_holds_the_watermark),
        cmocka_unit_test(silent_partition_is_left_out_aloud),
        cmocka_unit_test(all_partitions_fall_silent),
        cmocka_unit_test(late_message_of_an_idle_partition),
        cmocka_unit_test(clock_that_jumps_a_year),
        cmocka_unit_test(timestamps_a_year_ahead_are_noticed),
        cmocka_unit_test(counters_know_no_year),
        cmocka_unit_test(clock_that_jumps_back),
        cmocka_unit_test(watermark_that_nothing_explains),
        cmocka_unit_test(record_that_nothing_explains),
        cmocka_unit_test(late_write_of_an_earlier_value),
        cmocka_unit_test(late_arrival_makes_lines_doubtful),
        cmocka_unit_test(standing_tentative_violation_is_undecided),
        cmocka_unit_test(messages_above_the_watermark_are_counted),
        cmocka_unit_test(timestamp_that_is_absent),
        cmocka_unit_test(final_lines_are_taken_back),
        cmocka_unit_test(a_key_of_two_kinds_is_reported),
        cmocka_unit_test(a_record_left_out_makes_its_input_doubtful),
        cmocka_unit_test(timestamps_of_two_numbers),
        cmocka_unit_test(snapshots_need_a_change_stream),
        cmocka_unit_test(what_was_dropped_is_in_the_books),
        cmocka_unit_test(what_is_not_listed_is_counted),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
