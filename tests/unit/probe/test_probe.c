/* What the probe knows without a server. */
#include "tests/support/test.h"

#include "probe/probe.h"

static void test_isolation(void **state)
{
    (void)state;
    static const struct {
        const char *name, *level;
    } cases[] = {{"repeatable read", "REPEATABLE READ"},
                 {"REPEATABLE-READ", "REPEATABLE READ"},
                 {"Read_Committed", "READ COMMITTED"},
                 {"read uncommitted", "READ UNCOMMITTED"},
                 {"serializable", "SERIALIZABLE"},
                 {"serializable; DROP TABLE x", NULL},
                 {"serial", NULL},
                 {"repeatable  read", NULL},
                 {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *level = iso_probe_isolation(cases[i].name);
        if (cases[i].level)
            assert_string_equal(level ? level : "(none)", cases[i].level);
        else
            assert_null(level);
    }
}

static void test_workloads(void **state)
{
    (void)state;
    uint32_t count = 0, of_streams = 0;
    for (; iso_probe_workload_name(count); count++) {
        assert_non_null(iso_probe_workload_about(count));
        of_streams += iso_probe_workload_streams(count);
        for (uint32_t other = 0; other < count; other++)
            assert_string_not_equal(iso_probe_workload_name(count), iso_probe_workload_name(other));
    }
    assert_int_equal(count, 7);
    assert_int_equal(of_streams, 5);
    assert_null(iso_probe_workload_about(count));
}

static void test_refused(void **state)
{
    (void)state;
    struct iso_probe_options options = {.url = "ftp://h", .sessions = 1, .record = "x"};
    struct iso_error error = {0};
    assert_null(iso_probe_prepare(&options, &error));
    assert_int_equal(error.status, ISO_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_isolation), cmocka_unit_test(test_workloads),
                                       cmocka_unit_test(test_refused)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
