/* NOCONFLICT: which pairs overlap, who is blamed, locks, first writes, inverted intervals, many at
 * once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "chronos/chronos.h"
#include "tests/unit/chronos_case.h"

static void overlapping_writers(void **state)
{
    (void)state;
    chronos_expect(ISO_SI, "1 a 1 3 | w x 1\n2 b 3 5 | w x 2\n", "");
    chronos_expect(ISO_SI, "1 a 1 3 | w x 1\n2 b 2 5 | w x 2\n", "NOCONFLICT 2 1 x\n");
    chronos_expect(ISO_SI, "1 a 1 9 | w x 1\n2 b 2 5 | w x 2\n", "NOCONFLICT 1 2 x\n");
    chronos_expect(ISO_SI, "1 a 1 9 | w x 1 | d y\n2 b 2 5 | d y | d x\n",
                   "NOCONFLICT 1 2 x\nNOCONFLICT 1 2 y\n");
    chronos_expect(ISO_SI, "1 a 1 9 | w x 1\n2 b 2 5 aborted | w x 2\n3 b 2 5 unknown | w x 3\n",
                   "");
    chronos_expect(ISO_SER, "1 a 1 3 | w x 1\n2 b 2 5 | w x 2\n", "");
}

static void every_pair_once(void **state)
{
    (void)state;
    chronos_expect(
        ISO_SI,
        "1 a 1 10 | w x 1 | w x 11\n2 b 2 11 | w x 2 | w x 12\n3 c 3 12 | r x null | w x 3\n"
        "4 d 10 13 | w x 4\n5 e 13 14 | w x 5\n",
        "NOCONFLICT 2 1 x\nNOCONFLICT 3 1 x\nNOCONFLICT 3 2 x\nNOCONFLICT 4 2 x\nNOCONFLICT 4 3 x\n");
}

static void blame_at_equal_cts(void **state)
{
    (void)state;
    chronos_expect(ISO_SI, "1 a 3 9 | w x 1\n2 b 1 9 | w x 2\n", "NOCONFLICT 1 2 x\n");
    chronos_expect(ISO_SI, "2 a 1 9 | w x 1\n10 b 1 9 | w x 2\n", "NOCONFLICT 10 2 x\n");
}

static void first_write_counts(void **state)
{
    (void)state;
    /* held from 5 on, though a later write says 2 */
    chronos_expect(ISO_SI, "1 a 1 4 | w x 1\n2 b 1 9 | w x 2 @5 | w x 3 @2\n", "");
    chronos_expect(ISO_SI, "1 a 1 4 | w x 1\n2 b 1 9 | w x 2 @2 | w x 3 @5\n",
                   "NOCONFLICT 2 1 x\n");
}

static void locks_are_not_judged(void **state)
{
    (void)state;
    struct chronos_counts counts = chronos_expect(
        ISO_SI, "1 a 1 4 | w x 1\n2 b 1 9 | w x 2 lock | w x 3\n3 c 8 10 | w x 4 | w y 1 lock\n",
        "");
    assert_int_equal(counts.writes_unjudged, 2);
    assert_true(counts.per_operation);
    counts = chronos_expect(ISO_SI, "1 a 1 4 | w x 1\n2 b 1 9 | w x 2 | w x 3 lock\n",
                            "NOCONFLICT 2 1 x\n");
    assert_int_equal(counts.writes_unjudged, 0);
}

static void commits_before_it_starts(void **state)
{
    (void)state;
    /* [5,9] turned round overlaps what was open all the way from 5 to 9 */
    chronos_expect(ISO_SI, "1 a 9 5 | w x 1\n2 b 4 10 | w x 2\n",
                   "TIMESTAMP interval 1\nNOCONFLICT 2 1 x\n");
    chronos_expect(ISO_SI, "1 a 9 5 | w x 1\n2 b 5 10 | w x 2\n", "TIMESTAMP interval 1\n");
    chronos_expect(ISO_SI, "1 a 9 5 | w x 1\n2 b 4 9 | w x 2\n", "TIMESTAMP interval 1\n");
    chronos_expect(ISO_SI, "1 a 9 5 | w x 1\n2 b 8 6 | w x 2\n",
                   "TIMESTAMP interval 1\nTIMESTAMP interval 2\n");
    chronos_expect(ISO_SI, "1 a 5 5 | w x 1\n2 b 4 6 | w x 2\n",
                   "TIMESTAMP interval 1\nNOCONFLICT 2 1 x\n");
}

static void many_at_once(void **state)
{
    (void)state;
    struct iso_check_options options = {
        .level = ISO_SI, .session_order = true, .threads = 2, .max_violations = 10};
    struct iso_error error = {.status = ISO_OK};
    struct iso_history history;
    struct iso_verdict verdict;
    enum { WRITERS = 500 };
    iso_history_init(&history);
    history.clock = ISO_CLOCK_SCALAR;
    for (uint32_t i = 0; i < WRITERS; i++) {
        iso_history_begin(&history, i, i, ISO_COMMITTED, 0);
        iso_history_set_sts(&history, (struct iso_stamp){i, 0});
        iso_history_set_cts(&history, (struct iso_stamp){WRITERS + (i * 7) % WRITERS, 0});
        iso_history_operation(&history, ISO_WRITE, 1, i);
        iso_history_operation(&history, ISO_WRITE, 2 + i, i);
    }
    assert_int_equal(iso_history_finish(&history, &error), ISO_OK);
    iso_verdict_init(&verdict, &history, ISO_SI, options.max_violations);
    assert_int_equal(iso_chronos_check(&history, &options, &verdict, &error), ISO_OK);
    iso_verdict_conclude(&verdict, false);
    assert_int_equal(verdict.counts[ISO_NOCONFLICT], WRITERS * (WRITERS - 1) / 2);
    assert_int_equal(verdict.violation_count, 10);
    assert_int_equal(verdict.violations[0].transaction, 1);
    iso_verdict_release(&verdict);
    iso_history_release(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_writers),  cmocka_unit_test(every_pair_once),
        cmocka_unit_test(blame_at_equal_cts),   cmocka_unit_test(first_write_counts),
        cmocka_unit_test(locks_are_not_judged), cmocka_unit_test(commits_before_it_starts),
        cmocka_unit_test(many_at_once)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
