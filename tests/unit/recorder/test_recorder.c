/* The recorder: what records say, and that nothing which goes wrong with them reaches the
 * application. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "iso/recorder.h"
#include "tests/support/test.h"

static struct iso_recorder *open_file(char path[TEST_PATH],
                                      const struct iso_recorder_options *options)
{
    struct iso_error error = {0};
    test_write_file(path, "records.jsonl", "", 0);
    struct iso_recorder *recorder = iso_recorder_new_file(path, options, &error);
    assert_non_null(recorder);
    return recorder;
}

static struct iso_recorder_statistics counts(struct iso_recorder *recorder)
{
    struct iso_recorder_statistics statistics;
    iso_recorder_statistics(recorder, &statistics);
    return statistics;
}

static void assert_file(const char *path, const char *expected)
{
    size_t length;
    char *text = test_read_file(path, &length);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void one_write(struct iso_recorder_session *session, const char *value)
{
    iso_recorder_begin(session);
    iso_recorder_write(session, "t/1", value);
    iso_recorder_commit(session);
}

static void writes_every_member(void **state)
{
    (void)state;
    char path[TEST_PATH];
    struct iso_recorder *recorder = open_file(path, NULL);
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "a \"b\"\n");
    const char *list[] = {"1", "2"};
    iso_recorder_begin(session);
    iso_recorder_snapshot(session, "1:2:");
    iso_recorder_snapshot(session, "745:750:747,748");
    iso_recorder_read(session, "t/1", NULL);
    iso_recorder_write(session, "t/1", "\x01\\");
    iso_recorder_statement_snapshot(session, "746:750:747");
    iso_recorder_read(session, "t/2", "ü");
    iso_recorder_statement(session);
    iso_recorder_delete(session, "t/2");
    iso_recorder_xid(session, "751");
    iso_recorder_commit(session);
    iso_recorder_begin(session);
    iso_recorder_start_timestamp(session, UINT64_MAX - 1);
    iso_recorder_commit_timestamp(session, UINT64_MAX);
    iso_recorder_statement_timestamp(session, 7);
    iso_recorder_append(session, "l", "3");
    iso_recorder_statement_lock(session);
    iso_recorder_read_list(session, "l", list, 2);
    iso_recorder_xid(session, "");
    iso_recorder_abort(session);
    iso_recorder_begin(session);
    iso_recorder_unknown(session);
    iso_recorder_session_free(session);
    iso_recorder_free(recorder);
    assert_file(
        path,
        "{\"sid\":\"a \\\"b\\\"\\u000a\",\"tid\":\"a \\\"b\\\"\\u000a.0\",\"sno\":0,\"ops\":["
        "{\"t\":\"r\",\"k\":\"t/1\",\"v\":null},{\"t\":\"w\",\"k\":\"t/1\",\"v\":\"\\u0001\\\\\"},"
        "{\"t\":\"r\",\"k\":\"t/2\",\"v\":\"ü\",\"snapshot\":\"746:750:747\"},{\"t\":\"d\",\"k\":\"t/2\"}],"
        "\"xid\":\"751\",\"snapshot\":\"745:750:747,748\",\"status\":\"committed\"}\n"
        "{\"sid\":\"a \\\"b\\\"\\u000a\",\"tid\":\"a \\\"b\\\"\\u000a.1\",\"sno\":1,\"ops\":["
        "{\"t\":\"a\",\"k\":\"l\",\"v\":\"3\",\"ots\":\"7\"},{\"t\":\"r\",\"k\":\"l\",\"v\":[\"1\",\"2\"],"
        "\"lock\":true}],"
        "\"sts\":\"18446744073709551614\",\"cts\":\"18446744073709551615\",\"status\":\"aborted\"}\n"
        "{\"sid\":\"a \\\"b\\\"\\u000a\",\"tid\":\"a "
        "\\\"b\\\"\\u000a.2\",\"sno\":2,\"ops\":[],\"status\":\"unknown\"}\n");
    unlink(path);
}

/* The numbers behind "records": in the file's lines, -1 for a record. */
static int totals_in(const char *path, long totals[], int most)
{
    size_t length;
    char *text = test_read_file(path, &length);
    int count = 0;
    for (char *line = strtok(text, "\n"); line && count < most; line = strtok(NULL, "\n")) {
        const char *records = strstr(line, "\"records\":");
        if (*line == '{')
            totals[count++] = !records ? -1 : strtol(records + 10, NULL, 10);
    }
    free(text);
    return count;
}

/* Also of those that were dropped; a line that was cut off is none. In the file are records only.
 */
static void totals_stand_beside_the_records(void **state)
{
    (void)state;
    char path[TEST_PATH], beside[TEST_PATH + 20];
    long totals[20];
    const struct iso_recorder_options options = {.totals = true};
    for (int run = 0; run < 2; run++) {
        struct iso_error error = {0};
        struct iso_recorder *recorder =
            run ? iso_recorder_new_file(path, &options, &error) : open_file(path, &options);
        struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
        one_write(session, "1");
        one_write(session, "\xff");
        iso_recorder_begin(session);
        iso_recorder_drop(session);
        iso_recorder_drop(session); /* there is none any more */
        assert_true(iso_recorder_flush(recorder, 60));
        assert_int_equal(counts(recorder).recorded, 1);
        assert_int_equal(counts(recorder).written, 1);
        assert_int_equal(counts(recorder).dropped_refused, 2);
        iso_recorder_session_free(session);
        iso_recorder_free(recorder);
        snprintf(beside, sizeof beside, "%s.recorders", path);
        FILE *file = fopen(beside, "a");
        fputs("{\"recorder\":\"kil", file);
        fclose(file);
    }
    const long records[] = {-1, -1}, expected[] = {0, 3, -1, 0, 3, -1};
    assert_int_equal(totals_in(path, totals, 20), 2);
    assert_memory_equal(totals, records, sizeof records);
    assert_int_equal(totals_in(beside, totals, 20), 6);
    assert_memory_equal(totals, expected, sizeof expected);
    unlink(beside);
    unlink(path);
}

