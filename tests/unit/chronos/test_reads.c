/* INT and EXT on registers: kinds, writers, deletes, initial values, ties, unknown and aborted
 * transactions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/chronos_case.h"

static void good_reads_hold(void **state)
{
    (void)state;
    struct chronos_counts counts =
        chronos_expect(ISO_SI,
                       "1 a 1 2 | r x null | w x 1 | r x 1 | w x 2 | r x 2\n"
                       "2 b 2 5 | r x 2 | d x | r x null\n"
                       "3 c 4 4 | r x 2\n"
                       "4 c 5 - | r x null\n",
                       "");
    assert_int_equal(counts.judged, 7);
    assert_int_equal(counts.unjudged, 0);
    assert_int_equal(counts.outcome, ISO_HOLDS);
    assert_false(counts.per_operation);
}

static void nothing_is_undecided(void **state)
{
    (void)state;
    assert_int_equal(chronos_expect(ISO_SI, "1 a - - aborted | w x 1\n", "").outcome,
                     ISO_IS_UNDECIDED);
    assert_int_equal(chronos_expect(ISO_SER, "", "").outcome, ISO_IS_UNDECIDED);
}

static void kinds_of_ext(void **state)
{
    (void)state;
    chronos_expect(ISO_SI,
                   "initially 0\n"
                   "1 a 1 2 | w x 1 | w y 8 | w y 9\n"
                   "2 a 3 4 | w x 2\n"
                   "3 b 9 - | r x 1\n"
                   "4 b 9 - | r x 0\n"
                   "5 b 9 - | r x 5\n"
                   "6 b 9 - | r x 6\n"
                   "7 b 9 - | r y 8\n"
                   "8 b 9 - | r x null\n"
                   "9 b 9 - | r x 77\n"
                   "50 c 8 20 | w x 5\n"
                   "60 c 21 22 aborted | w x 3 | w x 6 | w x 4\n",
                   "EXT stale 3 x: 1 of 1, not 2 of 2\n"
                   "EXT stale 4 x: 0 of -, not 2 of 2\n"
                   "EXT future 5 x: 5 of 50, not 2 of 2\n"
                   "EXT uncommitted 6 x: 6 of 60, not 2 of 2\n"
                   "EXT intermediate 7 y: 8 of 1, not 9 of 1\n"
                   "EXT absent 8 x: null of -, not 2 of 2\n"
                   "EXT uncommitted 9 x: 77 of -, not 2 of 2\n");
}

static void first_kind_that_fits(void **state)
{
    (void)state;
    /* 5 was written by all kinds of writers; then by fewer and fewer */
    chronos_expect(ISO_SI,
                   "10 a 1 2 | w x 5\n"
                   "11 a 3 4 | w x 6\n"
                   "12 b 9 9 | r x 5\n"
                   "13 c 20 30 | w x 5\n"
                   "14 d 40 50 | w x 5 | w x 7\n"
                   "15 e 1 2 aborted | w x 5\n"
                   "16 e 1 2 aborted | w x 5\n",
                   "EXT uncommitted 12 x: 5 of 15, not 6 of 11\n");
    chronos_expect(ISO_SI,
                   "10 a 1 2 | w x 5\n11 a 3 4 | w x 6\n12 b 9 9 | r x 5\n13 c 20 30 | w x 5\n"
                   "14 d 40 50 | w x 5 | w x 7\n",
                   "EXT intermediate 12 x: 5 of 14, not 6 of 11\n");
    chronos_expect(
        ISO_SI,
        "10 a 1 2 | w x 5\n11 a 3 4 | w x 6\n12 b 9 9 | r x 5\n13 c 20 30 | w x 5\n14 d 31 32 | w x 5\n",
        "EXT future 12 x: 5 of 13, not 6 of 11\n");
    chronos_expect(ISO_SI,
                   "9 a 0 1 | w x 5\n10 a 1 2 | w x 5\n11 a 3 4 | w x 6\n12 b 9 9 | r x 5\n",
                   "EXT stale 12 x: 5 of 10, not 6 of 11\n");
}

static void deletes_are_versions(void **state)
{
    (void)state;
    chronos_expect(ISO_SI,
                   "1 a 1 2 | w x 1\n2 a 3 4 | d x\n3 a 5 6 | w x 3\n"
                   "4 b 4 - | r x 1\n5 b 6 - | r x null\n",
                   "EXT stale 4 x: 1 of 1, not null of 2\n"
                   "EXT absent 5 x: null of 2, not 3 of 3\n");
}

