/* A JSON scanner: a cursor over a text in memory, pulled by the caller. RFC 8259, nothing more.
 *
 *     iso_json_start(&json, text, length);
 *     if (iso_json_enter_object(&json)) {
 *         while (iso_json_member(&json, &name)) {        the cursor stands at the member's value:
 *             if (...) iso_json_integer(&json, &number);   read it
 *             else iso_json_skip(&json);                   or pass over it
 *         }
 *     }
 *     if (!iso_json_finish(&json)) ... json.code, json.position, json.expected
 *
 * Every value is checked, also one that is skipped: UTF-8, control characters, escapes, surrogates,
 * the grammar of numbers. Integers are exact: 64 bits, signed or unsigned. Repeated members are the
 * caller's to judge. A million brackets cost nothing: containers nest at most ISO_JSON_DEPTH deep,
 * and skipping uses no recursion.
 *
 * Errors: the first one stays. From then on every call fails, so a caller may check once, at the
 * end. The text must be followed by ISO_JSON_PADDING readable bytes, of any content: hot loops read
 * past its end and check afterwards. Strings without escapes point into the text; others into
 * memory of the scanner, at the same offset as in the text (unescaping never lengthens), and stay
 * until the next iso_json_start. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum { ISO_JSON_PADDING = 64, ISO_JSON_DEPTH = 1024 };

enum iso_json_code {
    ISO_JSON_FINE,
    ISO_JSON_END,        /* the text ends too early */
    ISO_JSON_UNEXPECTED, /* a byte that cannot stand here */
    ISO_JSON_NUMBER,     /* not a number by the grammar */
    ISO_JSON_FRACTION,   /* a number, but no integer */
    ISO_JSON_RANGE,      /* an integer beyond 64 bits */
    ISO_JSON_CONTROL,    /* a control character in a string */
    ISO_JSON_ESCAPE,     /* an unknown escape */
    ISO_JSON_SURROGATE,  /* half of a pair of \u escapes */
    ISO_JSON_UTF8,       /* not UTF-8 */
    ISO_JSON_DEEP        /* nested more than ISO_JSON_DEPTH deep */
};

enum iso_json_type {
    ISO_JSON_NONE, /* no value starts here */
    ISO_JSON_OBJECT,
    ISO_JSON_ARRAY,
    ISO_JSON_STRING,
    ISO_JSON_DIGITS, /* a number */
    ISO_JSON_TRUE,
    ISO_JSON_FALSE,
    ISO_JSON_NULL
};

struct iso_json {
    const char *at, *start, *end;
    bool fresh;     /* just inside a container: no comma is due */
    bool any_bytes; /* the caller's, after iso_json_start: strings may hold bytes that are not UTF-8
                     */
    unsigned depth; /* containers entered and not yet left */
    enum iso_json_code code; /* the first error ... */
    size_t position;         /* its byte, from 0 */
    unsigned char found;     /* what stands there */
    const char *expected;    /* what could stand there */
    char *scratch;           /* unescaped strings */
    size_t scratch_capacity;
};

struct iso_json_text {
    const char *at;
    size_t length;
};

static inline bool iso_json_is(const struct iso_json_text *text, const char *word)
{
    return text->length == strlen(word) && !memcmp(text->at, word, text->length);
}

struct iso_json_number {
    uint64_t bits; /* negative: two's complement */
    bool negative; /* a minus sign; with bits 0 it was "-0" */
};

void iso_json_init(struct iso_json *json);
void iso_json_release(struct iso_json *json);
void iso_json_start(struct iso_json *json, const char *text, size_t length);

/* Sets the error, unless there is one: at byte `at`. Returns false. */
bool iso_json_fail(struct iso_json *json, enum iso_json_code code, const char *at,
                   const char *expected);

/* The error as "found 'x', expected ',' or '}'". */
void iso_json_describe(const struct iso_json *json, char *text, size_t size);

