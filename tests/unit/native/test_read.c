/* Reading files: whatever the layout, the chunks and the threads, the same history and the same
 * first error.
 */
#define _GNU_SOURCE
#include "tests/support/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "native/piece.h"
#include "native/read.h"
#include "tests/support/history.h"

enum { TEXT = 1 << 16 };

static enum iso_status read_with(const char *const *paths, size_t count, unsigned threads,
                                 size_t chunk, struct iso_history *history, struct iso_error *error)
{
    struct iso_read_options options = {.threads = threads, .chunk_size = chunk};
    error->status = ISO_OK;
    error->text[0] = 0;
    iso_history_init(history);
    return iso_read_history(paths, count, &options, history, error);
}

/* With chunks of all small sizes and some larger, and one to four threads. */
static void same_however_read(const char *const *paths, size_t count,
                              const struct iso_history *expected)
{
    for (size_t chunk = 1; chunk < 20000; chunk = chunk < 80 ? chunk + 1 : chunk * 3 / 2) {
        for (unsigned threads = 1; threads <= 4; threads++) {
            struct iso_history history;
            struct iso_error error;
            char what[64];
            snprintf(what, sizeof what, "chunks of %zu, %u threads", chunk, threads);
            if (read_with(paths, count, threads, chunk, &history, &error) != ISO_OK)
                fail_msg("%s: %s", what, error.text);
            test_same_history(expected, &history, what);
            iso_history_release(&history);
        }
    }
}

static void error_however_read(const char *const *paths, size_t count, const char *expected)
{
    for (size_t chunk = 1; chunk < 20000; chunk = chunk < 40 ? chunk + 1 : chunk * 2) {
        for (unsigned threads = 1; threads <= 4; threads++) {
            struct iso_history history;
            struct iso_error error;
            assert_int_equal(read_with(paths, count, threads, chunk, &history, &error),
                             ISO_BAD_INPUT);
            if (strcmp(error.text, expected))
                fail_msg("chunks of %zu, %u threads: %s\nexpected: %s", chunk, threads, error.text,
                         expected);
            iso_history_release(&history);
        }
    }
}

static void write_text(char path[TEST_PATH], const char *name, const char *text)
{
    test_write_file(path, name, text, strlen(text));
}

/* A transaction with brackets, quotes and backslashes in its strings, so that cutting has something
 * to stumble over. */
static size_t put_transaction(char *text, uint64_t *seed, unsigned tid, const char *gap)
{
    static const char *const names[] = {"7",        "\"a]}\"",    "\"\\\"[{\"",
                                        "\"\\\\\"", "4000000000", "\"\xc3\xa9,\""};
    size_t used =
        (size_t)sprintf(text, "{\"tid\":%u,%s\"sid\":%u,\"sts\":{\"p\":%u,\"l\":\"%u\"},\"ops\":[",
                        tid, gap, (unsigned)(test_random(seed) % 3), tid * 2, tid % 2);
    for (unsigned i = 0, count = test_random(seed) % 5; i < count; i++) {
        unsigned choice = test_random(seed) >> 40;
        const char *key = names[choice % 6], *value = names[choice / 6 % 6];
        used += (size_t)sprintf(text + used, "%s{\"t\":\"%s\",\"k\":%s,%s\"v\":", i ? "," : "",
                                choice & 1 ? "w" : "r", key, gap);
        used += (size_t)sprintf(text + used, choice & 1 ? "%s}" : "[0,%s]}", value);
    }
    return used + (size_t)sprintf(text + used, "]}");
}

static void lines_are_cut_anywhere(void **state)
{
    (void)state;
    uint64_t seed = 1;
    char *text = malloc(TEXT), path[TEST_PATH];
    size_t used = (size_t)sprintf(text, "\xef\xbb\xbf\r\n \n");
    for (unsigned tid = 1; tid <= 40; tid++) {
        used += put_transaction(text + used, &seed, tid, "");
        used += (size_t)sprintf(text + used, tid == 40 ? "" : tid % 7 == 0 ? "\r\n\n" : "\n");
    }
    test_write_file(path, "lines", text, used);
    struct iso_history history;
    struct iso_error error;
    const char *paths[] = {path};
    assert_int_equal(read_with(paths, 1, 1, 0, &history, &error), ISO_OK);
    assert_int_equal(history.txns.count, 40);
    assert_int_equal(iso_origin_offset(history.txns.origin[0]), 3);
    assert_int_equal(iso_origin_offset(history.txns.origin[7]), 3 + 7 + 1);
    assert_int_equal(iso_origin_offset(history.txns.origin[39]), 3 + 39 + 5);
    same_however_read(paths, 1, &history);
    iso_history_release(&history);
    unlink(path);
    free(text);
}