static void rolls_back_to_a_savepoint(void **state)
{
    (void)state;
    char path[TEST_PATH];
    struct iso_recorder *recorder = open_file(path, NULL);
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
    iso_recorder_begin(session);
    size_t first = iso_recorder_mark(session);
    iso_recorder_write(session, "x", "1");
    iso_recorder_rollback_to(session, first);
    iso_recorder_write(session, "x", "2");
    size_t second = iso_recorder_mark(session);
    iso_recorder_read(session, "x", "2");
    iso_recorder_write(session, "y", "3");
    iso_recorder_rollback_to(session, second);
    iso_recorder_write(session, "z", "4");
    iso_recorder_commit(session);
    iso_recorder_session_free(session);
    iso_recorder_free(recorder);
    assert_file(
        path,
        "{\"sid\":\"s\",\"tid\":\"s.0\",\"sno\":0,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":\"2\"},"
        "{\"t\":\"w\",\"k\":\"z\",\"v\":\"4\"}],\"status\":\"committed\"}\n");
    unlink(path);
}

static void keys_are_escaped(void **state)
{
    (void)state;
    char key[32];
    const char *parts[] = {"a/b", "1,5%"};
    assert_true(iso_recorder_key(key, sizeof key, "public.t", parts, 2));
    assert_string_equal(key, "public.t/a%2Fb,1%2C5%25");
    assert_true(iso_recorder_key(key, strlen("public.t/a%2Fb,1%2C5%25") + 1, "public.t", parts, 2));
    for (size_t size = 0; size < strlen("public.t/a%2Fb,1%2C5%25") + 1; size++) {
        char *exact = malloc(size + 1); /* one byte behind the room: it must stay */
        exact[size] = 'x';
        assert_false(iso_recorder_key(exact, size, "public.t", parts, 2));
        assert_int_equal(exact[size], 'x');
        free(exact);
    }
}

static void keys_of_rows_have_no_mark_of_cells(void **state)
{
    (void)state;
    char key[40];
    const char *parts[] = {"a#b", "1,5%/"}, *whole = "public.t%23/a%23b,1%2C5%25%2F";
    assert_true(iso_recorder_row_key(key, sizeof key, "public.t#", parts, 2));
    assert_string_equal(key, whole);
    assert_true(iso_recorder_row_key(key, sizeof key, NULL, parts, 2));
    assert_string_equal(key, "a%23b,1%2C5%25%2F");
    assert_true(iso_recorder_row_key(key, sizeof key, "public.t#", NULL, 0));
    assert_string_equal(key, "public.t%23");
    assert_true(iso_recorder_key(key, sizeof key, "public.t#", parts, 1));
    assert_string_equal(key, "public.t#/a#b");
    for (size_t size = 0; size <= strlen(whole); size++)
        assert_false(iso_recorder_row_key(key, size, "public.t#", parts, 2));
}

/* The operations of a record that says nothing else. */
static void assert_operations(struct iso_recorder_session *session, const char *expected)
{
    static const char end[] = "],\"status\":\"committed\"}";
    const char *record = iso_recorder_in_band(session),
               *from = record ? strstr(record, "\"ops\":[") : NULL;
    assert_non_null(from);
    from += strlen("\"ops\":[");
    assert_true(strlen(from) >= strlen(end));
    size_t length = strlen(from) - strlen(end);
    assert_string_equal(from + length, end);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(from, expected, length);
}

static struct iso_recorder_session *open_in_band(struct iso_recorder **recorder,
                                                 const struct iso_recorder_options *options)
{
    struct iso_error error = {0};
    *recorder = iso_recorder_new_in_band(options, &error);
    assert_non_null(*recorder);
    struct iso_recorder_session *session = iso_recorder_session_new(*recorder, "s");
    iso_recorder_begin(session);
    return session;
}

static void close_in_band(struct iso_recorder *recorder, struct iso_recorder_session *session)
{
    iso_recorder_commit(session);
    iso_recorder_session_free(session);
    iso_recorder_free(recorder);
}

static const char *const columns[] = {"owner", "bal\"ance"}, *const values[] = {"ann", NULL};

