/* The table of levels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "verdict/evidence.h"

/* Each row is said once, in every table that follows from the list. */
static void test_numbers_and_names(void **state)
{
    char words[200] = "";
    enum iso_level parsed;
    (void)state;
    for (int level = 0; level < ISO_LEVELS; level++) {
        const char *name = iso_level_name((enum iso_level)level);
        assert_true(iso_level_parse(name, strlen(name), &parsed));
        assert_int_equal(parsed, level);
        assert_string_equal(iso_level_name((enum iso_level)level), name);
        assert_true(strlen(name) < ISO_LEVEL_NAME_MAX);
        strcat(strcat(words, level ? "|" : ""), name);
    }
    assert_string_equal(words, ISO_LEVEL_WORDS);
    assert_int_equal(ISO_LEVELS, ISO_LEVELS);
    assert_int_equal(ISO_SI, ISO_SI);
    assert_int_equal(ISO_STALE_READS, ISO_STALE_READS);
    assert_false(iso_level_parse("rr", 2, &parsed));
    assert_non_null(iso_level_refusal("rr"));
    assert_non_null(iso_level_refusal("ua"));
    assert_null(iso_level_refusal("si"));
}

/* Pairs that definitions decide, in both directions. */
static void test_lattice(void **state)
{
    static const struct {
        enum iso_level strong, weak;
        bool implies, converse;
    } pairs[] = {
        {ISO_STRICT_SER, ISO_ADYA_RC, true, false},
        {ISO_SER, ISO_SI, true, false},
        {ISO_SI, ISO_PSI, true, false},
        {ISO_SI, ISO_PC, true, false},
        {ISO_PSI, ISO_PC, false, false},
        {ISO_PC, ISO_CC, true, false},
        {ISO_CC, ISO_WFR, true, false},
        {ISO_RA, ISO_RYW, true, false},
        {ISO_RA, ISO_MR, false, false},
        {ISO_PRAM, ISO_MW, true, false},
        {ISO_PRAM, ISO_RC, false, false},
        {ISO_ADYA_SI, ISO_RC, false, false},
        {ISO_STRONG_SI, ISO_GSI, true, false},
        {ISO_SI, ISO_STALE_READS, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_int_equal(iso_level_implies(pairs[i].strong, pairs[i].weak), pairs[i].implies);
        assert_int_equal(iso_level_implies(pairs[i].weak, pairs[i].strong), pairs[i].converse);
        assert_true(iso_level_implies(pairs[i].weak, pairs[i].weak));
    }
}

/* Who does not have a level says who has it. */
static void test_refused(void **state)
{
    struct iso_error error = {0};
    (void)state;
    assert_int_equal(iso_level_check(ISO_SI, ISO_BY_AION, "aion", "--level", &error), ISO_OK);
    assert_int_equal(iso_level_check(ISO_GSI, ISO_BY_AION, "aion", "--level", &error),
                     ISO_BAD_INPUT);
    assert_non_null(strstr(error.text, "--level gsi: aion has si"));
    assert_non_null(strstr(error.text, "--engine polygraph has it"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_and_names),
        cmocka_unit_test(test_lattice),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
