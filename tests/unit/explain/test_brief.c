/* A verdict line in words: every kind of violation, every state, and lines that are none. */
#include "tests/support/test.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "explain/brief.h"

static void assert_text(const char *line, const char *expected)
{
    struct iso_brief brief;
    struct iso_text text = {0};
    assert_true(iso_brief_init(&brief, line, strlen(line)));
    iso_brief_text(&brief, &text);
    iso_text_put_bytes(&text, "", 1);
    assert_string_equal(text.bytes, expected);
    iso_text_release(&text);
    iso_brief_release(&brief);
}

static void a_read(void **state)
{
    (void)state;
    assert_text(
        "{\"id\":\"b1234903ee894b9b\",\"state\":\"final\",\"level\":\"si\",\"axiom\":\"EXT\",\"kind\":\"stale\","
        "\"tids\":[\"4506\"],\"key\":\"1002\",\"expected\":\"33748\",\"actual\":\"33747\",\"writer_expected\":"
        "\"4505\",\"writer_actual\":\"4504\",\"sts\":\"8998\",\"cts\":\"8999\",\"at\":[{\"topic\":\"txns\","
        "\"partition\":1,\"offset\":1001,\"op\":0},{\"file\":\"c.jsonl\",\"line\":7}]}\n",
        "EXT/stale: stale read of key 1002 by transaction 4506 [b1234903ee894b9b]\n"
        "  - Transaction 4506 started at 8998 and committed at 8999.\n"
        "  - It read key 1002 in its operation 1.\n"
        "  - It had to find 33748, which transaction 4505 wrote.\n"
        "  - It found 33747, which transaction 4504 wrote.\n"
        "  - Recorded in txns[1] offset 1001, c.jsonl:7.\n"
        "  - Final: nothing that may still arrive can change it.\n"
        "  For an application: The application decides on data that had already been replaced; what it writes "
        "next may undo the newer value.\n\n");
}

#define LINE(axiom, kind, more)                                                                        \
    "{\"state\":\"final\",\"level\":\"si\",\"axiom\":\"" axiom "\",\"kind\":\"" kind                   \
    "\",\"tids\":[\"9\"],\"key\":\"x\",\"expected\":\"3\",\"actual\":\"2\",\"writer_expected\":\"5\"," \
    "\"writer_actual\":\"4\",\"sts\":\"16\",\"cts\":\"18\",\"times\":{" more "},\"at\":[]}"

/* The part from the time line's title to the meaning. */
static void assert_line(const char *line, const char *expected)
{
    struct iso_brief brief;
    struct iso_text text = {0};
    assert_true(iso_brief_init(&brief, line, strlen(line)));
    iso_brief_text(&brief, &text);
    iso_text_put_bytes(&text, "", 1);
    const char *title = strstr(text.bytes, " over time:\n"),
               *end = strstr(text.bytes, "  For an application");
    if (!title) {
        assert_string_equal("", expected);
    } else {
        title += strlen(" over time:\n");
        assert_int_equal(end - title, strlen(expected));
        assert_memory_equal(title, expected, strlen(expected));
    }
    iso_text_release(&text);
    iso_brief_release(&brief);
}

static void a_time_line_of_a_read(void **state)
{
    (void)state;
    assert_line(
        LINE(
            "EXT", "stale",
            "\"look\":\"16\",\"inclusive\":true,\"expected\":{\"sts\":\"8\",\"cts\":\"16\"},\"actual\":{\"sts\":null,"
            "\"cts\":\"5\"}"),
        "     5  | transaction 4 commits x = 2  <- found\n"
        "    16  | transaction 5 commits x = 3  <- expected\n"
        "    16  | transaction 9 reads 2\n");
    assert_line(
        LINE(
            "EXT", "future",
            "\"actual\":{\"sts\":\"9\",\"cts\":\"{17,1}\"},\"look\":\"{17,1}\",\"inclusive\":false,\"expected\":{\"sts\":"
            "\"1\",\"cts\":\"{9,20}\"},\"more\":[1]"),
        "    {9,20}  | transaction 5 commits x = 3  <- expected\n"
        "    {17,1}  | transaction 9 reads 2\n"
        "    {17,1}  | transaction 4 commits x = 2  <- found\n");
    assert_line(
        LINE(
            "EXT", "intermediate",
            "\"look\":\"16\",\"inclusive\":true,\"actual\":{\"sts\":\"1\",\"cts\":\"18446744073709551615\"}"),
        "                      16  | transaction 9 reads 2\n"
        "    18446744073709551615  | transaction 4 commits, with another x by then\n");
}

