/* Every reader of history formats: samples and what they mean (as native JSON Lines), bad inputs
 * and what is said of them, and how formats are told apart. */
#define _GNU_SOURCE
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/format.h"
#include "formats/write_history.h"
#include "tests/support/capture.h"

/* What was read, as native lines and, behind them, what keys start with. */
static char *written(const struct iso_history *history)
{
    struct iso_output output;
    struct iso_history_writer writer;
    struct iso_error error = {.status = ISO_OK};
    test_capture_start(&output);
    iso_history_writer_init(&writer, &output, ISO_FORMAT_NATIVE);
    assert_int_equal(iso_history_writer_add(&writer, history, &error), ISO_OK);
    iso_history_write_initial(&output, history);
    return test_capture_end(&output);
}

static char *read_on(unsigned threads, enum iso_format format, const char *path)
{
    struct iso_history history;
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(&history);
    if (iso_format_read_on(threads, format, path, &history, &error) != ISO_OK)
        fail_msg("%s", error.text);
    char *text = written(&history);
    assert_int_equal(iso_history_finish(&history, &error), ISO_OK);
    iso_history_release(&history);
    return text;
}

static void check_path(enum iso_format format, const char *path, const char *expected)
{
    char *text = read_on(1, format, path);
    assert_string_equal(text, expected);
    free(text);
}

/* The error names the place and says `expected`. */
static void check_bad_path(enum iso_format format, const char *path, const char *expected)
{
    struct iso_history history;
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(&history);
    assert_int_equal(iso_format_read(format, path, &history, &error), ISO_BAD_INPUT);
    if (!strstr(error.text, expected) || strncmp(error.text, path, strlen(path)) != 0)
        fail_msg("said: %s\nexpected: %s", error.text, expected);
    iso_history_release(&history);
}

static void check_bytes(enum iso_format format, const char *bytes, size_t length,
                        const char *expected)
{
    char path[TEST_PATH];
    test_write_file(path, "history", bytes, length);
    check_path(format, path, expected);
    remove(path);
}

static void check(enum iso_format format, const char *text, const char *expected)
{
    check_bytes(format, text, strlen(text), expected);
}

static void check_bad(enum iso_format format, const char *text, const char *expected)
{
    char path[TEST_PATH];
    test_write_file(path, "history", text, strlen(text));
    check_bad_path(format, path, expected);
    remove(path);
}

#define NO_INITIAL "{\"ops\":[]}\n"

/* ---- one operation a line ---- */

static void text(void **state)
{
    (void)state;
    check(
        ISO_FORMAT_TEXT,
        "w(0,1,1,1)\nr(0,0,2,3)\nr(0,1,1,2)\nw(0,5,1,1)\nw(7,9,2,-1)\nr(7,9,2,-1)\n",
        "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"w\",\"k\":0,\"v\":1},{\"t\":\"w\",\"k\":0,\"v\":5}]}\n"
        "{\"tid\":3,\"sid\":2,\"ops\":[{\"t\":\"r\",\"k\":0,\"v\":0}]}\n"
        "{\"tid\":2,\"sid\":1,\"ops\":[{\"t\":\"r\",\"k\":0,\"v\":1}]}\n"
        "{\"tid\":\"aborted:5\",\"sid\":2,\"status\":\"aborted\",\"ops\":[{\"t\":\"w\",\"k\":7,\"v\":9}]}\n"
        "{\"ops\":[\n{\"t\":\"w\",\"k\":0,\"v\":0},\n{\"t\":\"w\",\"k\":7,\"v\":0}]}\n");
    /* somebody writes 0: then reads of 0 are reads of that */
    check(ISO_FORMAT_TEXT, "w(1,0,0,0)\nr(1,0,1,1)\n",
          "{\"tid\":0,\"sid\":0,\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":0}]}\n"
          "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"r\",\"k\":1,\"v\":0}]}\n" NO_INITIAL);
    check_bad(ISO_FORMAT_TEXT, "w(1,0,0,0)\nw(1,0,0)\n",
              ":2: found 'w(1,0,0)', expected r(key,value,session,txn)");
    check_bad(ISO_FORMAT_TEXT, "w(1,18446744073709551616,0,0)\n", "of 64 bits");
    check_bad(ISO_FORMAT_TEXT, "w(1,2,0,5)\nw(1,3,1,5)\n",
              "transaction 5 is of session 1 here and of session 0");
    check_bad(ISO_FORMAT_TEXT, "", "no transaction here");
}

