/* Lists: prefixes, own appends, repeated reads, kinds, initial lists, unknown writers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/chronos_case.h"

static void appends_build_the_list(void **state)
{
    (void)state;
    chronos_expect(ISO_SI,
                   "initial | a l 1 | a l 2\n"
                   "1 a 1 2 | r l [1,2] | a l 3 | r l [1,2,3] | a l 4 | r l [1,2,3,4]\n"
                   "2 b 2 5 | r l [1,2,3,4] | a l 5\n"
                   "3 c 5 - | r l [1,2,3,4,5]\n"
                   "4 c 6 - | r m null\n",
                   "");
}

static void own_appends_end_the_read(void **state)
{
    (void)state;
    chronos_expect(ISO_SI, "1 a 1 2 | a l 1 | r l []\n", "INT 1 l: [], not [1]\n");
    chronos_expect(ISO_SI, "1 a 1 2 | a l 1 | a l 2 | r l [2,1]\n", "INT 1 l: [2,1], not [1,2]\n");
    /* what such a read saw of others is not judged, the next one's is */
    chronos_expect(ISO_SI, "1 a 1 2 | a l 1 | r l [7] | r l [7,1]\n",
                   "INT 1 l: [7], not [1]\nEXT uncommitted 1 l: [7,1] of -, not [1] of -\n");
}

static void a_read_after_an_own_append_is_external(void **state)
{
    (void)state;
    chronos_expect(ISO_SI, "1 a 1 2 | a l 1\n2 b 3 4 | a l 2 | r l [2]\n",
                   "EXT absent 2 l: [2] of -, not [1,2] of 1\n");
}

static void repeated_reads_have_one_prefix(void **state)
{
    (void)state;
    chronos_expect(ISO_SI, "1 a 1 2 | a l 1\n2 b 3 4 | r l [1] | a l 2 | r l [2]\n",
                   "INT 2 l: [2], not [1,2]\n");
    chronos_expect(
        ISO_SI, "1 a 1 2 | a l 1\n3 a 3 4 | a l 3\n2 b 2 9 | r l [1] | a l 2 @9 | r l [1,3,2] @5\n",
        "");
    chronos_expect(
        ISO_SI, "1 a 1 2 | a l 1\n3 a 3 4 | a l 3\n2 b 2 9 | r l [1] | a l 2 @9 | r l [1,2] @5\n",
        "EXT stale 2 l: [1,2] of 1, not [1,3,2] of 3\n");
}

static void kinds_of_ext(void **state)
{
    (void)state;
    chronos_expect(ISO_SI,
                   "initial | a l 0\n"
                   "1 a 1 2 | a l 1 | a l 11\n"
                   "2 a 3 4 | a l 2\n"
                   "3 b 4 - | r l [0,1,11]\n"
                   "4 b 4 - | r l [0]\n"
                   "5 b 4 - | r l []\n"
                   "6 b 4 - | r l [0,1,2]\n"
                   "7 b 4 - | r l [0,1,11,2,5]\n"
                   "8 b 4 - | r l [0,1,11,2,6]\n"
                   "9 b 4 - | r l [0,1,11,2,77]\n"
                   "10 b 4 - | r l [0,2,1,11]\n"
                   "11 b 4 - | r l [0,1,11,2,2]\n"
                   "50 c 8 20 | a l 5\n"
                   "60 c 21 22 aborted | a l 6\n",
                   "EXT stale 3 l: [0,1,11] of 1, not [0,1,11,2] of 2\n"
                   "EXT stale 4 l: [0] of -, not [0,1,11,2] of 2\n"
                   "EXT absent 5 l: [] of -, not [0,1,11,2] of 2\n"
                   "EXT intermediate 6 l: [0,1,2] of 1, not [0,1,11,2] of 2\n"
                   "EXT future 7 l: [0,1,11,2,5] of 50, not [0,1,11,2] of 2\n"
                   "EXT uncommitted 8 l: [0,1,11,2,6] of 60, not [0,1,11,2] of 2\n"
                   "EXT uncommitted 9 l: [0,1,11,2,77] of -, not [0,1,11,2] of 2\n"
                   "EXT stale 10 l: [0,2,1,11] of 1, not [0,1,11,2] of 2\n"
                   "EXT stale 11 l: [0,1,11,2,2] of 2, not [0,1,11,2] of 2\n");
}

static void unknown_writers_leave_reads_unjudged(void **state)
{
    (void)state;
    assert_int_equal(
        chronos_expect(ISO_SI, "1 a 1 2 | a l 1\n2 a 3 - unknown | a l 2\n3 b 4 - | r l [1,2]\n",
                       "")
            .unjudged,
        1);
    chronos_expect(ISO_SI, "1 a 1 2 | a l 1\n2 a 4 - unknown | a l 2\n3 b 4 - | r l [1,2]\n",
                   "EXT uncommitted 3 l: [1,2] of 2, not [1] of 1\n");
}

static void equal_cts_and_own_versions(void **state)
{
    (void)state;
    chronos_expect(ISO_SI, "2 a 3 9 | a l 2\n1 b 5 9 | a l 1\n3 c 9 - | r l [2,1]\n",
                   "NOCONFLICT 1 2 l\n");
    chronos_expect(ISO_SI, "1 a 1 2 | a l 1\n2 b 9 5 | r l [1] | a l 2\n3 c 9 - | r l [1,2]\n",
                   "TIMESTAMP interval 2\n");
    chronos_expect(ISO_SER,
                   "1 a 1 2 | a l 1\n2 b 1 5 | r l [1] | a l 2 | r l [1,2]\n3 c 1 6 | r l [1]\n",
                   "EXT stale 3 l: [1] of 1, not [1,2] of 2\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(appends_build_the_list),
                                       cmocka_unit_test(own_appends_end_the_read),
                                       cmocka_unit_test(a_read_after_an_own_append_is_external),
                                       cmocka_unit_test(repeated_reads_have_one_prefix),
                                       cmocka_unit_test(kinds_of_ext),
                                       cmocka_unit_test(unknown_writers_leave_reads_unjudged),
                                       cmocka_unit_test(equal_cts_and_own_versions)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
