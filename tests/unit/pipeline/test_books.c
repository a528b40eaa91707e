/* The books: what became of all that came, while it waits and at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/dgraph/dgraph.h"
#include "connectors/history/record.h"
#include "pipeline/pipeline.h"
#include "tests/support/test.h"

struct bench {
    struct iso_pipeline *pipeline;
    int64_t offsets[2];
    char text[4096];
    char news[400]; /* what on_table was told */
};

static void on_table(void *context, const char *place, const char *table, size_t length,
                     enum iso_table_news news, const char *reason)
{
    struct bench *bench = context;
    size_t used = strlen(bench->news);
    (void)place;
    snprintf(bench->news + used, sizeof bench->news - used, "%s %.*s%s%s;",
             iso_table_news_name(news), (int)length, table, reason ? ": " : "",
             reason ? reason : "");
}

static void open_bench(struct bench *bench, const char *tables, bool strict)
{
    struct iso_pipeline_options options;
    struct iso_error error = {.status = ISO_OK};
    *bench = (struct bench){.pipeline = NULL};
    iso_pipeline_options_init(&options);
    options.join.kind = "dgraph";
    options.join.clients = true;
    options.level_given = true;
    options.strict_coverage = strict;
    options.on_table = on_table;
    options.context = bench;
    bench->pipeline = iso_pipeline_new(&options);
    iso_pipeline_route(
        bench->pipeline, "cdc",
        iso_dgraph_decoder.create(&(struct iso_decoder_options){.tables = tables}, &error), false);
    iso_pipeline_route(
        bench->pipeline, "clients",
        iso_record_decoder.create(&(struct iso_decoder_options){.format = "json"}, &error), false);
    assert_int_equal(error.status, ISO_OK);
}

static void feed(struct bench *bench, const char *topic, const char *payload)
{
    struct iso_error error = {.status = ISO_OK};
    bool is_client = !strcmp(topic, "clients");
    struct iso_message message = {.topic = topic,
                                  .offset = bench->offsets[is_client]++,
                                  .payload = {(const uint8_t *)payload, (uint32_t)strlen(payload)}};
    message.input =
        iso_inputs_number(iso_pipeline_inputs(bench->pipeline), topic, strlen(topic), 0);
    assert_int_equal(iso_pipeline_feed(bench->pipeline, &message, 1, 0, &error), ISO_OK);
}

static void row(struct bench *bench, unsigned cts, const char *predicate, unsigned uid,
                unsigned value)
{
    char payload[400];
    snprintf(
        payload, sizeof payload,
        "{\"meta\":{\"commit_ts\":%u},\"type\":\"mutation\",\"event\":{\"operation\":\"set\",\"uid\":%u,"
        "\"attr\":\"%s\",\"value\":%u,\"value_type\":\"int\"}}",
        cts, uid, predicate, value);
    feed(bench, "cdc", payload);
}

static void end(struct bench *bench)
{
    struct iso_error error = {.status = ISO_OK};
    assert_int_equal(iso_pipeline_end(bench->pipeline, 0, &error), ISO_OK);
}

static const char *accounting(struct bench *bench)
{
    struct iso_accounting accounting;
    struct iso_text text = {0};
    iso_pipeline_accounting(bench->pipeline, &accounting);
    assert_true(accounting.balanced);
    iso_accounting_json(&accounting, &text);
    snprintf(bench->text, sizeof bench->text, "%.*s", (int)text.used, text.bytes);
    iso_text_release(&text);
    return bench->text;
}

/* The whole run as JSON. */
static const char *summary(struct bench *bench)
{
    struct iso_accounting accounting;
    struct iso_text text = {0};
    iso_pipeline_accounting(bench->pipeline, &accounting);
    iso_pipeline_summary(bench->pipeline, &accounting, false, NULL, &text);
    snprintf(bench->text, sizeof bench->text, "%.*s", (int)text.used, text.bytes);
    iso_text_release(&text);
    return bench->text;
}

static const char *waiting(struct bench *bench)
{
    struct iso_accounting accounting;
    struct iso_text text = {0};
    iso_pipeline_accounting(bench->pipeline, &accounting);
    iso_accounting_waiting_text(&accounting, &text);
    snprintf(bench->text, sizeof bench->text, "%.*s", (int)text.used, text.bytes ? text.bytes : "");
    iso_text_release(&text);
    return bench->text;
}

