#include "predicate/scalar.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "predicate/digits.h"
#include "values/spelling.h"

static const char *const reason_names[ISO_PREDICATE_REASONS] = {
    [ISO_PREDICATE_JUDGED] = "",           [ISO_PREDICATE_UNKNOWN] = "unknown-value",
    [ISO_PREDICATE_TYPE] = "type",         [ISO_PREDICATE_COLLATION] = "collation",
    [ISO_PREDICATE_SPELLING] = "spelling", [ISO_PREDICATE_SIGN] = "sign",
};

const char *iso_predicate_reason_name(enum iso_predicate_reason reason)
{
    return reason_names[reason];
}

/* ---- reading ---- */

enum { DOUBLE_TEXT = 512, SAFE_DIGITS = 18 };

static struct iso_json_text text_of(const struct iso_scalar *scalar)
{
    return (struct iso_json_text){scalar->text, scalar->length};
}

static bool is(struct iso_json_text text, const char *word)
{
    return iso_json_is(&text, word);
}

static struct iso_scalar of_text(enum iso_scalar_kind kind, struct iso_json_text text)
{
    struct iso_scalar scalar = {.kind = (uint8_t)kind, .length = (uint32_t)text.length};
    scalar.text = text.length ? text.at : "";
    return text.length <= UINT32_MAX ? scalar : iso_scalar_of_kind(ISO_SCALAR_OPAQUE);
}

static struct iso_scalar of_double(double real)
{
    return (struct iso_scalar){.kind = ISO_SCALAR_DOUBLE, .real = real};
}

static bool read_special(struct iso_json_text text, struct iso_scalar *scalar)
{
    if (is(text, "NaN"))
        *scalar = of_double((double)NAN);
    else if (is(text, "Infinity") || is(text, "-Infinity"))
        *scalar = of_double(*text.at == '-' ? (double)-INFINITY : (double)INFINITY);
    else
        return false;
    return true;
}

/* The magnitude of an integer of 64 bits. */
static bool fits(const struct predicate_digits *digits, uint64_t *number)
{
    return !digits->fraction.length &&
           (!digits->whole.length ||
            iso_bytes_number(digits->whole.at, digits->whole.length, number));
}

static struct iso_scalar read_long_number(struct iso_json_text text)
{
    struct iso_scalar scalar;
    struct predicate_digits digits;
    uint64_t number = 0;
    bool negative = text.length && *text.at == '-';
    if (read_special(text, &scalar))
        return scalar;
    if (!predicate_digits_read(&digits,
                               (struct iso_json_text){text.at + negative, text.length - negative}))
        return iso_scalar_of_kind(ISO_SCALAR_OPAQUE);
    if (fits(&digits, &number) && number <= (uint64_t)INT64_MAX + negative)
        return iso_scalar_integer(negative ? (int64_t)(0 - number) : (int64_t)number);
    const char *end = digits.fraction.length ? digits.fraction.at + digits.fraction.length
                                             : digits.whole.at + digits.whole.length;
    scalar = of_text(ISO_SCALAR_DECIMAL,
                     (struct iso_json_text){digits.whole.at, (size_t)(end - digits.whole.at)});
    scalar.is_negative = negative;
    return scalar;
}

static inline struct iso_scalar read_number(struct iso_json_text text)
{
    uint64_t number;
    bool negative = text.length && *text.at == '-';
    if (text.length - negative <= SAFE_DIGITS &&
        iso_bytes_number(text.at + negative, text.length - negative, &number))
        return iso_scalar_integer(negative ? -(int64_t)number : (int64_t)number);
    return read_long_number(text);
}

static struct iso_scalar read_wrapping(struct iso_json_text text, bool is_signed)
{
    struct iso_scalar scalar = read_number(text);
    if (scalar.kind == ISO_SCALAR_INTEGER && scalar.number < 0 && !is_signed)
        scalar.kind = ISO_SCALAR_WRAPPED;
    return scalar;
}

/* As the stream writes it, also with an exponent. */
static struct iso_scalar read_double(struct iso_json_text text)
{
    struct iso_scalar scalar;
    char copy[DOUBLE_TEXT], *end;
    if (read_special(text, &scalar))
        return scalar;
    if (!text.length || text.length >= sizeof copy ||
        !(*text.at == '-' || (*text.at >= '0' && *text.at <= '9')))
        return iso_scalar_of_kind(ISO_SCALAR_OPAQUE);
    memcpy(copy, text.at, text.length);
    copy[text.length] = 0;
    double real = strtod(copy, &end);
    return *end || !isfinite(real) ? iso_scalar_of_kind(ISO_SCALAR_OPAQUE) : of_double(real);
}

