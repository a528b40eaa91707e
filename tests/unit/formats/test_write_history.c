/* Writing histories and reading them back: nothing is lost in the native format, and TimeKiller's
 * losses are counted. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "native/read.h"
#include "formats/write_history.h"
#include "tests/support/capture.h"
#include "tests/support/history.h"

static char *write_text(const struct iso_history *history, enum iso_format format,
                        struct iso_history_loss *loss, struct iso_error *error)
{
    struct iso_output output;
    struct iso_history_writer writer;
    test_capture_start(&output);
    iso_history_writer_init(&writer, &output, format);
    assert_int_equal(iso_history_writer_add(&writer, history, error), error->status);
    iso_history_writer_end(&writer);
    if (loss)
        *loss = writer.loss;
    return test_capture_end(&output);
}

static void read_text(const char *text, struct iso_history *history)
{
    char path[TEST_PATH];
    const char *paths[] = {path};
    struct iso_read_options options = {.threads = 1};
    struct iso_error error = {.status = ISO_OK};
    test_write_file(path, "write-history.jsonl", text, strlen(text));
    iso_history_init(history);
    enum iso_status status = iso_read_history(paths, 1, &options, history, &error);
    remove(path);
    if (status != ISO_OK)
        fail_msg("%s in %s", error.text, text);
}

/* Reads the text, writes it, reads that: both histories are the same and the second writing gives
 * the same bytes. */
static void round_trip(const char *text)
{
    struct iso_history first, second;
    struct iso_error error = {.status = ISO_OK};
    read_text(text, &first);
    char *once = write_text(&first, ISO_FORMAT_NATIVE, NULL, &error);
    read_text(once, &second);
    test_same_history(&first, &second, text);
    char *twice = write_text(&second, ISO_FORMAT_NATIVE, NULL, &error);
    assert_string_equal(once, twice);
    free(once);
    free(twice);
    iso_history_release(&first);
    iso_history_release(&second);
}

static void native_keeps_everything(void **state)
{
    (void)state;
    round_trip(
        "{\"tid\":1,\"sid\":\"s\",\"sno\":3,\"sts\":1,\"cts\":\"18446744073709551614\",\"ops\":[]}\n");
    round_trip(
        "{\"tid\":\"a\\u0000\\\"\",\"sid\":-5,\"status\":\"aborted\",\"ops\":[{\"t\":\"w\",\"k\":\"\","
        "\"v\":null},"
        "{\"t\":\"d\",\"k\":1},{\"t\":\"r\",\"k\":2},{\"t\":\"r\",\"k\":\"07\",\"v\":-"
        "9223372036854775808}]}\n");
    round_trip(
        "{\"tid\":1,\"sid\":1,\"sts\":5,\"cts\":9,\"status\":\"unknown\",\"ops\":[{\"t\":\"w\",\"k\":"
        "1,\"v\":2,"
        "\"ots\":7},{\"t\":\"r\",\"k\":3,\"v\":18446744073709551615,\"lock\":true}]}\n");
    round_trip(
        "{\"tid\":1,\"sid\":1,\"sts\":{\"p\":9007199254740993,\"l\":1},\"cts\":{\"p\":\"9007199254740993\","
        "\"l\":\"2\"},\"ops\":[{\"t\":\"a\",\"k\":1,\"v\":2,\"ots\":{\"p\":1,\"l\":0}},"
        "{\"t\":\"r\",\"k\":1,\"v\":[1,\"x\"]},{\"t\":\"r\",\"k\":1,\"v\":[]}]}\n");
    round_trip(
        "{\"tid\":1,\"sid\":1,\"xid\":700,\"snapshot\":\"600:900:650,700\",\"ops\":[{\"t\":\"r\",\"k\":1,"
        "\"snapshot\":\"600:901:\"},{\"t\":\"w\",\"k\":1,\"v\":1}]}\n{\"tid\":2,\"sid\":1,\"ops\":[]}\n");
    round_trip(
        "{\"tid\":1,\"sid\":1,\"writes\":\"cdc\",\"ops\":[{\"t\":\"r\",\"k\":1}]}\n{\"tid\":2,\"sid\":1,\"ops\":[]}\n");
    round_trip(
        "{\"tid\":1,\"sid\":1,\"ops\":[]}\n{\"tid\":2,\"sid\":1,\"whole\":true,\"ops\":[{\"t\":\"d\",\"k\":1}]}\n");
}

/* Beside each other, also of a finished history: no timestamp is lost to the snapshots, and none of
 * those to it. */
