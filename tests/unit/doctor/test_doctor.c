/* What the doctor does without a server; with one: tests/system/doctor. */
#include "tests/support/test.h"

#include "base/memory.h"
#include "doctor/changefeed.h"
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

/* A table with a column beside its key, one with several, and one without a key, which is left
 * out. */
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
    assert_string_equal(
        report.watch.bytes,
        "isochron watch --source debezium:PREFIX.public.kv,value=v,identity=full --source "
        "debezium:PREFIX.public.acct,cells=true --source debezium:PREFIX.transaction --source "
        "history:clients --wait-for-topics -X bootstrap.servers=HOST:PORT");
    iso_text_release(&report.watch);
}

/* Many tables: one source for those that are alike, and each other one's. */
static void test_many_tables(void **state)
{
    (void)state;
    struct iso_doctor_table tables[10];
    struct iso_doctor_report report = {.tables = tables,
                                       .table_count = 10,
                                       .prefix = "erp",
                                       .orders_by_bytes = true,
                                       .reads_committed = true};
    struct iso_doctor_options options = {.history = "clients"};
    struct doctor doctor = {.options = &options, .report = &report};
    for (int i = 0; i < 10; i++)
        tables[i] = (struct iso_doctor_table){
            .schema = "public", .name = "t", .has_key = i < 9, .is_whole = i != 3};
    tables[3].name = "odd";
    doctor_command(&doctor);
    iso_text_put_bytes(&report.watch, "", 1);
    assert_string_equal(
        report.watch.bytes,
        "isochron watch --source debezium:erp.public.odd,cells=true,collation=C --source "
        "'debezium:erp.*,cells=true,identity=full,collation=C' --source history:clients --level rc --wait-for-topics "
        "-X bootstrap.servers=HOST:PORT");
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

/* A changefeed's findings, a line each: weight, what, and behind them the command. */
static const char *changefeed(const char *text)
{
    static char told[4096];
    struct iso_doctor_report report = {0};
    size_t used = 0;
    bool said = iso_doctor_changefeed(text, &report);
    told[0] = 0;
    for (uint32_t i = 0; i < report.count; i++)
        used += (size_t)snprintf(told + used, sizeof told - used, "%s %s\n",
                                 iso_doctor_weight_name(report.findings[i].weight),
                                 report.findings[i].about);
    snprintf(told + used, sizeof told - used, "%.*s", said ? (int)report.watch.used : 7,
             !said               ? "nothing"
             : report.watch.used ? report.watch.bytes
                                 : "");
    iso_doctor_report_release(&report);
    return told;
}

static void test_changefeed(void **state)
{
    (void)state;
    assert_string_equal(
        changefeed("kafka://localhost:9092/shop?protocol=canal-json&enable-tidb-extension=true\n"),
        "isochron watch --source ticdc:shop,format=canal-json --source history:CLIENTS");
    assert_string_equal(
        changefeed("kafka://localhost:9092/shop?protocol=canal-json"),
        "wrong canal-json: enable-tidb-extension is not true\n"
        "isochron watch --source ticdc:shop,format=canal-json --source history:CLIENTS");
    assert_string_equal(
        changefeed(
            "sink-uri = \"kafka://h:1/t?protocol=debezium\"\n[sink]\nprotocol = 'avro' # the URI counts\n"
            "enable-tidb-extension = true\n[sink.debezium]\noutput-old-value = false\n"
            "[sink.kafka-config.large-message-handle]\nlarge-message-handle-option = \"claim-check\"\n"
            "large-message-handle-compression = \"lz4\"\n"),
        "note debezium: debezium-include-start-ts is not true\nweak debezium: output-old-value is false\n"
        "weak debezium: large-message-handle-option is claim-check\n"
        "isochron watch --source ticdc:t,format=debezium,compression=lz4 --source history:CLIENTS");
    assert_string_equal(
        changefeed("s3://bucket/prefix?protocol=csv\n[sink.csv]\ninclude-commit-ts = true\n"),
        "weak csv: output-old-value is not true\n"
        "isochron watch --source ticdc:prefix,format=csv,schema=FILE --source history:CLIENTS");
    assert_string_equal(changefeed("kafka://h:1/t?protocol=maxwell"), "wrong protocol=maxwell\n");
    assert_string_equal(changefeed("kafka://h:1/t"), "wrong no protocol is set\n");
    assert_string_equal(changefeed("# nothing\n[filter]\nrules = ['*.*']\n"), "nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_findings), cmocka_unit_test(test_command),
        cmocka_unit_test(test_many_tables), cmocka_unit_test(test_no_database),
        cmocka_unit_test(test_changefeed)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