static const char *reason(const struct bench *bench)
{
    const char *reason;
    enum iso_status outcome = iso_pipeline_outcome(bench->pipeline, false, &reason);
    return outcome == ISO_OK ? "holds" : reason ? reason : "violated";
}

/* A writer whose row comes, a reader of it, one that aborted, a repeat, and a watermark that says
 * nothing. */
static void what_waits_is_judged_in_the_end(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, NULL, false);
    static const char writer[] =
        "{\"tid\":1,\"sid\":1,\"sts\":3,\"cts\":5,\"ops\":[{\"t\":\"w\",\"k\":\"p/0x1\",\"v\":5}]}";
    feed(&bench, "clients", writer);
    feed(&bench, "clients", writer);
    feed(
        &bench, "clients",
        "{\"tid\":2,\"sid\":2,\"sts\":7,\"cts\":7,\"ops\":[{\"t\":\"r\",\"k\":\"p/0x1\",\"v\":5}]}");
    feed(
        &bench, "clients",
        "{\"tid\":3,\"sid\":3,\"sts\":7,\"status\":\"aborted\",\"ops\":[{\"t\":\"r\",\"k\":\"p/0x1\",\"v\":9}]}");
    assert_string_equal(
        waiting(&bench),
        "1 client record for rows of the change stream or for a watermark, 1 read for a watermark");
    assert_string_equal(reason(&bench), "waiting");
    row(&bench, 5, "p", 1, 5);
    row(&bench, 6, "p", 2, 6); /* nobody's */
    end(&bench);
    assert_string_equal(waiting(&bench), "");
    assert_string_equal(reason(&bench), "holds");
    assert_string_equal(
        accounting(&bench),
        ",\"books\":{\"message\":{\"came\":6,\"judged\":6},\"row\":{\"came\":2,\"judged\":1,\"foreign\":1},"
        "\"record\":{\"came\":4,\"judged\":2,\"repeated\":1,\"aborted\":1},"
        "\"transaction\":{\"came\":4,\"judged\":2,\"foreign\":1,\"aborted\":1},"
        "\"read\":{\"came\":2,\"judged\":1,\"aborted\":1}}");
    /* Of what did not happen most is not mentioned. */
    assert_non_null(strstr(
        summary(&bench),
        "\"stream\":{\"messages\":6,\"bad_records\":0,\"ignored\":0,\"unrouted\":0,\"repeats\":1,\"foreign\":1,"
        "\"below_watermark\":0,\"far_ahead\":0,\"retracted\":0,\"flipped\":0,\"undecided\":0,\"beyond_retention\":0},"
        "\"join\":{\"rows\":2,\"delivered\":2,\"repeated_rows\":0,\"joined\":1,\"foreign\":1,\"resolved_committed\":0,"
        "\"resolved_aborted\":0,\"unresolved\":0,\"incomplete\":0,\"hints_wrong\":0,\"unplaced\":0,\"unknown_values\":0,"
        "\"forced\":0,\"snapshot_rows\":0,\"waiting_transactions\":0,\"waiting_records\":0,\"waiting_rows\":0,"
        "\"oldest_ms\":0},\"books\":"));
    iso_pipeline_free(bench.pipeline);
}

/* A predicate whose values cannot be judged is left out from the first of them on, and reported
 * once. */
static void what_cannot_be_judged_is_reported_once(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, NULL, false);
    row(&bench, 5, "p", 1, 5);
    feed(
        &bench, "clients",
        "{\"tid\":1,\"sid\":1,\"sts\":7,\"cts\":7,\"ops\":[{\"t\":\"r\",\"k\":\"friend/0x1\",\"v\":5}]}");
    assert_string_equal(bench.news, "");
    for (unsigned cts = 6; cts < 9; cts++) {
        char payload[300];
        snprintf(
            payload, sizeof payload,
            "{\"meta\":{\"commit_ts\":%u},\"type\":\"mutation\",\"event\":{\"operation\":\"set\",\"uid\":1,"
            "\"attr\":\"friend\",\"value\":[7],\"value_type\":\"uid\"}}",
            cts);
        feed(&bench, "cdc", payload);
    }
    assert_string_equal(
        bench.news,
        "left-out friend: an edge without a schema that says whether there is one or several;");
    iso_pipeline_free(bench.pipeline);
}