static void rows_have_cells(void **state)
{
    (void)state;
    struct iso_recorder *recorder;
    struct iso_recorder_session *session = open_in_band(&recorder, NULL);
    iso_recorder_read_row(session, "t/7", columns, values, 2);
    iso_recorder_read_row(session, "t/8", NULL, NULL, 0);
    iso_recorder_statement_timestamp(session, 5);
    iso_recorder_read_no_row(session, "t/9");
    iso_recorder_statement_lock(session);
    iso_recorder_write_row(session, "t/9", columns + 1, values, 1);
    iso_recorder_statement(session);
    iso_recorder_write_row(session, "t/10", NULL, NULL, 0);
    assert_operations(
        session, "{\"t\":\"r\",\"row\":\"t/7\",\"cells\":{\"owner\":\"ann\",\"bal\\\"ance\":null}},"
                 "{\"t\":\"r\",\"row\":\"t/8\",\"cells\":{}},"
                 "{\"t\":\"r\",\"row\":\"t/9\",\"v\":null,\"ots\":\"5\"},"
                 "{\"t\":\"w\",\"row\":\"t/9\",\"cells\":{\"bal\\\"ance\":\"ann\"},\"lock\":true},"
                 "{\"t\":\"w\",\"row\":\"t/10\"}");
    close_in_band(recorder, session);
}

static void queries_are_streamed(void **state)
{
    (void)state;
    struct iso_recorder *recorder;
    struct iso_recorder_session *session = open_in_band(&recorder, NULL);
    iso_recorder_query_begin(session, "t", "1", "9,b", "a = 'x'");
    iso_recorder_query_row(session, "3", columns, values, 1);
    iso_recorder_query_partial(session);
    iso_recorder_query_row(session, "4", columns, values, 0);
    iso_recorder_query_end(session);
    iso_recorder_query_begin(session, "t", NULL, NULL, NULL);
    iso_recorder_statement_snapshot(session, "1:1:");
    iso_recorder_query_end(session);
    iso_recorder_statement(session);
    iso_recorder_query_begin(session, "t", NULL, "5", NULL);
    iso_recorder_query_aggregate(session, "count", "2");
    iso_recorder_query_aggregate(session, "sum(a)", NULL);
    iso_recorder_query_end(session);
    iso_recorder_query_begin(session, "t", NULL, NULL, NULL);
    iso_recorder_query_columns(session, columns, 2);
    iso_recorder_query_end(session);
    iso_recorder_query_begin(session, "t", NULL, NULL, NULL);
    iso_recorder_query_columns(session, columns, 2);
    iso_recorder_query_values(session, values);
    iso_recorder_query_values(session, columns);
    iso_recorder_query_end(session);
    assert_operations(
        session,
        "{\"t\":\"q\",\"table\":\"t\",\"from\":\"1\",\"to\":\"9,b\",\"where\":\"a = 'x'\","
        "\"rows\":{\"3\":{\"owner\":\"ann\"},\"4\":{}},\"partial\":true},"
        "{\"t\":\"q\",\"table\":\"t\",\"rows\":{},\"snapshot\":\"1:1:\"},"
        "{\"t\":\"q\",\"table\":\"t\",\"to\":\"5\",\"agg\":{\"count\":\"2\",\"sum(a)\":null}},"
        "{\"t\":\"q\",\"table\":\"t\",\"columns\":[\"owner\",\"bal\\\"ance\"],\"bag\":[]},"
        "{\"t\":\"q\",\"table\":\"t\",\"columns\":[\"owner\",\"bal\\\"ance\"],"
        "\"bag\":[[\"ann\",null],[\"owner\",\"bal\\\"ance\"]]}");
    close_in_band(recorder, session);
}

static void half_a_query(struct iso_recorder_session *session, const char *value)
{
    iso_recorder_query_begin(session, "t", NULL, NULL, NULL);
    iso_recorder_query_row(session, "3", columns, &value, 1);
}

