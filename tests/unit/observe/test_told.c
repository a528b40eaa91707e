/* Which test a comment in a statement names. */
#include "observe/observed_private.h"

#include "base/memory.h"
#include "tests/support/test.h"

static void assert_test(const char *sql, const char *expected)
{
    char *test = told_test(sql);
    if (expected)
        assert_string_equal(test, expected);
    else
        assert_null(test);
    iso_free(test);
}

static void a_comment_says_it(void **state)
{
    (void)state;
    assert_test("SELECT 1 /* test: a.py::b[1 2] */", "a.py::b[1 2]");
    assert_test("/*test:a*/ SELECT 1", "a");
    assert_test("SELECT 1 /* route */ /* test: a */", "a");
    assert_test("SELECT 1 /* test: a", "a");
}

static void sqlcommenter_says_it(void **state)
{
    (void)state;
    assert_test("SELECT 1 /*route='x',test='a%3A%3ab%'*/", "a::b%");
    assert_test("SELECT 1 /*test='a',route='x'*/", "a");
}

static void others_do_not(void **state)
{
    (void)state;
    assert_test("SELECT 1", NULL);
    assert_test("SELECT test: 1", NULL);
    assert_test("SELECT 1 /* latest: 2 */", NULL);
    assert_test("SELECT 1 /* test */", NULL);
    assert_test("SELECT 1 /* test:  */", NULL);
    assert_test("SELECT 1 /*", NULL);
    assert_test("SELECT 1 /* test", NULL);
    assert_test("SELECT 1 /*/ test: a */", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_comment_says_it),
        cmocka_unit_test(sqlcommenter_says_it),
        cmocka_unit_test(others_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