static void too_little_for_a_time_line(void **state)
{
    (void)state;
    assert_line(LINE("EXT", "uncommitted",
                     "\"look\":\"16\",\"inclusive\":true,\"actual\":{\"sts\":\"1\",\"cts\":null}"),
                "");
    assert_line(LINE("EXT", "stale", ""), "");
    assert_line(
        LINE("EXT", "stale",
             "\"look\":\"noon\",\"inclusive\":true,\"expected\":{\"sts\":\"1\",\"cts\":\"2\"}"),
        "");
    assert_line(
        LINE(
            "EXT", "stale",
            "\"look\":\"18446744073709551616\",\"inclusive\":true,\"expected\":{\"sts\":\"1\",\"cts\":\"2\"}"),
        "");
    assert_line("{\"axiom\":\"INT\",\"tids\":[\"1\"],\"key\":\"x\",\"sts\":\"1\",\"cts\":\"2\"}",
                "");
}

static void time_lines_of_two(void **state)
{
    (void)state;
    assert_line(
        "{\"axiom\":\"NOCONFLICT\",\"tids\":[\"b\",\"a\"],\"key\":\"x\",\"sts\":\"5\",\"cts\":\"12\",\"times\":{\"other\":{"
        "\"sts\":\"5\",\"cts\":\"10\"}}}",
        "     5  | transaction a begins\n"
        "     5  | transaction b begins\n"
        "    10  | transaction a commits\n"
        "    12  | transaction b commits\n");
    assert_line(
        "{\"axiom\":\"SESSION\",\"level\":\"ser\",\"tids\":[\"b\",\"a\"],\"sts\":\"5\",\"cts\":\"7\",\"times\":{\"other\":{"
        "\"sts\":\"6\",\"cts\":\"9\"}}}",
        "    7  | transaction b commits\n"
        "    9  | transaction a commits, which came before it\n");
}

static void two_writers(void **state)
{
    (void)state;
    assert_text(
        "{\"id\":\"9729d692edded6b6\",\"state\":\"final\",\"by\":\"deadline\",\"level\":\"si\",\"axiom\":"
        "\"NOCONFLICT\",\"tids\":[\"b\",\"a\"],\"key\":\"x\",\"sts\":\"3\",\"cts\":\"5\",\"at\":[]}\n",
        "NOCONFLICT: overlapping writes of key x by transactions b, a [9729d692edded6b6]\n"
        "  - Transaction b started at 3 and committed at 5.\n"
        "  - Transaction a had not committed when b began, and both wrote key x.\n"
        "  - Snapshot isolation must abort one of two overlapping writers of the same key. Both "
        "committed.\n"
        "  - Final by its deadline: nothing that explains it has arrived. If it arrives later, this is "
        "retracted.\n"
        "  For an application: Nothing keeps two concurrent updates of one key apart: one may undo the other, "
        "for example one of two deposits.\n\n");
}

/* What PostgreSQL calls the commits stands beside their places. */
static void commits(void **state)
{
    (void)state;
    assert_text(
        "{\"axiom\":\"EXT\",\"kind\":\"stale\",\"tids\":[\"r\"],\"key\":\"x\",\"expected\":\"2\",\"actual\":\"1\","
        "\"writer_expected\":\"b\",\"writer_actual\":\"a\",\"sts\":\"6\",\"cts\":\"7\",\"times\":{\"look\":\"6\","
        "\"inclusive\":true,\"expected\":{\"sts\":\"4\",\"cts\":\"5\"},\"actual\":{\"sts\":\"2\",\"cts\":\"3\"}},"
        "\"commits\":[{\"tid\":\"r\",\"xid\":\"749\"},{\"tid\":\"b\",\"xid\":\"748\",\"lsn\":\"0/19282C0\",\"time\":"
        "\"2026-01-02T03:04:05.678Z\"},{\"tid\":\"nobody\"},{\"tid\":\"a\",\"lsn\":\"0/1\"}],\"at\":[]}\n",
        "EXT/stale: stale read of key x by transaction r\n"
        "  - Transaction r started at 6 and committed at 7 (xid 749).\n"
        "  - It had to find 2, which transaction b wrote and committed at 5 (xid 748, LSN 0/19282C0, "
        "2026-01-02T03:04:05.678Z).\n"
        "  - It found 1, which transaction a wrote and committed at 3 (LSN 0/1).\n"
        "  key x over time:\n"
        "    3  | transaction a commits x = 1  <- found\n"
        "    5  | transaction b commits x = 2  <- expected\n"
        "    6  | transaction r reads 1\n"
        "  For an application: The application decides on data that had already been replaced; what it writes "
        "next may undo the newer value.\n\n");
}