/* Of some MB: its pieces end within transactions, and lines of three transactions lie between one
 * another's. */
static void text_in_pieces(void **state)
{
    (void)state;
    enum { LINES = 120000 };
    static const char *const ends[] = {"\n", "\r\n"};
    char path[TEST_PATH], *bytes, *expected, *lines[3];
    size_t size, expected_size, sizes[3];
    FILE *stream = open_memstream(&bytes, &size),
         *native = open_memstream(&expected, &expected_size), *of[3];
    for (int i = 0; i < LINES; i++)
        fprintf(stream, "w(%d,%d,%d,%d)%s", i % 1000, 1000000000 + i * 100, i / 50 % 7, i / 50,
                ends[i / 7 % 2]);
    for (int i = 0; i < LINES / 50; i++) {
        fprintf(native, "{\"tid\":%d,\"sid\":%d,\"ops\":[", i, i % 7);
        for (int o = 50 * i; o < 50 * i + 50; o++)
            fprintf(native, "%s{\"t\":\"w\",\"k\":%d,\"v\":%d}", o % 50 ? "," : "", o % 1000,
                    1000000000 + o * 100);
        fprintf(native, "]}\n");
    }
    /* three at a time, two of them of one session, and reads that aborted among them */
    for (int i = 0; i < 3; i++) {
        of[i] = open_memstream(&lines[i], &sizes[i]);
        fprintf(of[i], "{\"tid\":%d,\"sid\":%d,\"ops\":[", 5000 + i, 9 + i / 2);
    }
    for (int i = 0; i < LINES; i++) {
        fprintf(stream, "w(%d,%d,%d,%d)\nr(5,5,10,-1)\n", i % 1000, i + 1, 9 + i % 3 / 2,
                5000 + i % 3);
        fprintf(of[i % 3], "%s{\"t\":\"w\",\"k\":%d,\"v\":%d}", i < 3 ? "" : ",", i % 1000, i + 1);
    }
    for (int i = 0; i < 3; i++) {
        fclose(of[i]);
        fprintf(native, "%s]}\n", lines[i]);
        free(lines[i]);
    }
    fclose(stream);
    fclose(native);
    assert_true(size > (size_t)4 << 20);
    test_write_file(path, "history", bytes, size);
    for (unsigned threads = 1; threads <= 3; threads++) {
        char *text = read_on(threads, ISO_FORMAT_TEXT, path);
        assert_true(!strncmp(text, expected, expected_size));
        assert_true(!strncmp(text + expected_size, "{\"ops\":[\n", 9));
        free(text);
    }
    remove(path);
    bytes[size - 2] = '?'; /* the last line, of 3 * LINES */
    test_write_file(path, "history", bytes, size);
    check_bad_path(ISO_FORMAT_TEXT, path, ":360000: found 'r(5,5,10,-1?', expected");
    remove(path);
    free(bytes);
    free(expected);
}

/* ---- AWDIT ---- */

static void awdit(void **state)
{
    (void)state;
    check(
        ISO_FORMAT_AWDIT, "w 0 0\n=====\n\nr 0 0\n---\n---\nw 0 1\n=====\n=====\nr 0 0\nw 0 2",
        "{\"tid\":0,\"sid\":0,\"ops\":[{\"t\":\"w\",\"k\":0,\"v\":0}]}\n"
        "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"r\",\"k\":0,\"v\":0}]}\n"
        "{\"tid\":2,\"sid\":1,\"ops\":[{\"t\":\"w\",\"k\":0,\"v\":1}]}\n"
        "{\"tid\":3,\"sid\":2,\"ops\":[{\"t\":\"r\",\"k\":0,\"v\":0},{\"t\":\"w\",\"k\":0,\"v\":2}]}\n" NO_INITIAL);
    check_bad(ISO_FORMAT_AWDIT, "w 0 0\nr 0\n", ":2: byte 1: found 'r 0', expected 'r KEY VALUE'");
    check_bad(ISO_FORMAT_AWDIT, "w 0 -1\n", "found 'w 0 -1'");
    check_bad(ISO_FORMAT_AWDIT, "==\n--\n", "no transaction here");
}

