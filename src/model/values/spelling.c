#include <assert.h>
#include <strings.h>

#include "base/base64.h"
#include "values/labels.h"
#include "values/spelling_private.h"

bool spelling_is_word(struct iso_json_text text, const char *word)
{
    return text.length == strlen(word) && !strncasecmp(text.at, word, text.length);
}

struct iso_json_text spelling_unwrap(struct iso_json_text text, const char *name)
{
    size_t before = strlen(name);
    if (text.length < before + 4 || memcmp(text.at, name, before) != 0 || text.at[before] != '(' ||
        text.at[text.length - 1] != ')')
        return text;
    char quote = text.at[before + 1];
    if ((quote != '\'' && quote != '"') || text.at[text.length - 2] != quote)
        return text;
    return (struct iso_json_text){text.at + before + 2, text.length - before - 4};
}

void iso_spelling_cut(char *into, size_t size, struct iso_json_text text)
{
    size_t length = text.length < size ? text.length : size - 1;
    while (length < text.length && length && ((unsigned char)text.at[length] & 0xc0) == 0x80)
        length--;
    memcpy(into, text.at, length);
    into[length] = 0;
}

/* ---- by type ---- */

enum family { OTHERS, NUMBERS, TIMES, BYTES, NESTED };

static enum family family_of(struct iso_value_type type)
{
    switch (type.kind) {
    case ISO_VALUE_INTEGER:
    case ISO_VALUE_INTEGER_64:
    case ISO_VALUE_BOOLEAN:
    case ISO_VALUE_DECIMAL:
    case ISO_VALUE_NUMERIC:
    case ISO_VALUE_DOUBLE:
    case ISO_VALUE_FLOAT:
        return NUMBERS;
    case ISO_VALUE_DATE:
    case ISO_VALUE_TIMESTAMP:
    case ISO_VALUE_INSTANT:
    case ISO_VALUE_TIME:
    case ISO_VALUE_ZONED_TIME:
        return TIMES;
    case ISO_VALUE_BYTES:
    case ISO_VALUE_BITS:
    case ISO_VALUE_UUID:
        return BYTES;
    case ISO_VALUE_JSON:
    case ISO_VALUE_LIST:
    case ISO_VALUE_NESTED:
        return NESTED;
    default:
        return OTHERS;
    }
}

bool iso_value_spell(struct iso_value_type type, struct iso_json_text text, struct iso_text *out)
{
    switch (family_of(type)) {
    case NUMBERS:
        return spelling_spell_number(type, text, out);
    case TIMES:
        return spelling_spell_time(type, text, out);
    case BYTES:
        return spelling_spell_bytes(type, text, out);
    case NESTED:
        return type.kind == ISO_VALUE_JSON ? spelling_spell_json(text, false, out)
                                           : spelling_compact_json(text, out);
    default:
        return false;
    }
}

bool spelling_is_integer(struct iso_json_text text)
{
    size_t i = text.length && text.at[0] == '-';
    if (i == text.length)
        return false;
    while (i < text.length && spelling_is_digit(text.at[i]))
        i++;
    return i == text.length;
}

static enum relation relate(struct iso_value_type type, struct iso_json_text one,
                            struct iso_json_text other, bool rounds)
{
    switch (family_of(type)) {
    case NUMBERS:
        return spelling_relate_numbers(type, one, other, rounds);
    case TIMES:
        return spelling_relate_times(type, one, other, rounds);
    case BYTES:
        return spelling_relate_bytes(type, one, other);
    case NESTED: {
        enum relation lists = type.kind == ISO_VALUE_JSON
                                  ? RELATION_UNREADABLE
                                  : spelling_relate_lists(type.kind == ISO_VALUE_LIST, one, other);
        return lists == RELATION_UNREADABLE ? spelling_relate_json(type, one, other) : lists;
    }
    default:
        return RELATION_OTHER;
    }
}

/* ---- where no type is known ---- */