static struct iso_scalar read_boolean(struct iso_json_text text)
{
    bool is_true = is(text, "true");
    if (!is_true && !is(text, "false"))
        return iso_scalar_of_kind(ISO_SCALAR_OPAQUE);
    return (struct iso_scalar){.kind = ISO_SCALAR_BOOLEAN, .number = is_true};
}

static struct iso_scalar read_count(struct iso_value_type type, struct iso_json_text text)
{
    struct iso_scalar scalar = read_number(text);
    if (scalar.kind != ISO_SCALAR_INTEGER)
        return iso_scalar_of_kind(ISO_SCALAR_OPAQUE);
    return (struct iso_scalar){.kind = ISO_SCALAR_COUNT,
                               .type = type.kind,
                               .length = (uint16_t)type.detail,
                               .number = scalar.number};
}

/* 2024-02-29T11:34:56Z, 2024-02-29T11:34:56.5Z: as all of them have one form, their bytes are in
 * order, but for the Z. */
static struct iso_scalar read_instant(struct iso_json_text text)
{
    static const char form[] = "0000-00-00T00:00:00";
    size_t whole = sizeof form - 1, length = text.length - 1;
    if (text.length <= whole || text.at[length] != 'Z' ||
        (length > whole && text.at[whole] != '.') || length == whole + 1 ||
        (length > whole && text.at[length - 1] == '0'))
        return iso_scalar_of_kind(ISO_SCALAR_OPAQUE);
    for (size_t i = 0; i < length; i++) {
        bool digit = text.at[i] >= '0' && text.at[i] <= '9', other = i < whole && form[i] != '0';
        if (i != whole && (other ? text.at[i] != form[i] : !digit))
            return iso_scalar_of_kind(ISO_SCALAR_OPAQUE);
    }
    return of_text(ISO_SCALAR_INSTANT, (struct iso_json_text){text.at, length});
}

static struct iso_scalar read_text(enum iso_scalar_kind kind, struct iso_scalar_type type,
                                   struct iso_json_text text)
{
    struct iso_scalar scalar = of_text(kind, text);
    scalar.type = type.value.kind;
    scalar.text_order = type.text;
    scalar.is_signed = type.is_signed;
    return scalar;
}

struct iso_scalar iso_scalar_read(struct iso_scalar_type type, struct iso_json_text text)
{
    switch ((enum iso_value_kind)type.value.kind) {
    case ISO_VALUE_INTEGER:
    case ISO_VALUE_DECIMAL:
    case ISO_VALUE_NUMERIC:
        return read_number(text);
    case ISO_VALUE_INTEGER_64:
        return read_wrapping(text, type.is_signed);
    case ISO_VALUE_BOOLEAN:
        return read_boolean(text);
    case ISO_VALUE_DOUBLE:
        return read_double(text);
    case ISO_VALUE_DATE:
    case ISO_VALUE_TIMESTAMP:
    case ISO_VALUE_TIME:
        return read_count(type.value, text);
    case ISO_VALUE_INSTANT:
        return read_instant(text);
    case ISO_VALUE_TEXT:
        return read_text(ISO_SCALAR_TEXT, type, text);
    case ISO_VALUE_BYTES:
        return of_text(ISO_SCALAR_BYTES, text);
    case ISO_VALUE_BITS:
    case ISO_VALUE_UUID:
        return read_text(ISO_SCALAR_TOKEN, type, text);
    case ISO_VALUE_JSON:
        return read_text(ISO_SCALAR_JSON, type, text);
    case ISO_VALUE_UNKNOWN:
    case ISO_VALUE_ANY:
        return read_text(ISO_SCALAR_UNTYPED, type, text);
    default:
        return iso_scalar_of_kind(ISO_SCALAR_OPAQUE);
    }
}

struct iso_scalar iso_scalar_spell(struct iso_scalar_type type, struct iso_json_text text,
                                   struct iso_text *out)
{
    size_t start = out->used;
    bool is_token = type.value.kind == ISO_VALUE_BITS || type.value.kind == ISO_VALUE_UUID;
    iso_text_reserve(out, 1); /* empty texts have a place, too */
    if (!iso_value_spell(type.value, text, out))
        return is_token ? iso_scalar_of_kind(ISO_SCALAR_OPAQUE) : iso_scalar_read(type, text);
    return iso_scalar_read(type, (struct iso_json_text){out->bytes + start, out->used - start});
}