static void arrays_are_cut_anywhere(void **state)
{
    (void)state;
    uint64_t seed = 1;
    char *text = malloc(TEXT), path[TEST_PATH], lines[TEST_PATH];
    size_t used = (size_t)sprintf(text, "\xef\xbb\xbf \n[");
    for (unsigned tid = 1; tid <= 40; tid++) {
        used += (size_t)sprintf(text + used, tid == 1 ? "" : tid % 5 ? "," : "\n\n,\n ");
        used += put_transaction(text + used, &seed, tid, tid % 3 ? "" : "\n ");
    }
    used += (size_t)sprintf(text + used, "\n]\n\n");
    test_write_file(path, "array", text, used);
    struct iso_history history;
    struct iso_error error;
    const char *paths[] = {path, path};
    assert_int_equal(read_with(paths, 1, 1, 0, &history, &error), ISO_OK);
    assert_int_equal(history.txns.count, 40);
    assert_int_equal(iso_origin_offset(history.txns.origin[0]), 2);
    same_however_read(paths, 1, &history);

    /* the same transactions as lines: all is equal but the origins */
    seed = 1;
    used = 0;
    for (unsigned tid = 1; tid <= 40; tid++) {
        used += put_transaction(text + used, &seed, tid, "");
        text[used++] = '\n';
    }
    test_write_file(lines, "lines2", text, used);
    struct iso_history other;
    const char *line_paths[] = {lines};
    assert_int_equal(read_with(line_paths, 1, 2, 100, &other, &error), ISO_OK);
    for (unsigned t = 0; t < 40; t++)
        other.txns.origin[t] = history.txns.origin[t];
    test_same_history(&history, &other, "array and lines");
    iso_history_release(&other);
    iso_history_release(&history);

    /* a tid that stands twice is for finish to find, so the file may be read as two */
    assert_int_equal(read_with(paths, 2, 1, 0, &history, &error), ISO_OK);
    assert_int_equal(history.txns.count, 80);
    assert_int_equal(history.inputs.count, 2);
    assert_int_equal(iso_origin_input(history.txns.origin[40]), 1);
    assert_int_equal(iso_origin_offset(history.txns.origin[40]), 2);
    same_however_read(paths, 2, &history);
    iso_history_release(&history);
    unlink(path);
    unlink(lines);
    free(text);
}

static void nothing_gives_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"",       "\n",           " \r\n\n",       "[]",
                                        " [ ]\n", "\xef\xbb\xbf", "\xef\xbb\xbf[]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char path[TEST_PATH];
        write_text(path, "nothing", texts[i]);
        struct iso_history empty;
        iso_history_init(&empty);
        same_however_read((const char *const[]){path}, 1, &empty);
        iso_history_release(&empty);
        unlink(path);
    }
}

/* tests/data/bad/NAME: a file with one mistake; NAME.expected: the message without the
 * directory. */
static void bad_files_have_their_message(void **state)
{
    (void)state;
    DIR *directory = opendir("tests/data/bad");
    unsigned count = 0;
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[600], expected_path[620], expected[1200];
        size_t length;
        if (entry->d_name[0] == '.' || strstr(entry->d_name, ".expected"))
            continue;
        snprintf(path, sizeof path, "tests/data/bad/%s", entry->d_name);
        snprintf(expected_path, sizeof expected_path, "%s.expected", path);
        char *message = test_read_file(expected_path, &length);
        if (!message)
            fail_msg("%s is missing", expected_path);
        message[strcspn(message, "\n")] = 0;
        snprintf(expected, sizeof expected, "tests/data/bad/%s", message);
        error_however_read((const char *const[]){path}, 1, expected);
        free(message);
        count++;
    }
    closedir(directory);
    assert_true(count >= 20);
}

