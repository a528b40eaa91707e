/* The library's interface where calls are wrong, come in the wrong order, or are many. What it
 * judges: tests/property/library.c. */
#define _GNU_SOURCE
#include "tests/support/temporary.h"
#include "tests/support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "iso/isochron.h"

static void add(struct iso_transactions *set, const char *json)
{
    struct iso_error error = ISO_NO_ERROR;
    assert_int_equal(iso_transactions_add_json(set, json, strlen(json), &error), ISO_OK);
}

static void assert_refuses(struct iso_error *error, enum iso_status status, const char *why)
{
    assert_int_equal(status, ISO_BAD_INPUT);
    assert_int_equal(error->status, ISO_BAD_INPUT);
    if (!strstr(error->text, why))
        assert_string_equal(error->text, why);
    error->status = ISO_OK;
}

/* ---- versions and options ---- */

static void versions_fit(void **state)
{
    (void)state;
    unsigned major, minor, patch;
    assert_string_equal(iso_version(), ISO_VERSION);
    assert_int_equal(iso_version_number(), ISO_VERSION_NUMBER);
    assert_int_equal(sscanf(ISO_VERSION, "%u.%u.%u", &major, &minor, &patch), 3);
    assert_int_equal(major * 10000 + minor * 100 + patch, ISO_VERSION_NUMBER);
}

static void options_are_checked(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_options *options = iso_options_new();
    assert_refuses(&error, iso_options_set_text(options, "colour", "red", &error),
                   "colour: there is none");
    assert_refuses(&error, iso_options_set_text(options, "threads", "2", &error),
                   "threads: expected a number");
    assert_refuses(&error, iso_options_set_number(options, "level", 1, &error),
                   "level: expected a text");
    assert_refuses(&error, iso_options_set_text(options, "level", "s", &error),
                   "expected one of si|ser");
    assert_refuses(&error, iso_options_set_text(options, "level", "", &error),
                   "expected one of si|ser");
    assert_refuses(&error, iso_options_set_number(options, "any-order", 2, &error), "at most 1");
    assert_int_equal(iso_options_set_text(options, "level", "strict-ser", &error), ISO_OK);
    assert_int_equal(iso_options_set_number(options, "memory", UINT64_MAX, &error), ISO_OK);
    assert_int_equal(iso_options_set_text(options, "evidence", "one", &error), ISO_OK);
    assert_int_equal(iso_options_set_text(options, "evidence", "other", &error), ISO_OK);
    iso_options_free(options);
    iso_options_free(NULL);
}

/* ---- sets ---- */

static void wrong_calls_are_told_at_the_end(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_transactions *set = iso_transactions_new();
    iso_transactions_write(set, "x", "1");
    assert_refuses(&error, iso_transactions_commit(set, &error), "outside of a transaction");
    assert_refuses(&error, iso_transactions_abort(set, &error), "was not begun");
    iso_transactions_begin(set, "a", "\xff");
    assert_refuses(&error, iso_transactions_commit(set, &error), "not UTF-8");
    iso_transactions_begin(set, "a", NULL);
    assert_refuses(&error, iso_transactions_commit(set, &error), "NULL");
    iso_transactions_begin(set, "a", "s");
    iso_transactions_write(set, "x", "\x02secret");
    iso_transactions_write(set, NULL, "1");
    assert_refuses(&error, iso_transactions_unknown(set, &error), "U+0002");
    assert_int_equal(iso_transactions_count(set), 0);
    iso_transactions_begin(set, "a", "s");
    iso_transactions_write(set, "x", "1");
    assert_int_equal(iso_transactions_commit(set, &error), ISO_OK);
    assert_int_equal(iso_transactions_count(set), 1);
    iso_transactions_free(set);
}

static void what_is_not_ended_is_left_out(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_transactions *set = iso_transactions_new();
    iso_transactions_begin(set, "lost", "s");
    iso_transactions_write(set, "x", "1");
    iso_transactions_append(set, "y", "1");
    assert_int_equal(iso_transactions_count(set), 0);
    iso_transactions_begin(set, "a", "s");
    iso_transactions_write(set, "y",
                           "1"); /* no list: the transaction that appended to it is gone */
    iso_transactions_start_timestamp(set, 1);
    iso_transactions_commit_timestamp(set, 2);
    assert_int_equal(iso_transactions_commit(set, &error), ISO_OK);
    iso_transactions_read(set, "x", "1"); /* and of which no end tells */
    assert_null(iso_check_new(set, NULL, &error));
    assert_refuses(&error, error.status, "outside of a transaction");
    iso_transactions_forgive(set);
    iso_transactions_begin(set, "open", "s");
    struct iso_check *check = iso_check_new(set, NULL, &error);
    assert_non_null(check);
    assert_int_equal(iso_check_outcome(check), ISO_HOLDS);
    assert_non_null(strstr(iso_check_json(check, NULL), "\"transactions\":1,"));
    iso_check_free(check);
    iso_transactions_free(set);
}

