/* Cells as text. */
#include "values/row.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"

enum { NUMBER_MAX = 64, DIGITS_MAX = 17 };

/* ---- floating point ---- */

/* Numbers that JSON cannot say, by Java's names. */
static bool put_special(struct iso_text *text, double number)
{
    if (isfinite(number))
        return false;
    iso_text_put(text, isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
    return true;
}

/* The shortest text that reads as the same number. Below the smallest normal one that may be any
 * number of digits. */
static void put_double(struct iso_text *text, double number)
{
    char digits[NUMBER_MAX];
    if (put_special(text, number))
        return;
    for (int precision = fabs(number) < DBL_MIN ? 1 : 15; precision <= DIGITS_MAX; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, number);
        if (precision == DIGITS_MAX || strtod(digits, NULL) == number)
            break;
    }
    iso_text_put(text, digits);
}

static void put_float(struct iso_text *text, float number)
{
    char digits[NUMBER_MAX];
    if (put_special(text, (double)number))
        return;
    for (int precision = fabsf(number) < FLT_MIN ? 1 : 6; precision <= 9; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, (double)number);
        if (precision == 9 || strtof(digits, NULL) == number)
            break;
    }
    iso_text_put(text, digits);
}

/* A number of JSON with a fraction or an exponent, or beyond 64 bits. What a double may have
 * rounded stays as it is. */
static void put_number(struct iso_text *text, const char *literal, size_t length)
{
    char copy[NUMBER_MAX];
    size_t digits = 0;
    bool has_point = false;
    for (size_t i = 0; i < length && (literal[i] | 0x20) != 'e'; i++) {
        digits += literal[i] >= '0' && literal[i] <= '9';
        has_point |= literal[i] == '.';
    }
    has_point |= length && memchr(literal, 'e', length);
    has_point |= length && memchr(literal, 'E', length);
    if (has_point && digits <= DIGITS_MAX && length < sizeof copy) {
        memcpy(copy, literal, length);
        copy[length] = 0;
        double number = strtod(copy, NULL);
        if (isfinite(number)) {
            put_double(text, number);
            return;
        }
    }
    iso_text_put_bytes(text, literal, length);
}

/* ---- decimals ---- */

