/* Levels below SI: pc, rc and stale on registers and lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/chronos_case.h"

/* x and y change together at 10 and at 20. */
#define TWO_CHANGES                                                                                \
    "1 a 5 10 | w x 1 | w y 1\n"                                                                   \
    "2 a 15 20 | w x 2 | w y 2\n"

static void overlapping_writers_are_pc(void **state)
{
    (void)state;
    const char *history = "1 a 1 5 | r x null | w x 1\n"
                          "2 b 2 6 | r x null | w x 2\n";
    assert_int_equal(chronos_expect(ISO_PC, history, "").outcome, ISO_HOLDS);
    chronos_expect(ISO_SI, history, "NOCONFLICT 2 1 x\n");
    chronos_expect(ISO_PC, TWO_CHANGES "3 b 12 30 | r x 2\n",
                   "EXT future 3 x: 2 of 2, not 1 of 1\n");
}

static void statements_may_see_more(void **state)
{
    (void)state;
    assert_int_equal(
        chronos_expect(ISO_RC, TWO_CHANGES "3 b 6 30 | r x null | r x 1 | r y 2 | r x 2\n", "")
            .outcome,
        ISO_HOLDS);
    chronos_expect(ISO_RC, TWO_CHANGES "3 b 6 30 | r x 2 | r y 1\n",
                   "EXT stale 3 y: 1 of 1, not 2 of 2\n");
    chronos_expect(ISO_RC, TWO_CHANGES "3 b 6 19 | r x 2\n",
                   "EXT future 3 x: 2 of 2, not null of -\n");
    chronos_expect(ISO_RC, TWO_CHANGES "3 b 20 30 | r x 1\n",
                   "EXT stale 3 x: 1 of 1, not 2 of 2\n");
    /* its own moment; and one that went back has none, though it is what the first read would have
     * seen */
    chronos_expect(ISO_RC, TWO_CHANGES "3 b 6 30 | r x 1 @10 | r y 1 @19 | r y 1 @20\n",
                   "EXT stale 3 y: 1 of 1, not 2 of 2\n");
}

static void own_writes_are_internal(void **state)
{
    (void)state;
    chronos_expect(ISO_RC, TWO_CHANGES "3 b 12 30 | r x 1 | w x 7 | r x 7 | r x 2\n",
                   "INT 3 x: 2, not 7\n");
}

static void points_end_at_the_next_start(void **state)
{
    (void)state;
    assert_int_equal(chronos_expect(ISO_RC, TWO_CHANGES "3 b 6 - | r x 2\n", "").outcome,
                     ISO_HOLDS);
    chronos_expect(ISO_RC, TWO_CHANGES "3 b 6 - | r x 2\n4 b 19 - | r x 1\n",
                   "EXT future 3 x: 2 of 2, not null of -\n");
}

static void who_has_no_start_began_behind_its_session(void **state)
{
    (void)state;
    assert_int_equal(
        chronos_expect(ISO_RC, TWO_CHANGES "3 b - 30 | r x null | w z 1\n", "").outcome, ISO_HOLDS);
    chronos_expect(ISO_RC, TWO_CHANGES "3 a - 30 | r x 1 | w z 1\n",
                   "EXT stale 3 x: 1 of 1, not 2 of 2\n");
}

static void stale_reads_have_one_moment(void **state)
{
    (void)state;
    const char *old = TWO_CHANGES "3 a 40 - | r x 1 | r y 1\n";
    assert_int_equal(chronos_expect(ISO_STALE_READS, old, "").outcome, ISO_HOLDS);
    chronos_expect(ISO_STALE_READS, TWO_CHANGES "3 a 40 - | r x 1 | r y 2\n",
                   "EXT stale 3 y: 2 of 2, not 1 of 1\n");
    chronos_expect(ISO_STALE_READS, TWO_CHANGES "3 a 12 - | r x 2\n",
                   "EXT future 3 x: 2 of 2, not 1 of 1\n");
    /* a value that came twice: of both moments only the earlier one suits the other read */
    assert_int_equal(chronos_expect(ISO_STALE_READS,
                                    TWO_CHANGES "3 c 25 30 | w x 1\n4 b 40 - | r x 1 | r y 1\n", "")
                         .outcome,
                     ISO_HOLDS);
}

static void lists_are_prefixes(void **state)
{
    (void)state;
    const char *lists = "1 a 1 5 | a l 1\n"
                        "2 b 6 9 | a l 2\n";
    char text[256];
    snprintf(text, sizeof text, "%s3 c 3 20 | r l [] | r l [1] | a l 7 | r l [1,2,7]\n", lists);
    assert_int_equal(chronos_expect(ISO_RC, text, "").outcome, ISO_HOLDS);
    snprintf(text, sizeof text, "%s3 c 10 20 | r l [1]\n", lists);
    assert_int_equal(chronos_expect(ISO_STALE_READS, text, "").outcome, ISO_HOLDS);
    chronos_expect(ISO_RC, text, "EXT stale 3 l: [1] of 1, not [1,2] of 2\n");
}

static void unknown_outcomes_excuse(void **state)
{
    (void)state;
    assert_int_equal(
        chronos_expect(ISO_RC, "1 a 8 - unknown | w x 1\n2 b 2 20 | r x 1\n", "").unjudged, 1);
    chronos_expect(ISO_RC, "1 a 20 - unknown | w x 1\n2 b 2 20 | r x 1\n",
                   "EXT uncommitted 2 x: 1 of 1, not null of -\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_writers_are_pc),
        cmocka_unit_test(statements_may_see_more),
        cmocka_unit_test(own_writes_are_internal),
        cmocka_unit_test(points_end_at_the_next_start),
        cmocka_unit_test(who_has_no_start_began_behind_its_session),
        cmocka_unit_test(stale_reads_have_one_moment),
        cmocka_unit_test(lists_are_prefixes),
        cmocka_unit_test(unknown_outcomes_excuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