static void the_first_error_in_the_input_wins(void **state)
{
    (void)state;
    char good[TEST_PATH], bad[TEST_PATH], worse[TEST_PATH], expected[800];
    write_text(good, "good",
               "{\"tid\":1,\"sid\":1,\"ops\":[]}\n{\"tid\":2,\"sid\":1,\"sts\":5,\"ops\":[]}\n");
    write_text(
        bad, "bad",
        "[{\"tid\":3,\"sid\":1,\"ops\":[]},\n\n {\"tid\":4,\"sid\":1,\"sts\":{\"p\":1,\"l\":1},\"ops\":[]}]");
    write_text(worse, "worse", "{\"tid\":1,\"sid\":1,\"ops\":[]}\nx\n");
    snprintf(expected, sizeof expected,
             "%s:3: timestamps are pairs {p,l}, expected single numbers as at %s:2", bad, good);
    error_however_read((const char *const[]){good, bad, worse}, 3, expected);
    snprintf(expected, sizeof expected,
             "%s:2: byte 1: found 'x', expected {\"tid\":..,\"sid\":..,\"ops\":[..]}", worse);
    error_however_read((const char *const[]){good, worse, bad}, 3, expected);
    snprintf(expected, sizeof expected,
             "/no/such/file: cannot be opened: No such file or directory");
    error_however_read((const char *const[]){good, "/no/such/file", worse}, 3, expected);
    unlink(good);
    unlink(bad);
    unlink(worse);
}

static void compressed_files(void **state)
{
    (void)state;
    static const char one[] = "{\"tid\":1,\"sid\":1,\"ops\":[]}\n{\"tid\":2,\"si",
                      two[] = "d\":1,\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":2}]}\n";
    char packed[1000], plain_path[TEST_PATH], path[TEST_PATH], expected[800];
    size_t first = ZSTD_compress(packed, sizeof packed, one, sizeof one - 1, 1);
    size_t size =
        first + ZSTD_compress(packed + first, sizeof packed - first, two, sizeof two - 1, 1);
    char text[sizeof one + sizeof two];
    snprintf(text, sizeof text, "%s%s", one, two);
    write_text(plain_path, "plain", text);
    struct iso_history history;
    struct iso_error error;
    const char *paths[] = {path};
    assert_int_equal(read_with((const char *const[]){plain_path}, 1, 1, 0, &history, &error),
                     ISO_OK);
    assert_int_equal(history.txns.count, 2);
    test_write_file(path, "two-frames.zst", packed, size);
    same_however_read(paths, 1, &history);
    unlink(path);
    test_write_file(path, "by-magic", packed, size);
    same_however_read(paths, 1, &history);
    unlink(path);
    iso_history_release(&history);

    for (size_t cut = 5; cut < size; cut++) {
        test_write_file(path, "cut.zst", packed, cut);
        enum iso_status status = read_with(paths, 1, 1, 0, &history, &error);
        assert_int_equal(status, ISO_BAD_INPUT); /* at the frames' border the text itself is cut */
        if (cut != first) {
            snprintf(expected, sizeof expected, "%s: cut off: the zstd data end inside a frame",
                     path);
            assert_string_equal(error.text, expected);
        }
        iso_history_release(&history);
    }
    unlink(path);
    test_write_file(path, "not.zst", text, strlen(text));
    snprintf(expected, sizeof expected, "%s: not zstd data, expected them by its name", path);
    error_however_read(paths, 1, expected);
    unlink(path);
    unlink(plain_path);
}

static void what_cannot_be_read(void **state)
{
    (void)state;
    error_however_read((const char *const[]){"/tmp"}, 1, "/tmp: is a directory, expected a file");
    error_however_read((const char *const[]){"/no/such/file"}, 1,
                       "/no/such/file: cannot be opened: No such file or directory");
    char path[TEST_PATH], expected[400];
    write_text(path, "secret", "");
    assert_int_equal(chmod(path, 0), 0);
    snprintf(expected, sizeof expected, "%s: cannot be opened: Permission denied", path);
    bool root = geteuid() == 0;
    if (root)
        assert_int_equal(seteuid(65534), 0); /* root may read everything */
    struct iso_history history;
    struct iso_error error;
    enum iso_status status = read_with((const char *const[]){path}, 1, 1, 0, &history, &error);
    iso_history_release(&history);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(status, ISO_BAD_INPUT);
    assert_string_equal(error.text, expected);
    unlink(path);
}

