/* Answers at several levels: whatever is asked in whatever order, what follows is what the lattice
 * says. */
#include "tests/support/test.h"

#include "verdict/answers.h"

static uint32_t bit(enum iso_level level)
{
    return 1u << level;
}

static void all_are_candidates(struct iso_answers *answers)
{
    for (int level = 0; level < ISO_LEVELS; level++)
        answers->of[level].is_candidate = level != ISO_STALE_READS;
}

static void test_one_answer_says_others(void **state)
{
    struct iso_answers answers;
    (void)state;
    iso_answers_init(&answers, true);
    all_are_candidates(&answers);
    iso_answers_note(&answers, ISO_PC, ISO_HOLDS, NULL);
    iso_answers_note(&answers, ISO_PSI, ISO_IS_VIOLATED, NULL);
    assert_int_equal(iso_answers_outcome(&answers, ISO_RYW), ISO_HOLDS);
    assert_int_equal(answers.of[ISO_RYW].since, ISO_PC);
    assert_int_equal(iso_answers_outcome(&answers, ISO_SER), ISO_IS_VIOLATED);
    assert_int_equal(answers.of[ISO_SER].since, ISO_PSI);
    assert_int_equal(iso_answers_strongest(&answers), bit(ISO_PC));
    assert_int_equal(iso_answers_open(&answers) & (bit(ISO_SI) | bit(ISO_CC)), 0);
}

/* Undecided says nothing of others, and an answer replaces it. */
static void test_undecided(void **state)
{
    struct iso_answers answers;
    (void)state;
    iso_answers_init(&answers, true);
    all_are_candidates(&answers);
    iso_answers_note(&answers, ISO_SER, ISO_IS_UNDECIDED, "timeout");
    iso_answers_note(&answers, ISO_CC, ISO_HOLDS, NULL);
    assert_string_equal(answers.of[ISO_SER].reason, "timeout");
    assert_int_equal(iso_answers_outcome(&answers, ISO_RA), ISO_HOLDS);
    assert_true(iso_answers_open(&answers) & bit(ISO_SER));
    assert_true(iso_answers_open(&answers) & bit(ISO_PSI));
    iso_answers_note(&answers, ISO_SI, ISO_IS_VIOLATED, NULL);
    assert_int_equal(iso_answers_outcome(&answers, ISO_SER), ISO_IS_VIOLATED);
    iso_answers_note(&answers, ISO_SER, ISO_IS_UNDECIDED, "memory");
    assert_int_equal(iso_answers_outcome(&answers, ISO_SER), ISO_IS_VIOLATED);
}

/* Levels that do not imply one another stand side by side. */
static void test_several_strongest(void **state)
{
    struct iso_answers answers;
    (void)state;
    iso_answers_init(&answers, true);
    all_are_candidates(&answers);
    iso_answers_note(&answers, ISO_CC, ISO_IS_VIOLATED, NULL);
    iso_answers_note(&answers, ISO_RA, ISO_HOLDS, NULL);
    iso_answers_note(&answers, ISO_PRAM, ISO_IS_VIOLATED, NULL);
    iso_answers_note(&answers, ISO_MR, ISO_HOLDS, NULL);
    iso_answers_note(&answers, ISO_MW, ISO_IS_VIOLATED, NULL);
    iso_answers_note(&answers, ISO_WFR, ISO_IS_VIOLATED, NULL);
    assert_int_equal(iso_answers_strongest(&answers), bit(ISO_RA) | bit(ISO_MR));
}

/* By timestamps each level speaks for itself. */
static void test_no_inference(void **state)
{
    struct iso_answers answers;
    (void)state;
    iso_answers_init(&answers, false);
    all_are_candidates(&answers);
    iso_answers_note(&answers, ISO_SER, ISO_HOLDS, NULL);
    iso_answers_note(&answers, ISO_SI, ISO_IS_VIOLATED, NULL);
    assert_int_equal(iso_answers_outcome(&answers, ISO_SER), ISO_HOLDS);
    assert_int_equal(iso_answers_outcome(&answers, ISO_RC), ISO_IS_UNDECIDED);
}

/* A database that keeps exactly the levels that one level implies: asked in any order, the answers
 * never contradict. */
static void test_any_order_of_asking(void **state)
{
    uint64_t random = 17;
    (void)state;
    for (int trial = 0; trial < 2000; trial++) {
        struct iso_answers answers;
        enum iso_level kept = (enum iso_level)(test_random(&random) % ISO_LEVELS);
        iso_answers_init(&answers, true);
        all_are_candidates(&answers);
        for (int asked = 0; asked < 40; asked++) {
            enum iso_level level = (enum iso_level)(test_random(&random) % ISO_LEVELS);
            iso_answers_note(&answers, level,
                             iso_level_implies(kept, level) ? ISO_HOLDS : ISO_IS_VIOLATED, NULL);
        }
        for (int level = 0; level < ISO_LEVELS; level++) {
            if (answers.of[level].is_known)
                assert_int_equal(answers.of[level].outcome == ISO_HOLDS,
                                 iso_level_implies(kept, (enum iso_level)level));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_answer_says_others), cmocka_unit_test(test_undecided),
        cmocka_unit_test(test_several_strongest),      cmocka_unit_test(test_no_inference),
        cmocka_unit_test(test_any_order_of_asking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
