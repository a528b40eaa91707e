#include "predicate/function.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "predicate/digits.h"

enum { MICROS = 6, MOST_DIGITS = 1000, MOST_LETTERS = 10485760 };

/* `detail`: of integers and doubles their bytes. */
static const struct {
    const char *name;
    bool is_type;
    struct iso_value_type type;
    uint32_t precision; /* the most; 0: it takes none */
} functions[] = {
    [PREDICATE_LOWER] = {"lower", false, {.kind = ISO_VALUE_TEXT}, 0},
    {"upper", false, {.kind = ISO_VALUE_TEXT}, 0},
    {"smallint", true, {.kind = ISO_VALUE_INTEGER, .detail = 2}, 0},
    {"int2", true, {.kind = ISO_VALUE_INTEGER, .detail = 2}, 0},
    {"integer", true, {.kind = ISO_VALUE_INTEGER, .detail = 4}, 0},
    {"int", true, {.kind = ISO_VALUE_INTEGER, .detail = 4}, 0},
    {"int4", true, {.kind = ISO_VALUE_INTEGER, .detail = 4}, 0},
    {"bigint", true, {.kind = ISO_VALUE_INTEGER, .detail = 8}, 0},
    {"int8", true, {.kind = ISO_VALUE_INTEGER, .detail = 8}, 0},
    {"numeric", true, {.kind = ISO_VALUE_NUMERIC}, MOST_DIGITS},
    {"decimal", true, {.kind = ISO_VALUE_NUMERIC}, MOST_DIGITS},
    {"real", true, {.kind = ISO_VALUE_DOUBLE, .detail = 4}, 0},
    {"float4", true, {.kind = ISO_VALUE_DOUBLE, .detail = 4}, 0},
    {"double", true, {.kind = ISO_VALUE_DOUBLE}, 0},
    {"double precision", true, {.kind = ISO_VALUE_DOUBLE}, 0},
    {"float8", true, {.kind = ISO_VALUE_DOUBLE}, 0},
    {"boolean", true, {.kind = ISO_VALUE_BOOLEAN}, 0},
    {"bool", true, {.kind = ISO_VALUE_BOOLEAN}, 0},
    {"text", true, {.kind = ISO_VALUE_TEXT}, 0},
    {"varchar", true, {.kind = ISO_VALUE_TEXT}, MOST_LETTERS},
    {"character varying", true, {.kind = ISO_VALUE_TEXT}, MOST_LETTERS},
    {"uuid", true, {.kind = ISO_VALUE_UUID}, 0},
    {"date", true, {.kind = ISO_VALUE_DATE}, 0},
    {"time", true, {.kind = ISO_VALUE_TIME, .detail = MICROS}, 0},
    {"time without time zone", true, {.kind = ISO_VALUE_TIME, .detail = MICROS}, 0},
    {"timestamp", true, {.kind = ISO_VALUE_TIMESTAMP, .detail = MICROS}, 0},
    {"timestamp without time zone", true, {.kind = ISO_VALUE_TIMESTAMP, .detail = MICROS}, 0},
    {"timestamptz", true, {.kind = ISO_VALUE_INSTANT}, 0},
    {"timestamp with time zone", true, {.kind = ISO_VALUE_INSTANT}, 0},
};

uint8_t predicate_function_named(struct iso_json_text name, bool is_type)
{
    for (uint8_t i = PREDICATE_LOWER; i < sizeof functions / sizeof *functions; i++)
        if (functions[i].is_type == is_type && name.length == strlen(functions[i].name) &&
            !strncasecmp(name.at, functions[i].name, name.length))
            return i;
    return PREDICATE_NO_FUNCTION;
}

bool predicate_call_fits(struct predicate_call call)
{
    bool takes_scale = functions[call.function].type.kind == ISO_VALUE_NUMERIC;
    return call.precision <= functions[call.function].precision &&
           (uint32_t)call.scale <= (takes_scale ? call.precision : 0);
}

enum predicate_function_sort predicate_function_sort(uint8_t function)
{
    return !functions[function].is_type                      ? PREDICATE_FOLDS
           : functions[function].type.kind == ISO_VALUE_TEXT ? PREDICATE_IS_TEXT
                                                             : PREDICATE_CASTS;
}

bool predicate_function_is_number(uint8_t function)
{
    return functions[function].type.kind == ISO_VALUE_INTEGER ||
           functions[function].type.kind == ISO_VALUE_NUMERIC;
}