static bool is_nested(struct iso_json_text text)
{
    return text.length > 1 && (text.at[0] == '{' || text.at[0] == '[');
}

/* The stream's own two spellings: a snapshot's and a change's. */
static bool are_of_stream(struct iso_json_text one, struct iso_json_text other)
{
    static const struct iso_value_type instant = {ISO_VALUE_INSTANT, false, 0},
                                       local = {ISO_VALUE_TIMESTAMP, false, 9};
    bool integers = spelling_is_integer(one) && spelling_is_integer(other);
    return spelling_are_like_numbers(one, other) ||
           relate(instant, one, other, false) == RELATION_SAME ||
           (!integers && relate(local, one, other, false) == RELATION_SAME);
}

/* A struct or an array, of which servers and drivers have texts of their own. */
static bool is_other_form(struct iso_json_text one, struct iso_json_text other)
{
    struct iso_text out = {0};
    bool one_is = is_nested(one) && spelling_spell_json(one, false, &out);
    bool other_is = is_nested(other) && spelling_spell_json(other, false, &out);
    iso_text_release(&out);
    return one_is != other_is;
}

/* Bits in base64, and as digits. */
static bool are_bits(struct iso_json_text one, struct iso_json_text other)
{
    size_t length = one.length > other.length ? one.length : other.length;
    struct iso_value_type type = {ISO_VALUE_BITS, false,
                                  (int16_t)(length < INT16_MAX ? length : INT16_MAX)};
    return length && relate(type, one, other, false) == RELATION_SAME;
}

/* An unsigned number above 2^63, and as the stream has it. */
static bool are_wrapped(struct iso_json_text one, struct iso_json_text other)
{
    static const struct iso_value_type wide = {ISO_VALUE_INTEGER_64, false, 0};
    return (*one.at == '-') != (*other.at == '-') &&
           relate(wide, one, other, false) == RELATION_SAME;
}

/* There is a type by which they are one value, or may be. */
static bool may_be_one(struct iso_json_text one, struct iso_json_text other, bool only_signed)
{
    static const struct iso_value_type types[] = {
        {ISO_VALUE_BOOLEAN, false, 0},   {ISO_VALUE_DATE, false, 0},
        {ISO_VALUE_TIMESTAMP, false, 3}, {ISO_VALUE_TIMESTAMP, false, 6},
        {ISO_VALUE_TIMESTAMP, false, 9}, {ISO_VALUE_INSTANT, false, 0},
        {ISO_VALUE_TIME, false, 3},      {ISO_VALUE_TIME, false, 6},
        {ISO_VALUE_TIME, false, 9},      {ISO_VALUE_ZONED_TIME, false, 0},
        {ISO_VALUE_BYTES, false, 0},     {ISO_VALUE_UUID, false, 0}};
    static const struct iso_value_type json = {ISO_VALUE_JSON, false, 0},
                                       list = {ISO_VALUE_NESTED, false, 0};
    if (spelling_is_integer(one) && spelling_is_integer(other))
        return !only_signed && are_wrapped(one, other);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        enum relation relation = relate(types[i], one, other, false);
        if (relation == RELATION_SAME || relation == RELATION_SIMILAR)
            return true;
    }
    bool nested = is_nested(one) && is_nested(other) &&
                  (relate(json, one, other, false) <= RELATION_SIMILAR ||
                   relate(list, one, other, false) == RELATION_SAME);
    return nested || is_other_form(one, other) || spelling_is_unscaled(one, other) ||
           are_bits(one, other);
}

/* A letter before it, and no quote, bracket or padding behind it. */
static bool is_word(struct iso_json_text text)
{
    unsigned char first = text.length ? (unsigned char)(*text.at | 0x20) : 0;
    return first >= 'a' && (first <= 'z' || first > 127) &&
           !memchr("='\")", text.at[text.length - 1], 4);
}