/* Whatever comes instead of its end, and whatever was wrong with it. */
static void half_a_query_leaves_nothing(void **state)
{
    (void)state;
    struct iso_recorder *recorder;
    char large[3000];
    const struct iso_recorder_options options = {.record_bytes = 1000};
    struct iso_recorder_session *session = open_in_band(&recorder, &options);
    memset(large, 'v', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    half_a_query(session, "x");
    assert_operations(session, "");
    iso_recorder_query_end(session); /* it is over */
    iso_recorder_query_row(session, "3", columns, values, 1);
    half_a_query(session, "\xff");
    iso_recorder_read(session, "x", "1");
    half_a_query(session, large);
    iso_recorder_tid(session, "a longer name");
    size_t mark = iso_recorder_mark(session);
    half_a_query(session, "\x02");
    assert_int_equal(iso_recorder_mark(session), mark);
    iso_recorder_rollback_to(session, mark);
    half_a_query(session, "x");
    iso_recorder_query_begin(session, "u", NULL, NULL, NULL);
    iso_recorder_tid(session, "the longest name of all");
    iso_recorder_query_end(session);
    half_a_query(session, "y");
    assert_operations(
        session, "{\"t\":\"r\",\"k\":\"x\",\"v\":\"1\"},{\"t\":\"q\",\"table\":\"u\",\"rows\":{}}");
    half_a_query(session, "y");
    iso_recorder_commit(session);
    iso_recorder_begin(session);
    iso_recorder_query_end(session);
    iso_recorder_query_partial(session);
    half_a_query(session, "x");
    iso_recorder_query_end(session);
    assert_operations(session, "{\"t\":\"q\",\"table\":\"t\",\"rows\":{\"3\":{\"owner\":\"x\"}}}");
    close_in_band(recorder, session);
}

/* What a reader would refuse is dropped here, whole, and counted. */
static void queries_of_no_shape_are_refused(void **state)
{
    (void)state;
    struct iso_recorder *recorder;
    struct iso_recorder_session *session = open_in_band(&recorder, NULL);
    for (int i = 0; i < 6; i++) {
        iso_recorder_begin(session);
        iso_recorder_query_begin(session, "t", NULL, NULL, NULL);
        if (i == 0 || i == 1)
            iso_recorder_query_row(session, "3", columns, values, 1);
        if (i == 1 || i == 2)
            iso_recorder_query_aggregate(session, "count", "1");
        if (i == 0 || i == 3)
            iso_recorder_query_values(session, values);
        if (i == 2 || i == 4)
            iso_recorder_query_columns(session, columns, 1);
        if (i == 4)
            iso_recorder_query_columns(session, columns, 1);
        if (i == 5)
            iso_recorder_query_row(session, "3", (const char *const[]){""}, values, 1);
        iso_recorder_query_end(session);
        assert_null(iso_recorder_in_band(session));
        iso_recorder_commit(session);
    }
    assert_int_equal(counts(recorder).dropped_refused, 6);
    close_in_band(recorder, session);
}

static void gives_records_in_band(void **state)
{
    (void)state;
    struct iso_error error = {0};
    struct iso_recorder *recorder = iso_recorder_new_in_band(NULL, &error);
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
    assert_null(iso_recorder_in_band(session));
    iso_recorder_begin(session);
    iso_recorder_write(session, "x", "1");
    const char *expected =
        "{\"sid\":\"s\",\"tid\":\"s.0\",\"sno\":0,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":\"1\"}],"
        "\"status\":\"committed\"}";
    assert_string_equal(iso_recorder_in_band(session), expected);
    assert_string_equal(iso_recorder_in_band(session), expected);
    iso_recorder_commit(session);
    iso_recorder_begin(session);
    iso_recorder_write(session, "x", "\xff");
    assert_null(iso_recorder_in_band(session));
    iso_recorder_commit(session);
    iso_recorder_session_free(session);
    struct iso_recorder_statistics seen = counts(recorder);
    assert_int_equal(seen.recorded, 1);
    assert_int_equal(seen.dropped_refused, 1);
    iso_recorder_free(recorder);
}

/* It is said of one transaction, in-band too, and not of the next. */
static void says_that_the_stream_knows_the_writes(void **state)
{
    (void)state;
    char path[TEST_PATH];
    struct iso_recorder *recorder = open_file(path, NULL);
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
    const char *expected =
        "{\"sid\":\"s\",\"tid\":\"s.0\",\"sno\":0,\"ops\":[{\"t\":\"r\",\"k\":\"x\",\"v\":\"1\"}],"
        "\"xid\":\"7\",\"writes\":\"cdc\",\"status\":\"committed\"}";
    char file[400];
    iso_recorder_begin(session);
    iso_recorder_writes_from_stream(session);
    iso_recorder_read(session, "x", "1");
    iso_recorder_xid(session, "7");
    assert_string_equal(iso_recorder_in_band(session), expected);
    iso_recorder_commit(session);
    one_write(session, "2");
    iso_recorder_begin(session); /* given up: nothing of it stays */
    iso_recorder_writes_from_stream(session);
    one_write(session, "3");
    iso_recorder_session_free(session);
    iso_recorder_free(recorder);
    snprintf(
        file, sizeof file,
        "%s\n"
        "{\"sid\":\"s\",\"tid\":\"s.1\",\"sno\":1,\"ops\":[{\"t\":\"w\",\"k\":\"t/1\",\"v\":\"2\"}],\"status\":\"committed\"}\n"
        "{\"sid\":\"s\",\"tid\":\"s.2\",\"sno\":2,\"ops\":[{\"t\":\"w\",\"k\":\"t/1\",\"v\":\"3\"}],\"status\":\"committed\"}\n",
        expected);
    assert_file(path, file);
    unlink(path);
}

/* Right: as they are. Not right: without operations; who wrote something that nothing identifies is
 * left out. */
static void records_wait_until_they_are_let_go(void **state)
{
    (void)state;
    char path[TEST_PATH];
    struct iso_recorder *recorder = open_file(path, NULL);
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
    iso_recorder_hold(session);
    one_write(session, "1");
    assert_int_equal(counts(recorder).recorded, 0);
    iso_recorder_let_go(session, iso_recorder_held(session), true);
    assert_int_equal(counts(recorder).recorded, 1);
    one_write(session, "2");
    iso_recorder_begin(session);
    iso_recorder_snapshot(session, "7:8:");
    iso_recorder_read(session, "t/1", "2");
    iso_recorder_write(session, "t/2", "3");
    iso_recorder_xid(session, "8");
    iso_recorder_commit(session);
    iso_recorder_begin(session); /* only reads */
    iso_recorder_snapshot(session, "9:9:");
    iso_recorder_read(session, "t/1", "3");
    iso_recorder_commit(session);
    iso_recorder_begin(session); /* says nothing, then */
    iso_recorder_write(session, "t/1", "5");
    iso_recorder_abort(session);
    uint64_t wrong = iso_recorder_held(session);
    one_write(session, "4");
    iso_recorder_begin(session);
    iso_recorder_tid(session, "own"); /* of the caller's own */
    iso_recorder_write(session, ",\"sno\":9", "6");
    iso_recorder_commit(session);
    iso_recorder_let_go(session, wrong, false);
    assert_int_equal(counts(recorder).recorded, 3); /* the last two wait on */
    iso_recorder_let_go(session, iso_recorder_held(session), true);
    iso_recorder_let_go(session, UINT64_MAX, false); /* nothing waits */
    assert_int_equal(counts(recorder).recorded, 5);
    assert_int_equal(counts(recorder).dropped_refused, 1);
    iso_recorder_session_free(session);
    iso_recorder_free(recorder);
    assert_file(
        path,
        "{\"sid\":\"s\",\"tid\":\"s.0\",\"sno\":0,\"ops\":[{\"t\":\"w\",\"k\":\"t/1\",\"v\":\"1\"}],\"status\":\"committed\"}\n"
        "{\"sid\":\"s\",\"tid\":\"s.2\",\"sno\":2,\"ops\":[],\"xid\":\"8\",\"snapshot\":\"7:8:\",\"writes\":\"cdc\","
        "\"status\":\"committed\"}\n"
        "{\"sid\":\"s\",\"tid\":\"s.3\",\"sno\":3,\"ops\":[],\"snapshot\":\"9:9:\",\"status\":\"committed\"}\n"
        "{\"sid\":\"s\",\"tid\":\"s.4\",\"sno\":4,\"ops\":[{\"t\":\"w\",\"k\":\"t/1\",\"v\":\"4\"}],\"status\":\"committed\"}\n"
        "{\"sid\":\"s\",\"tid\":\"own\",\"sno\":5,\"ops\":[{\"t\":\"w\",\"k\":\",\\\"sno\\\":9\",\"v\":\"6\"}],"
        "\"status\":\"committed\"}\n");
}

static void refuses_what_it_cannot_say(void **state)
{
    (void)state;
    char path[TEST_PATH], large[2000];
    const struct iso_recorder_options options = {.record_bytes = 1000};
    struct iso_recorder *recorder = open_file(path, &options);
    assert_null(iso_recorder_session_new(recorder, "\xc0"));
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
    memset(large, 'v', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    one_write(session, large);
    one_write(session, "\xed\xa0\x80");
    one_write(session, "\x02reserved");
    one_write(session, "2");
    iso_recorder_begin(session);
    iso_recorder_snapshot(session, large);
    iso_recorder_commit(session);
    iso_recorder_write(session, "between", "transactions");
    iso_recorder_session_free(session);
    assert_true(iso_recorder_flush(recorder, 60));
    struct iso_recorder_statistics seen = counts(recorder);
    assert_int_equal(seen.dropped_refused, 4);
    assert_int_equal(seen.recorded, 1);
    assert_int_equal(seen.written, 1);
    iso_recorder_free(recorder);
    assert_file(
        path,
        "{\"sid\":\"s\",\"tid\":\"s.3\",\"sno\":3,\"ops\":[{\"t\":\"w\",\"k\":\"t/1\",\"v\":\"2\"}],"
        "\"status\":\"committed\"}\n");
    unlink(path);
}

static void what_lingers_is_written_once_somebody_waits_or_half_is_full(void **state)
{
    (void)state;
    char path[TEST_PATH];
    const struct iso_recorder_options options = {.buffer_bytes = 4000, .linger_ms = 3600 * 1000};
    struct iso_recorder *recorder = open_file(path, &options);
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
    for (unsigned i = 1; i <= 20; i++) {
        one_write(session, "1");
        assert_int_equal(counts(recorder).written, i - 1);
        assert_true(iso_recorder_flush(recorder, 60));
        assert_int_equal(counts(recorder).written, i);
    }
    for (int i = 0; i < 30; i++) /* of 80 bytes */
        one_write(session, "1");
    while (counts(recorder).written == 20)
        usleep(1000);
    one_write(session, "2");
    iso_recorder_session_free(session);
    iso_recorder_free(recorder);
    size_t length, lines = 0;
    char *text = test_read_file(path, &length);
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '{' && (!i || text[i - 1] == '\n');
    assert_int_equal(lines, 51);
    free(text);
    unlink(path);
}

static void a_full_disk_loses_records_and_nothing_else(void **state)
{
    (void)state;
    struct iso_error error = {0};
    struct iso_recorder *recorder = iso_recorder_new_file("/dev/full", NULL, &error);
    assert_non_null(recorder);
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
    for (int i = 0; i < 1000; i++)
        one_write(session, "1");
    assert_true(iso_recorder_flush(recorder, 60));
    struct iso_recorder_statistics seen = counts(recorder);
    assert_int_equal(seen.recorded, 1000);
    assert_int_equal(seen.lost, 1000);
    assert_int_equal(seen.written, 0);
    assert_int_equal(seen.waiting_bytes, 0);
    assert_string_equal(seen.trouble, strerror(ENOSPC));
    iso_recorder_session_free(session);
    iso_recorder_free(recorder);
}

/* A limit of the file's size stands for a disk that fills up in mid-line. */
static void a_disk_that_fills_up_keeps_whole_lines(void **state)
{
    (void)state;
    char path[TEST_PATH];
    struct iso_error error = {0};
    test_write_file(path, "records.jsonl", "", 0);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {.rlim_cur = 10000, .rlim_max = 10000};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        struct iso_recorder *recorder = iso_recorder_new_file(path, NULL, &error);
        struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
        for (int i = 0; i < 1000; i++)
            one_write(session, "1");
        iso_recorder_flush(recorder, 60);
        struct iso_recorder_statistics seen = counts(recorder);
        _exit(seen.lost > 0 && seen.written > 50 && seen.lost + seen.written == 1000 ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    size_t length;
    char *text = test_read_file(path, &length);
    assert_true(length > 4096 && length <= 10000);
    assert_int_equal(text[length - 1], '\n');
    free(text);
    unlink(path);
}

static void a_file_is_the_users_alone(void **state)
{
    (void)state;
    char path[TEST_PATH], other[TEST_PATH + 8];
    struct iso_error error = {0};
    struct stat status;
    test_write_file(path, "mine", "", 0);
    unlink(path);
    mode_t mask = umask(0);
    struct iso_recorder *recorder = iso_recorder_new_file(path, NULL, &error);
    umask(mask);
    assert_non_null(recorder);
    iso_recorder_free(recorder);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode, S_IFREG | 0600);
    assert_int_equal(chmod(path, 0644), 0); /* one that is there gets it too */
    recorder = iso_recorder_new_file(path, NULL, &error);
    assert_non_null(recorder);
    iso_recorder_free(recorder);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode, S_IFREG | 0600);
    snprintf(other, sizeof other, "%s.link", path);
    assert_int_equal(symlink(path, other), 0);
    assert_null(iso_recorder_new_file(other, NULL, &error));
    assert_int_equal(error.status, ISO_BAD_INPUT);
    assert_non_null(strstr(error.text, "a symbolic link"));
    unlink(other);
    unlink(path);
}

/* Nobody reads the pipe, so that nothing gets out of the buffer. */
static void a_full_buffer_drops_at_once(void **state)
{
    (void)state;
    char path[TEST_PATH];
    struct iso_error error = {0};
    test_write_file(path, "pipe", "", 0);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    /* no reader at all: opening would wait */
    assert_null(iso_recorder_new_file(path, NULL, &error));
    assert_int_equal(error.status, ISO_FAILED);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    const struct iso_recorder_options options = {.buffer_bytes = 10000};
    struct iso_recorder *recorder = iso_recorder_new_file(path, &options, &error);
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
    for (int i = 0; i < 5000; i++) {
        one_write(session, "1");
        if (i % 100 == 0)
            usleep(5000); /* the writer fills the pipe */
    }
    struct iso_recorder_statistics seen = counts(recorder);
    assert_true(seen.dropped_full > 1000);
    assert_int_equal(seen.recorded + seen.dropped_full, 5000);
    assert_true(seen.waiting_bytes > 0 && seen.waiting_bytes <= 10004);
    assert_false(iso_recorder_flush(recorder, 0));
    close(reader); /* a broken pipe is an error, and no signal */
    assert_true(iso_recorder_flush(recorder, 60));
    seen = counts(recorder);
    assert_int_equal(seen.written + seen.lost, seen.recorded);
    assert_string_equal(seen.trouble, strerror(EPIPE));
    iso_recorder_session_free(session);
    iso_recorder_free(recorder);
    unlink(path);
}

/* Threads of this process. */
static unsigned thread_count(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/task");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2;
}

/* A reader that never comes back: freeing gives up after its five seconds. */
static void freeing_does_not_wait_for_ever(void **state)
{
    (void)state;
    char path[TEST_PATH];
    struct iso_error error = {0};
    test_write_file(path, "pipe", "", 0);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    unsigned threads = thread_count();
    struct iso_recorder *recorder = iso_recorder_new_file(path, NULL, &error);
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
    for (int i = 0; i < 5000; i++)
        one_write(session, "1");
    iso_recorder_session_free(session);
    time_t start = time(NULL);
    iso_recorder_free(recorder);
    assert_in_range(time(NULL) - start, 3, 60);
    while (thread_count() > threads) /* the writer sees that it was left, and frees what it holds */
        usleep(10000);
    close(reader);
    unlink(path);
}

static void nothing_to_record_with_does_nothing(void **state)
{
    (void)state;
    struct iso_error error = {0};
    assert_null(iso_recorder_new_file("/nonexistent/records", NULL, &error));
    assert_int_equal(error.status, ISO_FAILED);
    struct iso_recorder_session *session = iso_recorder_session_new(NULL, "s");
    assert_null(session);
    iso_recorder_begin(session);
    iso_recorder_snapshot(session, "1:1:");
    iso_recorder_xid(session, "1");
    iso_recorder_start_timestamp(session, 1);
    iso_recorder_commit_timestamp(session, 1);
    iso_recorder_statement_snapshot(session, "1:1:");
    iso_recorder_statement_timestamp(session, 1);
    iso_recorder_statement_lock(session);
    iso_recorder_statement(session);
    iso_recorder_writes_from_stream(session);
    iso_recorder_read(session, "x", NULL);
    iso_recorder_read_list(session, "x", NULL, 0);
    iso_recorder_append(session, "x", "1");
    iso_recorder_delete(session, "x");
    iso_recorder_read_row(session, "x", NULL, NULL, 0);
    iso_recorder_read_no_row(session, "x");
    iso_recorder_write_row(session, "x", NULL, NULL, 0);
    iso_recorder_query_begin(session, "x", NULL, NULL, NULL);
    iso_recorder_query_row(session, "x", NULL, NULL, 0);
    iso_recorder_query_aggregate(session, "count", "1");
    iso_recorder_query_columns(session, NULL, 0);
    iso_recorder_query_values(session, NULL);
    iso_recorder_query_partial(session);
    iso_recorder_query_end(session);
    iso_recorder_rollback_to(session, iso_recorder_mark(session));
    one_write(session, "1");
    iso_recorder_abort(session);
    iso_recorder_unknown(session);
    assert_null(iso_recorder_in_band(session));
    iso_recorder_session_free(session);
    assert_true(iso_recorder_flush(NULL, 0));
    assert_int_equal(counts(NULL).recorded, 0);
    iso_recorder_free(NULL);
}

static void a_file_has_one_recorder(void **state)
{
    (void)state;
    char path[TEST_PATH];
    struct iso_error error = {0};
    struct iso_recorder *recorder = open_file(path, NULL);
    assert_null(iso_recorder_new_file(path, NULL, &error));
    assert_non_null(strstr(error.text, "another recorder"));
    iso_recorder_free(recorder);
    recorder = iso_recorder_new_file(path, NULL, &(struct iso_error){0});
    assert_non_null(recorder);
    iso_recorder_free(recorder);
    unlink(path);
}

/* What `found` in the file becomes once a recorder has added a record. */
static void check_mended(const char *found, const char *expected)
{
    char path[TEST_PATH], text[12000];
    test_write_file(path, "records.jsonl", found, strlen(found));
    struct iso_recorder *recorder = iso_recorder_new_file(path, NULL, &(struct iso_error){0});
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
    iso_recorder_begin(session);
    iso_recorder_commit(session);
    iso_recorder_session_free(session);
    iso_recorder_free(recorder);
    snprintf(text, sizeof text,
             "%s{\"sid\":\"s\",\"tid\":\"s.0\",\"sno\":0,\"ops\":[],\"status\":\"committed\"}\n",
             expected);
    assert_file(path, text);
    unlink(path);
}

static void unfinished_lines_are_mended(void **state)
{
    (void)state;
    char before[9000], torn[10000];
    check_mended("", "");
    check_mended("{}\n", "{}\n");
    check_mended("{}\n{\"sid\":\"7\",\"ti", "{}\n");
    check_mended("{\"sid\":\"7\",\"ti", "");
    check_mended("{}\n{\"s", "{}\n");
    check_mended("{}\n{\"tid\":1}", "{}\n{\"tid\":1}\n"); /* not ours: kept */
    check_mended("{}", "{}\n");
    snprintf(torn, sizeof torn, "{}\n{\"sid\":\"%08999d", 1); /* longer than a page */
    check_mended(torn, "{}\n");
    snprintf(before, sizeof before, "{\"a\":\"%08000d\"}\n", 1);
    snprintf(torn, sizeof torn, "%s{\"sid\"", before);
    /* Longer than the rest of its page: a blank line fills that first. */
    check_mended(torn, before);
}

enum { THREADS = 4, EACH = 5000 };

static void *record_many(void *argument)
{
    static atomic_uint next;
    struct iso_recorder *recorder = argument;
    char sid[16], value[200];
    snprintf(sid, sizeof sid, "s%u", next++);
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, sid);
    for (int i = 0; i < EACH; i++) {
        snprintf(value, sizeof value, "%0*d", 1 + i % 150, i);
        one_write(session, value);
    }
    iso_recorder_session_free(session);
    return NULL;
}

