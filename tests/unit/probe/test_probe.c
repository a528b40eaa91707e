/* What the probe knows without a server. */
#include "tests/support/test.h"

#include "probe/probe.h"
#include "probe/tso.h"

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

/* What TiDB answers is taken as it is known, and else refused. */
static void test_timestamps(void **state)
{
    (void)state;
    const uint64_t start = UINT64_C(447984099186180097);
    static const struct {
        const char *text;
        enum tso_answer answer;
    } currents[] = {{"447984099186180097", TSO_SAID}, {"0", TSO_OTHER},  {"", TSO_WRONG},
                    {"2024-02-26", TSO_WRONG},        {"12", TSO_WRONG}, {"-1", TSO_WRONG}},
      commits[] =
          {{"", TSO_OTHER},
           {"{\"txn_scope\":\"global\",\"start_ts\":447984099186180097,\"commit_ts\":447984099186180098,"
            "\"txn_commit_mode\":\"1pc\",\"async_commit_fallback\":false}",
            TSO_SAID},
           {"{\"start_ts\":447984099186180090,\"commit_ts\":447984099186180091}", TSO_OTHER},
           {"{\"start_ts\":447984099186180097,\"commit_ts\":0,\"error\":\"write conflict\"}",
            TSO_OTHER},
           {"{\"start_ts\":447984099186180097,\"commit_ts\":447984099186180097}", TSO_WRONG},
           {"{\"start_ts\":\"447984099186180097\",\"commit_ts\":\"447984099186180098\"}",
            TSO_WRONG},
           {"{\"startTS\":447984099186180097,\"commitTS\":447984099186180098}", TSO_WRONG},
           {"{\"start_ts\":447984099186180097}", TSO_WRONG},
           {"{\"start_ts\":447984099186180097,\"commit_ts\":447984099186180098", TSO_WRONG},
           {"start_ts=447984099186180097", TSO_WRONG}},
      locks[] = {
          {"{\"txn_scope\":\"global\",\"start_ts\":447984099186180097,\"for_update_ts\":447984099186180099}",
           TSO_SAID},
          {"{\"start_ts\":447984099186180097,\"for_update_ts\":0}", TSO_OTHER},
          {"{\"start_ts\":447984099186180097,\"for_update_ts\":447984099186180000}", TSO_WRONG},
          {"{\"start_ts\":447984099186180097}", TSO_WRONG}};
    uint64_t stamp = 0;
    for (size_t i = 0; i < sizeof currents / sizeof *currents; i++)
        assert_int_equal(tso_current(currents[i].text, &stamp), currents[i].answer);
    for (size_t i = 0; i < sizeof commits / sizeof *commits; i++)
        assert_int_equal(tso_commit(commits[i].text, start, &stamp), commits[i].answer);
    assert_int_equal(tso_commit(commits[1].text, start, &stamp), TSO_SAID);
    assert_true(stamp == start + 1);
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++)
        assert_int_equal(tso_for_update(locks[i].text, &stamp), locks[i].answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timestamps), cmocka_unit_test(test_isolation),
        cmocka_unit_test(test_workloads), cmocka_unit_test(test_refused)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
