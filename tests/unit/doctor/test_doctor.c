/* What the doctor does without a server; with one: tests/system/doctor. */
#include "tests/support/test.h"

#include "base/memory.h"
#include "doctor/doctor_private.h"

static void test_findings(void **state)
{
    (void)state;
    struct iso_doctor_report report = {0};
    struct iso_doctor_options options = {0};
    struct doctor doctor = {.options = &options, .report = &report};
    doctor_add(&doctor, ISO_DOCTOR_WEAK, "it costs", "mend it", "%d tables", 2);
    doctor_add(&doctor, ISO_DOCTOR_NOTE, "nothing", NULL, "well");
    assert_int_equal(iso_doctor_count(&report, ISO_DOCTOR_WEAK), 1);
    assert_int_equal(iso_doctor_count(&report, ISO_DOCTOR_WRONG), 0);
    assert_string_equal(report.findings[0].about, "2 tables");
    assert_string_equal(report.findings[0].mend, "mend it");
    assert_null(report.findings[1].mend);
    assert_string_equal(iso_doctor_weight_name(report.findings[1].weight), "note");
    iso_doctor_report_release(&report);
    assert_int_equal(report.count, 0);
}

/* A table with a column beside its key, one with several, and one without a key, which is left out. */
static void test_command(void **state)
{
    (void)state;
    struct iso_doctor_table tables[] = {
        {.schema = "public", .name = "kv", .column = "v", .has_key = true, .is_whole = true},
        {.schema = "public", .name = "acct", .has_key = true},
        {.schema = "public", .name = "bare"}};
    struct iso_doctor_report report = {.tables = tables, .table_count = 3};
    struct iso_doctor_options options = {.history = "clients"};
    struct doctor doctor = {.options = &options, .report = &report};
    doctor_command(&doctor);
    iso_text_put_bytes(&report.watch, "", 1);
    assert_string_equal(report.watch.bytes,
                        "isochron watch --source debezium:PREFIX.public.kv,value=v,identity=full --source "
                        "debezium:PREFIX.public.acct,cells=true --source debezium:PREFIX.transaction --source "
                        "history:clients --wait-for-topics -X bootstrap.servers=HOST:PORT");
    iso_text_release(&report.watch);
}

static void test_no_database(void **state)
{
    (void)state;
    struct iso_doctor_options options = {.url = "postgresql://127.0.0.1:1/d"};
    struct iso_doctor_report report;
    struct iso_error error = {0};
    assert_int_equal(iso_doctor(&options, &report, &error), ISO_FAILED);
    assert_int_equal(report.count, 0);
    iso_doctor_report_release(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_findings), cmocka_unit_test(test_command),
                                       cmocka_unit_test(test_no_database)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
