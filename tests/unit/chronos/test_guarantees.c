/* ryw, mr, ra, cc and psi by the order of commits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/chronos_case.h"

static void holds(enum iso_level level, const char *history)
{
    assert_int_equal(chronos_expect(level, history, "").outcome, ISO_HOLDS);
}

static void own_writes(void **state)
{
    (void)state;
    const char *history = "1 a 1 10 | w x 1\n"
                          "2 a 2 - | r x null\n";
    chronos_expect(ISO_RYW, history, "EXT absent 2 x: null of -, not 1 of 1\n");
    chronos_expect(ISO_RA, history, "EXT absent 2 x: null of -, not 1 of 1\n");
    holds(ISO_MR, history);
}

static void reads_do_not_go_back(void **state)
{
    (void)state;
    const char *history = "1 a 1 10 | w x 1 | w y 1\n"
                          "2 b 11 - | r x 1\n"
                          "3 b 12 - | r y null\n";
    chronos_expect(ISO_MR, history, "EXT absent 3 y: null of -, not 1 of 1\n");
    holds(ISO_RA, history);
    holds(ISO_RYW, history);
}

static void fractured_reads(void **state)
{
    (void)state;
    const char *history = "1 a 1 10 | w x 1 | w y 1\n"
                          "2 b 11 20 | r y null | r x 1 | w z 1\n";
    chronos_expect(ISO_RA, history, "EXT absent 2 y: null of -, not 1 of 1\n");
    holds(ISO_MR, history);
}

static void causes_come_first(void **state)
{
    (void)state;
    const char *history = "1 a 1 10 | w x 1\n"
                          "2 b 11 20 | r x 1 | w y 1\n"
                          "3 c 21 - | r y 1 | r x null\n";
    chronos_expect(ISO_CC, history, "EXT absent 3 x: null of -, not 1 of 1\n");
    holds(ISO_RA, history);
}

static void lost_updates_are_not_parallel(void **state)
{
    (void)state;
    const char *history = "1 a 1 10 | r x null | w x 1\n"
                          "2 b 2 20 | r x null | w x 2\n";
    chronos_expect(ISO_PSI, history, "EXT absent 2 x: null of -, not 1 of 1\n");
    holds(ISO_CC, history);
    /* a long fork: two readers see two writers in two orders */
    holds(ISO_PSI, "1 a 1 10 | w x 1\n"
                   "2 b 1 11 | w y 1\n"
                   "3 c 12 - | r x 1 | r y null\n"
                   "4 d 12 - | r x null | r y 1\n");
}

static void nothing_of_the_future(void **state)
{
    (void)state;
    chronos_expect(ISO_RYW, "1 a 1 10 | w x 1\n2 b 2 5 | r x 1 | w y 1\n",
                   "EXT future 2 x: 1 of 1, not null of -\n");
    holds(ISO_CC, "1 a 1 10 | w x 1\n2 b 2 - | r x 1\n");
    chronos_expect(ISO_CC, "1 a 1 10 | w x 1\n2 b 2 - | r x 1\n3 b 3 9 | w y 1\n",
                   "EXT future 2 x: 1 of 1, not null of -\n");
}

static void commits_of_a_session_do_not_go_back(void **state)
{
    (void)state;
    chronos_expect(ISO_CC, "1 a 1 10 | w x 1\n2 a 2 5 | r x null | w y 1\n", "SESSION 2 1\n");
}

static void repeated_values_do_not_accuse(void **state)
{
    (void)state;
    const char *history = "1 a 1 10 | w x 1 | w y 1\n"
                          "2 b 11 20 | r y 1 | w x 1\n"
                          "3 c 12 30 | r x 1 | r y null | w q 1\n";
    /* of 1 or of 2: by the latter it would know of nothing but 2 */
    assert_int_equal(chronos_expect(ISO_RA, history, "").unjudged, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_writes),
        cmocka_unit_test(reads_do_not_go_back),
        cmocka_unit_test(fractured_reads),
        cmocka_unit_test(causes_come_first),
        cmocka_unit_test(lost_updates_are_not_parallel),
        cmocka_unit_test(nothing_of_the_future),
        cmocka_unit_test(commits_of_a_session_do_not_go_back),
        cmocka_unit_test(repeated_values_do_not_accuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
