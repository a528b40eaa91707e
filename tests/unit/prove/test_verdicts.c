/* Programs with known verdicts (tests/data/prove): every level of each, asked together and apart;
 * each violation is shown by an execution that was run again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "bytes/whole_file.h"
#include "prove/prove.h"

static void judge(const char *name, const char *expected, bool apart)
{
    char path[200];
    struct iso_whole_file file = {0};
    struct iso_error error = ISO_NO_ERROR;
    struct iso_prove_program program;
    struct iso_prove_result result;
    struct iso_prove_options options = {.apart = apart};
    snprintf(path, sizeof path, "tests/data/prove/%s.iso", name);
    iso_prove_program_init(&program);
    iso_prove_result_init(&result);
    assert_int_equal(iso_whole_file_read(&file, path, &error), ISO_OK);
    assert_int_equal(iso_prove_read_core(&program, path, file.bytes, file.length, 1, &error),
                     ISO_OK);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        options.levels[i] = true;
    assert_int_equal(iso_prove(&program, &options, &result, &error), ISO_OK);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
        const struct iso_prove_answer *answer = &result.answers[i];
        if (answer->outcome != (expected[i] == '+' ? ISO_HOLDS : ISO_IS_VIOLATED))
            fail_msg("%s at %s: %d %s", name, iso_prove_level_name(i), answer->outcome,
                     answer->reason ? answer->reason : "");
        assert_int_equal(answer->shown, answer->outcome == ISO_IS_VIOLATED);
        assert_true(!answer->shown || answer->execution.rule != ISO_NONE);
    }
    iso_prove_result_release(&result);
    iso_prove_program_release(&program);
    iso_whole_file_release(&file);
}

static void judge_all(bool apart)
{
    char line[200], name[100], verdicts[20];
    uint32_t programs = 0;
    FILE *file = fopen("tests/data/prove/verdicts.txt", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (*line != '#' && sscanf(line, "%99s %19s", name, verdicts) == 2) {
            judge(name, verdicts, apart);
            programs++;
        }
    fclose(file);
    assert_int_equal(programs, 28);
}

static void test_known_verdicts(void **state)
{
    (void)state;
    judge_all(false);
}

static void test_known_verdicts_apart(void **state)
{
    (void)state;
    judge_all(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_verdicts),
                                       cmocka_unit_test(test_known_verdicts_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
