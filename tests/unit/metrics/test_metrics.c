/* The table of metrics and its renderers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "metrics/metrics.h"

static void fill(struct iso_metrics *metrics)
{
    iso_metrics_count(metrics, ISO_METRIC_BUILD_INFO, "0.1.0", "si", 1);
    iso_metrics_real(metrics, ISO_METRIC_START_TIME, NULL, NULL, 1.5);
    iso_metrics_count(metrics, ISO_METRIC_VIOLATIONS, "EXT", NULL, 2);
    iso_metrics_count(metrics, ISO_METRIC_VIOLATIONS, "INT", NULL, 0);
    iso_metrics_count(metrics, ISO_METRIC_WATERMARK, NULL, NULL, UINT64_MAX);
    iso_metrics_count(metrics, ISO_METRIC_LAG, "a\"b\\c\nd", "7", 12);
}

static void prometheus_text(void **state)
{
    (void)state;
    struct iso_metrics metrics = {0};
    struct iso_text text = {0};
    fill(&metrics);
    iso_metrics_prometheus(&metrics, &text);
    iso_text_put_bytes(&text, "", 1);
    assert_string_equal(
        text.bytes,
        "# HELP isochron_build_info Always 1; what runs, and what it checks.\n"
        "# TYPE isochron_build_info gauge\n"
        "isochron_build_info{version=\"0.1.0\",level=\"si\"} 1\n"
        "# HELP isochron_start_time_seconds When this process began to watch.\n"
        "# TYPE isochron_start_time_seconds gauge\n"
        "isochron_start_time_seconds 1.5\n"
        "# HELP isochron_violations_total Violations found, those apart that are tentative or doubtful.\n"
        "# TYPE isochron_violations_total counter\n"
        "isochron_violations_total{axiom=\"EXT\"} 2\n"
        "isochron_violations_total{axiom=\"INT\"} 0\n"
        "# HELP isochron_watermark The pipeline's watermark, in the database's own timestamps; absent until "
        "there is one.\n"
        "# TYPE isochron_watermark gauge\n"
        "isochron_watermark 18446744073709551615\n"
        "# HELP isochron_partition_lag Messages of the partition not yet read.\n"
        "# TYPE isochron_partition_lag gauge\n"
        "isochron_partition_lag{topic=\"a\\\"b\\\\c\\nd\",partition=\"7\"} 12\n");
    iso_text_release(&text);
    iso_metrics_release(&metrics);
}

static void json_text(void **state)
{
    (void)state;
    struct iso_metrics metrics = {0};
    struct iso_text text = {0};
    json_error_t error;
    fill(&metrics);
    iso_metrics_json(&metrics, &text);
    json_t *object = json_loadb(text.bytes, text.used, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "isochron_watermark")),
                        "18446744073709551615");
    json_t *violations = json_object_get(object, "isochron_violations_total");
    assert_int_equal(json_array_size(violations), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(violations, 0), "axiom")),
                        "EXT");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(violations, 0), "value")),
                     2);
    json_t *lag = json_array_get(json_object_get(object, "isochron_partition_lag"), 0);
    assert_string_equal(json_string_value(json_object_get(lag, "topic")), "a\"b\\c\nd");
    json_decref(object);
    iso_text_release(&text);
    iso_metrics_release(&metrics);
}

/* Prometheus's rules for names; and every row is there. */
static void names_follow_the_rules(void **state)
{
    (void)state;
    for (int metric = 0; metric < ISO_METRICS; metric++) {
        const struct iso_metric_row *row = iso_metric_row((enum iso_metric)metric);
        assert_non_null(row->name);
        assert_true(strspn(row->name, "abcdefghijklmnopqrstuvwxyz_") == strlen(row->name));
        assert_memory_equal(row->name, "isochron_", 9);
        const char *total = strstr(row->name, "_total");
        assert_int_equal(row->type == ISO_COUNTER, total && !total[6]);
        assert_true(strlen(row->help) > 10 && !strchr(row->help, '\n'));
        for (int other = 0; other < metric; other++)
            assert_string_not_equal(row->name, iso_metric_row((enum iso_metric)other)->name);
    }
}

static void a_snapshot_is_used_again(void **state)
{
    (void)state;
    struct iso_metrics metrics = {0};
    struct iso_text first = {0}, second = {0};
    for (int round = 0; round < 100; round++) {
        iso_metrics_clear(&metrics);
        fill(&metrics);
    }
    iso_metrics_json(&metrics, &first);
    iso_metrics_release(&metrics);
    fill(&metrics);
    iso_metrics_json(&metrics, &second);
    assert_int_equal(first.used, second.used);
    assert_memory_equal(first.bytes, second.bytes, first.used);
    iso_metrics_release(&metrics);
    iso_text_release(&first);
    iso_text_release(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prometheus_text),
        cmocka_unit_test(json_text),
        cmocka_unit_test(names_follow_the_rules),
        cmocka_unit_test(a_snapshot_is_used_again),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
