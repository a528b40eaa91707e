/* Operators on values: NULL if one of both is, but for AND; bounds are carried along, and what they
 * decide is no expression any more. */
#include <assert.h>

#include "lower/lower_private.h"

static uint32_t null_of(struct lowering *lowering, const struct value *a, const struct value *b)
{
    return lower_or(lowering, a->null, b->null);
}

static bool is_number(const struct value *value)
{
    return value->type == TYPE_INT || value->type == TYPE_BIGINT || value->type == TYPE_NULL;
}

int64_t lower_narrow(__int128 number)
{
    return number > INT64_MAX ? INT64_MAX : number < INT64_MIN ? INT64_MIN : (int64_t)number;
}

struct value lower_arithmetic(struct lowering *lowering, enum iso_prove_op op, struct value a,
                              struct value b, size_t location)
{
    assert(op == ISO_PROVE_ADD || op == ISO_PROVE_SUBTRACT || op == ISO_PROVE_MULTIPLY);
    if (!is_number(&a) || !is_number(&b)) {
        lower_refuse(lowering, location, "arithmetic with %s and %s", lower_type_name(a.type),
                     lower_type_name(b.type));
        return lower_null(lowering);
    }
    if (a.type == TYPE_NULL || b.type == TYPE_NULL) {
        struct value null = lower_null(lowering);
        null.type = a.type > b.type ? a.type : b.type;
        null.fails = lower_or(lowering, a.fails, b.fails);
        return null;
    }
    struct value value = {.null = null_of(lowering, &a, &b),
                          .fails = lower_or(lowering, a.fails, b.fails)};
    __int128 ends[4];
    if (op == ISO_PROVE_MULTIPLY) {
        ends[0] = (__int128)a.low * b.low;
        ends[1] = (__int128)a.low * b.high;
        ends[2] = (__int128)a.high * b.low;
        ends[3] = (__int128)a.high * b.high;
    } else {
        int64_t sign = op == ISO_PROVE_ADD ? 1 : -1;
        ends[0] = ends[2] = (__int128)a.low + (sign > 0 ? (__int128)b.low : -(__int128)b.high);
        ends[1] = ends[3] = (__int128)a.high + (sign > 0 ? (__int128)b.high : -(__int128)b.low);
    }
    __int128 low = ends[0], high = ends[0];
    for (int i = 1; i < 4; i++) {
        low = ends[i] < low ? ends[i] : low;
        high = ends[i] > high ? ends[i] : high;
    }
    value.low = lower_narrow(low);
    value.high = lower_narrow(high);
    value.at = lower_make(lowering, op, a.at, b.at, NONE);
    lower_fit(lowering, &value,
              a.type == TYPE_BIGINT || b.type == TYPE_BIGINT ? TYPE_BIGINT : TYPE_INT);
    return value;
}

/* A comparison that the bounds decide already: 1, 0, or -1 for undecided. */
static int known_order(enum iso_prove_op op, const struct value *a, const struct value *b)
{
    assert(op >= ISO_PROVE_EQUAL && op <= ISO_PROVE_GREATER_EQUAL);
    assert(a->low <= a->high && b->low <= b->high);
    switch (op) {
    case ISO_PROVE_EQUAL:
        return a->low > b->high || a->high < b->low ? 0 : -1;
    case ISO_PROVE_UNEQUAL:
        return a->low > b->high || a->high < b->low ? 1 : -1;
    case ISO_PROVE_LESS:
        return a->high < b->low ? 1 : a->low >= b->high ? 0 : -1;
    case ISO_PROVE_LESS_EQUAL:
        return a->high <= b->low ? 1 : a->low > b->high ? 0 : -1;
    case ISO_PROVE_GREATER:
        return a->low > b->high ? 1 : a->high <= b->low ? 0 : -1;
    default:
        return a->low >= b->high ? 1 : a->high < b->low ? 0 : -1;
    }
}

struct value lower_compare(struct lowering *lowering, enum iso_prove_op op, struct value a,
                           struct value b, size_t location)
{
    bool equality = op == ISO_PROVE_EQUAL || op == ISO_PROVE_UNEQUAL;
    if (!lower_types_meet(a.type, b.type) ||
        (!equality && (a.type == TYPE_TEXT || b.type == TYPE_TEXT))) {
        lower_refuse(
            lowering, location, "a comparison of %s and %s%s", lower_type_name(a.type),
            lower_type_name(b.type),
            a.type == TYPE_TEXT && b.type == TYPE_TEXT ? ": of texts only equality is known" : "");
        return lower_null(lowering);
    }
    struct value value = {.type = TYPE_BOOLEAN,
                          .null = null_of(lowering, &a, &b),
                          .low = 0,
                          .high = 1,
                          .fails = lower_or(lowering, a.fails, b.fails)};
    int known = known_order(op, &a, &b);
    value.at =
        known >= 0 ? lower_number(lowering, known) : lower_make(lowering, op, a.at, b.at, NONE);
    return value;
}

struct value lower_conjunction(struct lowering *lowering, struct value a, struct value b)
{
    uint32_t true_a = lower_truth(lowering, &a), true_b = lower_truth(lowering, &b);
    struct value value = lower_boolean(lowering, lower_and(lowering, true_a, true_b));
    /* Behind what is false nothing is computed. */
    value.fails = lower_or(lowering, a.fails,
                           lower_and(lowering, lower_or(lowering, true_a, a.null), b.fails));
    uint32_t null = null_of(lowering, &a, &b);
    if (null != NONE) { /* neither is false */
        uint32_t maybe = lower_and(lowering, lower_or(lowering, true_a, a.null),
                                   lower_or(lowering, true_b, b.null));
        value.null = lower_and(lowering, null, maybe);
    }
    return value;
}

struct value lower_negation(struct lowering *lowering, struct value a)
{
    uint32_t fails = a.fails, null = a.null;
    a = lower_boolean(lowering,
                      lower_not(lowering, lower_and(lowering, a.at, lower_number(lowering, 1))));
    a.fails = fails;
    a.null = null;
    return a;
}

/* GREATEST and LEAST pass over NULL. */
struct value lower_more_of(struct lowering *lowering, struct value a, struct value b, bool greatest,
                           size_t location)
{
    struct value wins = lower_compare(
        lowering, greatest ? ISO_PROVE_GREATER_EQUAL : ISO_PROVE_LESS_EQUAL, a, b, location);
    uint32_t first = lower_or(lowering, lower_truth(lowering, &wins),
                              lower_and(lowering, b.null, lower_not(lowering, a.null)));
    struct value value = lower_value_choose(lowering, first, a, b);
    value.fails = lower_or(lowering, a.fails, b.fails);
    value.null = lower_and(lowering, a.null, b.null);
    if (a.null == NONE && b.null == NONE) {
        int64_t low = a.low > b.low ? a.low : b.low, high = a.high < b.high ? a.high : b.high;
        value.low = greatest ? low : value.low;
        value.high = greatest ? value.high : high;
    }
    return value;
}