/* Of a table that no source covers nothing is judged: told, and only if it is asked for
 * undecided. */
static void what_is_not_covered_is_counted_by_table(void **state)
{
    struct iso_join_left_out left_out;
    (void)state;
    for (int strict = 0; strict < 2; strict++) {
        struct bench bench;
        open_bench(&bench, "p", strict);
        row(&bench, 5, "p", 1, 5);
        row(&bench, 5, "other", 1, 5); /* not in tables= */
        feed(
            &bench, "clients",
            "{\"tid\":1,\"sid\":1,\"sts\":3,\"cts\":5,\"ops\":[{\"t\":\"w\",\"k\":\"p/0x1\",\"v\":5},"
            "{\"t\":\"w\",\"k\":\"other/0x1\",\"v\":1}]}");
        feed(
            &bench, "clients",
            "{\"tid\":2,\"sid\":2,\"sts\":7,\"cts\":7,\"ops\":[{\"t\":\"r\",\"k\":\"p/0x1\",\"v\":5},"
            "{\"t\":\"r\",\"k\":\"other/0x1\",\"v\":2}]}");
        end(&bench);
        assert_string_equal(reason(&bench), strict ? "uncovered" : "holds");
        assert_true(iso_pipeline_left_out(bench.pipeline, 0, &left_out));
        assert_int_equal(left_out.operations, 2);
        assert_int_equal(left_out.length, 5);
        assert_memory_equal(left_out.name, "other", 5);
        assert_false(left_out.is_unknown || left_out.has_rows);
        assert_false(iso_pipeline_left_out(bench.pipeline, left_out.number + 1, &left_out));
        assert_non_null(
            strstr(accounting(&bench), "\"read\":{\"came\":2,\"judged\":1,\"uncovered\":1}"));
        iso_pipeline_free(bench.pipeline);
    }
}

/* A name that a hand may have meant otherwise is never taken for one that is simply not
 * attached. */
static void a_misspelt_table_is_undecided(void **state)
{
    static const char *const names[] = {"Name", "nmae", "nam",
                                        "names"}; /* case, swapped, a letter less, a letter more */
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bench bench;
        char record[200];
        open_bench(&bench, "name", false);
        row(&bench, 5, "name", 1, 5);
        feed(
            &bench, "clients",
            "{\"tid\":1,\"sid\":1,\"sts\":7,\"cts\":7,\"ops\":[{\"t\":\"r\",\"k\":\"name/0x1\",\"v\":5}]}");
        snprintf(
            record, sizeof record,
            "{\"tid\":2,\"sid\":2,\"sts\":7,\"cts\":7,\"ops\":[{\"t\":\"r\",\"k\":\"%s/0x1\",\"v\":5},"
            "{\"t\":\"r\",\"k\":\"e/0x1\",\"v\":5}]}",
            names[i]); /* and of one that would be right behind "nam" */
        feed(&bench, "clients", record);
        end(&bench);
        assert_string_equal(reason(&bench), "unknown-table");
        iso_pipeline_free(bench.pipeline);
    }
}

/* A stream alone says nothing of isolation; clients who read nothing are judged as in a file: by
 * what they wrote. */
static void without_records_nothing_is_said_of_isolation(void **state)
{
    static const char *const records[] = {
        NULL,
        "{\"tid\":1,\"sid\":1,\"sts\":3,\"cts\":5,\"ops\":[{\"t\":\"w\",\"k\":\"p/0x1\",\"v\":5}]}",
        "{\"tid\":1,\"sid\":1,\"sts\":3,\"cts\":5,\"ops\":[]}"};
    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        struct bench bench;
        open_bench(&bench, NULL, false);
        row(&bench, 5, "p", 1, 5);
        if (records[i])
            feed(&bench, "clients", records[i]);
        end(&bench);
        assert_string_equal(reason(&bench), records[i] ? "holds" : "no-reads");
        iso_pipeline_free(bench.pipeline);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_is_judged_in_the_end),
        cmocka_unit_test(what_cannot_be_judged_is_reported_once),
        cmocka_unit_test(what_is_not_covered_is_counted_by_table),
        cmocka_unit_test(a_misspelt_table_is_undecided),
        cmocka_unit_test(without_records_nothing_is_said_of_isolation),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
