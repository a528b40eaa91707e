/* Reports for other tools: golden, one case of each way to argue; and of every case EDN that reads
 * to its end. (SARIF and JUnit of every case: tests/system/formats.) */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/edn.h"
#include "report/tools.h"
#include "tests/support/explained.h"

static const struct {
    const char *file;
    iso_report_writer *write;
} formats[] = {{"report.sarif", iso_report_sarif},
               {"report.junit.xml", iso_report_junit},
               {"report.md", iso_report_markdown},
               {"report.edn", iso_report_edn}};
enum { FORMATS = sizeof formats / sizeof *formats };

static bool is_golden(const char *name)
{
    struct explained explained;
    bool good = explained_open(&explained, name);
    for (int f = 0; f < FORMATS && good; f++) {
        char *text = explained_written(&explained, formats[f].write);
        good = explained_same(name, formats[f].file, text);
        free(text);
    }
    explained_release(&explained);
    return good;
}

static void reports_are_golden(void **state)
{
    static const char *const names[] = {"EXT-stale", "NOCONFLICT", "INT-list",
                                        "G1a",       "CDC-value",  "CYCLE-write-skew"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(is_golden(names[i]));
}

/* The keys of the outer map, in order. */
static void assert_edn(const char *text, const char *validity)
{
    struct edn edn;
    edn_start(&edn, text, strlen(text));
    edn_next(&edn);
    assert_true(edn_opens(&edn, '{'));
    edn_next(&edn);
    assert_true(edn_is(&edn, EDN_KEYWORD, "valid?"));
    edn_next(&edn);
    assert_true(edn.length == strlen(validity) && !memcmp(edn.text, validity, edn.length));
    while (edn_next(&edn) != EDN_END)
        assert_true(edn.type != EDN_ERROR);
    assert_int_equal(edn.depth, 0);
}

static void edn_reads_to_its_end(void **state)
{
    (void)state;
    size_t count;
    char **names = explained_cases(&count);
    for (size_t i = 0; i < count; i++) {
        struct explained explained;
        assert_true(explained_open(&explained, names[i]));
        char *text = explained_written(&explained, iso_report_edn);
        assert_edn(text, "false");
        free(text);
        explained_release(&explained);
        free(names[i]);
    }
    free(names);
}

/* No violations: each format says so in its own way. */
static void what_holds_is_said(void **state)
{
    static const char *const holds[] = {"\"verdict\":\"holds\"", "tests=\"1\" failures=\"0\"",
                                        "holds at si: 0 violations", ":valid? true"};
    static const char *const undecided[] = {"\"verdict\":\"undecided\"",
                                            "<skipped message=\"undecided\"/>", "undecided at si",
                                            ":valid? :unknown"};
    (void)state;
    struct explained explained;
    assert_true(explained_open(&explained, "EXT-stale"));
    explained.claims.count = 0;
    explained.claims.found = 0;
    for (int f = 0; f < FORMATS; f++) {
        snprintf(explained.claims.outcome, sizeof explained.claims.outcome, "holds");
        char *text = explained_written(&explained, formats[f].write);
        assert_non_null(strstr(text, holds[f]));
        free(text);
        snprintf(explained.claims.outcome, sizeof explained.claims.outcome, "undecided");
        text = explained_written(&explained, formats[f].write);
        assert_non_null(strstr(text, undecided[f]));
        free(text);
    }
    explained_release(&explained);
}

/* A comment has a bound: what does not fit is counted. */
static void markdown_is_bounded(void **state)
{
    (void)state;
    enum { MANY = 500 };
    struct explained explained;
    assert_true(explained_open(&explained, "EXT-stale"));
    struct iso_claim *one = explained.claims.list, *many = malloc(MANY * sizeof *many);
    for (int i = 0; i < MANY; i++)
        many[i] = one[0];
    explained.claims.list = many;
    explained.claims.count = MANY;
    char *text = explained_written(&explained, iso_report_markdown);
    assert_true(strlen(text) <= ISO_MARKDOWN_BYTES);
    assert_true(strlen(text) > ISO_MARKDOWN_BYTES / 2);
    assert_non_null(strstr(text, "more are not shown."));
    free(text);
    explained.claims.list = one;
    free(many);
    explained_release(&explained);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_are_golden),
        cmocka_unit_test(edn_reads_to_its_end),
        cmocka_unit_test(what_holds_is_said),
        cmocka_unit_test(markdown_is_bounded),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