/* ---- comparing numbers ---- */

/* Its digits, and whether it is below 0. */
static struct predicate_digits digits_of(const struct iso_scalar *scalar,
                                         char room[PREDICATE_INTEGER_DIGITS], bool *negative)
{
    *negative = scalar->kind == ISO_SCALAR_INTEGER ? scalar->number < 0 : scalar->is_negative;
    if (scalar->kind == ISO_SCALAR_DECIMAL)
        return predicate_digits_of(text_of(scalar));
    return predicate_digits_of_integer(
        *negative ? 0 - (uint64_t)scalar->number : (uint64_t)scalar->number, room);
}

static iso_order compare_digits(const struct iso_scalar *left, const struct iso_scalar *right)
{
    char rooms[2][PREDICATE_INTEGER_DIGITS];
    bool minus, other_minus;
    struct predicate_digits one = digits_of(left, rooms[0], &minus),
                            other = digits_of(right, rooms[1], &other_minus);
    if (minus != other_minus)
        return minus ? ISO_ORDER_LESS : ISO_ORDER_GREATER;
    int order = predicate_digits_compare(&one, &other);
    return iso_order_of(minus ? -order : order);
}

double iso_scalar_real(const struct iso_scalar *scalar)
{
    char copy[DOUBLE_TEXT];
    if (scalar->kind == ISO_SCALAR_DOUBLE)
        return scalar->real;
    if (scalar->kind == ISO_SCALAR_INTEGER)
        return (double)scalar->number;
    size_t length = scalar->length < sizeof copy ? scalar->length : sizeof copy - 1;
    struct predicate_digits digits = predicate_digits_of(text_of(scalar));
    memcpy(copy, scalar->text, length);
    copy[length] = 0;
    double real = digits.whole.length < sizeof copy ? strtod(copy, NULL) : DBL_MAX;
    real = isfinite(real) ? real : DBL_MAX;
    return scalar->is_negative ? -real : real;
}

/* NaN equals itself and is above all others, as in PostgreSQL; no other database keeps one. */
static iso_order compare_reals(double left, double right)
{
    if (isnan(left) || isnan(right))
        return iso_order_of(!!isnan(left) - !!isnan(right));
    return iso_order_of((left > right) - (left < right));
}

static bool is_number(const struct iso_scalar *scalar)
{
    return scalar->kind == ISO_SCALAR_INTEGER || scalar->kind == ISO_SCALAR_DECIMAL ||
           scalar->kind == ISO_SCALAR_DOUBLE;
}

static iso_order compare_numbers(const struct iso_scalar *left, const struct iso_scalar *right)
{
    if (left->kind == ISO_SCALAR_DOUBLE || right->kind == ISO_SCALAR_DOUBLE)
        return compare_reals(iso_scalar_real(left), iso_scalar_real(right));
    return compare_digits(left, right);
}

static iso_order turned(iso_order order)
{
    unsigned outcomes = iso_order_outcomes(order), swapped = outcomes & ISO_ORDER_EQUAL;
    swapped |= (outcomes & ISO_ORDER_LESS ? ISO_ORDER_GREATER : 0u) |
               (outcomes & ISO_ORDER_GREATER ? ISO_ORDER_LESS : 0u);
    return (iso_order)((order & ~(unsigned)ISO_ORDER_ANY) | swapped);
}

/* `left` with its sign, or 2^64 more. */
static iso_order compare_wrapped(const struct iso_scalar *left, const struct iso_scalar *right)
{
    char room[PREDICATE_INTEGER_DIGITS];
    struct iso_scalar meant = iso_scalar_integer(left->number);
    if (!is_number(right))
        return iso_order_make(ISO_ORDER_ANY, right->kind == ISO_SCALAR_WRAPPED
                                                 ? ISO_PREDICATE_SIGN
                                                 : ISO_PREDICATE_TYPE);
    iso_order orders = iso_scalar_compare(&meant, right);
    struct predicate_digits digits = predicate_digits_of_integer((uint64_t)left->number, room);
    meant = of_text(ISO_SCALAR_DECIMAL, digits.whole);
    iso_order other = iso_scalar_compare(&meant, right);
    return iso_order_make(iso_order_outcomes(orders) | iso_order_outcomes(other),
                          ISO_PREDICATE_SIGN);
}

/* ---- comparing texts ---- */