/* Whole lines with rising numbers in each session, whichever threads they came from; none crosses a
 * page. */
static void check_lines(const char *path, unsigned expected)
{
    size_t length;
    unsigned lines = 0;
    long last[THREADS];
    char *text = test_read_file(path, &length);
    memset(last, -1, sizeof last);
    for (char *line = text, *end; line < text + length; line = end + 1) {
        end = memchr(line, '\n', (size_t)(text + length - line));
        assert_non_null(end);
        if (*line == ' ' || *line == '\n') /* fills a page */
            continue;
        unsigned session;
        long number;
        assert_int_equal(sscanf(line, "{\"sid\":\"s%u\",\"tid\":\"s%*u.%ld\",", &session, &number),
                         2);
        assert_memory_equal(end - strlen(",\"status\":\"committed\"}"),
                            ",\"status\":\"committed\"}", strlen(",\"status\":\"committed\"}"));
        assert_true(session < THREADS && number == last[session] + 1);
        assert_int_equal((size_t)(line - text) / ISO_RECORDER_WHOLE_LINE,
                         (size_t)(end - text) / ISO_RECORDER_WHOLE_LINE);
        last[session] = number;
        lines++;
    }
    if (expected > 0)
        assert_int_equal(lines, expected);
    free(text);
}

static void threads_record_at_once(void **state)
{
    (void)state;
    char path[TEST_PATH];
    struct iso_recorder *recorder = open_file(path, NULL);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_many, recorder), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(iso_recorder_flush(recorder, 60));
    struct iso_recorder_statistics seen = counts(recorder);
    assert_int_equal(seen.recorded, THREADS * EACH);
    assert_int_equal(seen.written, THREADS * EACH);
    iso_recorder_free(recorder);
    check_lines(path, THREADS * EACH);
    unlink(path);
}

