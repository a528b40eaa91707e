#include "prove/term.h"

#include <assert.h>

#include "base/index.h"
#include "base/memory.h"

const int64_t prove_widest = (INT64_C(1) << 61) - 1;

enum { FALSE_TERM, TRUE_TERM };

void prove_terms_init(struct prove_terms *terms)
{
    *terms = (struct prove_terms){0};
    prove_constant(terms, FALSE_TERM);
    prove_constant(terms, TRUE_TERM);
}

void prove_terms_release(struct prove_terms *terms)
{
    iso_free(terms->list);
    iso_index_release(&terms->by_content);
    *terms = (struct prove_terms){0};
}

static uint64_t hash_of(const struct prove_term *term)
{
    uint64_t hash = (uint64_t)term->op * 0x9e3779b97f4a7c15u;
    hash = (hash ^ term->a) * 0xff51afd7ed558ccdu;
    hash = (hash ^ hash >> 32 ^ term->b) * 0xc4ceb9fe1a85ec53u;
    hash = (hash ^ hash >> 29 ^ term->c) * 0xff51afd7ed558ccdu;
    if (term->op == PROVE_CONSTANT)
        hash = (hash ^ (uint64_t)term->low) * 0xc4ceb9fe1a85ec53u;
    return hash >> 32;
}

static bool same(const struct prove_term *a, const struct prove_term *b)
{
    return a->op == b->op && a->a == b->a && a->b == b->b && a->c == b->c &&
           (a->op != PROVE_CONSTANT || a->low == b->low);
}

static uint32_t make(struct prove_terms *terms, struct prove_term term)
{
    assert(term.low <= term.high);
    if (term.low < -prove_widest || term.high > prove_widest) {
        terms->wide = true;
        return FALSE_TERM;
    }
    if (term.op != PROVE_VARIABLE && term.op != PROVE_CONSTANT && term.low == term.high)
        return prove_constant(terms, term.low);
    uint64_t hash = hash_of(&term);
    uint32_t at = iso_index_home(hash), number;
    iso_index_reserve(&terms->by_content, 1);
    for (; iso_index_next(&terms->by_content, &at, hash, &number); at++)
        if (same(&terms->list[number], &term))
            return number;
    ISO_GROW(terms->list, terms->count, terms->capacity);
    iso_index_fill(&terms->by_content, at, hash, terms->count);
    terms->list[terms->count] = term;
    return terms->count++;
}

uint32_t prove_constant(struct prove_terms *terms, int64_t value)
{
    return make(terms, (struct prove_term){.op = PROVE_CONSTANT, .low = value, .high = value});
}

uint32_t prove_variable(struct prove_terms *terms, int64_t low, int64_t high)
{
    assert(low <= high);
    if (low == high)
        return prove_constant(terms, low);
    return make(terms,
                (struct prove_term){
                    .op = PROVE_VARIABLE, .a = terms->variables++, .low = low, .high = high});
}

static uint32_t binary(struct prove_terms *terms, enum prove_term_op op, uint32_t a, uint32_t b,
                       int64_t low, int64_t high)
{
    assert(a < terms->count && b < terms->count);
    return make(terms, (struct prove_term){.op = op, .a = a, .b = b, .low = low, .high = high});
}

uint32_t prove_add(struct prove_terms *terms, uint32_t a, uint32_t b)
{
    const struct prove_term *x = &terms->list[a], *y = &terms->list[b];
    if (prove_is(terms, a, 0))
        return b;
    if (prove_is(terms, b, 0))
        return a;
    return binary(terms, PROVE_ADD, a < b ? a : b, a < b ? b : a, x->low + y->low,
                  x->high + y->high);
}

uint32_t prove_subtract(struct prove_terms *terms, uint32_t a, uint32_t b)
{
    const struct prove_term *x = &terms->list[a], *y = &terms->list[b];
    if (prove_is(terms, b, 0))
        return a;
    if (a == b)
        return FALSE_TERM;
    return binary(terms, PROVE_SUBTRACT, a, b, x->low - y->high, x->high - y->low);
}

uint32_t prove_multiply(struct prove_terms *terms, uint32_t a, uint32_t b)
{
    const struct prove_term *x = &terms->list[a], *y = &terms->list[b];
    if (prove_is(terms, a, 1))
        return b;
    if (prove_is(terms, b, 1))
        return a;
    int64_t corners[4], low, high;
    bool over = __builtin_mul_overflow(x->low, y->low, &corners[0]);
    over |= __builtin_mul_overflow(x->low, y->high, &corners[1]);
    over |= __builtin_mul_overflow(x->high, y->low, &corners[2]);
    over |= __builtin_mul_overflow(x->high, y->high, &corners[3]);
    low = high = corners[0];
    for (int i = 1; i < 4; i++) {
        low = corners[i] < low ? corners[i] : low;
        high = corners[i] > high ? corners[i] : high;
    }
    if (over)
        low = INT64_MIN;
    return binary(terms, PROVE_MULTIPLY, a < b ? a : b, a < b ? b : a, low, high);
}