static int compare_bytes(const struct iso_scalar *left, const struct iso_scalar *right)
{
    uint32_t common = left->length < right->length ? left->length : right->length;
    int order = common ? memcmp(left->text, right->text, common) : 0;
    return order ? order : (left->length > right->length) - (left->length < right->length);
}

static bool are_same(const struct iso_scalar *left, const struct iso_scalar *right)
{
    return left->length == right->length &&
           (!left->length || !memcmp(left->text, right->text, left->length));
}

static enum iso_text_order order_of_texts(const struct iso_scalar *left,
                                          const struct iso_scalar *right)
{
    return (enum iso_text_order)(left->text_order < right->text_order ? left->text_order
                                                                      : right->text_order);
}

static iso_order compare_texts(const struct iso_scalar *left, const struct iso_scalar *right)
{
    if (are_same(left, right))
        return ISO_ORDER_EQUAL;
    switch (order_of_texts(left, right)) {
    case ISO_TEXT_ORDERED:
        return iso_order_of(compare_bytes(left, right));
    case ISO_TEXT_DISTINCT:
        return iso_order_make(ISO_ORDER_LESS | ISO_ORDER_GREATER, ISO_PREDICATE_COLLATION);
    default:
        return iso_order_make(ISO_ORDER_ANY, ISO_PREDICATE_COLLATION);
    }
}

/* Six bits of base64 at a time: those of the shorter are a prefix where its bytes are. */
static iso_order compare_base64(const struct iso_scalar *left, const struct iso_scalar *right)
{
    for (uint32_t i = 0;; i++) {
        int one = i < left->length ? iso_base64_digit(left->text[i]) : ISO_BASE64_END;
        int other = i < right->length ? iso_base64_digit(right->text[i]) : ISO_BASE64_END;
        if (one == ISO_BASE64_NONE || other == ISO_BASE64_NONE)
            return iso_order_make(ISO_ORDER_ANY, ISO_PREDICATE_TYPE);
        if (one != other || one == ISO_BASE64_END)
            return iso_order_of(one - other);
    }
}

static iso_order of_likeness(enum iso_likeness likeness)
{
    return likeness == ISO_VALUES_EQUAL ? ISO_ORDER_EQUAL
           : likeness == ISO_VALUES_UNCLEAR
               ? iso_order_make(ISO_ORDER_ANY, ISO_PREDICATE_SPELLING)
               : iso_order_make(ISO_ORDER_LESS | ISO_ORDER_GREATER, ISO_PREDICATE_TYPE);
}

static enum iso_likeness likeness_of(uint8_t kind, const struct iso_scalar *left,
                                     const struct iso_scalar *right)
{
    struct iso_spellers spellers = {.client = true,
                                    .only_signed = left->is_signed && right->is_signed};
    return iso_values_compare((struct iso_value_type){.kind = kind}, text_of(left), text_of(right),
                              spellers);
}

/* ---- comparing what has no type ---- */

/* No zeros before it, no plus. */
bool iso_scalar_is_integer(const struct iso_scalar *untyped, struct iso_scalar *integer)
{
    struct iso_json_text text = text_of(untyped);
    size_t first = text.length && *text.at == '-';
    if (first == text.length || (text.at[first] == '0' && text.length > 1))
        return false;
    for (size_t i = first; i < text.length; i++)
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
    *integer = read_number(text);
    return true;
}

static bool begins_with_letter(const struct iso_scalar *untyped)
{
    unsigned char byte = untyped->length ? (unsigned char)*untyped->text : 0;
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte > 127;
}

/* A text's or a number's, where nobody said which: by size, or by bytes, where both say the
 * same. */
static iso_order compare_untyped(const struct iso_scalar *left, const struct iso_scalar *right)
{
    struct iso_scalar one, other;
    enum iso_text_order texts = order_of_texts(left, right);
    if (are_same(left, right))
        return ISO_ORDER_EQUAL;
    bool integers = iso_scalar_is_integer(left, &one) && iso_scalar_is_integer(right, &other);
    if (texts == ISO_TEXT_COLLATED && !integers)
        return iso_order_make(ISO_ORDER_ANY, ISO_PREDICATE_COLLATION);
    enum iso_likeness likeness = likeness_of(ISO_VALUE_UNKNOWN, left, right);
    if (likeness != ISO_VALUES_DIFFER || texts != ISO_TEXT_ORDERED)
        return of_likeness(likeness);
    iso_order by_bytes = iso_order_of(compare_bytes(left, right));
    bool letters = begins_with_letter(left) && begins_with_letter(right);
    return letters || (integers && iso_scalar_compare(&one, &other) == by_bytes)
               ? by_bytes
               : of_likeness(likeness);
}

