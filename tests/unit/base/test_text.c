#include "base/text.h"
#include "tests/support/test.h"

static void assert_text(const struct iso_text *text, const char *expected)
{
    assert_int_equal(text->used, strlen(expected));
    assert_memory_equal(text->bytes, expected, text->used);
}

static void formats_behind_what_is_there(void **state)
{
    (void)state;
    struct iso_text text = {0};
    iso_text_put(&text, "one, ");
    iso_text_format(&text, "%s and %d", "two", 3);
    assert_text(&text, "one, two and 3");
    iso_text_format(&text, "%s", "");
    assert_text(&text, "one, two and 3");
    iso_text_release(&text);
}

/* Of any length, beside any room. */
static void formats_more_than_there_is_room_for(void **state)
{
    (void)state;
    for (int length = 0; length < 600; length++) {
        struct iso_text text = {0};
        iso_text_put(&text, "x");
        iso_text_format(&text, "%*d", length, 7);
        assert_int_equal(text.used, 1 + (length ? length : 1));
        assert_int_equal(text.bytes[text.used - 1], '7');
        iso_text_release(&text);
    }
}

static void compact_json_has_no_space_between_its_parts(void **state)
{
    (void)state;
    static const char json[] = " { \"a b\\\" \" : [ 1 ,\t2 ]\r\n, \"\\\\\" : null } ";
    struct iso_text text = {0};
    iso_text_put_compact(&text, json, sizeof json - 1);
    assert_text(&text, "{\"a b\\\" \":[1,2],\"\\\\\":null}");
    iso_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_behind_what_is_there),
        cmocka_unit_test(formats_more_than_there_is_room_for),
        cmocka_unit_test(compact_json_has_no_space_between_its_parts),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
