/* Numbers: integers, decimals, floating point, booleans. */
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "values/row.h"
#include "values/spelling_private.h"

enum { POINT_MAX = 1100, FLOAT_DIGITS = 6, UNSIGNED_DIGITS = 20 };

/* ---- reading ---- */

static bool take_exponent(struct iso_json_text text, size_t at, int *exponent)
{
    bool negative = at < text.length && text.at[at] == '-';
    at += at < text.length && (text.at[at] == '-' || text.at[at] == '+');
    if (at == text.length || text.length - at > 4)
        return false;
    *exponent = 0;
    for (; at < text.length; at++) {
        if (!spelling_is_digit(text.at[at]))
            return false;
        *exponent = *exponent * 10 + (text.at[at] - '0');
    }
    *exponent = negative ? -*exponent : *exponent;
    return true;
}

/* Zeros stand for nothing until another digit follows. */
static bool add_digit(struct spelling_number *number, char digit, int *zeros)
{
    if (digit == '0') {
        *zeros += number->count > 0;
        return true;
    }
    if (number->count + *zeros >= SPELLING_DIGITS)
        return false;
    for (; *zeros; --*zeros)
        number->digits[number->count++] = '0';
    number->digits[number->count++] = digit;
    return true;
}

/* Digits and at most one point from `*at` on. False: there are too many, or none. */
static bool take_digits(struct iso_json_text text, size_t *at, struct spelling_number *number)
{
    bool any = false, point = false;
    int zeros = 0;
    for (;
         *at < text.length && (spelling_is_digit(text.at[*at]) || (text.at[*at] == '.' && !point));
         ++*at) {
        char byte = text.at[*at];
        if (byte == '.') {
            point = number->has_fraction = true;
            continue;
        }
        any = true;
        if (!add_digit(number, byte, &zeros) || *at > POINT_MAX + SPELLING_DIGITS)
            return false;
        number->point += point ? -!number->count : number->count > 0;
    }
    return any;
}

static void drop_zeros(struct spelling_number *number)
{
    while (number->count && number->digits[number->count - 1] == '0')
        number->count--;
    if (!number->count)
        number->point = number->negative = 0;
}

bool spelling_read_number(struct iso_json_text text, struct spelling_number *number)
{
    size_t at = text.length && (text.at[0] == '-' || text.at[0] == '+');
    int exponent = 0;
    number->count = number->point = 0;
    number->negative = at && text.at[0] == '-';
    number->has_fraction = false;
    number->is_code =
        at + 1 < text.length && text.at[at] == '0' && spelling_is_digit(text.at[at + 1]);
    if (!take_digits(text, &at, number))
        return false;
    if (at < text.length) {
        number->has_fraction = true;
        if ((text.at[at] | 0x20) != 'e' || !take_exponent(text, at + 1, &exponent))
            return false;
    }
    number->point += exponent;
    drop_zeros(number);
    return number->point <= POINT_MAX && number->point >= -POINT_MAX;
}

/* ---- spelling ---- */

static void put_zeros(struct iso_text *out, int count)
{
    for (; count > 0; count--)
        iso_text_put_bytes(out, "0", 1);
}

void spelling_put_number(struct iso_text *out, const struct spelling_number *number, int places)
{
    int whole = number->point < 0               ? 0
                : number->point < number->count ? number->point
                                                : number->count;
    int fraction = number->count > number->point ? number->count - number->point : 0;
    if (number->negative)
        iso_text_put_bytes(out, "-", 1);
    iso_text_put_bytes(out, number->digits, (size_t)whole);
    put_zeros(out, number->point - whole);
    if (number->point <= 0)
        iso_text_put_bytes(out, "0", 1);
    if (fraction || places > 0)
        iso_text_put_bytes(out, ".", 1);
    if (fraction) {
        put_zeros(out, -number->point);
        iso_text_put_bytes(out, number->digits + whole, (size_t)(number->count - whole));
    }
    put_zeros(out, places - fraction);
}

static bool is_whole(const struct spelling_number *number)
{
    return number->count <= number->point || !number->count;
}