/* ---- .hist ---- */

static void hist(void **state)
{
    (void)state;
    check(
        ISO_FORMAT_HIST, "[x:=1 y:=2] [y==2 x:=3] // so\n---\n[x==1 y:=4]!\n[z==?] []\n",
        "{\"tid\":0,\"sid\":0,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":1},{\"t\":\"w\",\"k\":\"y\",\"v\":2}]}\n"
        "{\"tid\":1,\"sid\":0,\"ops\":[{\"t\":\"r\",\"k\":\"y\",\"v\":2},{\"t\":\"w\",\"k\":\"x\",\"v\":3}]}\n"
        "{\"tid\":2,\"sid\":1,\"status\":\"aborted\",\"ops\":[{\"t\":\"w\",\"k\":\"y\",\"v\":4}]}\n"
        "{\"tid\":3,\"sid\":1,\"ops\":[{\"t\":\"r\",\"k\":\"z\",\"v\":null}]}\n"
        "{\"tid\":4,\"sid\":1,\"ops\":[]}\n" NO_INITIAL);
    check_bad(ISO_FORMAT_HIST, "[x:=1",
              ":1: byte 6: the text ends here, expected a variable's name or ']'");
    check_bad(ISO_FORMAT_HIST, "[x=1]", ":1: byte 3: found '=', expected ':=' or '=='");
    check_bad(ISO_FORMAT_HIST, "[x:=?]", "expected a value");
    check_bad(ISO_FORMAT_HIST, "[]\nx", ":2: byte 1: found 'x', expected '[' or a line of dashes");
}

/* ---- newer dbcop ---- */

#define TWO_SESSIONS                                                                                           \
    "[[{\"events\":[{\"Write\":{\"variable\":1,\"version\":2}},{\"Read\":{\"version\":null,\"variable\":3}}]," \
    "\"committed\":true}],\n[{\"committed\":false,\"events\":[{\"Write\":{\"variable\":18446744073709551615,"  \
    "\"version\":4}}]}]]"

static void dbcop_json(void **state)
{
    static const char *const expected =
        "{\"tid\":0,\"sid\":0,\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":2},{\"t\":\"r\",\"k\":3,\"v\":null}]}\n"
        "{\"tid\":1,\"sid\":1,\"status\":\"aborted\",\"ops\":[{\"t\":\"w\",\"k\":\"18446744073709551615\",\"v\":4}]}\n" NO_INITIAL;
    (void)state;
    check(ISO_FORMAT_DBCOP_JSON, TWO_SESSIONS, expected);
    check(ISO_FORMAT_DBCOP_JSON,
          "{\"params\":{\"id\":0},\"info\":\"x\",\"data\":" TWO_SESSIONS ",\"end\":\"\"}",
          expected);
    check_bad(ISO_FORMAT_DBCOP_JSON, "{\"params\":{}}", "an object with \"data\"");
    check_bad(ISO_FORMAT_DBCOP_JSON, "[[{\"committed\":true}]]", "a transaction with \"events\"");
    check_bad(ISO_FORMAT_DBCOP_JSON, "[[{\"events\":[{\"Cas\":{}}]}]]",
              "expected \"Write\" or \"Read\"");
    check_bad(ISO_FORMAT_DBCOP_JSON,
              "[[{\"events\":[{\"Write\":{\"variable\":1,\"version\":null}}]}]]",
              "expected a number");
    check_bad(ISO_FORMAT_DBCOP_JSON, "[[{\"events\":[{\"Read\":{\"variable\":1}}]}]]",
              "\"version\":number");
    check_bad(ISO_FORMAT_DBCOP_JSON, "[[{\"events\":[]}]", "the text ends here");
}

/* ---- Elle ---- */

