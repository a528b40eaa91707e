/* Reports of verdicts that are built by hand: every member and every kind, without an engine. */
#include "tests/support/test.h"

#include <jansson.h>
#include <stdlib.h>

#include "report/report.h"
#include "tests/support/brief_history.h"
#include "tests/support/capture.h"
#include "tests/support/history.h"

struct fixture {
    struct iso_history history;
    struct iso_verdict verdict;
};

/* 1 writes x, 2 reads and writes x, 3 aborted; l is a list that 4 reads. */
static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct iso_history *history = &fixture->history;
    struct iso_error error = {.status = ISO_OK};
    iso_history_init(history);
    iso_history_input(history, "h \"1\".jsonl");
    brief_history_add(history, "1 1 1 18446744073709551614 | w x 5\n"
                               "2 2 3 4 | r y null | r x 6 | w x 7\n"
                               "3 3 5 - aborted\n"
                               "4 4 6 8 | r l [1,e]\n");
    assert_int_equal(iso_history_finish(history, &error), ISO_OK);
    iso_verdict_init(&fixture->verdict, history, ISO_SI, 0);
    fixture->verdict.engine = "chronos";
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    iso_verdict_release(&fixture->verdict);
    iso_history_release(&fixture->history);
    free(fixture);
    return 0;
}

static struct iso_violation violation_of(enum iso_axiom axiom, uint32_t transaction)
{
    return (struct iso_violation){.axiom = axiom,
                                  .transaction = transaction,
                                  .other = ISO_NONE,
                                  .key = ISO_NONE,
                                  .operation = ISO_NONE,
                                  .writer_expected = ISO_NONE,
                                  .writer_actual = ISO_NONE,
                                  .snapshot_violation = ISO_NONE};
}

static uint32_t key_of(struct iso_history *history, const char *name)
{
    return iso_history_key(history, test_atom(history, name));
}

static void add_stale(struct fixture *fixture)
{
    struct iso_violation violation = violation_of(ISO_EXT, 1);
    violation.kind = ISO_STALE;
    violation.key = key_of(&fixture->history, "x");
    violation.operation = 2;
    violation.expected = iso_value_atom(5);
    violation.actual = iso_value_atom(6);
    violation.writer_expected = 0;
    iso_verdict_add(&fixture->verdict, &violation);
}

static void add_conflict(struct fixture *fixture)
{
    struct iso_violation violation = violation_of(ISO_NOCONFLICT, 0);
    violation.other = 1;
    violation.key = key_of(&fixture->history, "x");
    violation.operation = 0;
    iso_verdict_add(&fixture->verdict, &violation);
}

static char *print(struct fixture *fixture, bool json)
{
    struct iso_output output;
    iso_verdict_conclude(&fixture->verdict, false);
    test_capture_start(&output);
    if (json)
        iso_report_json(&output, &fixture->verdict, 123);
    else
        iso_report_text(&output, &fixture->verdict, false);
    return test_capture_end(&output);
}

static void assert_prints(struct fixture *fixture, bool json, const char *expected)
{
    char *text = print(fixture, json);
    assert_string_equal(text, expected);
    free(text);
}

static void json_of_a_clean_history(void **state)
{
    struct fixture *fixture = *state;
    fixture->verdict.reads_judged = 3;
    fixture->verdict.seconds_load = 0.1;
    fixture->verdict.seconds_total = 0.2;
    assert_prints(
        fixture, true,
        "{\"isochron\":\"0.1.0\",\"level\":\"si\",\"engine\":\"chronos\",\"verdict\":\"holds\",\"reason\":"
        "null,"
        "\"transactions\":3,\"aborted\":1,\"unknown\":0,\"operations\":5,\"sessions\":4,\"keys\":3,"
        "\"reads_judged\":3,\"reads_unjudged\":0,\"unjudged\":{\"unknown-writer\":0},\"per_operation\":false,"
        "\"counts\":{\"TIMESTAMP\":0,\"SESSION\":0,\"INT\":0,\"EXT\":0,\"NOCONFLICT\":0,\"CDC\":0},"
        "\"violations\":[],\"seconds\":{\"load\":0.100,\"sort\":0.000,\"check\":0.000,\"total\":0.200},"
        "\"peak_rss_bytes\":123}\n");
}