/* Compares a value without a type with one that has a type. */
static iso_order compare_half_typed(const struct iso_scalar *untyped,
                                    const struct iso_scalar *typed)
{
    struct iso_scalar integer, boolean;
    if (is_number(typed) && iso_scalar_is_integer(untyped, &integer))
        return iso_scalar_compare(&integer, typed);
    if (typed->kind == ISO_SCALAR_BOOLEAN) {
        boolean = read_boolean(text_of(untyped));
        if (boolean.kind == ISO_SCALAR_BOOLEAN)
            return iso_order_of((int)(boolean.number - typed->number));
    }
    return iso_order_make(ISO_ORDER_ANY, ISO_PREDICATE_TYPE);
}

/* ---- comparing times ---- */

bool iso_scalar_nanos(const struct iso_scalar *count, __int128 *nanos)
{
    enum { DAY = 86400, NANO_DIGITS = 9 };
    *nanos = count->number;
    if (count->type == ISO_VALUE_DATE)
        *nanos *= (__int128)DAY * 1000000000;
    for (uint32_t digits = count->length; count->type != ISO_VALUE_DATE && digits < NANO_DIGITS;
         digits++)
        *nanos *= 10;
    return count->type == ISO_VALUE_DATE || count->length <= NANO_DIGITS;
}

/* A day is its beginning. */
static iso_order compare_counts(const struct iso_scalar *left, const struct iso_scalar *right)
{
    __int128 one, other;
    if (left->type == right->type && left->length == right->length)
        return iso_order_of((left->number > right->number) - (left->number < right->number));
    if ((left->type == ISO_VALUE_TIME) != (right->type == ISO_VALUE_TIME) ||
        !iso_scalar_nanos(left, &one) || !iso_scalar_nanos(right, &other))
        return iso_order_make(ISO_ORDER_ANY, ISO_PREDICATE_TYPE);
    return iso_order_of((one > other) - (one < other));
}

/* ---- comparing ---- */

/* Why two that do not compare do not. */
static unsigned reason_of(const struct iso_scalar *left, const struct iso_scalar *right)
{
    unsigned reason = left->kind == ISO_SCALAR_OPAQUE ? left->type : 0u;
    reason = !reason && right->kind == ISO_SCALAR_OPAQUE ? right->type : reason;
    return reason ? reason : ISO_PREDICATE_TYPE;
}

static iso_order compare_alike(const struct iso_scalar *left, const struct iso_scalar *right)
{
    switch ((enum iso_scalar_kind)left->kind) {
    case ISO_SCALAR_BOOLEAN:
        return iso_order_of((int)(left->number - right->number));
    case ISO_SCALAR_COUNT:
        return compare_counts(left, right);
    case ISO_SCALAR_INSTANT:
        return iso_order_of(compare_bytes(left, right));
    case ISO_SCALAR_TEXT:
        return compare_texts(left, right);
    case ISO_SCALAR_BYTES:
        return compare_base64(left, right);
    case ISO_SCALAR_TOKEN:
        if (left->type != right->type)
            break;
        return of_likeness(are_same(left, right) ? ISO_VALUES_EQUAL : ISO_VALUES_DIFFER);
    case ISO_SCALAR_JSON:
        return of_likeness(likeness_of(ISO_VALUE_JSON, left, right));
    case ISO_SCALAR_UNTYPED:
        return compare_untyped(left, right);
    default:
        break;
    }
    return iso_order_make(ISO_ORDER_ANY, reason_of(left, right));
}

iso_order iso_scalar_compare_slow(const struct iso_scalar *left, const struct iso_scalar *right)
{
    if (is_number(left) && is_number(right))
        return compare_numbers(left, right);
    if (left->kind == ISO_SCALAR_WRAPPED)
        return compare_wrapped(left, right);
    if (right->kind == ISO_SCALAR_WRAPPED)
        return turned(compare_wrapped(right, left));
    if (left->kind == right->kind)
        return compare_alike(left, right);
    if (left->kind == ISO_SCALAR_UNTYPED)
        return compare_half_typed(left, right);
    if (right->kind == ISO_SCALAR_UNTYPED)
        return turned(compare_half_typed(right, left));
    return iso_order_make(ISO_ORDER_ANY, reason_of(left, right));
}