struct iso_scalar_type predicate_function_type(uint8_t function, struct iso_scalar_type type)
{
    enum predicate_function_sort sort = predicate_function_sort(function);
    bool is_untyped = type.value.kind == ISO_VALUE_UNKNOWN || type.value.kind == ISO_VALUE_ANY;
    if (sort == PREDICATE_CASTS)
        return (struct iso_scalar_type){.value = functions[function].type, .is_signed = true};
    if (sort == PREDICATE_FOLDS || !is_untyped)
        type.value = functions[function].type;
    return type;
}

/* ---- letters ---- */

static struct iso_scalar opaque(enum iso_predicate_reason reason)
{
    return (struct iso_scalar){.kind = ISO_SCALAR_OPAQUE, .type = (uint8_t)reason};
}

static struct iso_scalar fold(const struct iso_scalar *value, bool is_upper, struct iso_text *room)
{
    char first = is_upper ? 'a' : 'A', *at = iso_text_reserve(room, value->length + 1u);
    if (value->kind != ISO_SCALAR_TEXT && value->kind != ISO_SCALAR_UNTYPED)
        return opaque(ISO_PREDICATE_TYPE);
    for (uint32_t i = 0; i < value->length; i++) {
        char byte = value->text[i];
        if ((unsigned char)byte > 127)
            return opaque(ISO_PREDICATE_COLLATION);
        at[i] = byte >= first && byte < first + 26 ? byte ^ 0x20 : byte;
    }
    if (value->text_order != ISO_TEXT_ORDERED)
        return opaque(ISO_PREDICATE_COLLATION);
    struct iso_scalar text = *value;
    text.kind = ISO_SCALAR_TEXT;
    text.type = ISO_VALUE_TEXT;
    text.text = at;
    room->used = value->length;
    return text;
}

/* ---- numbers ---- */

static bool is_number(const struct iso_scalar *value)
{
    return value->kind == ISO_SCALAR_INTEGER || value->kind == ISO_SCALAR_DECIMAL ||
           value->kind == ISO_SCALAR_DOUBLE;
}

static bool round_decimal(const struct iso_scalar *value, int64_t *number)
{
    uint64_t whole = 0;
    struct predicate_digits digits =
        predicate_digits_of((struct iso_json_text){value->text, value->length});
    if (digits.whole.length && !iso_bytes_number(digits.whole.at, digits.whole.length, &whole))
        return false;
    bool is_up = digits.fraction.length && *digits.fraction.at >= '5';
    if (whole > (uint64_t)INT64_MAX - is_up)
        return false;
    *number = (int64_t)(whole + is_up) * (value->is_negative ? -1 : 1);
    return true;
}

static struct iso_scalar to_integer(const struct iso_scalar *value, int bytes)
{
    const double beyond = 9223372036854775808.0;
    int64_t number = value->number, most = bytes == 2   ? INT16_MAX
                                           : bytes == 4 ? INT32_MAX
                                                        : INT64_MAX;
    bool fits = true;
    if (value->kind == ISO_SCALAR_DECIMAL) {
        fits = round_decimal(value, &number);
    } else if (value->kind == ISO_SCALAR_DOUBLE) {
        double real = nearbyint(value->real);
        fits = real >= -beyond && real < beyond;
        number = fits ? (int64_t)real : 0;
    }
    return fits && number <= most && number >= -most - 1 ? iso_scalar_integer(number)
                                                         : opaque(ISO_PREDICATE_TYPE);
}

static struct iso_scalar to_numeric(const struct iso_scalar *value, struct iso_text *room)
{
    static const struct iso_scalar_type numeric = {.value = {.kind = ISO_VALUE_NUMERIC}};
    char digits[40];
    if (value->kind != ISO_SCALAR_DOUBLE || !isfinite(value->real))
        return *value;
    int length = snprintf(digits, sizeof digits, "%.*g", value->is_single ? 6 : 15, value->real);
    struct iso_scalar number =
        iso_scalar_spell(numeric, (struct iso_json_text){digits, (size_t)length}, room);
    if (number.kind == ISO_SCALAR_DECIMAL && !room->used) /* refers to `digits` */
        return opaque(ISO_PREDICATE_TYPE);
    return number;
}

static struct iso_scalar to_double(const struct iso_scalar *value, bool is_single)
{
    struct iso_scalar real = {
        .kind = ISO_SCALAR_DOUBLE, .is_single = is_single, .real = iso_scalar_real(value)};
    if (is_single && value->kind == ISO_SCALAR_INTEGER)
        real.real = (double)(float)value->number;
    else if (is_single)
        real.real = (double)(float)real.real;
    return real;
}