/* The slow ways of the inline functions below. */
unsigned char iso_json_space_slow(struct iso_json *json);
bool iso_json_string_slow(struct iso_json *json, struct iso_json_text *text);
bool iso_json_integer_slow(struct iso_json *json, struct iso_json_number *number);
bool iso_json_enter_slow(struct iso_json *json, char bracket);
bool iso_json_skip_slow(struct iso_json *json);

/* Only white space is left. */
bool iso_json_finish(struct iso_json *json);

/* Passes over white space; the byte that follows, 0 at the end. */
static inline unsigned char iso_json_space(struct iso_json *json)
{
    if ((unsigned char)*json->at > ' ' && json->at < json->end)
        return (unsigned char)*json->at;
    return iso_json_space_slow(json);
}

/* Type of the next value, by its first byte. */
static inline enum iso_json_type iso_json_peek(struct iso_json *json)
{
    switch (iso_json_space(json)) {
    case '"':
        return ISO_JSON_STRING;
    case '{':
        return ISO_JSON_OBJECT;
    case '[':
        return ISO_JSON_ARRAY;
    case 't':
        return ISO_JSON_TRUE;
    case 'f':
        return ISO_JSON_FALSE;
    case 'n':
        return ISO_JSON_NULL;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return ISO_JSON_DIGITS;
    default:
        return ISO_JSON_NONE;
    }
}

static inline bool iso_json_enter(struct iso_json *json, char bracket)
{
    if (iso_json_space(json) != (unsigned char)bracket || json->depth == ISO_JSON_DEPTH)
        return iso_json_enter_slow(json, bracket);
    json->at++;
    json->depth++;
    json->fresh = true;
    return true;
}

static inline bool iso_json_enter_object(struct iso_json *json)
{
    return iso_json_enter(json, '{');
}

static inline bool iso_json_enter_array(struct iso_json *json)
{
    return iso_json_enter(json, '[');
}

/* A string of at most 15 plain bytes at the cursor; false, and nothing has moved: something else.
 * As most are. */
static inline bool iso_json_short_string(struct iso_json *json, struct iso_json_text *text)
{
    const char *first = json->at + 1;
    unsigned length = iso_bytes_special(first);
    if (*json->at != '"' || length == 16 || first[length] != '"' || first + length >= json->end)
        return false;
    *text = (struct iso_json_text){first, length};
    json->at = first + length + 1;
    return true;
}

static inline bool iso_json_string(struct iso_json *json, struct iso_json_text *text)
{
    iso_json_space(json);
    if (iso_json_short_string(json, text))
        return true;
    return iso_json_string_slow(json, text);
}

static inline bool iso_json_leave(struct iso_json *json)
{
    json->at++;
    json->depth--;
    json->fresh = false;
    return false;
}

/* Goes to the next element of the array entered last: true, and the cursor stands before a value;
 * false: the array's end was passed (or an error). */
static inline bool iso_json_element(struct iso_json *json)
{
    unsigned char byte = iso_json_space(json);
    if (byte == ']')
        return iso_json_leave(json);
    if (json->fresh)
        json->fresh = false;
    else if (byte == ',')
        json->at++;
    else
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "',' or ']'");
    return true;
}

/* The elements of the array at the cursor, each by an expression that is false at an error; true:
 * all were read. */
#define ISO_JSON_EACH(json, read)                                                                  \
    ({                                                                                             \
        bool fine_ = iso_json_enter_array(json);                                                   \
        while (fine_ && iso_json_element(json))                                                    \
            fine_ = (read);                                                                        \
        fine_ && (json)->code == ISO_JSON_FINE;                                                    \
    })