/* Whether some step of the line's brief says this. */
static bool says(const char *line, const char *wanted)
{
    struct iso_brief brief;
    bool found = false;
    assert_true(iso_brief_init(&brief, line, strlen(line)));
    for (uint32_t i = 0; i < brief.step_count; i++)
        found = found || strstr(brief.text.bytes + brief.steps[i], wanted);
    iso_brief_release(&brief);
    return found;
}

#define READ(more) "{\"axiom\":\"EXT\",\"tids\":[\"1\"],\"key\":\"x\"," more "}"

static void states_and_doubts(void **state)
{
    (void)state;
    assert_true(says(READ("\"state\":\"tentative\""), "still on its way"));
    assert_true(says(READ("\"state\":\"retracted\",\"cause\":\"8\""),
                     "Retracted: transaction 8, which arrived later"));
    assert_true(says(READ("\"state\":\"retracted\""), "Retracted: what arrived later"));
    assert_true(says(READ("\"doubtful\":\"skipped-records\""), "doubtful: records were left out"));
    assert_true(says(READ("\"doubtful\":\"below-watermark\""), "doubtful: a transaction arrived"));
    assert_true(says(READ("\"doubtful\":\"before-start\""),
                     "doubtful: the stream was not read from its beginning"));
    assert_false(says(READ("\"state\":\"final\""), "doubtful"));
}

static void values(void **state)
{
    (void)state;
    assert_true(says(READ("\"expected\":null,\"actual\":\"3\""), "It had to find nothing."));
    assert_true(says(READ("\"expected\":null,\"actual\":\"3\""),
                     "It found 3, for which no writer is known."));
    assert_true(says(READ("\"expected\":[\"1\",\"2\"],\"actual\":[]"), "It had to find [1, 2],"));
    assert_true(says(READ("\"expected\":[\"1\",\"2\"],\"actual\":[]"), "It found [],"));
    assert_true(says(READ("\"actual\":\"a b\\n\\u0000\""), "It found \"a b\\n\\u0000\","));
    char list[400],
        *end = list + sprintf(list, "{\"axiom\":\"EXT\",\"tids\":[\"1\"],\"actual\":[0");
    for (int i = 1; i < 25; i++)
        end += sprintf(end, ",%d", i);
    strcpy(end, "]}");
    assert_true(says(list, "It found [... 5 more, 5, 6, "));
    assert_true(says(list, "23, 24],"));
}

/* Each way to be wrong is told: with a title, some steps, and as JSON that a reader takes. */
/* 600 times `filler`, and what differs. */
static void assert_difference(const char *filler, const char *expected, const char *actual,
                              const char *sentence)
{
    char line[4000], same[601];
    struct iso_brief brief;
    struct iso_text text = {0};
    for (size_t i = 0; i < 600; i++)
        same[i] = filler[i % strlen(filler)];
    same[600] = 0;
    int length = snprintf(
        line, sizeof line,
        "{\"axiom\":\"CDC\",\"kind\":\"value\",\"tids\":[\"9\"],\"key\":\"x\",\"expected\":\"%s%s\","
        "\"actual\":\"%s%s\"}",
        same, expected, same, actual);
    assert_true(iso_brief_init(&brief, line, (size_t)length));
    iso_brief_text(&brief, &text);
    iso_text_put_bytes(&text, "", 1);
    if (!strstr(text.bytes, sentence))
        assert_string_equal(text.bytes, sentence);
    iso_text_release(&text);
    iso_brief_release(&brief);
}