/* True and false have short forms. */
static bool may_be_boolean(struct iso_json_text text)
{
    return text.length == 1 ? (*text.at | 0x20) == 't' || (*text.at | 0x20) == 'f'
                            : spelling_is_word(text, "true") || spelling_is_word(text, "false");
}

/* Whether it may be base64 of as many bytes, or of as many hex digits. */
static bool is_base64_of(struct iso_word word, size_t length)
{
    return word.is_code && word.length % 4 == 0 &&
           (length == word.length / 4 * 3 || length == word.length / 2 * 3);
}

static bool may_be_uuid(struct iso_word word)
{
    return word.is_code && (word.length == 32 || word.length == 36);
}

bool iso_words_may_meet(struct iso_word one, struct iso_word other)
{
    return is_base64_of(one, other.length) || is_base64_of(other, one.length) ||
           (may_be_uuid(one) && may_be_uuid(other));
}

/* Of any length. */
static struct iso_word word_of(struct iso_json_text text)
{
    struct iso_word word = {0, true};
    if (!is_word(text) || may_be_boolean(text))
        return word;
    word.length = text.length;
    for (size_t i = 0; i < text.length && word.is_code; i++)
        word.is_code = text.at[i] == '-' || iso_base64_digit(text.at[i]) >= 0;
    return word;
}

struct iso_word iso_word_of(struct iso_json_text text)
{
    return text.length < ISO_WORD_LENGTH ? word_of(text) : (struct iso_word){0, true};
}

static bool are_two_words(struct iso_json_text one, struct iso_json_text other)
{
    if (!is_word(one) || !is_word(other))
        return false;
    struct iso_word left = word_of(one), right = word_of(other);
    return left.length && right.length && !iso_words_may_meet(left, right);
}

static enum iso_likeness compare_untyped(struct iso_value_type type, struct iso_json_text one,
                                         struct iso_json_text other, struct iso_spellers spellers)
{
    bool differ = are_two_words(one, other),
         may_be_label = type.kind <= ISO_VALUE_ANY && type.detail == ISO_MAY_BE_LABEL;
    if (may_be_label && spellers.client && spelling_is_integer(one) != spelling_is_integer(other))
        return ISO_VALUES_UNCLEAR;
#ifndef ISO_VALIDATE
    if (differ)
        return ISO_VALUES_DIFFER;
#endif
    bool may_be = are_of_stream(one, other) ||
                  (spellers.client && may_be_one(one, other, spellers.only_signed));
    assert(!differ || !may_be);
    return may_be ? ISO_VALUES_UNCLEAR : ISO_VALUES_DIFFER;
}

/* ---- comparing ---- */

static bool is_plain(struct iso_value_type type)
{
    return type.kind == ISO_VALUE_INTEGER || type.kind == ISO_VALUE_INTEGER_64 ||
           type.kind == ISO_VALUE_TEXT;
}

enum iso_likeness iso_values_compare(struct iso_value_type type, struct iso_json_text one,
                                     struct iso_json_text other, struct iso_spellers spellers)
{
    if (spelling_equal(one, other))
        return ISO_VALUES_EQUAL;
    if (type.kind <= ISO_VALUE_ROW)
        return compare_untyped(type, one, other, spellers);
    switch (type.kind == ISO_VALUE_LABEL
                ? spelling_relate_labels(spellers.labels, type, one, other)
                : relate(type, one, other, spellers.client && spellers.write)) {
    case RELATION_SAME:
        return ISO_VALUES_EQUAL;
    case RELATION_SIMILAR:
        return spellers.client || type.kind == ISO_VALUE_FLOAT ? ISO_VALUES_UNCLEAR
                                                               : ISO_VALUES_DIFFER;
    case RELATION_UNREADABLE:
        return spellers.client && !is_plain(type) ? ISO_VALUES_UNCLEAR : ISO_VALUES_DIFFER;
    default:
        return ISO_VALUES_DIFFER;
    }
}
