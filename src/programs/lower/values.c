/* Expressions that fold what is known already, and values of SQL: with NULL and what fails. */
#include <assert.h>
#include <string.h>

#include "lower/lower_private.h"

bool lower_constant_of(const struct lowering *lowering, uint32_t expression, int64_t *number)
{
    if (expression == NONE)
        return false;
    assert(expression < lowering->program->expressions.count);
    const struct iso_prove_expression *found = &lowering->program->expressions.list[expression];
    *number = found->value;
    return found->op == ISO_PROVE_CONSTANT;
}

uint32_t lower_number(struct lowering *lowering, int64_t number)
{
    if (number == 0 || number == 1) {
        uint32_t *known = number ? &lowering->one : &lowering->zero;
        if (*known == NONE)
            *known = iso_prove_constant(lowering->program, number);
        return *known;
    }
    return iso_prove_constant(lowering->program, number);
}

static bool fold(enum iso_prove_op op, int64_t a, int64_t b, int64_t *result)
{
    switch (op) {
    case ISO_PROVE_ADD:
        return !__builtin_add_overflow(a, b, result);
    case ISO_PROVE_SUBTRACT:
        return !__builtin_sub_overflow(a, b, result);
    case ISO_PROVE_MULTIPLY:
        return !__builtin_mul_overflow(a, b, result);
    case ISO_PROVE_EQUAL:
        *result = a == b;
        return true;
    case ISO_PROVE_UNEQUAL:
        *result = a != b;
        return true;
    case ISO_PROVE_LESS:
        *result = a < b;
        return true;
    case ISO_PROVE_LESS_EQUAL:
        *result = a <= b;
        return true;
    case ISO_PROVE_GREATER:
        *result = a > b;
        return true;
    case ISO_PROVE_GREATER_EQUAL:
        *result = a >= b;
        return true;
    default:
        return false;
    }
}

uint32_t lower_make(struct lowering *lowering, enum iso_prove_op op, uint32_t a, uint32_t b,
                    uint32_t c)
{
    assert(op != ISO_PROVE_CONSTANT && a != NONE);
    int64_t one, other, result;
    /* Operands of other operations may be numbers of tables, locals or inputs. */
    bool folds = op >= ISO_PROVE_ADD && op <= ISO_PROVE_GREATER_EQUAL;
    if (folds && lower_constant_of(lowering, a, &one) && lower_constant_of(lowering, b, &other) &&
        fold(op, one, other, &result))
        return lower_number(lowering, result);
    if (lowering->program->expressions.count >= MOST_EXPRESSIONS) {
        lower_refuse(lowering, lowering->at.span.begin,
                     "too many rows and queries: more than %d expressions", MOST_EXPRESSIONS);
        return lower_number(lowering, 0);
    }
    return iso_prove_expression(lowering->program, op, a, b, c, lowering->at.span);
}

uint32_t lower_and(struct lowering *lowering, uint32_t a, uint32_t b)
{
    int64_t number;
    if (a == NONE || b == NONE)
        return NONE;
    if (lower_constant_of(lowering, a, &number))
        return number ? b : NONE;
    if (lower_constant_of(lowering, b, &number))
        return number ? a : NONE;
    return a == b ? a : lower_make(lowering, ISO_PROVE_AND, a, b, NONE);
}

uint32_t lower_or(struct lowering *lowering, uint32_t a, uint32_t b)
{
    int64_t number;
    if (a == NONE || b == NONE)
        return a == NONE ? b : a;
    if (lower_constant_of(lowering, a, &number))
        return number ? a : b;
    if (lower_constant_of(lowering, b, &number))
        return number ? b : a;
    return a == b ? a : lower_make(lowering, ISO_PROVE_OR, a, b, NONE);
}

uint32_t lower_not(struct lowering *lowering, uint32_t a)
{
    int64_t number;
    if (a == NONE)
        return lower_number(lowering, 1);
    if (lower_constant_of(lowering, a, &number))
        return number ? NONE : lower_number(lowering, 1);
    return lower_make(lowering, ISO_PROVE_NOT, a, NONE, NONE);
}

