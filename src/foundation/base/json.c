#include "base/json.h"

#include <stdio.h>

#include "base/memory.h"

void iso_json_init(struct iso_json *json)
{
    memset(json, 0, sizeof *json);
}

void iso_json_release(struct iso_json *json)
{
    iso_free(json->scratch);
    iso_json_init(json);
}

void iso_json_start(struct iso_json *json, const char *text, size_t length)
{
    json->at = json->start = text;
    json->end = text + length;
    json->fresh = json->any_bytes = false;
    json->depth = 0;
    json->code = ISO_JSON_FINE;
}

/* ---- errors ---- */

bool iso_json_fail(struct iso_json *json, enum iso_json_code code, const char *at,
                   const char *expected)
{
    if (json->code != ISO_JSON_FINE)
        return false;
    json->code = at >= json->end ? ISO_JSON_END : code;
    json->position = (size_t)((at < json->end ? at : json->end) - json->start);
    json->found = at < json->end ? (unsigned char)*at : 0;
    json->expected = expected;
    json->fresh = false;
    json->at = json->end; /* whatever is called now fails */
    return false;
}

static void describe_byte(unsigned char byte, char text[16])
{
    if (byte > ' ' && byte < 0x7f)
        snprintf(text, 16, "'%c'", byte);
    else
        snprintf(text, 16, "byte 0x%02x", byte);
}

void iso_json_describe(const struct iso_json *json, char *text, size_t size)
{
    char byte[16];
    describe_byte(json->found, byte);
    switch (json->code) {
    case ISO_JSON_FINE:
        snprintf(text, size, "no error");
        break;
    case ISO_JSON_END:
        snprintf(text, size, "the text ends here, expected %s", json->expected);
        break;
    case ISO_JSON_UNEXPECTED:
        snprintf(text, size, "found %s, expected %s", byte, json->expected);
        break;
    case ISO_JSON_NUMBER:
        snprintf(text, size, "found %s in a number, expected %s", byte, json->expected);
        break;
    case ISO_JSON_FRACTION:
        snprintf(text, size, "a number with a fraction or exponent, expected %s", json->expected);
        break;
    case ISO_JSON_RANGE:
        snprintf(text, size, "a number beyond 64 bits, expected %s", json->expected);
        break;
    case ISO_JSON_CONTROL:
        snprintf(text, size, "control character 0x%02x in a string, expected %s", json->found,
                 json->expected);
        break;
    case ISO_JSON_ESCAPE:
        snprintf(text, size, "found %s in an escape, expected %s", byte, json->expected);
        break;
    case ISO_JSON_SURROGATE:
        snprintf(text, size, "half of a surrogate pair, expected %s", json->expected);
        break;
    case ISO_JSON_UTF8:
        snprintf(text, size, "found %s in a string, expected %s", byte, json->expected);
        break;
    case ISO_JSON_DEEP:
        snprintf(text, size, "nested too deep, expected at most %d levels", ISO_JSON_DEPTH);
        break;
    }
}

/* ---- between values ---- */

unsigned char iso_json_space_slow(struct iso_json *json)
{
    const char *at = json->at;
    while (at < json->end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    json->at = at;
    return at < json->end ? (unsigned char)*at : 0;
}

bool iso_json_enter_slow(struct iso_json *json, char bracket)
{
    if (iso_json_space(json) != (unsigned char)bracket)
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, bracket == '{' ? "'{'" : "'['");
    return iso_json_fail(json, ISO_JSON_DEEP, json->at, "less");
}

bool iso_json_finish(struct iso_json *json)
{
    if (json->code == ISO_JSON_FINE && (iso_json_space(json) || json->at < json->end))
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "nothing more");
    return json->code == ISO_JSON_FINE;
}

/* ---- literals ---- */

static bool read_word(struct iso_json *json, const char *word, const char *expected)
{
    iso_json_space(json);
    const char *at = json->at;
    for (; *word; word++, at++) {
        if (at >= json->end || *at != *word)
            return iso_json_fail(json, ISO_JSON_UNEXPECTED, at, expected);
    }
    json->at = at;
    return true;
}

bool iso_json_null_slow(struct iso_json *json)
{
    return read_word(json, "null", "null");
}

bool iso_json_boolean_slow(struct iso_json *json, bool *value)
{
    *value = iso_json_space(json) == 't';
    return *value ? read_word(json, "true", "true") : read_word(json, "false", "true or false");
}

/* ---- numbers ---- */

static bool is_digit(const struct iso_json *json, const char *at)
{
    return at < json->end && (unsigned char)(*at - '0') <= 9;
}

static const char *skip_digits(const struct iso_json *json, const char *at)
{
    uint64_t number;
    unsigned count;
    do {
        count = iso_bytes_digits(at, &number);
        at += count;
    } while (count == 8 && at < json->end);
    return at < json->end ? at : json->end;
}