static void kinds_of_timestamps_do_not_mix(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_transactions *set = iso_transactions_new();
    add(set,
        "{\"tid\":1,\"sid\":1,\"sts\":{\"p\":1,\"l\":0},\"cts\":{\"p\":2,\"l\":0},\"ops\":[]}");
    iso_transactions_begin(set, "2", "1");
    iso_transactions_start_timestamp(set, 3);
    assert_refuses(&error, iso_transactions_commit(set, &error), "one kind in a history");
    assert_int_equal(iso_transactions_count(set), 1);
    iso_transactions_free(set);
}

static void texts_are_refused_by_byte(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_transactions *set = iso_transactions_new();
    assert_refuses(&error, iso_transactions_add_json(set, "{\"tid\":1,}", 10, &error), "byte 10");
    assert_refuses(&error, iso_transactions_add_json(set, "", 0, &error), "byte 1");
    assert_refuses(&error, iso_transactions_load(set, "nowhere.jsonl", NULL, &error),
                   "nowhere.jsonl");
    assert_refuses(&error, iso_transactions_load(set, "nowhere.jsonl", NULL, &error),
                   "nowhere.jsonl"); /* broken */
    iso_transactions_clear(set);
    assert_refuses(&error, iso_transactions_load(set, "x", "xml", &error),
                   "expected one of native|");
    add(set, "{\"tid\":1,\"sid\":1,\"sts\":1,\"cts\":1,\"ops\":[]}");
    assert_int_equal(iso_transactions_count(set), 1);
    iso_transactions_free(set);
    iso_transactions_free(NULL);
}

/* ---- checks ---- */

static void a_checked_set_is_read_only(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_transactions *set = iso_transactions_new();
    add(set,
        "{\"tid\":1,\"sid\":1,\"sts\":1,\"cts\":2,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":1}]}");
    struct iso_check *first = iso_check_new(set, NULL, &error),
                     *second = iso_check_new(set, NULL, &error);
    assert_true(first && second);
    assert_null(iso_check_report(first, 0));
    assert_null(iso_check_reason(first));
    assert_int_equal(iso_check_violations(first), 0);
    assert_refuses(&error, iso_transactions_add_json(set, "{}", 2, &error), "clear it");
    iso_transactions_begin(set, "2", "1");
    assert_refuses(&error, iso_transactions_commit(set, &error), "clear it");
    assert_refuses(&error, iso_transactions_initial(set, "1", &error), "clear it");
    iso_transactions_clear(set);
    assert_int_equal(iso_transactions_count(set), 0);
    struct iso_check *empty = iso_check_new(set, NULL, &error);
    assert_int_equal(iso_check_outcome(empty), ISO_IS_UNDECIDED);
    assert_string_equal(iso_check_reason(empty), "nothing-judged");
    iso_check_free(first);
    iso_check_free(second);
    iso_check_free(empty);
    iso_check_free(NULL);
    iso_transactions_free(set);
}

static void what_contradicts_itself_is_refused_for_good(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_transactions *set = iso_transactions_new();
    for (int i = 0; i < 2; i++)
        add(set, "{\"tid\":\"twice\",\"sid\":1,\"sts\":1,\"cts\":1,\"ops\":[]}");
    for (int i = 0; i < 2; i++) {
        assert_null(iso_check_new(set, NULL, &error));
        assert_refuses(&error, ISO_BAD_INPUT, "twice");
    }
    iso_transactions_free(set);
}

static void options_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_options *options = iso_options_new();
    struct iso_transactions *set = iso_transactions_new();
    add(set, "{\"tid\":1,\"sid\":1,\"sts\":1,\"cts\":1,\"ops\":[]}");
    iso_options_set_text(options, "engine", "aion", &error);
    assert_null(iso_stream_new(options, NULL, NULL, NULL, &error));
    assert_refuses(&error, ISO_BAD_INPUT, "engine");
    iso_options_set_text(options, "level", "gsi", &error);
    assert_null(iso_check_new(set, options, &error));
    assert_refuses(&error, ISO_BAD_INPUT, "gsi");
    iso_options_set_text(options, "engine", "auto", &error);
    assert_null(iso_stream_new(options, NULL, NULL, NULL, &error));
    assert_refuses(&error, ISO_BAD_INPUT, "si, ser, rc, pc, ryw, mr and stale");
    iso_options_set_text(options, "level", "si", &error);
    iso_options_set_text(options, "evidence", "why.jsonl", &error);
    assert_null(iso_stream_new(options, NULL, NULL, NULL, &error));
    assert_refuses(&error, ISO_BAD_INPUT, "evidence");
    assert_null(iso_check_new(set, options, &error));
    assert_refuses(&error, ISO_BAD_INPUT, "evidence");
    iso_options_free(options);
    iso_transactions_free(set);
}