static void elle_edn(void **state)
{
    (void)state;
    /* no process: each completion is a session */
    check(
        ISO_FORMAT_ELLE_EDN,
        "{:index 2 :type :invoke, :value [[:append 255 8] [:r 253 nil]]}\n"
        "{:index 3 :type :ok,     :value [[:append 255 8] [:r 253 [1 3 4]] [ :r 3 [ ] ]]}\n",
        "{\"tid\":3,\"sid\":3,\"ops\":[{\"t\":\"a\",\"k\":255,\"v\":8},{\"t\":\"r\",\"k\":253,\"v\":[1,3,4]},"
        "{\"t\":\"r\",\"k\":3,\"v\":[]}]}\n" NO_INITIAL);
    /* outcomes, tags, comments, other processes, a vector around, keys as keywords and strings */
    check(
        ISO_FORMAT_ELLE_EDN,
        "; a comment\n[#jepsen.history.Op{:type :invoke, :f :txn, :process 0, :value [[:w :x 2]]}\n"
        " {:type :invoke :f :txn :process 1 :value [[:w \"y\" -3] [:r :x nil]]}\n"
        " {:type :fail :f :txn :process 0 :value [[:w :x 2]] :error #{:conflict #_[:dropped {}]}}\n"
        " {:type :info :f :start :process :nemesis :value nil :time 1.5}\n"
        " {:type :info :f :txn :process 1 :value nil}\n"
        " {:type :invoke :f :txn :process 2 :value [[:w :z 1]]}]\n",
        "{\"tid\":\"#3\",\"sid\":0,\"status\":\"aborted\",\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":2}]}\n"
        "{\"tid\":\"#5\",\"sid\":1,\"status\":\"unknown\",\"ops\":[{\"t\":\"w\",\"k\":\"y\",\"v\":-3}]}\n"
        "{\"tid\":\"#6\",\"sid\":2,\"status\":\"unknown\",\"ops\":[{\"t\":\"w\",\"k\":\"z\",\"v\":1}]}\n" NO_INITIAL);
    /* Viper's EDN: a fourth member; a failed write is one of an aborted transaction */
    check(
        ISO_FORMAT_ELLE_EDN,
        "{:type :ok, :f :txn, :process 3, :index 1 :value [[:r 7241 -80 false] [:w 5 9 true] [:w 6 9 false]]}",
        "{\"tid\":1,\"sid\":3,\"ops\":[{\"t\":\"r\",\"k\":7241,\"v\":-80},{\"t\":\"w\",\"k\":5,\"v\":9}]}\n"
        "{\"tid\":\"1.failed\",\"sid\":3,\"status\":\"aborted\",\"ops\":[{\"t\":\"w\",\"k\":6,\"v\":9}]}\n" NO_INITIAL);
    check(ISO_FORMAT_ELLE_EDN, "{:type :ok :index 1 :value [[:w \"a\\\"\\\\\" 1]]}",
          "{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"w\",\"k\":\"a\\\"\\\\\",\"v\":1}]}\n" NO_INITIAL);
}

static void elle_edn_is_refused(void **state)
{
    (void)state;
    check_bad(ISO_FORMAT_ELLE_EDN, "[{:type :ok, :f :add, :value 0, :process 0}]",
              "not a read/write history: 1 operations (the first is :add)");
    check_bad(ISO_FORMAT_ELLE_EDN, "{:type :ok, :f :read, :value [[1 2] [3 4]]}",
              "not a read/write history");
    check_bad(ISO_FORMAT_ELLE_EDN, "{:type :ok, :f :txn, :value [[:w :x\254 2]]}", "UTF-8");
    check_bad(ISO_FORMAT_ELLE_EDN, "{:type :ok, :f :txn, :value 7}", "is no vector of operations");
    check_bad(ISO_FORMAT_ELLE_EDN, "{:f :txn, :value []}", "without a :type");
    check_bad(ISO_FORMAT_ELLE_EDN, "{:type :ok\n :value [[:cas 1 2]]}",
              ":2: byte 11: found ':cas', expected an operation");
    check_bad(ISO_FORMAT_ELLE_EDN, "{:type :ok :value [[:r 1 2}]}",
              "expected the bracket that matches");
    check_bad(ISO_FORMAT_ELLE_EDN, "{:type :ok :value [[:r 1 2]]",
              "the text ends here, expected the brackets that are open");
    check_bad(ISO_FORMAT_ELLE_EDN, "{:type :ok :value [[:w 1 99999999999999999999]]}",
              "an integer of 64 bits");
    check_bad(ISO_FORMAT_ELLE_EDN, "{:type}", "a value for each key of the map");
    check_bad(
        ISO_FORMAT_ELLE_EDN,
        "{:type :invoke :process 1 :value [[:r 1 nil]]}{:type :invoke :process 1 :value [[:r 1 nil]]}",
        "invokes before its last operation has completed");
}