/* The application is killed at some moment: every line is whole, and of each session there are the
 * first ones. */
static void a_killed_application_leaves_whole_lines(void **state)
{
    (void)state;
    uint64_t random = 42;
    for (int round = 0; round < 20; round++) {
        char path[TEST_PATH];
        test_write_file(path, "records.jsonl", "", 0);
        pid_t child = fork();
        if (child == 0) {
            struct iso_recorder *recorder =
                iso_recorder_new_file(path, NULL, &(struct iso_error){0});
            struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s0");
            for (char value[200];;) {
                snprintf(value, sizeof value, "%0*d", 1 + (int)(test_random(&random) % 190), 1);
                one_write(session, value);
                while (counts(recorder).waiting_bytes > 1 << 20)
                    usleep(100);
            }
        }
        struct stat status = {0};
        for (; status.st_size == 0; usleep(500))
            assert_int_equal(stat(path, &status), 0);
        usleep((useconds_t)(test_random(&random) % 5000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        struct iso_error error = {0};
        struct iso_recorder *again = iso_recorder_new_file(path, NULL, &error);
        assert_non_null(again);
        struct stat after;
        assert_int_equal(stat(path, &status), 0);
        iso_recorder_free(again);
        assert_int_equal(stat(path, &after), 0);
        assert_int_equal(after.st_size, status.st_size); /* there was nothing to mend */
        check_lines(path, 0);
        unlink(path);
    }
}

/* By the name that the change stream knows, which may be told last of all; what MariaDB says of
 * snapshots. */
static void takes_a_name_and_mariadbs_snapshots(void **state)
{
    (void)state;
    char path[TEST_PATH];
    struct iso_recorder *recorder = open_file(path, NULL);
    struct iso_recorder_session *session = iso_recorder_session_new(recorder, "s");
    iso_recorder_tid(session, "before it begins");
    iso_recorder_begin(session);
    iso_recorder_snapshot(session, "mariadb-bin.000012:4711");
    iso_recorder_read(session, "shop.kv/1", "5");
    size_t mark = iso_recorder_mark(session);
    iso_recorder_write(session, "shop.kv/1", "6");
    iso_recorder_tid(session, "a rather long \"marker\"");
    iso_recorder_rollback_to(session, mark);
    iso_recorder_write(session, "shop.kv/2", "7");
    iso_recorder_tid(session, "7");
    iso_recorder_tid(session, "c1-42");
    iso_recorder_commit(session);
    iso_recorder_begin(session);
    iso_recorder_snapshot(session, "0-1-41");
    iso_recorder_write(session, "shop.kv/1", "8");
    iso_recorder_tid(session, "0-1-42");
    iso_recorder_commit(session);
    iso_recorder_begin(session);
    iso_recorder_tid(session, "no UTF-8: \xff");
    iso_recorder_commit(session);
    assert_int_equal(counts(recorder).dropped_refused, 1);
    iso_recorder_session_free(session);
    iso_recorder_free(recorder);
    assert_file(
        path,
        "{\"sid\":\"s\",\"tid\":\"c1-42\",\"sno\":0,\"ops\":["
        "{\"t\":\"r\",\"k\":\"shop.kv/1\",\"v\":\"5\"},{\"t\":\"w\",\"k\":\"shop.kv/2\",\"v\":\"7\"}],"
        "\"snapshot\":\"mariadb-bin.000012:4711\",\"status\":\"committed\"}\n"
        "{\"sid\":\"s\",\"tid\":\"0-1-42\",\"sno\":1,\"ops\":[{\"t\":\"w\",\"k\":\"shop.kv/1\",\"v\":\"8\"}],"
        "\"snapshot\":\"0-1-41\",\"status\":\"committed\"}\n");
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_every_member),
        cmocka_unit_test(totals_stand_beside_the_records),
        cmocka_unit_test(rolls_back_to_a_savepoint),
        cmocka_unit_test(takes_a_name_and_mariadbs_snapshots),
        cmocka_unit_test(keys_are_escaped),
        cmocka_unit_test(keys_of_rows_have_no_mark_of_cells),
        cmocka_unit_test(rows_have_cells),
        cmocka_unit_test(queries_are_streamed),
        cmocka_unit_test(half_a_query_leaves_nothing),
        cmocka_unit_test(queries_of_no_shape_are_refused),
        cmocka_unit_test(gives_records_in_band),
        cmocka_unit_test(says_that_the_stream_knows_the_writes),
        cmocka_unit_test(records_wait_until_they_are_let_go),
        cmocka_unit_test(refuses_what_it_cannot_say),
        cmocka_unit_test(what_lingers_is_written_once_somebody_waits_or_half_is_full),
        cmocka_unit_test(a_full_disk_loses_records_and_nothing_else),
        cmocka_unit_test(a_disk_that_fills_up_keeps_whole_lines),
        cmocka_unit_test(a_file_is_the_users_alone),
        cmocka_unit_test(a_full_buffer_drops_at_once),
        cmocka_unit_test(freeing_does_not_wait_for_ever),
        cmocka_unit_test(nothing_to_record_with_does_nothing),
        cmocka_unit_test(a_file_has_one_recorder),
        cmocka_unit_test(unfinished_lines_are_mended),
        cmocka_unit_test(threads_record_at_once),
        cmocka_unit_test(a_killed_application_leaves_whole_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
