/* The JSON scanner: what it accepts, what it refuses and where, exact integers, unescaping. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"

/* Scans a whole text as one value. The padding is filled with several bytes that would continue
 * what came before. */
static void expect(const char *text, size_t length, enum iso_json_code code, size_t position)
{
    static const char fillers[] = {0, '0', '"', ' ', ']', '}', 'e', '\\', (char)0x80};
    for (size_t i = 0; i < sizeof fillers; i++) {
        char *padded = test_padded(text, length, fillers[i]);
        struct iso_json json;
        iso_json_init(&json);
        iso_json_start(&json, padded, length);
        bool fine = iso_json_skip(&json) && iso_json_finish(&json);
        if (json.code != code || fine != (code == ISO_JSON_FINE) ||
            (code && json.position != position))
            fail_msg("%.*s: code %d at %zu, expected %d at %zu", (int)length, text, json.code,
                     json.position, code, position);
        iso_json_release(&json);
        free(padded);
    }
}

static void accepts(const char *text)
{
    expect(text, strlen(text), ISO_JSON_FINE, 0);
}

static void refuses(const char *text, enum iso_json_code code, size_t position)
{
    expect(text, strlen(text), code, position);
}

static void values_of_every_kind(void **state)
{
    (void)state;
    accepts("{}");
    accepts(" [ ] ");
    accepts("null");
    accepts("true");
    accepts("false");
    accepts("0");
    accepts("-0");
    accepts("-0.0e-0");
    accepts("12345678901234567890123456789012345678901234567890");
    accepts("1.5E+3");
    accepts("\"\"");
    accepts("{\"a\":[1,{\"b\":null}],\"a\":{}}");
    accepts("\t{ \"a\" :\r\n 1 , \"b\" : [ ] }\n");
    accepts("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uD83D\\uDE00\"");
    accepts("\"\x7f\"");
    accepts("\"0123456789012345678901234567890123456789\"");
}

static void structure_errors(void **state)
{
    (void)state;
    refuses("", ISO_JSON_END, 0);
    refuses("  ", ISO_JSON_END, 2);
    refuses("{", ISO_JSON_END, 1);
    refuses("[", ISO_JSON_END, 1);
    refuses("[1", ISO_JSON_END, 2);
    refuses("[1,", ISO_JSON_END, 3);
    refuses("[1,]", ISO_JSON_UNEXPECTED, 3);
    refuses("[,1]", ISO_JSON_UNEXPECTED, 1);
    refuses("[1 2]", ISO_JSON_UNEXPECTED, 3);
    refuses("[1}", ISO_JSON_UNEXPECTED, 2);
    refuses("{\"a\"}", ISO_JSON_UNEXPECTED, 4);
    refuses("{\"a\":}", ISO_JSON_UNEXPECTED, 5);
    refuses("{\"a\":1,}", ISO_JSON_UNEXPECTED, 7);
    refuses("{a:1}", ISO_JSON_UNEXPECTED, 1);
    refuses("{\"a\":1 \"b\":2}", ISO_JSON_UNEXPECTED, 7);
    refuses("{\"a\":1]", ISO_JSON_UNEXPECTED, 6);
    refuses("1 2", ISO_JSON_UNEXPECTED, 2);
    refuses("{} x", ISO_JSON_UNEXPECTED, 3);
    refuses("nul", ISO_JSON_END, 3);
    refuses("nulL", ISO_JSON_UNEXPECTED, 3);
    refuses("tru", ISO_JSON_END, 3);
    refuses("falsy", ISO_JSON_UNEXPECTED, 4);
    refuses("\v1", ISO_JSON_UNEXPECTED, 0);
    expect("1\0", 2, ISO_JSON_UNEXPECTED, 1);
    expect("\0", 1, ISO_JSON_UNEXPECTED, 0);
}