static struct iso_scalar to_number(struct iso_value_type type, const struct iso_scalar *value,
                                   struct iso_text *room)
{
    struct iso_scalar number = *value;
    if (value->kind == ISO_SCALAR_BOOLEAN && type.detail == 4 && type.kind == ISO_VALUE_INTEGER)
        return iso_scalar_integer(value->number);
    if (value->kind == ISO_SCALAR_UNTYPED && !iso_scalar_is_integer(value, &number))
        return opaque(ISO_PREDICATE_TYPE);
    if (!is_number(&number))
        return opaque(ISO_PREDICATE_TYPE);
    return type.kind == ISO_VALUE_INTEGER   ? to_integer(&number, type.detail)
           : type.kind == ISO_VALUE_NUMERIC ? to_numeric(&number, room)
                                            : to_double(&number, type.detail == 4);
}

/* ---- dates and times ---- */

#define DAY_NANOS ((__int128)86400 * 1000000000)

static struct iso_scalar to_count(struct iso_value_type type, const struct iso_scalar *value)
{
    struct iso_scalar count = *value;
    __int128 nanos, number;
    bool is_known = value->kind == ISO_SCALAR_COUNT && iso_scalar_nanos(value, &nanos) &&
                    (value->type == type.kind || value->type == ISO_VALUE_TIMESTAMP ||
                     (value->type == ISO_VALUE_DATE && type.kind == ISO_VALUE_TIMESTAMP));
    if (!is_known)
        return opaque(ISO_PREDICATE_TYPE);
    __int128 days = nanos / DAY_NANOS - (nanos % DAY_NANOS < 0);
    if (type.kind == ISO_VALUE_TIME && value->type == ISO_VALUE_TIMESTAMP)
        nanos -= days * DAY_NANOS;
    number = type.kind == ISO_VALUE_DATE ? days : nanos / 1000;
    if (number > INT64_MAX || number < INT64_MIN || (type.kind != ISO_VALUE_DATE && nanos % 1000))
        return opaque(ISO_PREDICATE_TYPE);
    count.type = type.kind;
    count.length = (uint16_t)type.detail;
    count.number = (int64_t)number;
    return count;
}

/* ---- all of them ---- */

static bool is_of(const struct iso_scalar *value, enum iso_scalar_kind kind, uint8_t type)
{
    return value->kind == kind && (kind != ISO_SCALAR_TOKEN || value->type == type);
}

static struct iso_scalar cast(struct iso_value_type type, const struct iso_scalar *value,
                              struct iso_text *room)
{
    enum iso_scalar_kind kept = ISO_SCALAR_UNKNOWN;
    switch ((enum iso_value_kind)type.kind) {
    case ISO_VALUE_INTEGER:
    case ISO_VALUE_NUMERIC:
    case ISO_VALUE_DOUBLE:
        return to_number(type, value, room);
    case ISO_VALUE_DATE:
    case ISO_VALUE_TIMESTAMP:
    case ISO_VALUE_TIME:
        return to_count(type, value);
    case ISO_VALUE_BOOLEAN:
        if (value->kind == ISO_SCALAR_INTEGER)
            return (struct iso_scalar){.kind = ISO_SCALAR_BOOLEAN, .number = value->number != 0};
        kept = ISO_SCALAR_BOOLEAN;
        break;
    case ISO_VALUE_TEXT:
        kept = value->kind == ISO_SCALAR_UNTYPED ? ISO_SCALAR_UNTYPED : ISO_SCALAR_TEXT;
        break;
    case ISO_VALUE_UUID:
        kept = ISO_SCALAR_TOKEN;
        break;
    default:
        kept = ISO_SCALAR_INSTANT;
        break;
    }
    return is_of(value, kept, type.kind) ? *value : opaque(ISO_PREDICATE_TYPE);
}

struct iso_scalar predicate_apply(struct predicate_call call, const struct iso_scalar *value,
                                  struct iso_text *room)
{
    uint8_t function = call.function;
    assert(function && function < sizeof functions / sizeof *functions && !room->used);
    if (value->kind <= ISO_SCALAR_OPAQUE)
        return *value;
    if (!functions[function].is_type)
        return fold(value, function != PREDICATE_LOWER, room);
    struct iso_scalar made = cast(functions[function].type, value, room);
    return !call.precision ? made
           : functions[function].type.kind == ISO_VALUE_TEXT
               ? predicate_limit_text(call, made)
               : predicate_limit_number(call, made, room);
}