uint32_t lower_choose(struct lowering *lowering, uint32_t condition, uint32_t a, uint32_t b)
{
    assert(a != NONE && b != NONE);
    int64_t number, one, other;
    if (condition == NONE || a == b)
        return b;
    if (lower_constant_of(lowering, condition, &number))
        return number ? a : b;
    if (lower_constant_of(lowering, a, &one) && lower_constant_of(lowering, b, &other) &&
        one == other)
        return a;
    return lower_make(lowering, ISO_PROVE_CHOOSE, condition, a, b);
}

uint32_t lower_any(struct lowering *lowering, const uint32_t *list, uint32_t count)
{
    if (count <= 1)
        return count ? list[0] : NONE;
    uint32_t half = count / 2;
    uint32_t one = lower_any(lowering, list, half);
    return lower_or(lowering, one, lower_any(lowering, list + half, count - half));
}

uint32_t lower_sum(struct lowering *lowering, const uint32_t *list, uint32_t count)
{
    int64_t number;
    if (count <= 1)
        return count ? list[0] : lower_number(lowering, 0);
    uint32_t half = count / 2;
    uint32_t one = lower_sum(lowering, list, half),
             other = lower_sum(lowering, list + half, count - half);
    if (lower_constant_of(lowering, one, &number) && !number)
        return other;
    if (lower_constant_of(lowering, other, &number) && !number)
        return one;
    return lower_make(lowering, ISO_PROVE_ADD, one, other, NONE);
}

/* ---- values ---- */

struct value lower_constant(struct lowering *lowering, enum type type, int64_t number)
{
    return (struct value){type, lower_number(lowering, number), NONE, NONE, number, number};
}

struct value lower_null(struct lowering *lowering)
{
    return (struct value){TYPE_NULL, lower_number(lowering, 0), lower_number(lowering, 1), NONE, 0,
                          0};
}

struct value lower_boolean(struct lowering *lowering, uint32_t at)
{
    int64_t number;
    if (at == NONE)
        return lower_constant(lowering, TYPE_BOOLEAN, 0);
    if (lower_constant_of(lowering, at, &number))
        return lower_constant(lowering, TYPE_BOOLEAN, number != 0);
    return (struct value){TYPE_BOOLEAN, at, NONE, NONE, 0, 1};
}

bool lower_types_meet(enum type one, enum type other)
{
    bool number = one == TYPE_INT || one == TYPE_BIGINT,
         another = other == TYPE_INT || other == TYPE_BIGINT;
    return one == other || one == TYPE_NULL || other == TYPE_NULL || (number && another);
}

const char *lower_type_name(enum type type)
{
    static const char *const names[] = {"NULL", "int", "bigint", "boolean", "text"};
    assert(type < sizeof names / sizeof *names);
    return names[type];
}

struct value lower_value_choose(struct lowering *lowering, uint32_t condition, struct value a,
                                struct value b)
{
    int64_t number;
    enum type type = a.type > b.type ? a.type : b.type;
    if (condition == NONE || (lower_constant_of(lowering, condition, &number) && !number)) {
        b.type = type;
        return b;
    }
    if (lower_constant_of(lowering, condition, &number)) {
        a.type = type;
        return a;
    }
    struct value value = {.type = type, .at = lower_choose(lowering, condition, a.at, b.at)};
    uint32_t not = NONE;
    if (b.null != NONE || b.fails != NONE)
        not = lower_not(lowering, condition);
    value.null = lower_or(lowering, lower_and(lowering, condition, a.null),
                          lower_and(lowering, not, b.null));
    value.fails = lower_or(lowering, lower_and(lowering, condition, a.fails),
                           lower_and(lowering, not, b.fails));
    /* Bounds of a value that is always NULL do not count. */
    bool one = !lower_constant_of(lowering, a.null, &number),
         other = !lower_constant_of(lowering, b.null, &number);
    struct interval interval = {1, 0};
    if (one || !other)
        lower_widen(&interval, a.low, a.high);
    if (other || !one)
        lower_widen(&interval, b.low, b.high);
    value.low = interval.low;
    value.high = interval.high;
    return value;
}