/* One transaction above the limit, in both layouts; the file is made of one long string. */
static void too_large(const char *before, const char *after, const char *place)
{
    size_t size = (size_t)ISO_TRANSACTION_LIMIT + 100, head = strlen(before);
    char *text = malloc(size), path[TEST_PATH], expected[400];
    memset(text, 'x', size);
    memcpy(text, before, head);
    memcpy(text + size - strlen(after), after, strlen(after));
    test_write_file(path, "large", text, size);
    free(text);
    snprintf(expected, sizeof expected, "%s:%s: a transaction of more than 64 MiB, expected less",
             path, place);
    for (unsigned threads = 1; threads <= 2; threads++) {
        struct iso_history history;
        struct iso_error error;
        assert_int_equal(read_with((const char *const[]){path}, 1, threads, 0, &history, &error),
                         ISO_BAD_INPUT);
        assert_string_equal(error.text, expected);
        iso_history_release(&history);
    }
    unlink(path);
}

static void transactions_have_a_limit(void **state)
{
    (void)state;
    too_large("{\"tid\":1,\"sid\":1,\"ops\":[]}\n{\"tid\":2,\"sid\":1,\"ops\":[],\"x\":\"", "\"}\n",
              "2: byte 1");
    too_large("[{\"tid\":1,\"sid\":1,\"ops\":[]},\n {\"tid\":2,\"sid\":1,\"ops\":[],\"x\":\"",
              "\"}]", "2: byte 2");
}

struct progress {
    uint64_t calls, done, total;
};

static void note_progress(void *context, uint64_t done, uint64_t total)
{
    struct progress *progress = context;
    assert_true(done >= progress->done);
    *progress = (struct progress){progress->calls + 1, done, total};
}

static void progress_ends_at_the_total(void **state)
{
    (void)state;
    char path[TEST_PATH];
    write_text(path, "progress",
               "{\"tid\":1,\"sid\":1,\"ops\":[]}\n{\"tid\":2,\"sid\":1,\"ops\":[]}\n");
    struct progress progress = {0, 0, 0};
    struct iso_read_options options = {
        .threads = 2, .chunk_size = 8, .progress = note_progress, .progress_context = &progress};
    struct iso_history history;
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(&history);
    assert_int_equal(
        iso_read_history((const char *const[]){path, path}, 2, &options, &history, &error), ISO_OK);
    assert_true(progress.calls >= 4);
    assert_int_equal(progress.total, 2 * 2 * 27);
    assert_int_equal(progress.done, progress.total);
    iso_history_release(&history);
    unlink(path);
}

static void initial_files(void **state)
{
    (void)state;
    char path[TEST_PATH], expected[400];
    struct iso_history history;
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(&history);
    write_text(
        path, "initial",
        "\xef\xbb\xbf{\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":5},\n{\"t\":\"w\",\"k\":2,\"v\":[1,2]}]}\n");
    assert_int_equal(iso_read_initial(path, &history, &error), ISO_OK);
    assert_int_equal(history.initial.count, 3);
    unlink(path);
    write_text(path, "initial",
               "{\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":5},\n {\"t\":\"r\",\"k\":1}]}");
    assert_int_equal(iso_read_initial(path, &history, &error), ISO_BAD_INPUT);
    snprintf(expected, sizeof expected,
             "%s:2: byte 2: a read in the initial transaction, expected writes and appends only",
             path);
    assert_string_equal(error.text, expected);
    iso_history_release(&history);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_cut_anywhere),
        cmocka_unit_test(arrays_are_cut_anywhere),
        cmocka_unit_test(nothing_gives_nothing),
        cmocka_unit_test(bad_files_have_their_message),
        cmocka_unit_test(the_first_error_in_the_input_wins),
        cmocka_unit_test(compressed_files),
        cmocka_unit_test(what_cannot_be_read),
        cmocka_unit_test(transactions_have_a_limit),
        cmocka_unit_test(progress_ends_at_the_total),
        cmocka_unit_test(initial_files),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("read", tests, NULL, NULL);
}
