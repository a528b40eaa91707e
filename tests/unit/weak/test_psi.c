/* Parallel snapshot isolation by any order: what writers overwrote is visible, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "weak/weak.h"
#include "tests/support/brief_history.h"
#include "verify/verify.h"

/* What is found at psi: "holds", the name of the finding, or that of the cycle. Evidence is
 * confirmed. */
static void expect(const char *lines, const char *expected)
{
    struct iso_history history;
    struct iso_polygraph_options options;
    struct iso_polygraph_result result;
    struct iso_error error = {0};
    brief_history(&history, lines);
    iso_polygraph_options_init(&options);
    options.level = ISO_PSI;
    iso_polygraph_result_init(&result);
    assert_int_equal(iso_weak_check(&history, &options, &result, &error), ISO_OK);
    const char *found = result.outcome == ISO_HOLDS          ? "holds"
                        : result.outcome == ISO_IS_UNDECIDED ? result.reason
                        : result.finding_count
                            ? iso_finding_name(result.findings[0].kind)
                            : iso_cycle_anomaly(&result.evidence, result.cycle_lemma);
    assert_string_equal(found, expected);
    if (iso_verify(&history, &result.evidence, &error) != ISO_CONFIRMED)
        fail_msg("%s", error.text);
    iso_polygraph_result_release(&result);
    iso_history_release(&history);
}

static void lost_updates(void **state)
{
    (void)state;
    expect("initially 0\n1 a - - | r x 0 | w x 1\n2 b - - | r x 0 | w x 2\n", "LOSTUPDATE");
    expect("1 a - - | w x 1\n2 b - - | r x 1 | w x 2\n3 c - - | r x 1 | w x 3\n", "LOSTUPDATE");
    /* whether the second one committed nobody knows */
    expect("initially 0\n1 a - - | r x 0 | w x 1\n2 b - - unknown | r x 0 | w x 2\n", "holds");
}

/* Of two equal values each may be what one of them read; of three updates two read the same one. */
static void lost_updates_of_repeated_values(void **state)
{
    (void)state;
    expect("1 a - - | w x 1\n2 b - - | w x 1\n3 c - - | r x 1 | w x 3\n4 d - - | r x 1 | w x 4\n",
           "holds");
    expect("1 a - - | w x 1\n2 b - - | w x 1\n3 c - - | r x 1 | w x 3\n4 d - - | r x 1 | w x 4\n"
           "5 e - - | r x 1 | w x 5\n",
           "lost-update");
}

/* Sites may see writes in different orders. */
static void long_forks(void **state)
{
    (void)state;
    expect(
        "initially 0\n1 a - - | w x 1\n2 b - - | w y 1\n3 c - - | r x 1 | r y 0\n4 d - - | r x 0 | r y 1\n",
        "holds");
    /* but of writers of one key whoever sees the later one sees the earlier one */
    expect(
        "initially 0\n1 a - - | w x 1 | w z 1\n2 b - - | w y 1 | w z 2\n3 c - - | r x 1 | r y 0\n"
        "4 d - - | r x 0 | r y 1\n",
        "G-single");
}

/* A list read says which append came first. */
static void what_was_overwritten(void **state)
{
    (void)state;
    expect(
        "initially 0\n1 a - - | a l 1 | w y 1\n2 b - - | a l 2 | w z 2\n3 c - - | r l [1,2]\n4 d - - | r z 2 | r y 0\n",
        "G-single");
    expect(
        "initially 0\n1 a - - | a l 1 | w y 1\n2 b - - | a l 2 | w z 2\n3 c - - | r l [2,1]\n4 d - - | r z 2 | r y 0\n",
        "holds");
}

/* Causality is asked first, and named as at cc. */
static void causality(void **state)
{
    (void)state;
    expect(
        "initially 0\n1 a - - | w x 1\n2 b - - | r x 1\n3 b - - | w y 1\n4 c - - | r y 1 | r x 0\n",
        "causality-violation");
}

/* The two do not see each other, which snapshot isolation allows, too. */
static void write_skew(void **state)
{
    (void)state;
    expect("initially 0\n1 a - - | r x 0 | w y 1\n2 b - - | r y 0 | w x 1\n", "holds");
    /* as writers of one key they would have to */
    expect("initially 0\n1 a - - | r x 0 | w y 1 | w z 1\n2 b - - | r y 0 | w x 1 | w z 2\n",
           "G-single");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_updates), cmocka_unit_test(lost_updates_of_repeated_values),
        cmocka_unit_test(long_forks),   cmocka_unit_test(what_was_overwritten),
        cmocka_unit_test(causality),    cmocka_unit_test(write_skew),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