uint32_t lower_truth(struct lowering *lowering, const struct value *value)
{
    assert(value->at != NONE);
    if (value->null == NONE)
        return lower_and(lowering, value->at, lower_number(lowering, 1));
    return lower_and(lowering, value->at, lower_not(lowering, value->null));
}

void lower_fit(struct lowering *lowering, struct value *value, enum type type)
{
    assert((type == TYPE_INT || type == TYPE_BIGINT) && value->at != NONE);
    int64_t least = type == TYPE_INT ? INT32_MIN : -((int64_t)1 << 61),
            most = type == TYPE_INT ? INT32_MAX : (int64_t)1 << 61;
    value->type = type;
    if (type == TYPE_BIGINT) {
        /* Exact numbers have 62 bits: a bigint that could leave them is refused there,
         * with its term. */
        if (value->low < least || value->high > most)
            lower_refuse(lowering, lowering->at.span.begin,
                         "a bigint here could need more than 62 bits; smaller ranges are needed");
        return;
    }
    uint32_t fails = NONE;
    if (value->low < least) {
        fails =
            lower_make(lowering, ISO_PROVE_LESS, value->at, lower_number(lowering, least), NONE);
        value->low = least;
    }
    if (value->high > most) {
        uint32_t over =
            lower_make(lowering, ISO_PROVE_GREATER, value->at, lower_number(lowering, most), NONE);
        fails = lower_or(lowering, fails, over);
        value->high = most;
    }
    if (fails != NONE && value->null != NONE)
        fails = lower_and(lowering, fails, lower_not(lowering, value->null));
    value->fails = lower_or(lowering, value->fails, fails);
    if (value->low > value->high) /* it always fails */
        value->low = value->high = 0;
}

void lower_widen(struct interval *interval, int64_t low, int64_t high)
{
    assert(low <= high);
    if (interval->low > interval->high) {
        *interval = (struct interval){low, high};
        return;
    }
    interval->low = low < interval->low ? low : interval->low;
    interval->high = high > interval->high ? high : interval->high;
}

/* How many bytes the first characters of a text have. */
static size_t bytes_of_characters(const char *text, uint32_t count)
{
    size_t bytes = 0;
    while (text[bytes] && (((unsigned char)text[bytes] & 0xc0) == 0x80 || count)) {
        count -= ((unsigned char)text[bytes] & 0xc0) != 0x80;
        bytes++;
    }
    return bytes;
}

void lower_limit_text(struct lowering *lowering, struct value *value, uint32_t limit)
{
    int64_t low = value->low, high = value->high;
    struct value given = *value;
    for (int64_t i = low; limit && value->type == TYPE_TEXT && i <= high; i++) {
        const char *text = lowering->texts.list[i];
        size_t fits = bytes_of_characters(text, limit);
        if (!text[fits])
            continue;
        uint32_t is_this =
            lower_make(lowering, ISO_PROVE_EQUAL, given.at, lower_number(lowering, i), NONE);
        is_this = lower_and(lowering, is_this, lower_not(lowering, given.null));
        if (text[fits + strspn(text + fits, " ")]) {
            value->fails = lower_or(lowering, value->fails, is_this);
            continue;
        }
        char *cut = iso_copy_text(text, fits);
        struct value other = lower_constant(lowering, TYPE_TEXT, lower_text_number(lowering, cut));
        iso_free(cut);
        *value = lower_value_choose(lowering, is_this, other, *value);
    }
}

uint32_t lower_text_number(struct lowering *lowering, const char *text)
{
    for (uint32_t i = 0; i < lowering->texts.count; i++)
        if (!strcmp(lowering->texts.list[i], text))
            return i;
    ISO_APPEND(lowering->texts, iso_copy_text(text, strlen(text)));
    return lowering->texts.count - 1;
}
