/* The page: golden for four cases, with the argument's every part in it, and hostile text nowhere
 * as markup. (What a browser makes of it: tests/system/browser.) */
#include "tests/support/test.h"

#include <jansson.h>
#include <stdlib.h>

#include "draw/escape.h"
#include "draw/page.h"
#include "explain/record.h"
#include "tests/support/explained.h"

static void assert_golden(const char *name)
{
    struct explained explained;
    assert_true(explained_open(&explained, name));
    char *page = explained_written(&explained, iso_page_write), *body = strstr(page, "<body>"),
         *script = strstr(page, "<script>");
    assert_true(body && script && body < script);
    *script = 0;
    assert_true(explained_same(name, "page.html", body)); /* the frame has a test in a browser */
    free(page);
    explained_release(&explained);
}

static void pages_are_golden(void **state)
{
    (void)state;
    assert_golden("EXT-stale");
    assert_golden("EXT-missing-row-many");
    assert_golden("TIMESTAMP-cts-cycle");
    assert_golden("CYCLE-long-fork");
}

static void assert_has(const char *page, const char *part)
{
    if (!strstr(page, part))
        fail_msg("the page lacks %s", part);
}

/* Every case's page has every step, and its record reads as JSON. */
static void pages_have_all_parts(void **state)
{
    (void)state;
    size_t count;
    char **names = explained_cases(&count);
    for (size_t i = 0; i < count; i++) {
        struct explained explained;
        assert_true(explained_open(&explained, names[i]));
        char *page = explained_written(&explained, iso_page_write);
        assert_has(page, "<details class=\"violation\"");
        assert_has(page, "contradiction");
        struct iso_text meaning = {0};
        iso_escape_xml(&meaning, explained.claims.list[0].wrong->meaning,
                       strlen(explained.claims.list[0].wrong->meaning));
        iso_text_put_bytes(&meaning, "", 1);
        assert_has(page, meaning.bytes);
        iso_text_release(&meaning);
        assert_null(strstr(page, "<script>\">"));
        assert_true(strlen(page) < ISO_PAGE_BYTES);
        for (uint32_t t = 0; t < explained.history.txns.count; t++) {
            struct iso_text record = {0};
            iso_explain_record(&explained.history, t, &record);
            json_t *json = json_loadb(record.bytes, record.used, JSON_ALLOW_NUL, NULL);
            assert_non_null(json);
            assert_true(json_is_array(json_object_get(json, "ops")));
            json_decref(json);
            iso_text_release(&record);
        }
        free(page);
        explained_release(&explained);
        free(names[i]);
    }
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_golden),
        cmocka_unit_test(pages_have_all_parts),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