/* Whether the bytes of the text decide what is asked of it beside the pattern: then TRUE. */
static iso_truth is_plain(const struct iso_scalar *text, const struct iso_scalar *pattern)
{
    if (text->kind == ISO_SCALAR_NULL)
        return ISO_TRUTH_NULL;
    if (text->kind == ISO_SCALAR_UNKNOWN)
        return iso_truth_make(ISO_TRUTH_ANY, ISO_PREDICATE_UNKNOWN);
    if (text->kind != pattern->kind ||
        (text->kind != ISO_SCALAR_TEXT && text->kind != ISO_SCALAR_UNTYPED))
        return iso_truth_make(ISO_TRUTH_TRUE | ISO_TRUTH_FALSE, reason_of(text, pattern));
    if (order_of_texts(text, pattern) != ISO_TEXT_ORDERED)
        return iso_truth_make(ISO_TRUTH_TRUE | ISO_TRUTH_FALSE, ISO_PREDICATE_COLLATION);
    return ISO_TRUTH_TRUE;
}

iso_truth iso_scalar_begins(const struct iso_scalar *text, const struct iso_scalar *prefix)
{
    iso_truth plain = is_plain(text, prefix);
    return plain != ISO_TRUTH_TRUE
               ? plain
               : iso_truth_of(
                     text->length >= prefix->length &&
                     (!prefix->length || !memcmp(text->text, prefix->text, prefix->length)));
}

static const char *behind_letter(const char *at, const char *end)
{
    do
        at++;
    while (at < end && ((unsigned char)*at & 0xc0) == 0x80);
    return at;
}

/* Only the last % has to be tried with other texts: what stands between two is found where it is
 * first. */
static bool has_form(struct iso_json_text text, struct iso_json_text pattern)
{
    const char *at = text.at, *end = at + text.length;
    const char *form = pattern.at, *form_end = form + pattern.length;
    const char *again = NULL, *form_again = NULL; /* behind the last % */
    while (at < end || form < form_end) {
        bool is_escaped = form_end - form > 1 && *form == '\\';
        if (form < form_end && *form == '%') {
            form_again = ++form;
            again = at;
        } else if (form < form_end && at < end && *form == '_') {
            form++;
            at = behind_letter(at, end);
        } else if (form < form_end && at < end && form[is_escaped] == *at) {
            form += 1 + is_escaped;
            at++;
        } else if (again && again < end) {
            again = at = behind_letter(again, end);
            form = form_again;
        } else {
            return false;
        }
    }
    return true;
}

iso_truth iso_scalar_like(const struct iso_scalar *text, const struct iso_scalar *pattern)
{
    iso_truth plain = is_plain(text, pattern);
    return plain != ISO_TRUTH_TRUE ? plain
                                   : iso_truth_of(has_form(text_of(text), text_of(pattern)));
}

/* ---- hashes and texts ---- */

static void put_decimal(struct iso_text *text, const struct iso_scalar *scalar)
{
    if (scalar->is_negative)
        iso_text_put(text, "-");
    if (*scalar->text == '.')
        iso_text_put(text, "0");
    iso_text_put_bytes(text, scalar->text, scalar->length);
}

static void put_real(struct iso_text *text, double real)
{
    static const struct iso_value_type type = {.kind = ISO_VALUE_DOUBLE};
    char digits[40];
    snprintf(digits, sizeof digits, "%.17g", real);
    iso_value_spell(type, (struct iso_json_text){digits, strlen(digits)}, text);
}

void iso_scalar_put(struct iso_text *text, const struct iso_scalar *scalar)
{
    switch ((enum iso_scalar_kind)scalar->kind) {
    case ISO_SCALAR_BOOLEAN:
        iso_text_put(text, scalar->number ? "true" : "false");
        break;
    case ISO_SCALAR_INTEGER:
    case ISO_SCALAR_WRAPPED:
    case ISO_SCALAR_COUNT:
        iso_text_put_signed(text, scalar->number);
        break;
    case ISO_SCALAR_DECIMAL:
        put_decimal(text, scalar);
        break;
    case ISO_SCALAR_DOUBLE:
        put_real(text, scalar->real);
        break;
    case ISO_SCALAR_INSTANT:
        iso_text_put_bytes(text, scalar->text, scalar->length);
        iso_text_put(text, "Z");
        break;
    default:
        iso_text_put_bytes(text, scalar->text, scalar->length);
        break;
    }
}
