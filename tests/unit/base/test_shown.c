/* What people are shown: no secret, and nothing that a terminal obeys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/redact.h"
#include "base/rng.h"
#include "base/shown.h"
#include "base/utf8.h"

/* ---- secrets ---- */

static void secrets_are_redacted(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"sasl.password=x=y z", "sasl.password=[redacted]"},
        {"-X SSL.Key.PEM=x: wrong", "-X SSL.Key.PEM=[redacted]"},
        {"cannot reach http://u:p@h:80/x, tries=3",
         "cannot reach http://[redacted]@h:80/x, tries=3"},
        {"http://u:p/w@h", "http://[redacted]@h"},
        {"http://u:p@w/@h", "http://[redacted]@h"},
        {"http://h/a@b", "http://h/a@b"},
        {"http://h:80/a", "http://h:80/a"},
        {"a http://u@h b https://v:w@i c", "a http://[redacted]@h b https://[redacted]@i c"},
        {"x,a=http://u:p@h,b=https://v@i", "x,a=http://[redacted]@i"},
        {"registry=user:pw@host:8081", "registry=[redacted]@host:8081"},
        {"user:p,w@host", "[redacted]@host"},
        {"isochron@shop and ann@example.com", "isochron@shop and ann@example.com"},
        {"12:30 txns[2] offset 824", "12:30 txns[2] offset 824"},
        {"://", "://"},
        {"@", "@"},
        {"://@", "://[redacted]@"},
        {"http://a:b@h token=http://c:d@i", "http://[redacted]@h token=[redacted]"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *shown = iso_redacted(cases[i][0]);
        assert_string_equal(shown, cases[i][1]);
        iso_free(shown);
    }
}

static void put_random(struct iso_text *text, struct iso_rng *rng, const char *letters, size_t most)
{
    for (size_t i = iso_rng_below(rng, most + 1); i > 0; i--)
        iso_text_put_bytes(text, letters + iso_rng_below(rng, strlen(letters)), 1);
}

/* URLs of every shape in texts of every shape: the password, which is nowhere else, is never in
 * what comes out, and what was redacted once stays as it is. */
static void no_password_of_a_url_is_shown(void **state)
{
    (void)state;
    enum { TEXTS = 100000 };
    static const char around[] = "abc =,;:/?#@'\"()[]{}.-_\n", user[] = "abc.-_%,=;/?#@&'\"",
                      password[] = "SECRT:/?#@,=&'\"";
    static const char *const schemes[] = {"http", "https", "kafka", "", "git+ssh"};
    struct iso_rng rng;
    iso_rng_seed(&rng, 20);
    for (int i = 0; i < TEXTS; i++) {
        struct iso_text text = {0};
        put_random(&text, &rng, around, 20);
        iso_text_put(&text, schemes[iso_rng_below(&rng, 5)]);
        iso_text_put(&text, "://");
        put_random(&text, &rng, user, 5);
        iso_text_put(&text, ":");
        put_random(&text, &rng, password, 4);
        iso_text_put(&text, "PASSWORD");
        put_random(&text, &rng, password, 4);
        iso_text_put(&text, "@host");
        put_random(&text, &rng, around, 20);
        iso_text_put_bytes(&text, "", 1);
        char *shown = iso_redacted(text.bytes), *again = iso_redacted(shown);
        if (strstr(shown, "PASSWORD"))
            fail_msg("%s\nis shown as\n%s", text.bytes, shown);
        assert_string_equal(shown, again);
        iso_free(again);
        iso_free(shown);
        iso_text_release(&text);
    }
}

/* ---- terminals ---- */

static void show(const char *bytes, size_t size, const char *expected)
{
    struct iso_text text = {0};
    iso_text_put_shown(&text, bytes, size);
    assert_int_equal(text.used, strlen(expected));
    assert_memory_equal(text.bytes ? text.bytes : "", expected, text.used);
    assert_int_equal(iso_is_shown_as_it_is(bytes, size),
                     size == text.used && !memcmp(bytes, text.bytes, size));
    iso_text_release(&text);
}

static void every_character(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 0x110000; code += code < 0x3000 ? 1 : 0x101) {
        char bytes[4], escaped[16];
        if (code >= 0xd800 && code < 0xe000)
            continue;
        bool obeyed = (code < 0x20 && code != '\n' && code != '\t') ||
                      (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
                      code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
                      (code >= 0x2066 && code <= 0x2069);
        size_t length = iso_utf8_encode(code, bytes);
        snprintf(escaped, sizeof escaped, "\\u%04x", code);
        if (obeyed)
            show(bytes, length, escaped);
        else
            assert_true(iso_is_shown_as_it_is(bytes, length));
    }
}

static void bytes_that_are_no_text(void **state)
{
    (void)state;
    show("a\x9b"
         "b",
         3, "a\\ufffdb");
    show("\xc2", 1, "\\ufffd");
    show("\xe2\x80", 2, "\\ufffd\\ufffd");
    show("\xc0\x9b", 2, "\\ufffd\\ufffd");            /* an overlong escape */
    show("\xed\xa0\x80", 3, "\\ufffd\\ufffd\\ufffd"); /* half of a pair */
    show("\xf4\x90\x80\x80", 4, "\\ufffd\\ufffd\\ufffd\\ufffd");
    assert_int_equal(iso_shown_rest("a\xe2\x80", 3), 2);
    assert_int_equal(iso_shown_rest("a\xf0", 2), 1);
    assert_int_equal(iso_shown_rest("a\xc2\x9b", 3), 0);
    assert_int_equal(iso_shown_rest("a\x9b\x9b\x9b\x9b", 5), 0);
    assert_int_equal(iso_shown_rest("", 0), 0);
}

static void strings(void **state)
{
    (void)state;
    struct iso_text text = {0};
    iso_text_put_shown_string(&text, "a\"\n\x7f\xe2\x80\xae", 7);
    iso_text_put_bytes(&text, "", 1);
    assert_string_equal(text.bytes, "\"a\\\"\\n\\u007f\\u202e\"");
    iso_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_redacted),
        cmocka_unit_test(no_password_of_a_url_is_shown),
        cmocka_unit_test(every_character),
        cmocka_unit_test(bytes_that_are_no_text),
        cmocka_unit_test(strings),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