static void internal_reads(void **state)
{
    (void)state;
    /* After an EXT violation INT goes on with the value that was read; an instance is reported
     * once. */
    chronos_expect(ISO_SI,
                   "1 a 1 2 | r x 7 | r x 7 | r x 8 | r x 9 | w x 1 | r x 2\n"
                   "2 b 1 2 | w y 1 | d y | r y 1\n",
                   "INT 1 x: 8, not 7\n"
                   "EXT uncommitted 1 x: 7 of -, not null of -\n"
                   "INT 2 y: 1, not null\n");
}

static void ties_are_visible(void **state)
{
    (void)state;
    chronos_expect(ISO_SI, "1 a 1 5 | w x 1\n2 b 5 6 | r x 1 | w x 2\n", "");
    chronos_expect(ISO_SI, "1 a 1 5 | w x 1\n2 b 4 6 | r x 1\n",
                   "EXT future 2 x: 1 of 1, not null of -\n");
}

static void equal_cts_have_an_order(void **state)
{
    (void)state;
    /* by the ots of the first write, then tid; NOCONFLICT is not what this is about */
    chronos_expect(ISO_SI, "1 a 1 9 | w x 1\n2 b 3 9 | w x 2\n3 c 9 - | r x 2\n",
                   "NOCONFLICT 2 1 x\n");
    chronos_expect(ISO_SI, "2 a 3 9 | w x 1\n1 b 3 9 | w x 2\n3 c 9 - | r x 2\n",
                   "NOCONFLICT 2 1 x\nEXT stale 3 x: 2 of 1, not 1 of 2\n");
    chronos_expect(ISO_SI, "1 a 1 9 | w x 1 @8\n2 b 3 9 | w x 2\n3 c 9 - | r x 1\n",
                   "NOCONFLICT 1 2 x\n");
    chronos_expect(ISO_SI, "1 a 1 9 | w x 1 lock\n2 b 3 9 | w x 2 @7\n3 c 9 - | r x 1\n", "");
    /* Of two who wrote what a stale read returned it is the later one, also where one has an ots of
     * its own. */
    for (int own = 0; own < 2; own++)
        chronos_expect(
            ISO_SI,
            own ? "1 a 7 9 | w x 5\n2 b 6 9 | w x 5 @6\n3 c 10 11 | w x 6\n4 d 12 - | r x 5\n"
                : "1 a 7 9 | w x 5 @7\n2 b 6 9 | w x 5\n3 c 10 11 | w x 6\n4 d 12 - | r x 5\n",
            "NOCONFLICT 1 2 x\nEXT stale 4 x: 5 of 1, not 6 of 3\n");
}

static void own_versions_are_not_seen(void **state)
{
    (void)state;
    /* 2 commits before it starts; the newest version of another is what it must read */
    chronos_expect(ISO_SI, "1 a 1 2 | w x 1\n2 b 9 5 | r x 1 | w x 2\n3 c 9 - | r x 2\n",
                   "TIMESTAMP interval 2\n");
    chronos_expect(ISO_SI, "1 a 1 2 | w x 1\n2 b 9 5 | r x 2 | w x 2\n",
                   "TIMESTAMP interval 2\nEXT uncommitted 2 x: 2 of -, not 1 of 1\n");
    chronos_expect(ISO_SI, "2 b 9 5 | r x 3 | w x 2\n3 c 5 6 | w x 3\n", "TIMESTAMP interval 2\n");
}

static void initial_values(void **state)
{
    (void)state;
    chronos_expect(ISO_SI, "initially 0\ninitial | w x 7 | w x 8\n1 a 1 - | r x 8 | r y 0\n", "");
    chronos_expect(
        ISO_SI, "initial | w x 7 | w x 8\n1 a 1 - | r x 7 | r y 0\n",
        "EXT uncommitted 1 x: 7 of -, not 8 of -\nEXT uncommitted 1 y: 0 of -, not null of -\n");
    chronos_expect(ISO_SI, "initial | w x 7\n1 a 1 2 | w x 8\n2 a 3 - | r x 7\n",
                   "EXT stale 2 x: 7 of -, not 8 of 1\n");
}