static void json_of_violations(void **state)
{
    struct fixture *fixture = *state;
    add_stale(fixture);
    add_conflict(fixture);
    char *text = print(fixture, true);
    const char *list = strstr(text, "\"violations\":");
    *strstr(text, ",\"seconds\"") = 0;
    assert_string_equal(
        list,
        "\"violations\":[{\"axiom\":\"NOCONFLICT\",\"tids\":[\"1\",\"2\"],\"key\":\"x\",\"sts\":\"1\","
        "\"cts\":\"18446744073709551614\",\"times\":{\"other\":{\"sts\":\"3\",\"cts\":\"4\"}},"
        "\"at\":[{\"file\":\"h \\\"1\\\".jsonl\",\"line\":1,\"op\":0},"
        "{\"file\":\"h \\\"1\\\".jsonl\",\"line\":2,\"op\":2}]},"
        "{\"axiom\":\"EXT\",\"kind\":\"stale\",\"tids\":[\"2\"],\"key\":\"x\",\"expected\":\"5\","
        "\"actual\":\"6\",\"writer_expected\":\"1\",\"writer_actual\":null,\"sts\":\"3\",\"cts\":\"4\","
        "\"times\":{\"look\":\"3\",\"inclusive\":true,\"expected\":{\"sts\":\"1\","
        "\"cts\":\"18446744073709551614\"}},"
        "\"at\":[{\"file\":\"h \\\"1\\\".jsonl\",\"line\":2,\"op\":1}]}]");
    free(text);
}

static void json_of_lists_and_gaps(void **state)
{
    struct fixture *fixture = *state;
    static const iso_atom expected[] = {1};
    struct iso_violation violation = violation_of(ISO_EXT, 3);
    violation.kind = ISO_UNCOMMITTED;
    violation.key = key_of(&fixture->history, "l");
    violation.operation = 4;
    violation.expected = iso_verdict_list(&fixture->verdict, expected, 1);
    violation.actual = iso_value_of_list(&fixture->history, 0);
    violation.writer_actual = 2;
    iso_verdict_add(&fixture->verdict, &violation);
    fixture->verdict.reads_unjudged = fixture->verdict.unjudged[ISO_UNJUDGED_UNKNOWN_WRITER] = 2;
    fixture->verdict.writes_unjudged = 4;
    fixture->verdict.per_operation = true;
    char *text = print(fixture, true);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "writes_unjudged")), 4);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(root, "unjudged"), "unknown-writer")),
        2);
    assert_true(json_is_true(json_object_get(root, "per_operation")));
    json_t *one = json_array_get(json_object_get(root, "violations"), 0);
    assert_string_equal(json_string_value(json_array_get(json_object_get(one, "actual"), 1)), "e");
    assert_int_equal(json_array_size(json_object_get(one, "expected")), 1);
    assert_string_equal(json_string_value(json_object_get(one, "writer_actual")), "3");
    json_decref(root);
    free(text);
}

static void text_of_violations(void **state)
{
    struct fixture *fixture = *state;
    fixture->verdict.limit = 1;
    add_stale(fixture);
    add_conflict(fixture);
    assert_prints(
        fixture, false,
        "violated: snapshot isolation, 2 violations (EXT 1, NOCONFLICT 1)\n"
        "  judged 3 transactions (besides 1 aborted), 5 operations, 4 sessions, 3 keys; engine "
        "chronos, 0.000 s\n"
        "\n"
        "NOCONFLICT: overlapping writes of key x by transactions 1, 2\n"
        "  - Transaction 1 started at 1 and committed at 18446744073709551614 (session 1, "
        "h \"1\".jsonl:1).\n"
        "  - Transaction 2 started at 3 and committed at 4 (session 2, h \"1\".jsonl:2).\n"
        "  - Transaction 2 had not committed when 1 began, and both wrote key x.\n"
        "  - Snapshot isolation must abort one of two overlapping writers of the same key. Both "
        "committed.\n"
        "  the two writers of x over time:\n"
        "                       1  | transaction 1 begins\n"
        "                       3  | transaction 2 begins\n"
        "                       4  | transaction 2 commits\n"
        "    18446744073709551614  | transaction 1 commits\n"
        "  For an application: Nothing keeps two concurrent updates of one key apart: one may undo "
        "the other, for example one of two deposits.\n"
        "\n"
        "1 more violation is not listed (--max-violations N, 0 for all)\n");
}

