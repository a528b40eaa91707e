/* Terms as bits, constraints as clauses: what a SAT solver is asked.
 *
 * An integer is in two's complement, as wide as its interval needs; the last literal is its sign.
 * Gates are made once for the same inputs, and constants go through them. Only terms that something
 * needs become gates. The same encoding gives the same clauses with the same numbers, always: a
 * proof is about them.
 *
 * Ownership: owns its clauses; borrows the encoding. Threads: one at a time.
 */
#pragma once

#include "base/index.h"
#include "prove/encode.h"

struct prove_gate {
    uint32_t kind;
    int a, b, c, out;
};

struct prove_bits {
    const struct prove_terms *terms;
    int variables;
    struct {
        int *list; /* literals, 0 ends a clause */
        size_t count, capacity;
    } clauses;
    uint32_t clause_count;
    struct {
        int *list; /* literals of terms */
        size_t count, capacity;
    } literals;
    size_t *first; /* by term: where in `literals`, + 1; 0: not made */
    uint32_t *width;
    uint32_t made; /* terms that the two have room for */
    struct prove_gate *gates;
    uint32_t gate_count, gate_capacity;
    struct iso_index gate_by_inputs;
    bool all_bounded; /* every variable stays within its range; else those of inputs, as reads do by
                         what they read */
    struct iso_prove_stop stop; /* asked now and then. Once true, what was made is not to be used */
    bool stopped;
};

void prove_bits_init(struct prove_bits *bits, const struct prove_terms *terms);
void prove_bits_release(struct prove_bits *bits);

/* The constraints of an encoding, and the ranges of the inputs; terms of `more` get literals,
 * too. */
void prove_bits_encode(struct prove_bits *bits, const struct prove_encoding *encoding,
                       const uint32_t *more, uint32_t count);

/* Whether a term was needed. */
bool prove_bits_has(const struct prove_bits *bits, uint32_t term);

/* The literal of a boolean that was needed. */
int prove_bits_literal(const struct prove_bits *bits, uint32_t term);

/* The value of a term that was needed by a model: `value` says of a variable whether it is true. A
 * term that was not needed gives its lower bound. */
int64_t prove_bits_value(const struct prove_bits *bits, uint32_t term,
                         bool (*value)(void *context, int variable), void *context);