static void number_errors(void **state)
{
    (void)state;
    refuses("-", ISO_JSON_END, 1);
    refuses("+1", ISO_JSON_UNEXPECTED, 0);
    refuses(".5", ISO_JSON_UNEXPECTED, 0);
    refuses("01", ISO_JSON_NUMBER, 1);
    refuses("-01", ISO_JSON_NUMBER, 2);
    refuses("1.", ISO_JSON_END, 2);
    refuses("1.x", ISO_JSON_NUMBER, 2);
    refuses("1e", ISO_JSON_END, 2);
    refuses("1e+", ISO_JSON_END, 3);
    refuses("1ex", ISO_JSON_NUMBER, 2);
    refuses("-x", ISO_JSON_NUMBER, 1);
    refuses("0x10", ISO_JSON_UNEXPECTED, 1);
    refuses("NaN", ISO_JSON_UNEXPECTED, 0);
}

static void string_errors(void **state)
{
    (void)state;
    refuses("\"", ISO_JSON_END, 1);
    refuses("\"abc", ISO_JSON_END, 4);
    refuses("\"a\\", ISO_JSON_END, 3);
    refuses("\"a\nb\"", ISO_JSON_CONTROL, 2);
    expect("\"a\0b\"", 5, ISO_JSON_CONTROL, 2);
    refuses("\"\\x\"", ISO_JSON_ESCAPE, 2);
    refuses("\"\\u12g4\"", ISO_JSON_ESCAPE, 5);
    refuses("\"\\u12", ISO_JSON_END, 5);
    refuses("\"\\ud800\"", ISO_JSON_SURROGATE, 3);
    refuses("\"\\ud800x\"", ISO_JSON_SURROGATE, 3);
    refuses("\"\\ud800\\u0041\"", ISO_JSON_SURROGATE, 3);
    refuses("\"\\udc00\"", ISO_JSON_SURROGATE, 3);
    refuses("\"0123456789012345\x01\"", ISO_JSON_CONTROL, 17);
}

static void utf8(void **state)
{
    (void)state;
    accepts(
        "\"\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf \xf0\x90\x80\x80 "
        "\xf4\x8f\xbf\xbf\"");
    refuses("\"\x80\"", ISO_JSON_UTF8, 1);     /* a continuation alone */
    refuses("\"\xc0\xaf\"", ISO_JSON_UTF8, 1); /* overlong */
    refuses("\"\xc1\xbf\"", ISO_JSON_UTF8, 1);
    refuses("\"\xe0\x9f\xbf\"", ISO_JSON_UTF8, 1);
    refuses("\"\xf0\x8f\xbf\xbf\"", ISO_JSON_UTF8, 1);
    refuses("\"\xed\xa0\x80\"", ISO_JSON_UTF8, 1); /* a surrogate */
    refuses("\"\xf4\x90\x80\x80\"", ISO_JSON_UTF8, 1);
    refuses("\"\xf5\x80\x80\x80\"", ISO_JSON_UTF8, 1);
    refuses("\"\xff\"", ISO_JSON_UTF8, 1);
    refuses("\"a\xe2\x82\"", ISO_JSON_UTF8, 2); /* too short */
    refuses("\"\xe2\x82", ISO_JSON_UTF8,
            1); /* the text ends inside; its padding may look like the rest */
}

static void a_million_brackets(void **state)
{
    (void)state;
    enum { COUNT = 1000000 };
    char *deep = malloc(COUNT);
    memset(deep, '[', COUNT);
    expect(deep, COUNT, ISO_JSON_DEEP, ISO_JSON_DEPTH);
    memset(deep + ISO_JSON_DEPTH, ']', ISO_JSON_DEPTH);
    expect(deep, 2 * ISO_JSON_DEPTH, ISO_JSON_FINE, 0);
    free(deep);
}

static struct iso_json start(const char *text, char **padded)
{
    struct iso_json json;
    *padded = test_padded(text, strlen(text), '7');
    iso_json_init(&json);
    iso_json_start(&json, *padded, strlen(text));
    return json;
}