static void elle_json(void **state)
{
    (void)state;
    check(
        ISO_FORMAT_ELLE_JSON,
        "[{\"type\":\"invoke\",\"f\":\"txn\",\"value\":[[\"w\",\"x\",2]],\"process\":0,\"index\":1},\n"
        " {\"type\":\"ok\",\"f\":\"txn\",\"value\":[[\"w\",\"x\",2],[\"r\",\"y\",null]],\"process\":0,\"index\":2},\n"
        " {\"type\":\"ok\",\"f\":\"txn\",\"value\":[[\"append\",253,1],[\"r\",255,[2,3]]],\"process\":1,\"index\":4}]\n",
        "{\"tid\":2,\"sid\":0,\"ops\":[{\"t\":\"w\",\"k\":\"x\",\"v\":2},{\"t\":\"r\",\"k\":\"y\",\"v\":null}]}\n"
        "{\"tid\":4,\"sid\":1,\"ops\":[{\"t\":\"a\",\"k\":253,\"v\":1},{\"t\":\"r\",\"k\":255,\"v\":[2,3]}]}\n" NO_INITIAL);
    check_bad(ISO_FORMAT_ELLE_JSON,
              "[{\"type\":\"ok\",\"f\":\"transfer\",\"value\":{\"from\":1},\"process\":0}]",
              "not a read/write history");
    check_bad(ISO_FORMAT_ELLE_JSON, "[{\"type\":\"ok\",\"f\":\"txn\",\"value\":[[\"cas\",1,2]]}]",
              "an operation [\"r\"");
    check_bad(ISO_FORMAT_ELLE_JSON, "[{\"type\":\"ok\",\"f\":\"txn\",\"value\":[[\"w\",1,[2]]]}]",
              "one value to write");
    check_bad(ISO_FORMAT_ELLE_JSON, "[{\"type\":\"ok\"", "the text ends here");
}

/* ---- directories ---- */

static void make_directory(char path[TEST_PATH])
{
    snprintf(path, TEST_PATH, "/tmp/test-formats-XXXXXX");
    assert_non_null(mkdtemp(path));
}