static void native_keeps_snapshots_beside_timestamps(void **state)
{
    (void)state;
    static const char text[] =
        "{\"tid\":1,\"sid\":1,\"sts\":3,\"cts\":4,\"xid\":700,\"snapshot\":\"600:900:700\",\"ops\":["
        "{\"t\":\"r\",\"k\":1,\"v\":null,\"ots\":3},{\"t\":\"w\",\"k\":1,\"v\":1}]}\n"
        "{\"tid\":2,\"sid\":1,\"sts\":5,\"cts\":6,\"xid\":701,\"ops\":[{\"t\":\"d\",\"k\":1}]}\n";
    struct iso_history history;
    struct iso_error error = {.status = ISO_OK};
    round_trip(text);
    read_text(text, &history);
    char *built = write_text(&history, ISO_FORMAT_NATIVE, NULL, &error);
    assert_string_equal(built, text);
    assert_int_equal(iso_history_finish(&history, &error), ISO_OK);
    char *finished = write_text(&history, ISO_FORMAT_NATIVE, NULL, &error);
    assert_string_equal(finished, text);
    free(finished);
    free(built);
    iso_history_release(&history);
}

/* Of a finished history without timestamps the positions that its snapshots gave stand there
 * too. */
static void native_writes_positions_of_finished_snapshots(void **state)
{
    (void)state;
    struct iso_history history;
    struct iso_error error = {.status = ISO_OK};
    read_text(
        "{\"tid\":1,\"sid\":1,\"xid\":700,\"snapshot\":\"700:700:\",\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":1}]}\n"
        "{\"tid\":2,\"sid\":2,\"snapshot\":\"701:701:\",\"ops\":[{\"t\":\"r\",\"k\":1,\"v\":1}]}\n",
        &history);
    assert_int_equal(iso_history_finish(&history, &error), ISO_OK);
    char *text = write_text(&history, ISO_FORMAT_NATIVE, NULL, &error);
    assert_string_equal(
        text, "{\"tid\":1,\"sid\":1,\"sts\":2,\"cts\":3,\"xid\":700,\"snapshot\":\"700:700:\","
              "\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":1}]}\n"
              "{\"tid\":2,\"sid\":2,\"sts\":4,\"cts\":4,\"snapshot\":\"701:701:\","
              "\"ops\":[{\"t\":\"r\",\"k\":1,\"v\":1}]}\n");
    free(text);
    iso_history_release(&history);
}

/* Formats that cannot say that something is not known refuse it, and do not make a value of it. */
static void only_native_says_what_is_not_known(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"tid\":1,\"sid\":1,\"sts\":1,\"cts\":2,\"ops\":[{\"t\":\"w\",\"k\":1,\"unknown\":\"unknown-value\",\"lock\":true}]}\n",
         "the transaction writes a value that nobody knows, which format "},
        {"{\"tid\":1,\"sid\":1,\"sts\":1,\"cts\":2,\"writes\":\"cdc\",\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":1}]}\n",
         "only a change stream knows all that the transaction wrote, which format "},
    };
    static const enum iso_format formats[] = {ISO_FORMAT_TIMEKILLER, ISO_FORMAT_DBCOP,
                                              ISO_FORMAT_ELLE_JSON, ISO_FORMAT_HIST};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_history history;
        struct iso_history_loss loss;
        struct iso_error error = {.status = ISO_OK};
        round_trip(cases[i].text);
        read_text(cases[i].text, &history);
        char *native = write_text(&history, ISO_FORMAT_NATIVE, NULL, &error);
        assert_string_equal(native, cases[i].text);
        free(native);
        assert_int_equal(iso_history_finish(&history, &error), ISO_OK);
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
            struct iso_output output;
            struct iso_history_writer writer;
            error.status = ISO_OK;
            test_capture_start(&output);
            iso_history_writer_init(&writer, &output, formats[f]);
            assert_int_equal(iso_history_writer_add(&writer, &history, &error), ISO_BAD_INPUT);
            assert_non_null(strstr(error.text, cases[i].message));
            assert_non_null(strstr(error.text, "write-history.jsonl:1: "));
            free(test_capture_end(&output));
        }
        error.status = ISO_OK;
        assert_int_equal(iso_history_write_directory("no-such-folder", ISO_FORMAT_COBRA, &history,
                                                     &loss, &error),
                         ISO_BAD_INPUT);
        assert_non_null(strstr(error.text, cases[i].message));
        iso_history_release(&history);
    }
}

