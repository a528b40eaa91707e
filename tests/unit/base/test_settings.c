/* Settings files: what is read, what is refused and where, and values written so that they are read
 * back. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/settings.h"

/* Each setting as "section/name=value@line;", then the error's text. */
static const char *read_all(const char *file, char *seen, size_t size)
{
    size_t length = strlen(file), used = 0;
    char *text = malloc(length + 1);
    struct iso_settings settings;
    struct iso_setting setting;
    struct iso_error error = {0};
    assert_non_null(text);
    memcpy(text, file, length + 1);
    *seen = 0;
    iso_settings_init(&settings, "f", text, length);
    while (iso_settings_next(&settings, &setting, &error))
        used += (size_t)snprintf(seen + used, size - used, "%s/%s=%s@%u;", setting.section,
                                 setting.name, setting.value, setting.line);
    snprintf(seen + used, size - used, "%s", error.text);
    free(text);
    return seen;
}

static void settings_are_read(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"\n\n# only a comment", ""},
        {"a=1", "/a=1@1;"},
        {"  a b = 1  2 \t\r\nc=\n", "/a b=1  2@1;/c=@2;"},
        {"a = x#y # z\nb = # none\n", "/a=x#y@1;/b=@2;"},
        {"a = 1 = 2\n", "/a=1 = 2@1;"},
        {"a=1\n[ s ]\nb=2\n[t] # u\nc=3", "/a=1@1;s/b=2@3;t/c=3@5;"},
        {"a = \" # \\\"\\\\\" # z", "/a= # \"\\@1;"},
        {"a = \"\\x41\\x4a\\x4A\\n\"", "/a=AJJ\n@1;"},
        {"a = \"\"", "/a=@1;"},
    };
    char seen[400];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(read_all(cases[i][0], seen, sizeof seen), cases[i][1]);
}

static void mistakes_have_their_line(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a", "f:1: expected name = value, [section] or # comment"},
        {"= 1", "f:1: expected name = value, [section] or # comment"},
        {"\"a\" = 1", "f:1: expected name = value, [section] or # comment"},
        {"a=1\n\n[s", "/a=1@1;f:3: expected [section]"},
        {"[ ]", "f:1: expected [section]"},
        {"[s] a = 1", "f:1: text after a section's name; expected the end of the line"},
        {"a = \"1", "f:1: a value in quotes that does not end; expected \""},
        {"a = \"1\\", "f:1: an unknown escape; expected \\\" \\\\ \\n \\r \\t or \\xNN"},
        {"a = \"\\q\"", "f:1: an unknown escape; expected \\\" \\\\ \\n \\r \\t or \\xNN"},
        {"a = \"\\x4\"", "f:1: an unknown escape; expected \\\" \\\\ \\n \\r \\t or \\xNN"},
        {"a = \"\\x00\"", "f:1: an unknown escape; expected \\\" \\\\ \\n \\r \\t or \\xNN"},
        {"a = \"1\" 2", "f:1: text after a value in quotes; expected the end of the line"},
        {"a = \x01", "f:1: a control character; expected text"},
        {"a = 1\rb = 2", "f:1: a control character; expected text"},
    };
    char seen[400];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(read_all(cases[i][0], seen, sizeof seen), cases[i][1]);
}

static void values_survive_writing(void **state)
{
    (void)state;
    static const char *const values[] = {"plain",      "",   " blanks ", "a # b",
                                         "a#b",        "#",  "\"",       "back\\slash",
                                         "two\nlines", "\t", "\x7f\xff", "a = [b]"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct iso_text text = {0};
        struct iso_settings settings;
        struct iso_setting setting;
        struct iso_error error = {0};
        iso_text_put(&text, "name = ");
        iso_settings_put_value(&text, values[i]);
        iso_text_put(&text, " # comment");
        iso_text_put_bytes(&text, "", 1);
        iso_settings_init(&settings, "f", text.bytes, text.used - 1);
        assert_true(iso_settings_next(&settings, &setting, &error));
        assert_string_equal(setting.value, values[i]);
        assert_false(iso_settings_next(&settings, &setting, &error));
        assert_int_equal(error.status, ISO_OK);
        iso_text_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_read),
        cmocka_unit_test(mistakes_have_their_line),
        cmocka_unit_test(values_survive_writing),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