/* The digits of the magnitude, most significant first; their number, at least one. */
static size_t big_digits(const uint8_t *bytes, size_t size, bool negative, char *digits)
{
    uint32_t words[ISO_CELL_DECIMAL_BYTES / 4 + 1] = {0}; /* least significant first */
    size_t count = (size + 3) / 4, used = 0;
    uint32_t carry = negative;
    for (size_t i = 0; i < size; i++)
        words[(size - 1 - i) / 4] |= (uint32_t)(uint8_t)(negative ? ~bytes[i] : bytes[i])
                                     << (size - 1 - i) % 4 * 8;
    for (size_t i = 0; carry && i < count; i++)
        carry = ++words[i] == 0;
    words[count] = carry;
    count += 1;
    do {
        uint64_t rest = 0;
        for (size_t i = count; i-- > 0;) {
            rest = rest << 32 | words[i];
            words[i] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        digits[used++] = (char)('0' + rest);
        while (count && !words[count - 1])
            count--;
    } while (count);
    for (size_t i = 0; i < used / 2; i++) {
        char digit = digits[i];
        digits[i] = digits[used - 1 - i];
        digits[used - 1 - i] = digit;
    }
    return used;
}

static size_t decimal_digits(const uint8_t *bytes, size_t size, bool negative, char *digits)
{
    if (size > 8)
        return big_digits(bytes, size, negative, digits);
    uint64_t value = negative ? UINT64_MAX : 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return (size_t)snprintf(digits, NUMBER_MAX, "%llu",
                            (unsigned long long)(negative ? 0 - value : value));
}

static void put_zeros(struct iso_text *text, size_t count)
{
    memset(iso_text_reserve(text, count), '0', count);
    text->used += count;
}

static void put_decimal(struct iso_text *text, const struct iso_cell *cell)
{
    char digits[ISO_CELL_DECIMAL_BYTES * 3]; /* a byte is 2.41 digits */
    const uint8_t *bytes = (const uint8_t *)cell->text;
    bool negative = cell->length && bytes[0] & 0x80;
    size_t count = decimal_digits(bytes, cell->length, negative, digits);
    bool zero = count == 1 && digits[0] == '0';
    size_t places = cell->scale > 0 ? (size_t)cell->scale : 0,
           before = count > places ? count - places : 0;
    if (negative)
        iso_text_put(text, "-");
    if (before)
        iso_text_put_bytes(text, digits, before);
    else
        iso_text_put(text, "0");
    if (places) {
        iso_text_put(text, ".");
        put_zeros(text, places - (count - before));
        iso_text_put_bytes(text, digits + before, count - before);
    }
    if (cell->scale < 0 && !zero)
        put_zeros(text, (size_t)-cell->scale);
}

/* ---- the rest ---- */

static void put_base64(struct iso_text *text, const struct iso_cell *cell)
{
    size_t length = iso_base64_length(cell->length);
    iso_base64_encode((const uint8_t *)cell->text, cell->length, iso_text_reserve(text, length));
    text->used += length;
}

static void put_integer(struct iso_text *text, const struct iso_cell *cell)
{
    if (cell->negative)
        iso_text_put_signed(text, (int64_t)cell->bits);
    else
        iso_text_put_unsigned(text, cell->bits);
}

static double double_of(const struct iso_cell *cell)
{
    double number;
    memcpy(&number, &cell->bits, sizeof number);
    return number;
}

static float float_of(const struct iso_cell *cell)
{
    uint32_t bits = (uint32_t)cell->bits;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

void iso_cell_put(struct iso_text *text, const struct iso_cell *cell)
{
    switch (cell->kind) {
    case ISO_CELL_INTEGER:
        put_integer(text, cell);
        break;
    case ISO_CELL_BOOLEAN:
        iso_text_put(text, cell->bits ? "true" : "false");
        break;
    case ISO_CELL_TEXT:
        iso_text_put_bytes(text, cell->text, cell->length);
        break;
    case ISO_CELL_NUMBER:
        put_number(text, cell->text, cell->length);
        break;
    case ISO_CELL_JSON:
        iso_text_put_compact(text, cell->text, cell->length);
        break;
    case ISO_CELL_BYTES:
        put_base64(text, cell);
        break;
    case ISO_CELL_DECIMAL:
        put_decimal(text, cell);
        break;
    case ISO_CELL_DOUBLE:
        put_double(text, double_of(cell));
        break;
    case ISO_CELL_FLOAT:
        put_float(text, float_of(cell));
        break;
    default:
        break;
    }
}

static bool is_finite(const struct iso_cell *cell)
{
    return cell->kind == ISO_CELL_DOUBLE ? isfinite(double_of(cell)) : isfinite(float_of(cell));
}

void iso_cell_put_json(struct iso_text *text, const struct iso_cell *cell)
{
    bool quoted =
        cell->kind == ISO_CELL_TEXT || cell->kind == ISO_CELL_BYTES ||
        cell->kind == ISO_CELL_DECIMAL ||
        ((cell->kind == ISO_CELL_DOUBLE || cell->kind == ISO_CELL_FLOAT) && !is_finite(cell));
    if (cell->kind == ISO_CELL_TEXT && !cell->is_plain) {
        iso_text_put_string(text, cell->text, cell->length);
    } else if (cell->kind == ISO_CELL_NULL) {
        iso_text_put(text, "null");
    } else {
        if (quoted)
            iso_text_put_bytes(text, "\"", 1);
        iso_cell_put(text, cell);
        if (quoted)
            iso_text_put_bytes(text, "\"", 1);
    }
}

/* ---- types ---- */

uint32_t iso_type_digest(const char *type, size_t length, const char *meaning,
                         size_t meaning_length)
{
    uint32_t digest = 0x811c9dc5u;
    for (size_t i = 0; i < length; i++)
        digest = (digest ^ (uint8_t)type[i]) * 0x01000193u;
    digest = (digest ^ 0xff) * 0x01000193u;
    for (size_t i = 0; i < meaning_length; i++)
        digest = (digest ^ (uint8_t)meaning[i]) * 0x01000193u;
    digest &= ~ISO_TYPE_DECIMAL;
    return digest > ISO_TYPE_STRING ? digest : digest + ISO_TYPE_STRING + 1;
}

static bool is_no_number(const struct iso_cell *cell)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (cell->length == strlen(words[i]) && !memcmp(cell->text, words[i], cell->length))
            return true;
    return false;
}

uint32_t iso_cell_type(const struct iso_cell *cell)
{
    enum { NOTHING, NUMBER, BOOLEAN, TEXT, NESTED };
    switch ((enum iso_cell_kind)cell->kind) {
    case ISO_CELL_INTEGER:
    case ISO_CELL_NUMBER:
    case ISO_CELL_DOUBLE:
    case ISO_CELL_FLOAT:
        return NUMBER;
    case ISO_CELL_BOOLEAN:
        return BOOLEAN;
    case ISO_CELL_TEXT:
        return is_no_number(cell) ? NOTHING : TEXT;
    case ISO_CELL_JSON:
        return NESTED;
    default: /* without a schema there are neither bytes nor decimals */
        return NOTHING;
    }
}
