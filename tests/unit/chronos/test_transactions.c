/* TIMESTAMP and SESSION at SI, PostgreSQL snapshots, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/chronos_case.h"

static void intervals(void **state)
{
    (void)state;
    chronos_expect(
        ISO_SI,
        "1 a 1 2 | w x 1\n2 b 3 3 | r x 1\n3 c 4 9 | r x 1 @9 | r x 1 @4\n4 d 5 - | r x 1 @7\n",
        "");
    chronos_expect(ISO_SI, "1 a 3 2 | r x null\n", "TIMESTAMP interval 1\n");
    chronos_expect(ISO_SI, "1 a 2 2 | w x 1\n", "TIMESTAMP interval 1\n");
    chronos_expect(ISO_SI, "1 a 2 5 | r x null @1\n", "TIMESTAMP interval 1\n");
    chronos_expect(ISO_SI, "1 a 2 5 | r x null | r y null @6\n", "TIMESTAMP interval 1\n");
    chronos_expect(ISO_SI, "1 a 2 2 | r x null @3\n", "TIMESTAMP interval 1\n");
    chronos_expect(ISO_SI, "1 a 3 2 aborted | w x 1\n2 a 3 2 unknown | w x 1\n", "");
    chronos_expect(ISO_SER, "1 a 3 2 | w x 1 @9\n", "");
}

static void largest_numbers(void **state)
{
    (void)state;
    chronos_expect(ISO_SI,
                   "1 a 0 18446744073709551614 | w x 1\n2 b 18446744073709551614 - | r x 1\n", "");
    chronos_expect(ISO_SI,
                   "1 a 0 18446744073709551615 | w x 1\n2 b 18446744073709551615 - | r x 1\n", "");
    chronos_expect(ISO_SER,
                   "1 a 0 18446744073709551615 | w x 1\n2 b 18446744073709551615 - | r x 1\n", "");
}

static void sessions_at_si(void **state)
{
    (void)state;
    chronos_expect(ISO_SI, "1 a 1 5 | w x 1\n2 a 5 - | r x 1\n3 b 2 - | r x null\n", "");
    chronos_expect(ISO_SI, "1 a 1 5 | w x 1\n2 a 4 - | r x null\n", "SESSION 2 1\n");
    /* every earlier one, not only the one before; the largest is named, the first of equal ones */
    chronos_expect(ISO_SI, "1 a 1 9 | w x 1\n2 a 2 3 | w y 1\n3 a 4 - | r y 1\n",
                   "SESSION 2 1\nSESSION 3 1\n");
    chronos_expect(ISO_SI, "1 a 1 9\n2 a 9 9\n3 a 4 -\n", "SESSION 3 1\n");
    chronos_expect(ISO_SI, "1 a 1 9 aborted | w x 1\n2 a 2 8 unknown | w x 1\n3 a 4 -\n", "");
}

static void sessions_by_sno(void **state)
{
    (void)state;
    chronos_expect(ISO_SI, "2 a 7 8 sno=2\n1 a 1 5 sno=1\n3 b 1 2\n", "");
    chronos_expect(ISO_SI, "2 a 4 8 sno=2\n1 a 1 5 sno=1\n", "SESSION 2 1\n");
}

static void sessions_at_ser(void **state)
{
    (void)state;
    chronos_expect(ISO_SER, "1 a 1 5 | w x 1\n2 a 1 6 | w x 2\n3 a 6 - | r x 2\n4 a 6 - | r x 2\n",
                   "");
    chronos_expect(ISO_SER, "1 a 1 5 | w x 1\n2 a 1 5 | w y 1\n", "SESSION 2 1\n");
    chronos_expect(ISO_SER, "1 a 5 - | r x null\n2 a 1 5 | w y 1\n", "SESSION 2 1\n");
    chronos_expect(ISO_SER, "1 a 1 6 | w x 1\n2 a 6 -\n3 a 5 -\n", "SESSION 3 2\n");
}

static void snapshots_that_hold(void **state)
{
    (void)state;
    struct chronos_counts counts =
        chronos_expect(ISO_SI,
                       "1 a - - xid=10 snapshot=10:10: | w x 1\n"
                       "2 b - - xid=11 snapshot=10:11:10 | r x null | w y 1\n"
                       "3 c - - snapshot=11:12:11 | r x 1 | r y null\n"
                       "4 c - - snapshot=12:12: | r x 1 | r y 1\n",
                       "");
    assert_false(counts.per_operation);
    counts = chronos_expect(ISO_SI,
                            "1 a - - xid=10 snapshot=10:10: | w x 1\n"
                            "2 b - - snapshot=10:10: | r x null | r x 1 snapshot=11:11:\n",
                            "");
    assert_true(counts.per_operation);
}

static void snapshots_that_do_not_hold_each_other(void **state)
{
    (void)state;
    chronos_expect(ISO_SI,
                   "1 a - - xid=10 snapshot=10:10: | w x 1\n"
                   "2 b - - xid=11 snapshot=10:10: | w y 1\n"
                   "3 c - - snapshot=11:12:11 | r x null\n"
                   "4 d - - snapshot=10:12:10 | r y 1\n",
                   "TIMESTAMP snapshot-order 3\n");
    chronos_expect(ISO_SER,
                   "1 a - - xid=10 snapshot=10:10: | w x 1\n"
                   "2 b - - xid=11 snapshot=10:10: | w y 1\n"
                   "3 c - - snapshot=11:12:11 | r x null\n"
                   "4 d - - snapshot=10:12:10 | r y 1\n",
                   "TIMESTAMP snapshot-order 3\n");
}

static void refusals(void **state)
{
    (void)state;
    chronos_expect_refusal(
        ISO_SI, "1 a 1 2\n2 a - 3 | w x 1\n",
        "test:2: committed transaction 2 has no start timestamp (sts); timestamps cannot judge it, --engine polygraph can");
    chronos_expect_refusal(
        ISO_SI, "1 a 1 - | w x 1\n2 a - -\n",
        "test:1: committed transaction 1 has no commit timestamp (cts), and writes; timestamps cannot "
        "judge it, --engine polygraph can");
    chronos_expect_refusal(
        ISO_SER, "1 a 1 - | w x 1\n",
        "test:1: committed transaction 1 has no commit timestamp (cts), and writes; timestamps cannot "
        "judge it, --engine polygraph can");
    chronos_expect_refusal(
        ISO_SER, "1 a 1 2 | w x 1\nt a - - | r x 1\n",
        "test:2: committed transaction t has no timestamp, neither sts nor cts; timestamps cannot "
        "judge it, --engine polygraph can");
    chronos_expect(
        ISO_SER,
        "1 a - 2 | w x 1\n2 b - 3 | r x 1\n3 a - - aborted | w x 2\n4 a - - unknown | w x 2\n", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(intervals),
                                       cmocka_unit_test(largest_numbers),
                                       cmocka_unit_test(sessions_at_si),
                                       cmocka_unit_test(sessions_by_sno),
                                       cmocka_unit_test(sessions_at_ser),
                                       cmocka_unit_test(snapshots_that_hold),
                                       cmocka_unit_test(snapshots_that_do_not_hold_each_other),
                                       cmocka_unit_test(refusals)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