uint32_t prove_not(struct prove_terms *terms, uint32_t a)
{
    assert(prove_boolean(terms, a));
    if (prove_known(terms, a))
        return terms->list[a].low ? FALSE_TERM : TRUE_TERM;
    if (terms->list[a].op == PROVE_NOT)
        return terms->list[a].a;
    return binary(terms, PROVE_NOT, a, 0, 0, 1);
}

uint32_t prove_equal(struct prove_terms *terms, uint32_t a, uint32_t b)
{
    struct prove_term x = terms->list[a],
                      y = terms->list[b]; /* copies: makers below move the list */
    if (a == b)
        return TRUE_TERM;
    if (x.high < y.low || y.high < x.low)
        return FALSE_TERM;
    if (prove_known(terms, a))
        return prove_equal(terms, b, a);
    if (prove_known(terms, b) && prove_boolean(terms, a))
        return y.low ? a : prove_not(terms, a);
    /* Symbolic indices make choices between constants: one that is another constant drops out. */
    if (prove_known(terms, b) && x.op == PROVE_CHOOSE && prove_known(terms, x.b) &&
        !prove_is(terms, x.b, y.low))
        return prove_and(terms, prove_not(terms, x.a), prove_equal(terms, x.c, b));
    bool turn = !prove_known(terms, b) && a > b;
    return binary(terms, PROVE_EQUAL, turn ? b : a, turn ? a : b, 0, 1);
}

uint32_t prove_less(struct prove_terms *terms, uint32_t a, uint32_t b)
{
    assert(a < terms->count && b < terms->count);
    const struct prove_term *x = &terms->list[a], *y = &terms->list[b];
    if (x->high < y->low)
        return TRUE_TERM;
    if (a == b || x->low >= y->high)
        return FALSE_TERM;
    return binary(terms, PROVE_LESS, a, b, 0, 1);
}

uint32_t prove_and(struct prove_terms *terms, uint32_t a, uint32_t b)
{
    assert(prove_boolean(terms, a) && prove_boolean(terms, b));
    if (a == FALSE_TERM || b == FALSE_TERM || prove_not(terms, a) == b)
        return FALSE_TERM;
    if (a == TRUE_TERM || a == b)
        return b;
    if (b == TRUE_TERM)
        return a;
    return binary(terms, PROVE_AND, a < b ? a : b, a < b ? b : a, 0, 1);
}

uint32_t prove_or(struct prove_terms *terms, uint32_t a, uint32_t b)
{
    return prove_not(terms, prove_and(terms, prove_not(terms, a), prove_not(terms, b)));
}

/* min(x, K) and max(x, K), as SQL's overflow needs them: the bound narrows the interval. */
static void narrow(const struct prove_terms *terms, uint32_t a, uint32_t b, uint32_t c,
                   int64_t *low, int64_t *high)
{
    const struct prove_term *test = &terms->list[a];
    if (test->op != PROVE_LESS)
        return;
    uint32_t small = test->a, large = test->b;
    if (prove_known(terms, small) && c == large && terms->list[b].high <= terms->list[small].low &&
        *high > terms->list[small].low)
        *high = terms->list[small].low; /* K < x ? at most K : x */
    if (prove_known(terms, large) && c == small && terms->list[b].low >= terms->list[large].low &&
        *low < terms->list[large].low)
        *low = terms->list[large].low; /* x < K ? at least K : x */
}

uint32_t prove_choose(struct prove_terms *terms, uint32_t a, uint32_t b, uint32_t c)
{
    assert(prove_boolean(terms, a));
    if (prove_known(terms, a))
        return terms->list[a].low ? b : c;
    if (b == c)
        return b;
    if (terms->list[a].op == PROVE_NOT)
        return prove_choose(terms, terms->list[a].a, c, b);
    if (prove_boolean(terms, b) && prove_boolean(terms, c)) {
        if (prove_known(terms, b))
            return terms->list[b].low ? prove_or(terms, a, c)
                                      : prove_and(terms, prove_not(terms, a), c);
        if (prove_known(terms, c))
            return terms->list[c].low ? prove_or(terms, prove_not(terms, a), b)
                                      : prove_and(terms, a, b);
    }
    const struct prove_term *x = &terms->list[b], *y = &terms->list[c];
    int64_t low = x->low < y->low ? x->low : y->low, high = x->high > y->high ? x->high : y->high;
    narrow(terms, a, b, c, &low, &high);
    assert(low <= high);
    return make(terms, (struct prove_term){
                           .op = PROVE_CHOOSE, .a = a, .b = b, .c = c, .low = low, .high = high});
}

uint32_t prove_truth(struct prove_terms *terms, uint32_t a)
{
    assert(a < terms->count);
    return prove_boolean(terms, a) ? a : prove_not(terms, prove_equal(terms, a, FALSE_TERM));
}