/* Every kind has a text of its own at each level, and names the transaction and its place. */
static void every_kind_is_explained(void **state)
{
    struct fixture *fixture = *state;
    static const enum iso_violation_kind reads[] = {ISO_UNCOMMITTED, ISO_INTERMEDIATE, ISO_FUTURE,
                                                    ISO_ABSENT_READ, ISO_STALE};
    static const char *const said[] = {"value nobody wrote", "intermediate read", "future read",
                                       "missing read", "stale read"};
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        struct iso_violation violation = violation_of(ISO_EXT, 1);
        violation.kind = reads[i];
        violation.operation = 2;
        violation.key = key_of(&fixture->history, "x");
        violation.expected = iso_value_atom(5);
        violation.actual = iso_value_atom(reads[i] == ISO_ABSENT_READ ? ISO_ABSENT : 6);
        iso_verdict_release(&fixture->verdict);
        iso_verdict_init(&fixture->verdict, &fixture->history, i % 2 ? ISO_SER : ISO_SI, 0);
        fixture->verdict.engine = "chronos";
        iso_verdict_add(&fixture->verdict, &violation);
        char *text = print(fixture, false);
        assert_non_null(strstr(text, said[i]));
        assert_non_null(strstr(
            text, "Transaction 2 started at 3 and committed at 4 (session 2, h \"1\".jsonl:2)"));
        assert_non_null(strstr(text, i % 2 ? "serializability" : "snapshot isolation"));
        free(text);
    }
}

static void timestamps_and_sessions_are_explained(void **state)
{
    struct fixture *fixture = *state;
    static const enum iso_violation_kind kinds[] = {ISO_INTERVAL, ISO_SHARED_CTS, ISO_CTS_CYCLE};
    static const char *const said[] = {"sts <= ots <= cts", "one commit timestamp",
                                       "no order explains"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct iso_violation violation = violation_of(ISO_TIMESTAMP, 3),
                             session = violation_of(ISO_SESSION, 1);
        violation.kind = kinds[i];
        violation.other = kinds[i] == ISO_SHARED_CTS ? 0 : ISO_NONE;
        session.other = 0;
        iso_verdict_release(&fixture->verdict);
        iso_verdict_init(&fixture->verdict, &fixture->history, ISO_SER, 0);
        fixture->verdict.engine = "chronos";
        iso_verdict_add(&fixture->verdict, &violation);
        iso_verdict_add(&fixture->verdict, &session);
        char *text = print(fixture, false);
        assert_non_null(strstr(text, said[i]));
        assert_non_null(strstr(text, "Transaction 1 came before it in its session, but not by"));
        free(text);
    }
}

static void undecided_says_what_to_do(void **state)
{
    struct fixture *fixture = *state;
    fixture->verdict.reads_judged = 1; /* else nothing that is allowed helps */
    fixture->verdict.reads_unjudged = fixture->verdict.unjudged[ISO_UNJUDGED_UNKNOWN_WRITER] = 1;
    char *text = print(fixture, false);
    assert_non_null(strstr(text, "undecided: snapshot isolation (unknown-writer)"));
    assert_non_null(strstr(text, "--allow-unjudged"));
    free(text);
    fixture->verdict.reads_unjudged = fixture->verdict.unjudged[ISO_UNJUDGED_UNKNOWN_WRITER] = 0;
    fixture->history.totals.committed = 0;
    text = print(fixture, false);
    assert_non_null(strstr(text, "(nothing-judged)"));
    assert_non_null(strstr(text, "Is it the right file"));
    free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(json_of_a_clean_history),   TEST(json_of_violations),
        TEST(json_of_lists_and_gaps),    TEST(text_of_violations),
        TEST(every_kind_is_explained),   TEST(timestamps_and_sessions_are_explained),
        TEST(undecided_says_what_to_do),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