static void put_file(const char *directory, const char *name, const void *bytes, size_t length)
{
    char path[TEST_PATH + 32];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static void remove_file(const char *directory, const char *name)
{
    char path[TEST_PATH + 32];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    remove(path);
}

static void viper(void **state)
{
    static const char one
        [] =
            "{\"value\": [[\"r\", 3848, 105, false], [\"w\", 9696, -20, true], [\"w\", 1, 1, false]]}\n"
            "{\"value\": [[\"d\", 9696, -5, -20, false, true, true]]}\n",
     two[] =
         "{\"value\": [[\"i\", 3, 30, \"nil\", false, true, true, \"i\"], [\"r\", 3848, 106, false]]}\n";
    static const char initial[] = "{\"value\": [[\"w\", 3848, 105, true]], \"isInitial\": true}\n";
    char path[TEST_PATH];
    (void)state;
    make_directory(path);
    put_file(path, "J1.log", one, sizeof one - 1);
    put_file(path, "J2.log", two, sizeof two - 1);
    put_file(path, "J1.debug", "?", 1);
    static const char *const expected =
        "{\"tid\":0,\"sid\":0,\"ops\":[{\"t\":\"r\",\"k\":3848,\"v\":105},{\"t\":\"w\",\"k\":9696,\"v\":-20}]}\n"
        "{\"tid\":\"0.failed\",\"sid\":0,\"status\":\"aborted\",\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":1}]}\n"
        "{\"tid\":2,\"sid\":0,\"ops\":[{\"t\":\"r\",\"k\":9696,\"v\":-20},{\"t\":\"w\",\"k\":9696,\"v\":-5}]}\n"
        "{\"tid\":3,\"sid\":1,\"ops\":[{\"t\":\"r\",\"k\":3,\"v\":null},{\"t\":\"w\",\"k\":3,\"v\":30},"
        "{\"t\":\"r\",\"k\":3848,\"v\":106}]}\n"
        "{\"ops\":[\n{\"t\":\"w\",\"k\":3848,\"v\":105}]}\n";
    check_path(ISO_FORMAT_VIPER, path, expected); /* what nobody wrote is initial, once a key */
    put_file(path, "J9.log", initial, sizeof initial - 1);
    check_path(ISO_FORMAT_VIPER, path, expected);
    put_file(path, "J9.log", "{\"value\": [[\"range\", 1, 2, []]]}", 33);
    check_bad_path(ISO_FORMAT_VIPER, path, "a list of records");
    put_file(path, "J9.log", "{\"value\": [[\"range\", 1, 2, [{\"val\": 3}], []]]}", 47);
    check_bad_path(ISO_FORMAT_VIPER, path, "a member \"id\" in the record");
    put_file(path, "J9.log", "{\"value\": [[\"r\", 1]]}", 21);
    check_bad_path(ISO_FORMAT_VIPER, path, "one more member of the operation");
    put_file(path, "J9.log", "{}", 2);
    check_bad_path(ISO_FORMAT_VIPER, path, "a member \"value\"");
    remove_file(path, "J1.log");
    remove_file(path, "J2.log");
    remove_file(path, "J9.log");
    check_bad_path(ISO_FORMAT_VIPER, path, "0 log files here");
    remove_file(path, "J1.debug");
    rmdir(path);
}

/* A range read is a read of every key in it that the logs know, also of those that only later ones
 * do. */
static void viper_ranges(void **state)
{
    static const char one
        [] =
            "{\"value\": [[\"w\", 1, 10, true], [\"range\", -3, 7, [{\"id\": 1, \"val\": 10}], []]]}\n"
            "{\"value\": [[\"range\", \"nil\", null, [{\"id\": 1, \"val\": 10}], [{\"id\": 9, \"val\": -1}], true]]}\n",
     two[] =
         "{\"value\": [[\"w\", -3, 30, true], [\"w\", 7, 70, true], [\"w\", 9, -1, true], [\"w\", -4, 1, false]]}\n";
    static const char initial[] =
        "{\"value\": [[\"range\", null, null, [{\"id\": 20, \"val\": 5}], []]], \"isInitial\": true}\n";
    char path[TEST_PATH];
    (void)state;
    make_directory(path);
    put_file(path, "J1.log", one, sizeof one - 1);
    put_file(path, "J2.log", two, sizeof two - 1);
    put_file(path, "J3.log", initial, sizeof initial - 1);
    check_path(
        ISO_FORMAT_VIPER, path,
        "{\"tid\":0,\"sid\":0,\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":10},{\"t\":\"r\",\"k\":1,\"v\":10},"
        "{\"t\":\"r\",\"k\":-3,\"v\":null},{\"t\":\"r\",\"k\":7,\"v\":null}]}\n"
        "{\"tid\":1,\"sid\":0,\"ops\":[{\"t\":\"r\",\"k\":1,\"v\":10},{\"t\":\"r\",\"k\":9,\"v\":-1},"
        "{\"t\":\"r\",\"k\":-4,\"v\":null},{\"t\":\"r\",\"k\":-3,\"v\":null},{\"t\":\"r\",\"k\":7,\"v\":null},"
        "{\"t\":\"r\",\"k\":20,\"v\":null}]}\n"
        "{\"tid\":2,\"sid\":1,\"ops\":[{\"t\":\"w\",\"k\":-3,\"v\":30},{\"t\":\"w\",\"k\":7,\"v\":70},"
        "{\"t\":\"w\",\"k\":9,\"v\":-1}]}\n"
        "{\"tid\":\"2.failed\",\"sid\":1,\"status\":\"aborted\",\"ops\":[{\"t\":\"w\",\"k\":-4,\"v\":1}]}\n"
        "{\"ops\":[\n{\"t\":\"w\",\"k\":20,\"v\":5}]}\n");
    remove_file(path, "J1.log");
    remove_file(path, "J2.log");
    remove_file(path, "J3.log");
    rmdir(path);
}

