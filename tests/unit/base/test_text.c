#include "base/cell_key.h"
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

static void a_cells_key_is_taken_apart_again(void **state)
{
    (void)state;
    static const char column[] = "a#b/c%d,e";
    struct iso_text text = {0}, name = {0};
    struct iso_json_text row, encoded;
    iso_text_put(&text, "T/7");
    iso_cell_key_put(&text, column, sizeof column - 1);
    assert_text(&text, "T/7#a%23b%2Fc%25d%2Ce");
    assert_true(iso_cell_key_split((struct iso_json_text){text.bytes, text.used}, &row, &encoded));
    assert_int_equal(row.length, 3);
    iso_cell_key_decode(&name, encoded);
    assert_text(&name, column);
    name.used = 0;
    iso_cell_key_decode(&name, (struct iso_json_text){"%2f%", 4}); /* what is no escape stays */
    assert_text(&name, "/%");
    assert_false(iso_cell_key_split((struct iso_json_text){"T/7", 3}, &row, &encoded));
    assert_int_equal(row.length, 3);
    assert_int_equal(encoded.length, 0);
    iso_text_release(&text);
    iso_text_release(&name);
}

static void special_bytes_are_escaped(void **state)
{
    (void)state;
    struct iso_text text = {0};
    iso_text_put_escaped(&text, "a.b/%c", 6, "%/,.");
    assert_text(&text, "a%2Eb%2F%25c");
    iso_text_put_escaped(&text, ".\0x", 3, "%/,");
    assert_int_equal(text.used, strlen("a%2Eb%2F%25c") + 3);
    iso_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_behind_what_is_there),
        cmocka_unit_test(formats_more_than_there_is_room_for),
        cmocka_unit_test(compact_json_has_no_space_between_its_parts),
        cmocka_unit_test(a_cells_key_is_taken_apart_again),
        cmocka_unit_test(special_bytes_are_escaped),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