static const char right[] = "{\"tid\":1,\"sid\":1,\"sts\":1,\"cts\":1,\"ops\":[]}",
                  wrong[] = "{\"tid\":1,}";

/* Whoever passes over an error is told again where it matters: nothing is judged by what was not
 * asked for. */
static void an_option_that_was_refused_is_an_error_of_the_check(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR, ignored = ISO_NO_ERROR;
    struct iso_options *options = iso_options_new();
    struct iso_transactions *set = iso_transactions_new();
    add(set, right);
    iso_options_set_text(options, "level", "sser", &ignored);
    iso_options_set_number(options, "max-per-kex", 1, &ignored);
    assert_null(iso_check_new(set, options, &error));
    assert_refuses(&error, ISO_BAD_INPUT, "level: sser");
    assert_null(iso_stream_new(options, NULL, NULL, NULL, &error));
    assert_refuses(&error, ISO_BAD_INPUT, "iso_options_clear");
    iso_options_set_text(options, "level", "ser", &ignored);
    assert_null(iso_check_new(set, options, &error)); /* the other one */
    error.status = ISO_OK;
    iso_options_clear(options);
    struct iso_check *check = iso_check_new(set, options, &error);
    assert_non_null(check);
    iso_check_free(check);
    iso_options_free(options);
    iso_transactions_free(set);
}

static void a_set_that_lacks_something_is_an_error_of_the_check(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR, ignored = ISO_NO_ERROR;
    struct iso_transactions *set = iso_transactions_new();
    add(set, right);
    iso_transactions_add_json(set, wrong, strlen(wrong), &ignored);
    iso_transactions_commit(set, &ignored);
    assert_null(iso_check_new(set, NULL, &error));
    assert_refuses(&error, ISO_BAD_INPUT, "2 calls could not add, first: byte 10");
    assert_null(iso_stream_new(NULL, set, NULL, NULL, &error));
    error.status = ISO_OK;
    iso_transactions_forgive(set);
    struct iso_check *check = iso_check_new(set, NULL, &error);
    assert_non_null(check);
    assert_int_equal(iso_check_outcome(check), ISO_HOLDS);
    iso_check_free(check);
    iso_transactions_add_json(set, right, strlen(right), &ignored); /* it was checked */
    assert_null(iso_check_new(set, NULL, &error));
    iso_transactions_clear(set);
    add(set, right);
    error.status = ISO_OK;
    check = iso_check_new(set, NULL, &error);
    assert_non_null(check);
    iso_check_free(check);
    iso_transactions_free(set);
}

static void a_stream_that_was_not_given_all_is_undecided(void **state)
{
    (void)state;
    for (int skips = 0; skips < 2; skips++) {
        struct iso_error error = ISO_NO_ERROR, ignored = ISO_NO_ERROR;
        const char *reason = NULL;
        struct iso_options *options = iso_options_new();
        struct iso_transactions *set = iso_transactions_new();
        iso_options_set_text(options, "on-bad-record", skips ? "skip" : "fail", &error);
        struct iso_stream *stream = iso_stream_new(options, NULL, NULL, NULL, &error);
        uint32_t source = iso_stream_source(stream, "a", 0);
        add(set, right);
        assert_int_equal(iso_stream_push(stream, source, set, 0, &error), ISO_OK);
        iso_transactions_add_json(set, wrong, strlen(wrong), &ignored);
        assert_int_equal(iso_stream_push(stream, source, set, 0, &ignored),
                         skips ? ISO_OK : ISO_BAD_INPUT);
        iso_stream_end(stream, 0, &ignored);
        assert_int_equal(iso_stream_outcome(stream, &reason), ISO_IS_UNDECIDED);
        assert_string_equal(reason, skips ? "skipped-records" : "stopped");
        assert_non_null(strstr(iso_stream_json(stream, NULL), "\"verdict\":\"undecided\""));
        iso_stream_free(stream);
        iso_transactions_free(set);
        iso_options_free(options);
    }
}

