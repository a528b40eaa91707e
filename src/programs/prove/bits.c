#include "prove/bits.h"

#include <assert.h>
#include <string.h>

#include "base/index.h"
#include "base/memory.h"

enum { YES = 1, NO = -1 }; /* literals: variable 1 is true */
enum { GATE_AND = 1, GATE_XOR, GATE_CHOOSE, GATE_MAJORITY };
enum { WIDEST = 64 };

void prove_bits_init(struct prove_bits *bits, const struct prove_terms *terms)
{
    *bits = (struct prove_bits){.terms = terms, .variables = 1};
}

void prove_bits_release(struct prove_bits *bits)
{
    ISO_FREE_ALL(bits->clauses.list, bits->literals.list, bits->first, bits->width, bits->gates);
    iso_index_release(&bits->gate_by_inputs);
    *bits = (struct prove_bits){0};
}

/* ---- clauses ---- */

static void put(struct prove_bits *bits, int literal)
{
    ISO_APPEND(bits->clauses, literal);
    bits->clause_count += !literal;
}

/* Those that are constant or stand twice are left out, and a clause that is always true
 * altogether. */
static void clause(struct prove_bits *bits, const int *list, uint32_t count)
{
    assert(count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j <= i; j++)
            if (list[i] == YES || list[i] == -list[j])
                return;
    for (uint32_t i = 0; i < count; i++) {
        bool again = list[i] == NO;
        for (uint32_t j = 0; j < i; j++)
            again = again || list[j] == list[i];
        if (!again)
            put(bits, list[i]);
    }
    put(bits, 0);
}

/* ---- gates ---- */

static uint64_t hash_of(const struct prove_gate *gate)
{
    uint64_t hash = (uint64_t)gate->kind * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (uint32_t)gate->a) * 0xff51afd7ed558ccdu;
    hash = (hash ^ hash >> 31 ^ (uint32_t)gate->b) * 0xc4ceb9fe1a85ec53u;
    hash = (hash ^ hash >> 29 ^ (uint32_t)gate->c) * 0xff51afd7ed558ccdu;
    return hash >> 32;
}

/* The output of a gate, and whether it is new, so that its clauses are due. */
static int gate(struct prove_bits *bits, uint32_t kind, int a, int b, int c, bool *fresh)
{
    struct prove_gate wanted = {.kind = kind, .a = a, .b = b, .c = c};
    uint64_t hash = hash_of(&wanted);
    uint32_t slot = iso_index_home(hash), number;
    iso_index_reserve(&bits->gate_by_inputs, 1);
    for (; iso_index_next(&bits->gate_by_inputs, &slot, hash, &number); slot++) {
        const struct prove_gate *at = &bits->gates[number];
        *fresh = at->kind != kind || at->a != a || at->b != b || at->c != c;
        if (!*fresh)
            return at->out;
    }
    *fresh = true;
    wanted.out = ++bits->variables;
    ISO_GROW(bits->gates, bits->gate_count, bits->gate_capacity);
    iso_index_fill(&bits->gate_by_inputs, slot, hash, bits->gate_count);
    bits->gates[bits->gate_count++] = wanted;
    return wanted.out;
}

static int and (struct prove_bits * bits, int a, int b)
{
    bool fresh;
    if (a == NO || b == NO || a == -b)
        return NO;
    if (a == YES || a == b)
        return b;
    if (b == YES)
        return a;
    int out = a < b ? gate(bits, GATE_AND, a, b, 0, &fresh) : gate(bits, GATE_AND, b, a, 0, &fresh);
    if (fresh) {
        clause(bits, (int[]){-out, a}, 2);
        clause(bits, (int[]){-out, b}, 2);
        clause(bits, (int[]){out, -a, -b}, 3);
    }
    return out;
}

static int or (struct prove_bits * bits, int a, int b)
{
    return -and(bits, -a, -b);
}