static void long_values(void **state)
{
    (void)state;
    assert_difference(
        "ab", "cd", "ef",
        "  - The first 600 bytes of the two are equal; behind them the expected one says "
        "...ababababababababababcd, the other one says ...ababababababababababef.\n");
    assert_difference("ab", "", "\\n",
                      "behind them the expected one ends, the other one says ...\"abab");
    /* Two characters of two bytes, of which only the second bytes differ. */
    assert_difference(
        "ab", "\xc3\xa4", "\xc3\xb6",
        "The first 600 bytes of the two are equal; behind them the expected one says "
        "...abababababababababab\xc3\xa4, the other one says ...abababababababababab\xc3\xb6.\n");
}

static void early_differences_show_by_themselves(void **state)
{
    struct iso_brief brief;
    struct iso_text text = {0};
    (void)state;
    const char line[] =
        "{\"axiom\":\"CDC\",\"kind\":\"value\",\"tids\":[\"9\"],\"key\":\"x\",\"expected\":\"13\","
        "\"actual\":\"12\"}";
    assert_true(iso_brief_init(&brief, line, sizeof line - 1));
    iso_brief_text(&brief, &text);
    iso_text_put_bytes(&text, "", 1);
    assert_null(strstr(text.bytes, "are equal"));
    iso_text_release(&text);
    iso_brief_release(&brief);
}

static void a_line_that_says_next_to_nothing(void **state)
{
    (void)state;
    assert_text(
        "{\"axiom\":\"EXT\",\"tids\":[\"4\"],\"at\":[]}",
        "EXT: read of another version than expected by transaction 4\n"
        "  - The verdict says no more than that.\n"
        "  For an application: What was read does not fit what has arrived so far; what is still on its way may "
        "explain it.\n\n");
}

static void every_kind(void **state)
{
    (void)state;
    size_t row = 0;
    for (; iso_wrong_row(row); row++) {
        const struct iso_wrong *wrong = iso_wrong_row(row);
        struct iso_brief brief;
        struct iso_text text = {0};
        char line[400];
        snprintf(
            line, sizeof line,
            "{\"axiom\":\"%s\",%s%s%s\"tids\":[\"1\",\"2\",\"3\"],\"key\":\"k\",\"expected\":\"e\",\"actual\":\"a\","
            "\"sts\":\"1\",\"cts\":\"2\",\"edges\":[{\"from\":\"1\"}]}",
            wrong->axiom, wrong->kind ? "\"kind\":\"" : "", wrong->kind ? wrong->kind : "",
            wrong->kind ? "\"," : "");
        assert_true(iso_brief_init(&brief, line, strlen(line)));
        assert_ptr_equal(brief.wrong, wrong);
        iso_brief_json(&brief, &text);
        json_t *object = json_loadb(text.bytes, text.used, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(strstr(json_string_value(json_object_get(object, "title")),
                               iso_wrong_name(wrong, false)));
        assert_true(json_array_size(json_object_get(object, "steps")) >= 1);
        assert_string_equal(json_string_value(json_object_get(object, "meaning")), wrong->meaning);
        json_decref(object);
        iso_text_release(&text);
        iso_brief_release(&brief);
    }
    assert_true(row > 30);
}

static void no_violations(void **state)
{
    (void)state;
    static const char *const lines[] = {"",
                                        "{}",
                                        "[1]",
                                        "{\"axiom\":\"EXT\"}",
                                        "{\"axiom\":\"NONE\",\"tids\":[\"1\"]}",
                                        "{\"axiom\":\"EXT\",\"tids\":[]}",
                                        "{\"axiom\":\"EXT\",\"tids\":[\"1\"]",
                                        "{\"axiom\":\"EXT\",\"tids\":[\"1\"]} more"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct iso_brief brief;
        assert_false(iso_brief_init(&brief, lines[i], strlen(lines[i])));
        iso_brief_release(&brief);
    }
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read),
        cmocka_unit_test(a_time_line_of_a_read),
        cmocka_unit_test(too_little_for_a_time_line),
        cmocka_unit_test(time_lines_of_two),
        cmocka_unit_test(two_writers),
        cmocka_unit_test(commits),
        cmocka_unit_test(states_and_doubts),
        cmocka_unit_test(values),
        cmocka_unit_test(long_values),
        cmocka_unit_test(early_differences_show_by_themselves),
        cmocka_unit_test(a_line_that_says_next_to_nothing),
        cmocka_unit_test(every_kind),
        cmocka_unit_test(no_violations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
