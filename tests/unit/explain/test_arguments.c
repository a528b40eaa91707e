/* Every way in which a verdict can be wrong has a golden argument:
 * tests/data/explain/ID[-VARIANT]/arguments.txt. The list of ways is taken from the enums of
 * engines and join, so that none can be forgotten. */
#include "tests/support/test.h"

#include <stdlib.h>

#include "explain/text.h"
#include "verdict/evidence.h"
#include "verdict/verdict.h"
#include "tests/support/capture.h"
#include "tests/support/explained.h"

/* Prints what explain prints. The caller frees it. */
static char *print(const struct explained *explained, enum iso_wall wall)
{
    struct iso_output output;
    test_capture_start(&output);
    iso_explain_text(&output, &explained->facts, wall);
    return test_capture_end(&output);
}

static void arguments_are_golden(void **state)
{
    (void)state;
    size_t count, differ = 0;
    char **names = explained_cases(&count);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        struct explained explained;
        bool open = explained_open(&explained, names[i]);
        char *text = open ? print(&explained, ISO_WALL_COUNTER) : NULL;
        differ += !open || explained.claims.count != 1 ||
                  !explained_same(names[i], "arguments.txt", text);
        free(text);
        explained_release(&explained);
        free(names[i]);
    }
    free(names);
    assert_int_equal(differ, 0);
}

/* "EXT/stale" as a folder's name: "EXT-stale". */
static void assert_has_case(const struct iso_wrong *wrong)
{
    struct explained explained;
    char name[ISO_WRONG_ID];
    iso_wrong_id(wrong, name);
    for (char *at = name; *at; at++)
        *at = *at == '/' ? '-' : *at;
    assert_true(explained_open(&explained, name));
    assert_int_equal(explained.claims.count, 1);
    assert_ptr_equal(explained.claims.list[0].wrong, wrong);
    explained_release(&explained);
}

static void every_row_has_a_case(void **state)
{
    (void)state;
    size_t row = 0;
    for (; iso_wrong_row(row); row++) {
        assert_has_case(iso_wrong_row(row));
        assert_true(strlen(iso_wrong_row(row)->name) > 0 &&
                    strlen(iso_wrong_row(row)->meaning) > 0);
    }
    assert_true(row > ISO_AXIOMS);
}

static bool has_axiom(const char *axiom)
{
    for (size_t row = 0; iso_wrong_row(row); row++)
        if (!strcmp(iso_wrong_row(row)->axiom, axiom))
            return true;
    return false;
}

static bool has_kind(const char *kind)
{
    for (size_t row = 0; iso_wrong_row(row); row++)
        if (iso_wrong_row(row)->kind && !strcmp(iso_wrong_row(row)->kind, kind))
            return true;
    return false;
}

static void every_name_has_a_row(void **state)
{
    (void)state;
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        assert_true(has_axiom(iso_axiom_name((enum iso_axiom)axiom)));
    for (int kind = ISO_KIND_NONE + 1; kind < ISO_VIOLATION_KINDS; kind++)
        assert_true(has_kind(iso_violation_kind_name((enum iso_violation_kind)kind)));
    for (int finding = ISO_FINDING_NONE + 1; finding < ISO_FINDINGS; finding++)
        assert_non_null(iso_wrong_find(iso_finding_name((enum iso_finding_kind)finding), NULL));
    for (int anomaly = 0; anomaly < ISO_ANOMALIES; anomaly++)
        assert_non_null(iso_wrong_find("CYCLE", iso_anomaly_name((enum iso_anomaly)anomaly)));
    assert_non_null(iso_wrong_find("CYCLE", NULL));
    assert_null(iso_wrong_find("EXT", "write-skew"));
}

/* ---- wall clocks ---- */

static void assert_wall(enum iso_wall wall, uint64_t timestamp, const char *expected)
{
    struct iso_history history;
    char text[ISO_WALL_TEXT];
    iso_history_init(&history);
    history.clock = ISO_CLOCK_SCALAR;
    assert_int_equal(iso_wall_text(wall, &history, timestamp, text), expected != NULL);
    if (expected)
        assert_string_equal(text, expected);
    iso_history_release(&history);
}

static void clocks_are_read(void **state)
{
    (void)state;
    assert_wall(ISO_WALL_TSO, UINT64_C(1795286000123) << 18 | 7, "2026-11-21T18:33:20.123Z+7");
    assert_wall(ISO_WALL_HYBRID, UINT64_C(1795286000123456) << 12, "2026-11-21T18:33:20.123456Z");
    assert_wall(ISO_WALL_SECONDS, UINT64_C(1795286000), "2026-11-21T18:33:20Z");
    assert_wall(ISO_WALL_MILLISECONDS, UINT64_C(1795286000001), "2026-11-21T18:33:20.001Z");
    assert_wall(ISO_WALL_MICROSECONDS, 1, "1970-01-01T00:00:00.000001Z");
    assert_wall(ISO_WALL_NANOSECONDS, UINT64_C(1795286000000000001),
                "2026-11-21T18:33:20.000000001Z");
    assert_wall(ISO_WALL_SECONDS, UINT64_MAX, NULL);
    assert_wall(ISO_WALL_COUNTER, 5, NULL);
    assert_int_equal(iso_wall_of_source("ticdc"), ISO_WALL_TSO);
    assert_int_equal(iso_wall_of_source("yugabyte"), ISO_WALL_HYBRID);
    assert_int_equal(iso_wall_of_source("history"), ISO_WALL_UNKNOWN);
    assert_int_equal(iso_wall_of_source("debezium"), ISO_WALL_COUNTER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_golden),
        cmocka_unit_test(every_row_has_a_case),
        cmocka_unit_test(every_name_has_a_row),
        cmocka_unit_test(clocks_are_read),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