static int xor
    (struct prove_bits * bits, int a, int b) {
        bool fresh, turn = (a < 0) != (b < 0);
        if (a == YES || a == NO)
            return a == YES ? -b : b;
        if (b == YES || b == NO)
            return b == YES ? -a : a;
        if (a == b || a == -b)
            return a == b ? NO : YES;
        a = a < 0 ? -a : a;
        b = b < 0 ? -b : b;
        int out =
            a < b ? gate(bits, GATE_XOR, a, b, 0, &fresh) : gate(bits, GATE_XOR, b, a, 0, &fresh);
        if (fresh) {
            clause(bits, (int[]){-out, a, b}, 3);
            clause(bits, (int[]){-out, -a, -b}, 3);
            clause(bits, (int[]){out, -a, b}, 3);
            clause(bits, (int[]){out, a, -b}, 3);
        }
        return turn ? -out : out;
    }

    static int choose(struct prove_bits *bits, int a, int b, int c)
{
    bool fresh;
    if (a == YES || a == NO || b == c)
        return a == NO ? c : b;
    if (b == YES || a == b)
        return or (bits, a, c);
    if (b == NO || a == -b)
        return and(bits, -a, c);
    if (c == YES || a == -c)
        return or (bits, -a, b);
    if (c == NO || a == c)
        return and(bits, a, b);
    if (b == -c)
        return -xor(bits, a, b);
    if (a < 0)
        return choose(bits, -a, c, b);
    int out = gate(bits, GATE_CHOOSE, a, b, c, &fresh);
    if (fresh) {
        clause(bits, (int[]){-a, -b, out}, 3);
        clause(bits, (int[]){-a, b, -out}, 3);
        clause(bits, (int[]){a, -c, out}, 3);
        clause(bits, (int[]){a, c, -out}, 3);
        clause(bits, (int[]){-b, -c, out}, 3);
        clause(bits, (int[]){b, c, -out}, 3);
    }
    return out;
}

/* At least two of three: a carry. */
static int majority(struct prove_bits *bits, int a, int b, int c)
{
    bool fresh;
    if (a == YES || a == NO)
        return a == YES ? or (bits, b, c) : and(bits, b, c);
    if (b == YES || b == NO || c == YES || c == NO)
        return majority(bits, b, c, a);
    if (a == b || a == c)
        return a;
    if (b == c)
        return b;
    if (a == -b)
        return c;
    if (a == -c)
        return b;
    if (b == -c)
        return a;
    int out = gate(bits, GATE_MAJORITY, a, b, c, &fresh);
    if (fresh) {
        clause(bits, (int[]){-a, -b, out}, 3);
        clause(bits, (int[]){-a, -c, out}, 3);
        clause(bits, (int[]){-b, -c, out}, 3);
        clause(bits, (int[]){a, b, -out}, 3);
        clause(bits, (int[]){a, c, -out}, 3);
        clause(bits, (int[]){b, c, -out}, 3);
    }
    return out;
}

/* ---- terms ---- */

/* Literals that hold every number from `low` to `high`, the sign included. */
static uint32_t width_of(int64_t low, int64_t high)
{
    uint32_t width = 1;
    while (low < -(INT64_C(1) << (width - 1)) || high >= INT64_C(1) << (width - 1))
        width++;
    return width;
}

static int bit(const struct prove_bits *bits, uint32_t term, uint32_t i)
{
    uint32_t width = bits->width[term];
    assert(bits->first[term]);
    return bits->literals.list[bits->first[term] - 1 + (i < width ? i : width - 1)];
}

static void add(struct prove_bits *bits, const int *a, const int *b, int carry, int *out,
                uint32_t width)
{
    for (uint32_t i = 0; i < width; i++) {
        out[i] = xor(bits, xor(bits, a[i], b[i]), carry);
        carry = i + 1 < width ? majority(bits, a[i], b[i], carry) : carry;
    }
}

static void load(const struct prove_bits *bits, uint32_t term, int *list, uint32_t width)
{
    assert(width < WIDEST);
    for (uint32_t i = 0; i < width; i++)
        list[i] = bit(bits, term, i);
}

/* Modulo 2^width, which the product fits. The sign of b weighs -2^(its width - 1). */
static void multiply(struct prove_bits *bits, uint32_t a, uint32_t b, int *out, uint32_t width)
{
    int left[WIDEST], shifted[WIDEST], sum[WIDEST];
    uint32_t rounds = bits->width[b];
    assert(rounds && width < WIDEST);
    load(bits, a, left, width);
    for (uint32_t i = 0; i < width; i++)
        out[i] = NO;
    for (uint32_t i = 0; i < rounds && i < width; i++) {
        int by = bit(bits, b, i);
        bool sign = i + 1 == rounds;
        if (by == NO)
            continue;
        for (uint32_t j = 0; j < width; j++) {
            shifted[j] = j < i ? NO : and(bits, by, left[j - i]);
            shifted[j] = sign ? -shifted[j] : shifted[j];
        }
        add(bits, out, shifted, sign ? YES : NO, sum, width);
        memcpy(out, sum, width * sizeof *out);
    }
}