struct bytes {
    char at[512];
    size_t length;
};

static void put_big(struct bytes *bytes, char tag, unsigned count, const uint64_t *numbers)
{
    bytes->at[bytes->length++] = tag;
    for (unsigned i = 0; i < count; i++) {
        uint64_t number = __builtin_bswap64(numbers[i]);
        memcpy(bytes->at + bytes->length, &number, 8);
        bytes->length += 8;
    }
}

#define PUT(bytes, tag, ...)                                                                       \
    put_big(bytes, tag, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})

static void cobra(void **state)
{
    struct bytes one = {.length = 0}, two = {.length = 0};
    char path[TEST_PATH];
    (void)state;
    PUT(&one, 'S', 11);
    PUT(&one, 'W', 501, 7, 70);
    PUT(&one, 'R', 0xbebeebee, 0xbebeebee, 8, 80);
    PUT(&one, 'C', 11);
    PUT(&two, 'S', 12);
    PUT(&two, 'R', 11, 501, 7, 70);
    PUT(&two, 'R', 11, 501, 7, 71); /* another value than was written */
    PUT(&two, 'W', 0xabcdefab, 7, 0);
    PUT(&two, 'C', 12);
    make_directory(path);
    put_file(path, "T2.log", one.at, one.length);
    put_file(path, "T10.log", two.at, two.length);
    put_file(path, "T10.wlog", "?", 1);
    check_path(
        ISO_FORMAT_COBRA, path,
        "{\"tid\":11,\"sid\":0,\"ops\":[{\"t\":\"w\",\"k\":7,\"v\":501},{\"t\":\"r\",\"k\":8,\"v\":null}]}\n"
        "{\"tid\":12,\"sid\":1,\"ops\":[{\"t\":\"r\",\"k\":7,\"v\":501},"
        "{\"t\":\"r\",\"k\":7,\"v\":\"write 1f5 of transaction b, value 47\"},{\"t\":\"d\",\"k\":7}]}\n" NO_INITIAL);
    enum iso_format format;
    struct iso_error error = {.status = ISO_OK};
    assert_int_equal(iso_format_guess(path, &format, &error), ISO_OK);
    assert_int_equal(format, ISO_FORMAT_COBRA);
    put_file(path, "T10.log", two.at, two.length - 1);
    check_bad_path(ISO_FORMAT_COBRA, path, "expected a whole record");
    put_file(path, "T10.log", one.at, 9);
    check_bad_path(ISO_FORMAT_COBRA, path, "a commit (C) before the end of the file");
    remove_file(path, "T2.log");
    remove_file(path, "T10.log");
    remove_file(path, "T10.wlog");
    rmdir(path);
}

/* ---- dbcop's bincode ---- */

static void put_little(struct bytes *bytes, uint64_t number)
{
    memcpy(bytes->at + bytes->length, &number, 8);
    bytes->length += 8;
}

static void put_event(struct bytes *bytes, char write, uint64_t key, uint64_t value, char success)
{
    bytes->at[bytes->length++] = write;
    put_little(bytes, key);
    put_little(bytes, value);
    bytes->at[bytes->length++] = success;
}