/* Passes over a number: [first, integer_end) is its integer part, json->at its end. */
static bool scan_number(struct iso_json *json, const char **first, const char **integer_end)
{
    iso_json_space(json);
    const char *at = json->at;
    if (at < json->end && *at == '-')
        at++;
    *first = at;
    if (!is_digit(json, at))
        return iso_json_fail(json, at == json->at ? ISO_JSON_UNEXPECTED : ISO_JSON_NUMBER, at,
                             at == json->at ? "a number" : "a digit");
    at = *at == '0' ? at + 1 : skip_digits(json, at);
    *integer_end = at;
    if (is_digit(json, at))
        return iso_json_fail(json, ISO_JSON_NUMBER, at, "no digit after a leading zero");
    if (at < json->end && *at == '.') {
        if (!is_digit(json, ++at))
            return iso_json_fail(json, ISO_JSON_NUMBER, at, "a digit");
        at = skip_digits(json, at);
    }
    if (at < json->end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < json->end && (*at == '+' || *at == '-'))
            at++;
        if (!is_digit(json, at))
            return iso_json_fail(json, ISO_JSON_NUMBER, at, "a digit");
        at = skip_digits(json, at);
    }
    json->at = at;
    return true;
}

bool iso_json_integer_slow(struct iso_json *json, struct iso_json_number *number)
{
    const char *first, *end;
    iso_json_space(json);
    const char *start = json->at;
    uint64_t value = 0;
    if (!scan_number(json, &first, &end))
        return false;
    if (end != json->at)
        return iso_json_fail(json, ISO_JSON_FRACTION, start, "an integer");
    bool negative = first != start, beyond = false;
    for (const char *at = first; at < end && !beyond; at++)
        beyond = __builtin_mul_overflow(value, 10u, &value) ||
                 __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value);
    if (beyond || (negative && value > (uint64_t)1 << 63))
        return iso_json_fail(json, ISO_JSON_RANGE, start, "an integer from -2^63 to 2^64-1");
    *number = (struct iso_json_number){negative ? 0 - value : value, negative};
    return true;
}

/* ---- strings ---- */

/* The length of the UTF-8 sequence at `at`, 0 if it is none (too short, overlong, a surrogate,
 * above U+10FFFF). */