/* Above 2^63 a number without a sign has the sign of its bits. */
static bool put_wrapped(struct iso_text *out, const struct spelling_number *number)
{
    uint64_t bits = 0;
    if (number->negative || number->point > UNSIGNED_DIGITS)
        return false;
    for (int i = 0; i < number->point; i++) {
        unsigned digit = i < number->count ? (unsigned)(number->digits[i] - '0') : 0;
        if (__builtin_mul_overflow(bits, 10u, &bits) || __builtin_add_overflow(bits, digit, &bits))
            return false;
    }
    if (bits <= INT64_MAX)
        return false;
    iso_text_put_signed(out, (int64_t)bits);
    return true;
}

static bool read_boolean(struct iso_json_text text, bool *value)
{
    static const char *const words[2][5] = {{"false", "f", "0", "b'\\x00'", NULL},
                                            {"true", "t", "1", "b'\\x01'", NULL}};
    for (int which = 0; which < 2; which++)
        for (int i = 0; words[which][i]; i++)
            if (spelling_is_word(text, words[which][i])) {
                *value = which;
                return true;
            }
    *value = text.length == 1 && text.at[0] == 1; /* BIT(1), as the byte that drivers make of it */
    return text.length == 1 && (text.at[0] == 1 || text.at[0] == 0);
}

static bool spell_boolean(struct iso_json_text text, const char *yes, const char *no,
                          struct iso_text *out)
{
    bool value;
    if (!read_boolean(text, &value))
        return false;
    iso_text_put(out, value ? yes : no);
    return true;
}

static bool spell_integer(struct iso_value_type type, struct iso_json_text text,
                          struct iso_text *out)
{
    struct spelling_number number;
    if (spelling_is_word(text, "true") || spelling_is_word(text, "false"))
        return spell_boolean(text, "1", "0", out); /* of MySQL's BOOLEAN, a TINYINT */
    if (!spelling_read_number(text, &number) || !is_whole(&number))
        return false;
    if (type.kind != ISO_VALUE_INTEGER_64 || !put_wrapped(out, &number))
        spelling_put_number(out, &number, 0);
    return true;
}