static void dbcop(void **state)
{
    struct bytes bytes = {.length = 0};
    (void)state;
    for (int i = 0; i < 5; i++)
        put_little(&bytes, (uint64_t)i);
    for (int i = 0; i < 3; i++)
        put_little(&bytes, 0);
    put_little(&bytes, 1); /* sessions */
    put_little(&bytes, 2); /* transactions */
    put_little(&bytes, 3); /* events */
    put_event(&bytes, 1, 1, 5, 1);
    put_event(&bytes, 0, 2, 0, 0);
    put_event(&bytes, 1, 3, 6, 0);
    bytes.at[bytes.length++] = 1;
    put_little(&bytes, 1);
    put_event(&bytes, 1, 1, 9, 1);
    bytes.at[bytes.length++] = 0;
    check_bytes(
        ISO_FORMAT_DBCOP, bytes.at, bytes.length,
        "{\"tid\":0,\"sid\":0,\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":5}]}\n"
        "{\"tid\":\"1.failed\",\"sid\":0,\"status\":\"aborted\",\"ops\":[{\"t\":\"w\",\"k\":3,\"v\":6}]}\n"
        "{\"tid\":2,\"sid\":0,\"status\":\"aborted\",\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":9}]}\n"
        "{\"ops\":[\n{\"t\":\"w\",\"k\":1,\"v\":0},\n{\"t\":\"w\",\"k\":3,\"v\":0}]}\n");
    assert_int_equal(iso_format_of_text(bytes.at, bytes.length), ISO_FORMAT_DBCOP);
    for (size_t length = 0; length < bytes.length; length++) { /* cut anywhere, it is refused */
        char path[TEST_PATH];
        test_write_file(path, "history", bytes.at, length);
        check_bad_path(ISO_FORMAT_DBCOP, path, "expected");
        remove(path);
    }
}

/* ---- telling them apart ---- */

static void are_told_apart(void **state)
{
    static const struct {
        const char *text;
        enum iso_format format;
    } texts[] = {
        {"", ISO_FORMAT_NATIVE},
        {"nonsense", ISO_FORMAT_NATIVE},
        {"[\n {\"tid\":67,\"sid\":19,\"sts\":{\"p\":1,\"l\":6}}]", ISO_FORMAT_NATIVE},
        {"{\"ops\":[{\"t\":\"w\",\"k\":\"type\"}],\"tid\":1}", ISO_FORMAT_NATIVE},
        {"{\"note\":\"events\", \"tid\" : 1}", ISO_FORMAT_NATIVE},
        {"[{\"value\":[[\"w\",\"x\",2]],\"process\":0}]", ISO_FORMAT_ELLE_JSON},
        {"[{\"index\":0,\"type\":\"invoke\"}]", ISO_FORMAT_ELLE_JSON},
        {"{\"params\":{\"id\":0}}", ISO_FORMAT_DBCOP_JSON},
        {"[[{\"events\":[]}]]", ISO_FORMAT_DBCOP_JSON},
        {"{\"value\": [[\"r\", 1, 2, false]]}", ISO_FORMAT_VIPER},
        {"\n{:type :ok}", ISO_FORMAT_ELLE_EDN},
        {"[ { :type :ok}]", ISO_FORMAT_ELLE_EDN},
        {"; comment", ISO_FORMAT_ELLE_EDN},
        {"#jepsen.history.Op{:type :ok}", ISO_FORMAT_ELLE_EDN},
        {"r(1,2,3,4)", ISO_FORMAT_TEXT},
        {"w(1,2,3,4)", ISO_FORMAT_TEXT},
        {"w 0 0\n=", ISO_FORMAT_AWDIT},
        {"[x:=1]", ISO_FORMAT_HIST},
        {"[ 1==?]", ISO_FORMAT_HIST},
        {"// a comment", ISO_FORMAT_HIST},
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (iso_format_of_text(texts[i].text, strlen(texts[i].text)) != texts[i].format)
            fail_msg("%s is not told to be %s", texts[i].text, iso_format_name(texts[i].format));
    }
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text),
        cmocka_unit_test(text_in_pieces),
        cmocka_unit_test(awdit),
        cmocka_unit_test(hist),
        cmocka_unit_test(dbcop_json),
        cmocka_unit_test(elle_edn),
        cmocka_unit_test(elle_edn_is_refused),
        cmocka_unit_test(elle_json),
        cmocka_unit_test(viper),
        cmocka_unit_test(viper_ranges),
        cmocka_unit_test(cobra),
        cmocka_unit_test(dbcop),
        cmocka_unit_test(are_told_apart),
    };
    return cmocka_run_group_tests_name("formats", tests, NULL, NULL);
}