static void a_history_of_which_no_read_is_judged_does_not_hold(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_options *options = iso_options_new();
    struct iso_transactions *set = iso_transactions_new();
    add(set,
        "{\"tid\":1,\"sid\":1,\"sts\":1,\"cts\":2,\"status\":\"unknown\",\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":1}]}");
    add(set,
        "{\"tid\":2,\"sid\":2,\"sts\":3,\"cts\":3,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1}]}");
    assert_int_equal(iso_options_set_number(options, "allow-unjudged", 1, &error), ISO_OK);
    struct iso_check *check = iso_check_new(set, options, &error);
    assert_int_equal(iso_check_outcome(check), ISO_IS_UNDECIDED);
    assert_string_equal(iso_check_reason(check), "nothing-judged");
    iso_check_free(check);
    iso_transactions_free(set);
    iso_options_free(options);
}

static void evidence_is_written(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_options *options = iso_options_new();
    struct iso_transactions *set = iso_transactions_new();
    char path[256], line[256] = "";
    snprintf(path, sizeof path, "%s/library-%ld.jsonl", temporary_folder(), (long)getpid());
    add(set, "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":1}]}");
    iso_options_set_text(options, "evidence", path, &error);
    struct iso_check *check = iso_check_new(set, options, &error);
    assert_int_equal(iso_check_outcome(check), ISO_HOLDS);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_non_null(strstr(line, "\"isochron_evidence\""));
    fclose(file);
    unlink(path);
    iso_check_free(check);
    iso_options_free(options);
    iso_transactions_free(set);
}

/* ---- streams ---- */

static void count_reports(void *context, const struct iso_report *report)
{
    unsigned *counts = context;
    counts[report->state]++;
}

static void a_stream_that_is_stopped_stays_so(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_transactions *set = iso_transactions_new();
    struct iso_stream *stream = iso_stream_new(NULL, NULL, NULL, NULL, &error);
    const char *reason = NULL;
    uint32_t source = iso_stream_source(stream, "one", 0);
    assert_int_equal(iso_stream_push(stream, source, set, 0, &error), ISO_OK); /* an empty one */
    add(set, "{\"tid\":1,\"sid\":1,\"sts\":1,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":1}]}");
    assert_refuses(&error, iso_stream_push(stream, source, set, 0, &error), "one line 1");
    assert_int_equal(iso_transactions_count(set), 0);
    assert_refuses(&error, iso_stream_watermark(stream, source, 1, 0, &error), "one line 1");
    assert_refuses(&error, iso_stream_tick(stream, 0, &error), "one line 1");
    assert_refuses(&error, iso_stream_end(stream, 0, &error), "one line 1");
    assert_int_equal(iso_stream_outcome(stream, &reason), ISO_IS_UNDECIDED);
    assert_string_equal(reason, "stopped");
    iso_stream_free(stream);
    iso_stream_free(NULL);
    iso_transactions_free(set);
}

/* What went to a source that is none came nowhere, whether or not the caller looks. */
static void a_source_that_is_none_stops_a_stream(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_transactions *set = iso_transactions_new();
    struct iso_stream *stream = iso_stream_new(NULL, NULL, NULL, NULL, &error);
    const char *reason = NULL;
    uint32_t source = iso_stream_source(stream, "one", 0);
    add(set, right);
    assert_refuses(&error, iso_stream_push(stream, source + 1, set, 0, &error), "source 1");
    assert_int_equal(iso_transactions_count(set), 1);
    assert_refuses(&error, iso_stream_end(stream, 0, &error), "source 1");
    assert_int_equal(iso_stream_outcome(stream, &reason), ISO_IS_UNDECIDED);
    assert_string_equal(reason, "stopped");
    iso_stream_free(stream);
    iso_transactions_free(set);
}

static void deadlines_follow_the_time_that_is_passed_in(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    unsigned counts[4] = {0};
    struct iso_options *options = iso_options_new();
    struct iso_transactions *set = iso_transactions_new();
    iso_options_set_number(options, "finality-timeout", 100, &error);
    struct iso_stream *stream = iso_stream_new(options, NULL, count_reports, counts, &error);
    iso_options_free(options);
    uint32_t source = iso_stream_source(stream, "one", 1000);
    add(set,
        "{\"tid\":1,\"sid\":1,\"sts\":5,\"cts\":5,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":1}]}");
    iso_stream_push(stream, source, set, 1000, &error);
    assert_int_equal(counts[ISO_REPORT_TENTATIVE], 1);
    iso_stream_tick(stream, 1099, &error);
    assert_int_equal(counts[ISO_REPORT_FINAL], 0);
    iso_stream_tick(stream, 1100, &error);
    assert_int_equal(counts[ISO_REPORT_FINAL], 1);
    assert_int_equal(iso_stream_outcome(stream, NULL), ISO_IS_VIOLATED);
    add(set,
        "{\"tid\":2,\"sid\":2,\"sts\":1,\"cts\":2,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":1}]}");
    iso_stream_push(stream, source, set, 1200, &error);
    assert_int_equal(counts[ISO_REPORT_RETRACTED], 1);
    iso_stream_end(stream, 1300, &error);
    assert_int_equal(iso_stream_outcome(stream, NULL), ISO_HOLDS);
    assert_int_equal(error.status, ISO_OK);
    iso_stream_free(stream);
    iso_transactions_free(set);
}