static void unknown_outcomes(void **state)
{
    (void)state;
    struct chronos_counts counts = chronos_expect(
        ISO_SI, "1 a 1 2 | w x 1\n2 b 3 - unknown | w x 2\n3 c 5 - | r x 2 | r x 2\n", "");
    assert_int_equal(counts.unjudged, 1);
    assert_int_equal(counts.judged, 1); /* the internal one */
    assert_int_equal(counts.outcome, ISO_IS_UNDECIDED);
    /* not its final value; started too late; and a read that is right rests on nobody */
    chronos_expect(ISO_SI, "2 b 3 - unknown | w x 2 | w x 3\n3 c 5 - | r x 2\n",
                   "EXT uncommitted 3 x: 2 of 2, not null of -\n");
    chronos_expect(ISO_SI, "2 b 5 - unknown | w x 2\n3 c 5 - | r x 2\n",
                   "EXT uncommitted 3 x: 2 of 2, not null of -\n");
    assert_int_equal(
        chronos_expect(ISO_SI, "2 b - - unknown | w x 2\n3 c 5 - | r x 2\n", "").unjudged, 1);
    assert_int_equal(
        chronos_expect(ISO_SI, "1 a 1 2 | w x 2\n2 b 3 9 unknown | w x 2\n3 c 5 - | r x 2\n", "")
            .unjudged,
        0);
}

static void unknown_and_wrong_reads_of_one_key(void **state)
{
    (void)state;
    struct chronos_counts counts =
        chronos_expect(ISO_SI, "2 b 3 - unknown | w x 2\n3 c 5 9 | r x 2 | r x 7 @6 | r x 2 @7\n",
                       "EXT uncommitted 3 x: 7 of -, not null of -\n");
    assert_int_equal(counts.unjudged, 0);
    assert_int_equal(counts.judged, 1);
}

static void operation_times(void **state)
{
    (void)state;
    /* statement snapshots: each read at its own time, the second is external again */
    struct chronos_counts counts = chronos_expect(
        ISO_SI, "1 a 1 2 | w x 1\n2 a 3 4 | w x 2\n3 b 2 9 | r x 1 | r x 2 @4 | r x 2 @4\n", "");
    assert_true(counts.per_operation);
    assert_int_equal(counts.judged, 3);
    chronos_expect(
        ISO_SI, "1 a 1 2 | w x 1\n2 a 3 4 | w x 2\n3 b 2 9 | r x 1 | r x 1 @4\n4 b 9 9 | r x 2\n",
        "EXT stale 3 x: 1 of 1, not 2 of 2\n");
    /* after its own write a read is internal, whatever its time */
    chronos_expect(ISO_SI, "1 a 1 2 | w x 1\n2 a 3 4 | w x 2\n3 b 4 9 | w x 5 | r x 2 @5\n",
                   "INT 3 x: 2, not 5\n");
}

static void locks(void **state)
{
    (void)state;
    /* a locked read looks just below cts; two of them have one time */
    chronos_expect(ISO_SI,
                   "1 a 1 2 | w x 1\n2 a 3 8 | w x 2\n3 b 2 9 | r x 1 | r x 2 lock | r x 2 lock\n",
                   "");
    chronos_expect(ISO_SI, "2 a 3 9 | w x 2\n3 b 2 9 | r x 2 lock | w y 1\n",
                   "EXT future 3 x: 2 of 2, not null of -\n");
    /* a point stands after all commits at its time */
    chronos_expect(ISO_SI, "2 a 3 9 | w x 2\n3 b 9 9 | r x 2 lock\n", "");
    chronos_expect(ISO_SI, "1 a 1 2 | w x 1\n3 b 2 9 | r x 1 lock | r x 3 lock\n",
                   "INT 3 x: 3, not 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good_reads_hold),
                                       cmocka_unit_test(nothing_is_undecided),
                                       cmocka_unit_test(kinds_of_ext),
                                       cmocka_unit_test(first_kind_that_fits),
                                       cmocka_unit_test(deletes_are_versions),
                                       cmocka_unit_test(internal_reads),
                                       cmocka_unit_test(ties_are_visible),
                                       cmocka_unit_test(equal_cts_have_an_order),
                                       cmocka_unit_test(own_versions_are_not_seen),
                                       cmocka_unit_test(initial_values),
                                       cmocka_unit_test(unknown_outcomes),
                                       cmocka_unit_test(unknown_and_wrong_reads_of_one_key),
                                       cmocka_unit_test(operation_times),
                                       cmocka_unit_test(locks)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
