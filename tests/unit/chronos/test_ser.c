/* SER: reads below cts, points, shared commit timestamps, cycles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/chronos_case.h"

static void reads_look_just_below_cts(void **state)
{
    (void)state;
    struct chronos_counts counts =
        chronos_expect(ISO_SER,
                       "1 a 1 5 | w x 1\n2 b 2 6 | r x 1 | w x 2\n3 c 1 6 | r x 1\n"
                       "4 d 6 - | r x 2\n5 e 1 7 | r x 2 @3 | r x 2\n",
                       "");
    assert_int_equal(counts.judged, 5);
    assert_false(counts.per_operation);
    chronos_expect(ISO_SER, "1 a 1 5 | w x 1\n2 b 2 6 | r x null\n",
                   "EXT absent 2 x: null of -, not 1 of 1\n");
    chronos_expect(ISO_SER, "1 a 1 5 | w x 1\n2 b 2 5 | r x 1\n",
                   "EXT future 2 x: 1 of 1, not null of -\n");
}

static void operation_times_tell_external_reads_only(void **state)
{
    (void)state;
    chronos_expect(ISO_SER, "1 a 1 5 | w x 1\n2 b 2 6 | r x 7 | r x 8 @3\n",
                   "EXT uncommitted 2 x: 7 of -, not 1 of 1\n");
    chronos_expect(ISO_SER, "1 a 1 5 | w x 1\n2 b 2 6 | r x 1 | r x 8 @3\n",
                   "EXT uncommitted 2 x: 8 of -, not 1 of 1\n");
    chronos_expect(ISO_SER, "1 a 1 5 | w x 1\n2 b 2 6 | r x 1 | r x 8\n", "INT 2 x: 8, not 1\n");
}

static void two_writers_of_a_key_share_a_cts(void **state)
{
    (void)state;
    chronos_expect(
        ISO_SER, "1 a 1 5 | w x 1\n2 b 2 5 | w x 2\n10 c 2 5 | w x 3 | w y 1\n4 d 1 5 | w z 1\n",
        "TIMESTAMP shared-cts 1 2\nTIMESTAMP shared-cts 2 1\nTIMESTAMP shared-cts 10 1\n");
}

static void equal_cts_without_a_cycle(void **state)
{
    (void)state;
    chronos_expect(ISO_SER,
                   "1 a 1 5 | r x null | w y 1\n2 b 2 5 | r z null | w x 1\n3 c 1 5 | r y null\n",
                   "");
    /* its own key is no edge, nor is an internal read */
    chronos_expect(ISO_SER, "1 a 1 5 | r x null | w x 1\n2 b 2 5 | w y 1\n", "");
    chronos_expect(ISO_SER,
                   "1 a 1 5 | w p 1 | r p 1 | r x null | w y 1\n2 b 1 5 | w x 1 | r x 1 | w q 1\n",
                   "");
}

static void equal_cts_with_a_cycle(void **state)
{
    (void)state;
    chronos_expect(
        ISO_SER,
        "1 a 1 5 | r x null | w y 1\n2 b 2 5 | r y null | w x 1\n3 c 1 5 | r y null | w z 1\n",
        "TIMESTAMP cts-cycle 1\nTIMESTAMP cts-cycle 2\n");
    chronos_expect(
        ISO_SER,
        "1 a 1 5 | r p null | w q 1\n2 b 1 5 | r q null | w r 1\n3 c 1 5 | r r null | w p 1\n"
        "4 d 1 6 | r p 1 | w q 2\n",
        "TIMESTAMP cts-cycle 1\nTIMESTAMP cts-cycle 2\nTIMESTAMP cts-cycle 3\n");
    chronos_expect(
        ISO_SER,
        "1 a 1 5 | r x null | w y 1 | w z 1\n2 b 2 5 | r y null | w x 1\n3 c 1 5 | w z 2\n",
        "TIMESTAMP shared-cts 1 3\nTIMESTAMP cts-cycle 2\nTIMESTAMP shared-cts 3 1\n");
    chronos_expect(ISO_SER, "1 a 1 5 | r l [] | a m 1\n2 b 2 5 | a m 2 | r m [2] | a l 1\n",
                   "TIMESTAMP shared-cts 1 2\nTIMESTAMP shared-cts 2 1\n");
    chronos_expect(ISO_SER, "1 a 1 5 | a l 1\n2 b 2 5 | a l 2 | a m 1\n",
                   "TIMESTAMP shared-cts 1 2\nTIMESTAMP shared-cts 2 1\n");
}

static void one_instance_a_transaction(void **state)
{
    (void)state;
    /* 3 owns a snapshot that does not contain the one before it, and shares its cts and key with
     * 1 */
    chronos_expect(ISO_SER,
                   "1 a - - xid=10 snapshot=10:10: | w x 1\n"
                   "2 b - - xid=11 snapshot=10:10: | w y 1\n"
                   "3 c - - xid=12 snapshot=11:12:11 | w p 1\n"
                   "4 d - - xid=13 snapshot=10:12:10 | w p 2\n",
                   "TIMESTAMP shared-cts 3 4\nTIMESTAMP shared-cts 4 3\n");
}

static void unknown_outcomes(void **state)
{
    (void)state;
    assert_int_equal(
        chronos_expect(ISO_SER, "1 a 4 - unknown | w x 1\n2 b 1 5 | r x 1\n", "").unjudged, 1);
    chronos_expect(ISO_SER, "1 a 5 - unknown | w x 1\n2 b 1 5 | r x 1\n",
                   "EXT uncommitted 2 x: 1 of 1, not null of -\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_look_just_below_cts),
                                       cmocka_unit_test(operation_times_tell_external_reads_only),
                                       cmocka_unit_test(two_writers_of_a_key_share_a_cts),
                                       cmocka_unit_test(equal_cts_without_a_cycle),
                                       cmocka_unit_test(equal_cts_with_a_cycle),
                                       cmocka_unit_test(one_instance_a_transaction),
                                       cmocka_unit_test(unknown_outcomes)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