static void integer_is(const char *text, uint64_t bits, bool negative)
{
    char *padded;
    struct iso_json json = start(text, &padded);
    struct iso_json_number number;
    assert_true(iso_json_integer(&json, &number) && iso_json_finish(&json));
    assert_true(number.bits == bits && number.negative == negative);
    free(padded);
}

static void integer_refused(const char *text, enum iso_json_code code)
{
    char *padded;
    struct iso_json json = start(text, &padded);
    struct iso_json_number number;
    assert_false(iso_json_integer(&json, &number));
    assert_int_equal(json.code, code);
    free(padded);
}

static void integers_are_exact(void **state)
{
    (void)state;
    uint64_t power = 1;
    for (int digits = 1; digits <= 20; digits++, power *= 10) {
        char text[32];
        for (int delta = -1; delta <= 1; delta++) {
            snprintf(text, sizeof text, "%llu", (unsigned long long)(power + (uint64_t)delta));
            integer_is(text, power + (uint64_t)delta, false);
            snprintf(text, sizeof text, " %llu ", (unsigned long long)(power + (uint64_t)delta));
            integer_is(text, power + (uint64_t)delta, false);
        }
    }
    integer_is("18446744073709551615", UINT64_MAX, false);
    integer_is("9223372036854775808", (uint64_t)1 << 63, false);
    integer_is("-9223372036854775808", (uint64_t)1 << 63, true);
    integer_is("-1", UINT64_MAX, true);
    integer_is("-0", 0, true);
    integer_refused("18446744073709551616", ISO_JSON_RANGE);
    integer_refused("-9223372036854775809", ISO_JSON_RANGE);
    integer_refused("99999999999999999999", ISO_JSON_RANGE);
    integer_refused("100000000000000000000000000000000000", ISO_JSON_RANGE);
    integer_refused("1.0", ISO_JSON_FRACTION);
    integer_refused("1e2", ISO_JSON_FRACTION);
    integer_refused("00", ISO_JSON_NUMBER);
    integer_refused("\"1\"", ISO_JSON_UNEXPECTED);
}

static void string_is(const char *text, const char *content, size_t length, bool in_place)
{
    char *padded;
    struct iso_json json = start(text, &padded);
    struct iso_json_text string;
    assert_true(iso_json_string(&json, &string) && iso_json_finish(&json));
    assert_int_equal(string.length, length);
    assert_memory_equal(string.at, content, length);
    assert_true((string.at >= padded && string.at <= padded + strlen(text)) == in_place);
    iso_json_release(&json);
    free(padded);
}

