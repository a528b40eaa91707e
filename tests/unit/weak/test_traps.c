/* Histories that other checkers judge wrongly, or that would cost too much if they were walked over
 * plainly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "weak/weak.h"
#include "tests/support/brief_history.h"
#include "verify/verify.h"

static enum iso_outcome judge(const struct iso_history *history, enum iso_level level)
{
    struct iso_polygraph_options options;
    struct iso_polygraph_result result;
    struct iso_error error = {0};
    iso_polygraph_options_init(&options);
    options.level = level;
    iso_polygraph_result_init(&result);
    assert_int_equal(iso_weak_check(history, &options, &result, &error), ISO_OK);
    if (result.outcome != ISO_IS_UNDECIDED &&
        iso_verify(history, &result.evidence, &error) != ISO_CONFIRMED)
        fail_msg("%s", error.text);
    enum iso_outcome outcome = result.outcome;
    iso_polygraph_result_release(&result);
    return outcome;
}

/* "adya-rc rc ra ..." of those at which it holds; '?' stands before one that is undecided. */
static void expect(const char *lines, const char *holds)
{
    static const enum iso_level models[] = {ISO_ADYA_RC, ISO_RC, ISO_RA, ISO_CC, ISO_PRAM,
                                            ISO_RYW,     ISO_MR, ISO_MW, ISO_WFR};
    char found[200] = "";
    struct iso_history history;
    brief_history(&history, lines);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        enum iso_outcome outcome = judge(&history, models[i]);
        if (outcome == ISO_IS_VIOLATED)
            continue;
        strcat(strcat(strcat(found, found[0] ? " " : ""), outcome == ISO_HOLDS ? "" : "?"),
               iso_level_name(models[i]));
    }
    assert_string_equal(found, holds);
    iso_history_release(&history);
}

/* One checker accepts it at CC, another even at SER. */
static void stale_read_of_the_initial_value(void **state)
{
    (void)state;
    expect("initially 0\n1 a - - | w x 1\n2 a - - | r x 0\n", "adya-rc rc mr mw wfr");
}

/* One checker rejects it at RC. */
static void a_key_read_twice(void **state)
{
    (void)state;
    expect("1 a - - | w x 1\n2 b - - | r x 1 | r x 1\n", "adya-rc rc ra cc pram ryw mr mw wfr");
    /* it changes: what read committed allows, forwards */
    expect("1 a - - | w x 1\n2 a - - | w x 2\n3 b - - | r x 1 | r x 2\n", "adya-rc rc");
    expect("1 a - - | w x 1\n2 a - - | w x 2\n3 b - - | r x 2 | r x 1\n", "adya-rc");
}

/* The file's order, by session, does not fit: another one is proposed. */
static void sorted_by_session(void **state)
{
    (void)state;
    expect("1 a - - | r x 2\n2 b - - | w x 2\n3 b - - | w x 3\n4 a - - | r x 3\n",
           "adya-rc rc ra cc pram ryw mr mw wfr");
    expect("1 a - - | r y 2\n2 a - - | w x 1\n3 b - - | r x 1\n4 b - - | w y 2\n", "adya-rc");
}

/* An explicit initial transaction is an ordinary one. */
static void explicit_initial_transaction(void **state)
{
    (void)state;
    expect("initial | w x 1\n1 a - - | r x 1\n2 b - - | w x 2\n3 a - - | r x 2\n4 a - - | r x 1\n",
           "adya-rc rc ra ryw mw wfr");
}

/* Of unknown outcome: visible through reads of it, and nothing follows it by its session. */
static void unknown_outcome(void **state)
{
    (void)state;
    expect("initially 0\n1 a - - unknown | w x 1\n2 a - - | r x 0\n",
           "adya-rc rc ra cc pram ryw mr mw wfr");
    expect("initially 0\n1 a - - | w x 1\n2 a - - unknown | w y 1\n3 b - - | r y 1 | r x 0\n",
           "adya-rc rc ra ryw mr wfr");
}

static void aborted_reads(void **state)
{
    (void)state;
    expect("1 a - - aborted | w x 1\n2 b - - | r x 1\n", "");
    expect("1 a - - | w x 1 | w x 2\n2 b - - | r x 1\n", "");
}

/* A session's reads go back; reads of two keys; a causal chain. */
static void what_each_level_forbids(void **state)
{
    (void)state;
    expect("1 a - - | w x 1\n2 a - - | w x 2\n3 b - - | r x 2\n4 b - - | r x 1\n",
           "adya-rc rc ra ryw mw wfr");
    expect("initially 0\n1 a - - | w x 1 | w y 1\n2 b - - | r x 1 | r y 0\n",
           "adya-rc pram ryw mr mw wfr");
    expect(
        "initially 0\n1 a - - | w x 1\n2 b - - | r x 1\n3 b - - | w y 1\n4 c - - | r y 1 | r x 0\n",
        "adya-rc rc ra pram ryw mr mw");
}

/* A serializable history with one repeated value, which two checkers reject. */
static void repeated_value(void **state)
{
    (void)state;
    expect("1 a - - | w x 1\n2 a - - | w x 2\n3 a - - | w x 1\n4 b - - | r x 1\n",
           "adya-rc rc ra cc pram ryw mr mw wfr");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stale_read_of_the_initial_value),
        cmocka_unit_test(a_key_read_twice),
        cmocka_unit_test(sorted_by_session),
        cmocka_unit_test(explicit_initial_transaction),
        cmocka_unit_test(unknown_outcome),
        cmocka_unit_test(aborted_reads),
        cmocka_unit_test(what_each_level_forbids),
        cmocka_unit_test(repeated_value),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