static int equal(struct prove_bits *bits, uint32_t a, uint32_t b)
{
    uint32_t width = bits->width[a] > bits->width[b] ? bits->width[a] : bits->width[b];
    int out = YES;
    for (uint32_t i = 0; i < width && out != NO; i++)
        out = and(bits, out, -xor(bits, bit(bits, a, i), bit(bits, b, i)));
    return out;
}

static int less(struct prove_bits *bits, const int *a, const int *b, uint32_t width)
{
    assert(width && width < WIDEST);
    int out = NO;
    for (uint32_t i = 0; i < width; i++) {
        bool sign = i + 1 == width;
        out = choose(bits, xor(bits, a[i], b[i]), sign ? a[i] : b[i], out);
    }
    return out;
}

static int less_terms(struct prove_bits *bits, uint32_t a, uint32_t b)
{
    uint32_t width = bits->width[a] > bits->width[b] ? bits->width[a] : bits->width[b];
    int left[WIDEST], right[WIDEST];
    load(bits, a, left, width);
    load(bits, b, right, width);
    return less(bits, left, right, width);
}

static void constant(int64_t value, int *out, uint32_t width)
{
    assert(width && width < WIDEST);
    for (uint32_t i = 0; i < width; i++)
        out[i] = (uint64_t)value >> (i < 63 ? i : 63) & 1 ? YES : NO;
}

/* The bits of one term, whose operands have theirs. */
static void make(struct prove_bits *bits, uint32_t number)
{
    const struct prove_term *term = &bits->terms->list[number];
    uint32_t width = width_of(term->low, term->high);
    int out[WIDEST], left[WIDEST], right[WIDEST];
    assert(width < WIDEST);
    switch (term->op) {
    case PROVE_CONSTANT:
        constant(term->low, out, width);
        break;
    case PROVE_VARIABLE:
        for (uint32_t i = 0; i < width; i++)
            out[i] = i + 1 == width && term->low >= 0 ? NO : ++bits->variables;
        break;
    case PROVE_ADD:
    case PROVE_SUBTRACT:
        load(bits, term->a, left, width);
        load(bits, term->b, right, width);
        for (uint32_t i = 0; term->op == PROVE_SUBTRACT && i < width; i++)
            right[i] = -right[i];
        add(bits, left, right, term->op == PROVE_SUBTRACT ? YES : NO, out, width);
        break;
    case PROVE_MULTIPLY:
        if (bits->width[term->a] < bits->width[term->b])
            multiply(bits, term->b, term->a, out, width);
        else
            multiply(bits, term->a, term->b, out, width);
        break;
    case PROVE_CHOOSE:
        for (uint32_t i = 0; i < width; i++)
            out[i] =
                choose(bits, bit(bits, term->a, 0), bit(bits, term->b, i), bit(bits, term->c, i));
        break;
    default:
        out[0] = term->op == PROVE_NOT    ? -bit(bits, term->a, 0)
                 : term->op == PROVE_AND  ? and(bits, bit(bits, term->a, 0), bit(bits, term->b, 0))
                 : term->op == PROVE_LESS ? less_terms(bits, term->a, term->b)
                                          : equal(bits, term->a, term->b);
        out[1] = NO;
    }
    bits->width[number] = width;
    bits->first[number] = bits->literals.count + 1;
    for (uint32_t i = 0; i < width; i++)
        ISO_APPEND(bits->literals, out[i]);
}

/* A variable stays within its range, which need not end at a power of two. */
static void bound_variable(struct prove_bits *bits, uint32_t number)
{
    assert(bits->terms->list[number].op == PROVE_VARIABLE && bits->first[number]);
    const struct prove_term *term = &bits->terms->list[number];
    uint32_t width = bits->width[number];
    int list[WIDEST] = {0}, bound[WIDEST] = {0};
    load(bits, number, list, width);
    constant(term->low, bound, width);
    clause(bits, (int[]){-less(bits, list, bound, width)}, 1);
    constant(term->high, bound, width);
    clause(bits, (int[]){-less(bits, bound, list, width)}, 1);
}

static void mark_operands(const struct prove_terms *terms, uint32_t number, bool *needed)
{
    const struct prove_term *term = &terms->list[number];
    if (term->op <= PROVE_VARIABLE)
        return;
    needed[term->a] = true;
    needed[term->b] = needed[term->b] || term->op != PROVE_NOT;
    needed[term->c] = needed[term->c] || term->op == PROVE_CHOOSE;
}