static void timekiller_counts_what_it_leaves_out(void **state)
{
    (void)state;
    struct iso_history history;
    struct iso_history_loss loss;
    struct iso_error error = {.status = ISO_OK};
    read_text(
        "{\"tid\":1,\"sid\":1,\"sno\":9,\"sts\":1,\"cts\":2,\"ops\":[{\"t\":\"w\",\"k\":\"k\",\"v\":1},"
        "{\"t\":\"d\",\"k\":2},{\"t\":\"r\",\"k\":3,\"v\":4,\"lock\":true}]}\n"
        "{\"tid\":2,\"sid\":1,\"sno\":1,\"sts\":0,\"ops\":[{\"t\":\"r\",\"k\":3,\"v\":4,\"ots\":0}]}\n"
        "{\"tid\":3,\"sid\":2,\"sts\":1,\"status\":\"aborted\",\"ops\":[]}\n"
        "{\"tid\":4,\"sid\":2,\"status\":\"unknown\",\"ops\":[]}\n",
        &history);
    assert_int_equal(iso_history_finish(&history, &error), ISO_OK);
    char *text = write_text(&history, ISO_FORMAT_TIMEKILLER, &loss, &error);
    assert_string_equal(
        text, "[\n"
              "{\"tid\":2,\"sid\":1,\"sts\":{\"p\":0,\"l\":0},\"cts\":{\"p\":0,\"l\":0},\"ops\":["
              "{\"t\":\"r\",\"k\":3,\"v\":4}]},\n"
              "{\"tid\":1,\"sid\":1,\"sts\":{\"p\":1,\"l\":0},\"cts\":{\"p\":2,\"l\":0},\"ops\":["
              "{\"t\":\"w\",\"k\":\"k\",\"v\":1},{\"t\":\"w\",\"k\":2,\"v\":null},"
              "{\"t\":\"r\",\"k\":3,\"v\":4}]}\n]\n");
    assert_int_equal(loss.aborted, 1);
    assert_int_equal(loss.unknown, 1);
    assert_int_equal(loss.snos, 2);
    assert_int_equal(loss.own_times, 2);
    assert_int_equal(loss.deletes, 1);
    assert_int_equal(loss.strings, 1);
    assert_int_equal(loss.snapshots, 0);
    free(text);
    iso_history_release(&history);
}

static void timekiller_gives_pairs_back(void **state)
{
    (void)state;
    struct iso_history history;
    struct iso_error error = {.status = ISO_OK};
    const char *text =
        "[\n{\"tid\":1,\"sid\":1,\"sts\":{\"p\":7,\"l\":3},\"cts\":{\"p\":7,\"l\":4},\"ops\":["
        "{\"t\":\"a\",\"k\":1,\"v\":2},{\"t\":\"r\",\"k\":1,\"v\":[2]}]}\n]\n";
    read_text(text, &history);
    assert_int_equal(iso_history_finish(&history, &error), ISO_OK);
    char *written = write_text(&history, ISO_FORMAT_TIMEKILLER, NULL, &error);
    assert_string_equal(written, text);
    free(written);
    iso_history_release(&history);
}

static void timekiller_needs_timestamps(void **state)
{
    (void)state;
    struct iso_history history;
    struct iso_error error = {.status = ISO_OK};
    read_text("{\"tid\":1,\"sid\":1,\"sts\":1,\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":1}]}\n",
              &history);
    assert_int_equal(iso_history_finish(&history, &error), ISO_OK);
    error.status = ISO_OK;
    struct iso_output output;
    struct iso_history_writer writer;
    test_capture_start(&output);
    iso_history_writer_init(&writer, &output, ISO_FORMAT_TIMEKILLER);
    assert_int_equal(iso_history_writer_add(&writer, &history, &error), ISO_BAD_INPUT);
    assert_non_null(strstr(error.text, "write-history.jsonl"));
    assert_non_null(strstr(error.text, "no commit timestamp"));
    free(test_capture_end(&output));
    iso_history_release(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native_keeps_everything),
        cmocka_unit_test(native_keeps_snapshots_beside_timestamps),
        cmocka_unit_test(native_writes_positions_of_finished_snapshots),
        cmocka_unit_test(only_native_says_what_is_not_known),
        cmocka_unit_test(timekiller_counts_what_it_leaves_out),
        cmocka_unit_test(timekiller_gives_pairs_back),
        cmocka_unit_test(timekiller_needs_timestamps),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