/* Values that are no numbers, by Java's names. */
static const char *special(struct iso_json_text text)
{
    static const char *const words[][2] = {
        {"nan", "NaN"},      {"infinity", "Infinity"}, {"-infinity", "-Infinity"},
        {"inf", "Infinity"}, {"-inf", "-Infinity"},    {"+infinity", "Infinity"},
        {"+inf", "Infinity"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (spelling_is_word(text, words[i][0]))
            return words[i][1];
    return NULL;
}

static bool spell_decimal(struct iso_value_type type, struct iso_json_text text,
                          struct iso_text *out)
{
    struct spelling_number number;
    const char *word = special(text);
    if (!word && !spelling_read_number(text, &number))
        return false;
    if (word)
        iso_text_put(out, word);
    else
        spelling_put_number(out, &number, type.kind == ISO_VALUE_DECIMAL ? type.detail : 0);
    return true;
}

static bool spell_floating(struct iso_value_type type, struct iso_json_text text,
                           struct iso_text *out)
{
    struct spelling_number number;
    char copy[SPELLING_DIGITS];
    const char *word = special(text);
    struct iso_cell cell = {.kind =
                                type.kind == ISO_VALUE_FLOAT ? ISO_CELL_FLOAT : ISO_CELL_DOUBLE};
    if (word) {
        iso_text_put(out, word);
        return true;
    }
    if (text.length >= sizeof copy || !spelling_read_number(text, &number))
        return false;
    memcpy(copy, text.at, text.length);
    copy[text.length] = 0;
    float single = strtof(copy, NULL);
    double value = strtod(copy, NULL);
    if (type.kind == ISO_VALUE_FLOAT ? !isfinite(single) : !isfinite(value))
        return false;
    memcpy(&cell.bits, type.kind == ISO_VALUE_FLOAT ? (const void *)&single : (const void *)&value,
           type.kind == ISO_VALUE_FLOAT ? sizeof single : sizeof value);
    iso_cell_put(out, &cell);
    return true;
}

bool spelling_spell_number(struct iso_value_type type, struct iso_json_text text,
                           struct iso_text *out)
{
    text = spelling_unwrap(text, "Decimal");
    switch (type.kind) {
    case ISO_VALUE_BOOLEAN:
        return spell_boolean(text, "true", "false", out);
    case ISO_VALUE_INTEGER:
    case ISO_VALUE_INTEGER_64:
        return spell_integer(type, text, out);
    case ISO_VALUE_DECIMAL:
    case ISO_VALUE_NUMERIC:
        return spell_decimal(type, text, out);
    default:
        return spell_floating(type, text, out);
    }
}

/* ---- comparing ---- */

static bool are_same(const struct spelling_number *one, const struct spelling_number *other)
{
    return one->negative == other->negative && one->point == other->point &&
           one->count == other->count && !memcmp(one->digits, other->digits, (size_t)one->count);
}

/* Rounds to the first `count` digits (or to none: 0, or one more digit before them). */
static void round_to(struct spelling_number *number, int count, bool cuts)
{
    if (number->count <= count)
        return;
    bool up = count >= 0 && !cuts && number->digits[count] >= '5';
    number->count = count > 0 ? count : 0;
    while (up && number->count && number->digits[number->count - 1] == '9')
        number->count--;
    if (up && number->count) {
        number->digits[number->count - 1]++;
    } else if (up) {
        number->digits[number->count++] = '1';
        number->point++;
    }
    drop_zeros(number);
}

/* Six digits of one are the other. */
static bool was_cut(const struct spelling_number *one, const struct spelling_number *other)
{
    struct spelling_number longer = one->count > other->count ? *one : *other;
    const struct spelling_number *shorter = one->count > other->count ? other : one;
    if (shorter->count > FLOAT_DIGITS || longer.count <= FLOAT_DIGITS)
        return false;
    round_to(&longer, FLOAT_DIGITS, false);
    return are_same(&longer, shorter);
}

static int places_of(const struct spelling_number *number)
{
    return number->count > number->point ? number->count - number->point : 0;
}

/* Whether the two are equal at the shorter one's number of places, or fewer. */
static bool was_rounded(const struct spelling_number *one, const struct spelling_number *other)
{
    const struct spelling_number *finer = places_of(one) > places_of(other) ? one : other;
    const struct spelling_number *coarser = finer == one ? other : one;
    if (places_of(one) == places_of(other))
        return false;
    for (int cuts = 0; cuts < 2; cuts++) {
        struct spelling_number rounded = *finer;
        round_to(&rounded, finer->count - (places_of(finer) - places_of(coarser)), cuts);
        if (are_same(&rounded, coarser))
            return true;
    }
    return false;
}

enum relation spelling_relate_numbers(struct iso_value_type type, struct iso_json_text one,
                                      struct iso_json_text other, bool rounds)
{
    struct iso_text left = {0}, right = {0};
    struct spelling_number numbers[2];
    bool spelt =
        spelling_spell_number(type, one, &left) && spelling_spell_number(type, other, &right);
    bool same = spelt && left.used == right.used && !memcmp(left.bytes, right.bytes, left.used);
    iso_text_release(&left);
    iso_text_release(&right);
    if (same)
        return RELATION_SAME;
    bool read = spelling_read_number(spelling_unwrap(one, "Decimal"), &numbers[0]) &&
                spelling_read_number(spelling_unwrap(other, "Decimal"), &numbers[1]);
    if (!read)
        return spelt ? RELATION_OTHER : RELATION_UNREADABLE;
    bool floating = type.kind == ISO_VALUE_FLOAT || type.kind == ISO_VALUE_DOUBLE;
    if (floating && are_same(&numbers[0], &numbers[1])) /* 0 and -0 */
        return RELATION_SAME;
    if ((type.kind == ISO_VALUE_FLOAT && was_cut(&numbers[0], &numbers[1])) ||
        (rounds && was_rounded(&numbers[0], &numbers[1])))
        return RELATION_SIMILAR;
    return RELATION_OTHER;
}

bool spelling_are_like_numbers(struct iso_json_text one, struct iso_json_text other)
{
    struct spelling_number left, right;
    if (!spelling_read_number(one, &left) || !spelling_read_number(other, &right) || left.is_code ||
        right.is_code || !(left.has_fraction || right.has_fraction))
        return false;
    /* whole numbers are not cut */
    bool fraction = left.count > right.count ? left.has_fraction : right.has_fraction;
    return are_same(&left, &right) || (fraction && was_cut(&left, &right));
}