static void put_constraint(struct prove_bits *bits, const struct prove_encoding *encoding,
                           const struct prove_constraint *constraint)
{
    uint32_t count = constraint->count, width = 1;
    int *list = iso_allocate((count + 2) * sizeof *list);
    bool equality = constraint->equal_a != ISO_NONE;
    for (uint32_t i = 0; i < count; i++)
        list[i] = bit(bits, encoding->terms.list[constraint->first + i], 0);
    if (equality) {
        uint32_t a = bits->width[constraint->equal_a], b = bits->width[constraint->equal_b];
        width = a > b ? a : b;
    }
    for (uint32_t i = 0; i < width; i++) {
        int a = equality ? bit(bits, constraint->equal_a, i) : NO,
            b = equality ? bit(bits, constraint->equal_b, i) : NO;
        if (equality && a == b)
            continue;
        list[count] = a;
        list[count + 1] = equality ? -b : NO;
        clause(bits, list, count + 2);
        list[count] = -a;
        list[count + 1] = b;
        if (equality)
            clause(bits, list, count + 2);
    }
    iso_free(list);
}

static bool asked_to_stop(struct prove_bits *bits, uint32_t i)
{
    if (!(i & 63) && iso_prove_stop_asked(&bits->stop))
        bits->stopped = true;
    return bits->stopped;
}

void prove_bits_encode(struct prove_bits *bits, const struct prove_encoding *encoding,
                       const uint32_t *more, uint32_t count)
{
    const struct prove_terms *terms = bits->terms;
    const struct iso_prove_program *program = encoding->system->program;
    assert(!bits->made && terms == &encoding->system->terms);
    bool *needed = iso_allocate_zeroed(terms->count, sizeof *needed);
    bits->first = iso_allocate_zeroed(terms->count, sizeof *bits->first);
    bits->width = iso_allocate_zeroed(terms->count, sizeof *bits->width);
    bits->made = terms->count;

    put(bits, YES); /* what variable 1 is */
    put(bits, 0);
    for (size_t i = 0; i < encoding->terms.count; i++)
        needed[encoding->terms.list[i]] = true;
    for (uint32_t i = 0; i < encoding->constraints.count; i++)
        if (encoding->constraints.list[i].equal_a != ISO_NONE)
            needed[encoding->constraints.list[i].equal_a] =
                needed[encoding->constraints.list[i].equal_b] = true;
    for (uint32_t i = 0; i < count; i++)
        needed[more[i]] = true;
    for (uint32_t i = 0; i < program->inputs.count; i++)
        needed[encoding->system->inputs[i]] = true;
    for (uint32_t i = terms->count; i-- > 0;)
        if (needed[i])
            mark_operands(terms, i, needed);
    for (uint32_t i = 0; i < terms->count && !asked_to_stop(bits, i); i++)
        if (needed[i])
            make(bits, i);
    for (uint32_t i = 0; bits->all_bounded && i < terms->count && !asked_to_stop(bits, i); i++)
        if (needed[i] && terms->list[i].op == PROVE_VARIABLE)
            bound_variable(bits, i);
    for (uint32_t i = 0; !bits->all_bounded && i < program->inputs.count && !bits->stopped; i++)
        if (terms->list[encoding->system->inputs[i]].op == PROVE_VARIABLE)
            bound_variable(bits, encoding->system->inputs[i]);
    for (uint32_t i = 0; i < encoding->constraints.count && !asked_to_stop(bits, i); i++)
        put_constraint(bits, encoding, &encoding->constraints.list[i]);
    iso_free(needed);
}

bool prove_bits_has(const struct prove_bits *bits, uint32_t term)
{
    return term < bits->made && bits->first[term];
}

int prove_bits_literal(const struct prove_bits *bits, uint32_t term)
{
    assert(prove_bits_has(bits, term));
    return bit(bits, term, 0);
}

int64_t prove_bits_value(const struct prove_bits *bits, uint32_t term,
                         bool (*value)(void *context, int variable), void *context)
{
    uint64_t number = 0;
    if (!prove_bits_has(bits, term))
        return bits->terms->list[term].low;
    for (uint32_t i = 0; i < 64; i++) {
        int literal = bit(bits, term, i);
        bool is = value(context, literal < 0 ? -literal : literal) == (literal > 0);
        number |= (uint64_t)is << i;
    }
    return (int64_t)number;
}