static unsigned utf8_length(const unsigned char *at, const unsigned char *end)
{
    unsigned length = at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
    if (!length || (size_t)(end - at) < length)
        return 0;
    unsigned char low = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < low || at[1] > high)
        return 0;
    for (unsigned i = 2; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

static char *put_utf8(char *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

/* Four hexadecimal digits at *at. */
static bool read_hex(struct iso_json *json, const char **at, uint32_t *code)
{
    *code = 0;
    for (const char *end = *at + 4; *at < end; ++*at) {
        unsigned char byte = *at < json->end ? (unsigned char)**at : 0, letter = byte | 0x20;
        if (byte >= '0' && byte <= '9')
            *code = *code << 4 | (uint32_t)(byte - '0');
        else if (letter >= 'a' && letter <= 'f')
            *code = *code << 4 | (uint32_t)(letter - 'a' + 10);
        else
            return iso_json_fail(json, ISO_JSON_ESCAPE, *at, "a hexadecimal digit");
    }
    return true;
}

/* Reads the digits behind \u, with the second half of a surrogate pair. */
static bool read_unicode(struct iso_json *json, const char **at, uint32_t *code)
{
    const char *start = *at;
    uint32_t low;
    if (!read_hex(json, at, code))
        return false;
    if (*code < 0xd800 || *code > 0xdfff)
        return true;
    if (*code > 0xdbff)
        return iso_json_fail(json, ISO_JSON_SURROGATE, start, "its first half before it");
    if (json->end - *at < 2 || (*at)[0] != '\\' || (*at)[1] != 'u')
        return iso_json_fail(json, ISO_JSON_SURROGATE, start, "its second half after it");
    *at += 2;
    if (!read_hex(json, at, &low))
        return false;
    if (low < 0xdc00 || low > 0xdfff)
        return iso_json_fail(json, ISO_JSON_SURROGATE, start, "its second half after it");
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

/* The escape whose backslash stands before *at; appends what it means to *out. */
static bool read_escape(struct iso_json *json, const char **at, char **out)
{
    static const char meaning[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    uint32_t code;
    unsigned char byte = *at < json->end ? (unsigned char)**at : 0;
    if (byte == 'u') {
        ++*at;
        if (!read_unicode(json, at, &code))
            return false;
        *out = put_utf8(*out, code);
        return true;
    }
    for (const char *pair = meaning; *pair && byte; pair += 2) {
        if (pair[0] != (char)byte)
            continue;
        *(*out)++ = pair[1];
        ++*at;
        return true;
    }
    return iso_json_fail(json, ISO_JSON_ESCAPE, *at, "one of \" \\ / b f n r t u");
}

static char *scratch_for(struct iso_json *json, const char *at)
{
    size_t need = (size_t)(json->end - json->start) + ISO_JSON_PADDING;
    if (json->scratch_capacity < need) {
        /* Only strings read since the last start point here, and they made it as large as that text
         * needs. */
        iso_free(json->scratch);
        json->scratch = iso_allocate(need);
        json->scratch_capacity = need;
    }
    return json->scratch + (at - json->start);
}

/* The first byte from `at` on that needs a look. */
static const char *find_special(const struct iso_json *json, const char *at)
{
    while (at < json->end) {
        unsigned plain = iso_bytes_special(at);
        at += plain;
        if (plain < 16)
            break;
    }
    return at < json->end ? at : json->end;
}

/* The same, with what stands before it copied, and quotes among it, as most escapes are: JSON in a
 * string. */
static const char *copy_plain(const struct iso_json *json, const char *at, char **out)
{
    while (at < json->end) {
        unsigned plain = iso_bytes_special(at);
        memcpy(*out, at, 16);
        at += plain;
        *out += plain;
        if (plain == 16)
            continue;
        if (at + 1 >= json->end || at[0] != '\\' || at[1] != '"')
            break;
        *(*out)++ = '"';
        at += 2;
    }
    return at < json->end ? at : json->end;
}

bool iso_json_string_slow(struct iso_json *json, struct iso_json_text *text)
{
    if (iso_json_space(json) != '"')
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "a string");
    const char *first = json->at + 1, *at = first;
    char *unescaped = NULL, *out = NULL; /* once there was an escape */
    for (;;) {
        at = out ? copy_plain(json, at, &out) : find_special(json, at);
        unsigned char byte = at < json->end ? (unsigned char)*at : 0;
        if (byte == '"')
            break;
        if (byte == '\\') {
            if (!out) {
                unescaped = scratch_for(json, first);
                memcpy(unescaped, first, (size_t)(at - first));
                out = unescaped + (at - first);
            }
            at++;
            if (!read_escape(json, &at, &out))
                return false;
        } else if (byte < 0x20) {
            return iso_json_fail(json, ISO_JSON_CONTROL, at,
                                 at < json->end ? "it escaped" : "'\"'");
        } else {
            unsigned length =
                utf8_length((const unsigned char *)at, (const unsigned char *)json->end);
            if (!length && !json->any_bytes)
                return iso_json_fail(json, ISO_JSON_UTF8, at, "UTF-8");
            length = length ? length : 1;
            if (out) {
                iso_bytes_copy(out, at, length);
                out += length;
            }
            at += length;
        }
    }
    json->at = at + 1;
    *text = unescaped ? (struct iso_json_text){unescaped, (size_t)(out - unescaped)}
                      : (struct iso_json_text){first, (size_t)(at - first)};
    return true;
}

/* ---- any value ---- */

static bool skip_scalar(struct iso_json *json, enum iso_json_type type)
{
    struct iso_json_text text;
    const char *first, *end;
    bool value;
    switch (type) {
    case ISO_JSON_STRING:
        return iso_json_string(json, &text);
    case ISO_JSON_DIGITS:
        return scan_number(json, &first, &end);
    case ISO_JSON_TRUE:
    case ISO_JSON_FALSE:
        return iso_json_boolean(json, &value);
    case ISO_JSON_NULL:
        return iso_json_null(json);
    default:
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "a value");
    }
}

static bool skip_container(struct iso_json *json)
{
    uint64_t objects[ISO_JSON_DEPTH / 64] = {
        0}; /* bit d: the container at depth d + 1 is an object */
    struct iso_json_text name;
    unsigned outside = json->depth;
    do {
        enum iso_json_type type = iso_json_peek(json);
        if (type == ISO_JSON_OBJECT || type == ISO_JSON_ARRAY) {
            if (!iso_json_enter(json, type == ISO_JSON_OBJECT ? '{' : '['))
                return false;
            uint64_t bit = (uint64_t)1 << ((json->depth - 1) & 63),
                     *word = &objects[(json->depth - 1) >> 6];
            *word = type == ISO_JSON_OBJECT ? *word | bit : *word & ~bit;
        } else if (!skip_scalar(json, type)) {
            return false;
        }
        while (json->depth > outside) {
            bool object = objects[(json->depth - 1) >> 6] >> ((json->depth - 1) & 63) & 1;
            if (object ? iso_json_member(json, &name) : iso_json_element(json))
                break;
            if (json->code != ISO_JSON_FINE)
                return false;
        }
    } while (json->depth > outside);
    return true;
}

bool iso_json_skip_slow(struct iso_json *json)
{
    enum iso_json_type type = iso_json_peek(json);
    return type == ISO_JSON_OBJECT || type == ISO_JSON_ARRAY ? skip_container(json)
                                                             : skip_scalar(json, type);
}