static void row_sets_are_for_files(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_transactions *set = iso_transactions_new();
    struct iso_stream *stream = iso_stream_new(NULL, NULL, NULL, NULL, &error);
    uint32_t source = iso_stream_source(stream, "one", 0);
    assert_int_equal(iso_transactions_load(set, "tests/data/explain/EXT-missing-row/history.jsonl",
                                           NULL, &error),
                     ISO_OK);
    assert_refuses(&error, iso_stream_push(stream, source, set, 0, &error),
                   "history.jsonl:2: a row set");
    struct iso_check *check = iso_check_new(set, NULL, &error);
    assert_int_equal(iso_check_outcome(check), ISO_IS_VIOLATED);
    iso_check_free(check);
    iso_stream_free(stream);
    iso_transactions_free(set);
}

static void bad_records_may_be_skipped(void **state)
{
    (void)state;
    struct iso_error error = ISO_NO_ERROR;
    struct iso_options *options = iso_options_new();
    struct iso_transactions *set = iso_transactions_new();
    const char *reason;
    iso_options_set_text(options, "on-bad-record", "skip", &error);
    struct iso_stream *stream = iso_stream_new(options, NULL, NULL, NULL, &error);
    uint32_t source = iso_stream_source(stream, "one", 0);
    add(set, "{\"tid\":1,\"sid\":1,\"sts\":1,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":1}]}");
    add(set,
        "{\"tid\":2,\"sid\":1,\"sts\":2,\"cts\":3,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":2}]}");
    assert_int_equal(iso_stream_push(stream, source, set, 0, &error), ISO_OK);
    assert_int_equal(iso_stream_end(stream, 0, &error), ISO_OK);
    assert_int_equal(iso_stream_outcome(stream, &reason), ISO_IS_UNDECIDED);
    assert_string_equal(reason, "skipped-records");
    assert_non_null(strstr(iso_stream_json(stream, NULL), "\"transactions\":1,"));
    iso_stream_free(stream);
    iso_options_free(options);
    iso_transactions_free(set);
}

/* ---- memory ---- */

static void end_with_7(size_t bytes)
{
    _exit(bytes == 42 ? 7 : 8);
}

static int status_of_child(void (*handler)(size_t bytes))
{
    int status;
    pid_t child = fork();
    if (!child) {
        iso_on_out_of_memory(handler);
        iso_out_of_memory(42);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void refused_memory_goes_to_the_handler_or_aborts(void **state)
{
    (void)state;
    int handled = status_of_child(end_with_7), aborted = status_of_child(NULL);
    assert_true(WIFEXITED(handled) && WEXITSTATUS(handled) == 7);
    assert_true(WIFSIGNALED(aborted));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_fit),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(wrong_calls_are_told_at_the_end),
        cmocka_unit_test(what_is_not_ended_is_left_out),
        cmocka_unit_test(kinds_of_timestamps_do_not_mix),
        cmocka_unit_test(texts_are_refused_by_byte),
        cmocka_unit_test(a_checked_set_is_read_only),
        cmocka_unit_test(what_contradicts_itself_is_refused_for_good),
        cmocka_unit_test(options_that_do_not_fit_are_refused),
        cmocka_unit_test(an_option_that_was_refused_is_an_error_of_the_check),
        cmocka_unit_test(a_set_that_lacks_something_is_an_error_of_the_check),
        cmocka_unit_test(a_stream_that_was_not_given_all_is_undecided),
        cmocka_unit_test(a_history_of_which_no_read_is_judged_does_not_hold),
        cmocka_unit_test(evidence_is_written),
        cmocka_unit_test(a_stream_that_is_stopped_stays_so),
        cmocka_unit_test(a_source_that_is_none_stops_a_stream),
        cmocka_unit_test(deadlines_follow_the_time_that_is_passed_in),
        cmocka_unit_test(row_sets_are_for_files),
        cmocka_unit_test(bad_records_may_be_skipped),
        cmocka_unit_test(refused_memory_goes_to_the_handler_or_aborts),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
