/* The JSON scanner against jansson: both accept or both refuse, and then the values agree.
 *
 * Where the two differ by design, and what is compared then:
 * - jansson refuses integers beyond signed 64 bits and reals beyond double; we scan any number. A
 *   text that has one is only required not to be refused by us and accepted by jansson.
 * - jansson refuses U+0000 in names; we accept it. Likewise.
 * - jansson takes a NUL byte behind the value for the end of the text; we refuse it.
 * - we refuse more than ISO_JSON_DEPTH levels, jansson more than 2048. Such texts are left out.
 *
 * As a libFuzzer target: clang -fsanitize=fuzzer,address,undefined. With -DISO_FUZZ_MAIN: runs over
 * files.
 */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tests/fuzz/fuzz.h"

static void compare(struct iso_json *json, const json_t *theirs);

static void compare_string(struct iso_json *json, const json_t *theirs)
{
    struct iso_json_text text;
    FUZZ_CHECK(iso_json_string(json, &text) && json_is_string(theirs));
    FUZZ_CHECK(text.length == json_string_length(theirs) &&
               !memcmp(text.at, json_string_value(theirs), text.length));
}

static void compare_number(struct iso_json *json, const json_t *theirs)
{
    struct iso_json_number number;
    if (!json_is_integer(theirs)) {
        FUZZ_CHECK(json_is_real(theirs) && iso_json_skip(json));
        return;
    }
    json_int_t value = json_integer_value(theirs);
    FUZZ_CHECK(iso_json_integer(json, &number));
    FUZZ_CHECK(number.bits == (uint64_t)value && (number.negative == (value < 0) || value == 0));
}

static void compare_array(struct iso_json *json, const json_t *theirs)
{
    size_t count = 0;
    FUZZ_CHECK(json_is_array(theirs) && iso_json_enter_array(json));
    while (iso_json_element(json))
        compare(json, json_array_get(theirs, count++));
    FUZZ_CHECK(count == json_array_size(theirs));
}

/* Of a name that stands twice jansson keeps the last, so only texts without are compared member by
 * member. */
static void compare_object(struct iso_json *json, const json_t *theirs)
{
    struct iso_json_text name;
    struct iso_json ahead = *json;
    size_t count = 0;
    ahead.scratch = NULL;
    ahead.scratch_capacity = 0;
    FUZZ_CHECK(json_is_object(theirs) && iso_json_enter_object(&ahead));
    while (iso_json_member(&ahead, &name) && iso_json_skip(&ahead))
        count++;
    FUZZ_CHECK(ahead.code == ISO_JSON_FINE);
    iso_json_release(&ahead);
    if (count != json_object_size(theirs)) {
        FUZZ_CHECK(count > json_object_size(theirs) && iso_json_skip(json));
        return;
    }
    iso_json_enter_object(json);
    while (iso_json_member(json, &name)) {
        char *key = strndup(name.at, name.length);
        const json_t *value = json_object_get(theirs, key);
        free(key);
        FUZZ_CHECK(value != NULL);
        compare(json, value);
    }
}

static void compare(struct iso_json *json, const json_t *theirs)
{
    bool value;
    switch (iso_json_peek(json)) {
    case ISO_JSON_OBJECT:
        compare_object(json, theirs);
        break;
    case ISO_JSON_ARRAY:
        compare_array(json, theirs);
        break;
    case ISO_JSON_STRING:
        compare_string(json, theirs);
        break;
    case ISO_JSON_DIGITS:
        compare_number(json, theirs);
        break;
    case ISO_JSON_NULL:
        FUZZ_CHECK(iso_json_null(json) && json_is_null(theirs));
        break;
    default:
        FUZZ_CHECK(iso_json_boolean(json, &value) && json_is_boolean(theirs) &&
                   value == json_is_true(theirs));
    }
    FUZZ_CHECK(json->code == ISO_JSON_FINE);
}

static bool refused_by_design(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);
    return code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
           code == json_error_stack_overflow;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_json json;
    json_error_t error;
    char *text = fuzz_padded(data, size);
    json_t *theirs = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    iso_json_init(&json);
    iso_json_start(&json, text, size);
    bool ours = iso_json_skip(&json) && iso_json_finish(&json);
    FUZZ_CHECK(json.position <= size || ours);
    if (!ours)
        FUZZ_CHECK(!theirs || json.code == ISO_JSON_DEEP ||
                   (json.code == ISO_JSON_UNEXPECTED && json.found == 0));
    else
        FUZZ_CHECK(theirs || refused_by_design(&error));
    if (ours && theirs) {
        iso_json_start(&json, text, size);
        compare(&json, theirs);
        FUZZ_CHECK(iso_json_finish(&json));
    }
    iso_json_release(&json);
    json_decref(theirs);
    free(text);
    return 0;
}