static void strings_are_unescaped(void **state)
{
    (void)state;
    string_is("\"\"", "", 0, true);
    string_is("\"abc\"", "abc", 3, true);
    string_is("\"0123456789abcdef0123456789abcdef\"", "0123456789abcdef0123456789abcdef", 32, true);
    string_is("\"\xc3\xa9\"", "\xc3\xa9", 2, true);
    string_is("\"a\\nb\"", "a\nb", 3, false);
    string_is("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8, false);
    string_is("\"x\\u0000y\"", "x\0y", 3, false);
    string_is("\"\\u0041\\u00e9\\u20aC\\uD83D\\uDE00\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
              10, false);
    string_is("\"\\\\0123456789abcdef0123\\\\\"", "\\0123456789abcdef0123\\", 22, false);
}

static void strings_stay_until_the_next_start(void **state)
{
    (void)state;
    char *padded;
    struct iso_json json = start("{\"a\\u0041\":\"b\\u0042\",\"c\\u0043\":\"d\\u0044\"}", &padded);
    struct iso_json_text names[2], values[2];
    assert_true(iso_json_enter_object(&json));
    for (int i = 0; i < 2; i++)
        assert_true(iso_json_member(&json, &names[i]) && iso_json_string(&json, &values[i]));
    struct iso_json_text none;
    assert_false(iso_json_member(&json, &none));
    assert_true(iso_json_finish(&json));
    assert_memory_equal(names[0].at, "aA", 2);
    assert_memory_equal(values[0].at, "bB", 2);
    assert_memory_equal(names[1].at, "cC", 2);
    assert_memory_equal(values[1].at, "dD", 2);
    iso_json_release(&json);
    free(padded);
}

static void the_first_error_stays(void **state)
{
    (void)state;
    char *padded, text[200];
    struct iso_json json = start("[1,x,\"\\q\"]", &padded);
    struct iso_json_number number;
    struct iso_json_text string;
    assert_true(iso_json_enter_array(&json) && iso_json_element(&json) &&
                iso_json_integer(&json, &number));
    assert_true(iso_json_element(&json));
    assert_false(iso_json_integer(&json, &number));
    assert_false(iso_json_element(&json));
    assert_false(iso_json_string(&json, &string));
    assert_false(iso_json_skip(&json));
    assert_false(iso_json_finish(&json));
    assert_int_equal(json.position, 3);
    iso_json_describe(&json, text, sizeof text);
    assert_string_equal(text, "found 'x', expected a number");
    free(padded);
}

static void find_special_agrees_with_a_loop(void **state)
{
    (void)state;
    uint64_t seed = 20240611;
    unsigned char bytes[32];
    for (int round = 0; round < 200000; round++) {
        unsigned expected = 16;
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (unsigned char)(test_random(&seed) % 40 ? 'a' + test_random(&seed) % 26
                                                               : test_random(&seed));
        for (unsigned i = 16; i-- > 0;) {
            if (bytes[i] < 0x20 || bytes[i] == '"' || bytes[i] == '\\' || bytes[i] >= 0x80)
                expected = i;
        }
        assert_int_equal(iso_bytes_special((const char *)bytes), expected);
        assert_int_equal(iso_bytes_special_portable((const char *)bytes), expected);
    }
}

static void finding_agrees_with_a_loop(void **state)
{
    (void)state;
    uint64_t seed = 20240612;
    char bytes[64];
    for (int round = 0; round < 100000; round++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)(test_random(&seed) % 30 ? '|' - test_random(&seed) % 2 * 0x80
                                                      : test_random(&seed));
        bytes[test_random(&seed) % sizeof bytes] = '}';
        for (unsigned count = 16; count <= sizeof bytes; count += 16) {
            unsigned expected = 0;
            while (expected < count && bytes[expected] != '}')
                expected++;
            assert_int_equal(iso_bytes_find(bytes, '}', count), expected);
            assert_int_equal(iso_bytes_find_portable(bytes, '}', count), expected);
        }
    }
}

static void counting_agrees_with_a_loop(void **state)
{
    (void)state;
    enum { LENGTH = 10000 };
    char *bytes = malloc(LENGTH);
    uint64_t seed = 7;
    for (int round = 0; round < 200; round++) {
        size_t start = test_random(&seed) % 20, end = LENGTH - test_random(&seed) % LENGTH,
               expected = 0;
        uint64_t rare = 1 + test_random(&seed) % 9;
        for (size_t i = 0; i < LENGTH; i++)
            bytes[i] = (char)(test_random(&seed) % rare ? test_random(&seed) % 256 : '\n');
        start = start < end ? start : end;
        for (size_t i = start; i < end; i++)
            expected += bytes[i] == '\n';
        assert_int_equal(iso_bytes_count(bytes + start, bytes + end, '\n'), expected);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_kind),
        cmocka_unit_test(structure_errors),
        cmocka_unit_test(number_errors),
        cmocka_unit_test(string_errors),
        cmocka_unit_test(utf8),
        cmocka_unit_test(a_million_brackets),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(strings_are_unescaped),
        cmocka_unit_test(strings_stay_until_the_next_start),
        cmocka_unit_test(the_first_error_stays),
        cmocka_unit_test(find_special_agrees_with_a_loop),
        cmocka_unit_test(finding_agrees_with_a_loop),
        cmocka_unit_test(counting_agrees_with_a_loop),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