/* Goes to the next member of the object entered last, and gives its name. */
static inline bool iso_json_member(struct iso_json *json, struct iso_json_text *name)
{
    unsigned char byte = iso_json_space(json);
    if (byte == '}')
        return iso_json_leave(json);
    if (json->fresh)
        json->fresh = false;
    else if (byte == ',')
        json->at++;
    else
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "',' or '}'");
    if (iso_json_space(json) != '"')
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "a member's name in quotes");
    if (!iso_json_string(json, name))
        return false;
    if (iso_json_space(json) != ':')
        return iso_json_fail(json, ISO_JSON_UNEXPECTED, json->at, "':'");
    json->at++;
    return true;
}

/* Digits at `at`, at most 19 of them, so that no overflow is possible; their count, 0 if there are
 * none, if there are more, or if a zero leads. Reads at most 32 bytes. */
static inline unsigned iso_json_digits(const char *at, uint64_t *number)
{
    static const uint64_t powers[] = {1,      10,      100,      1000,     10000,
                                      100000, 1000000, 10000000, 100000000};
    uint64_t part;
    unsigned count = iso_bytes_digits(at, number), total = count;
    while (count == 8 && total <= 16) {
        count = iso_bytes_digits(at + total, &part);
        *number = *number * powers[count] + part;
        total += count;
    }
    return total > 19 || (*at == '0' && total > 1) ? 0 : total;
}

/* An integer of at most 19 digits at the cursor; false, and nothing has moved: something else, or
 * an end. */
static inline bool iso_json_short_integer(struct iso_json *json, uint64_t *bits)
{
    unsigned char first = (unsigned char)(json->at[0] - '0'),
                  second = (unsigned char)(json->at[1] - '0');
    unsigned digits = 1;
    if (first > 9)
        return false;
    *bits = first;
    if (second <= 9 && first && (unsigned char)(json->at[2] - '0') > 9) {
        *bits = first * 10u + second;
        digits = 2;
    } else if (second <= 9) {
        digits = iso_json_digits(json->at, bits);
    }
    unsigned char after = (unsigned char)json->at[digits];
    if (!digits || json->at + digits >= json->end || after == '.' || (after | 0x20) == 'e')
        return false;
    json->at += digits;
    return true;
}

static inline bool iso_json_integer(struct iso_json *json, struct iso_json_number *number)
{
    iso_json_space(json);
    number->negative = false;
    if (iso_json_short_integer(json, &number->bits))
        return true;
    return iso_json_integer_slow(json, number);
}

bool iso_json_boolean_slow(struct iso_json *json, bool *value);
bool iso_json_null_slow(struct iso_json *json);

/* Whether the four letters stand at the cursor; passes over them. */
static inline bool iso_json_word(struct iso_json *json, const char *letters)
{
    bool same = iso_bytes_load4(json->at) == iso_bytes_load4(letters) && json->end - json->at >= 4;
    json->at += same ? 4 : 0;
    return same;
}

static inline bool iso_json_boolean(struct iso_json *json, bool *value)
{
    *value = iso_json_word(json, "true");
    if (*value)
        return true;
    if (json->end - json->at >= 5 && *json->at == 'f' &&
        iso_bytes_load4(json->at + 1) == iso_bytes_load4("alse")) {
        json->at += 5;
        return true;
    }
    return iso_json_boolean_slow(json, value);
}

static inline bool iso_json_null(struct iso_json *json)
{
    return iso_json_word(json, "null") || iso_json_null_slow(json);
}

/* Passes over null, if that comes next. */
static inline bool iso_json_take_null(struct iso_json *json)
{
    if (iso_json_peek(json) != ISO_JSON_NULL)
        return false;
    iso_json_null(json);
    return true;
}

/* Skips any one value. */
static inline bool iso_json_skip(struct iso_json *json)
{
    struct iso_json_text text;
    uint64_t bits;
    char byte = *json->at;
    if (byte == '"' ? iso_json_short_string(json, &text)
                    : (unsigned char)(byte - '0') <= 9 && iso_json_short_integer(json, &bits))
        return true;
    return iso_json_skip_slow(json);
}
