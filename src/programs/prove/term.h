/* Terms: integers over variables with ranges, each made once, with the interval that holds it.
 *
 * Booleans are terms whose interval lies within 0..1. Makers fold what constants and intervals
 * decide, so that a term that is known is PROVE_CONSTANT. Intervals are exact bounds of what the
 * makers can see, and never too narrow; one that leaves 62 bits sets `wide`, and the term is then
 * 0: whoever made it asks and refuses the program.
 *
 * Ownership: a table owns its terms. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/index.h"

enum prove_term_op {
    PROVE_CONSTANT, /* value: low */
    PROVE_VARIABLE, /* a: its number among the variables */
    PROVE_ADD,
    PROVE_SUBTRACT,
    PROVE_MULTIPLY,
    PROVE_EQUAL,
    PROVE_LESS,
    PROVE_NOT,
    PROVE_AND,
    PROVE_CHOOSE /* a ? b : c, a boolean */
};

struct prove_term {
    enum prove_term_op op;
    uint32_t a, b, c;
    int64_t low, high;
};

struct prove_terms {
    struct prove_term *list;
    uint32_t count, capacity;
    struct iso_index by_content;
    uint32_t variables;
    bool wide;
};

extern const int64_t prove_widest; /* 2^61 - 1: 62 bits with the sign */

void prove_terms_init(struct prove_terms *terms);
void prove_terms_release(struct prove_terms *terms);

uint32_t prove_constant(struct prove_terms *terms, int64_t value);
uint32_t prove_variable(struct prove_terms *terms, int64_t low, int64_t high);
uint32_t prove_add(struct prove_terms *terms, uint32_t a, uint32_t b);
uint32_t prove_subtract(struct prove_terms *terms, uint32_t a, uint32_t b);
uint32_t prove_multiply(struct prove_terms *terms, uint32_t a, uint32_t b);
uint32_t prove_equal(struct prove_terms *terms, uint32_t a, uint32_t b);
uint32_t prove_less(struct prove_terms *terms, uint32_t a, uint32_t b);
uint32_t prove_not(struct prove_terms *terms, uint32_t a);
uint32_t prove_and(struct prove_terms *terms, uint32_t a, uint32_t b);
uint32_t prove_or(struct prove_terms *terms, uint32_t a, uint32_t b);
uint32_t prove_choose(struct prove_terms *terms, uint32_t a, uint32_t b, uint32_t c);
uint32_t prove_truth(struct prove_terms *terms, uint32_t a); /* a != 0 */

static inline bool prove_known(const struct prove_terms *terms, uint32_t a)
{
    return terms->list[a].op == PROVE_CONSTANT;
}

static inline bool prove_is(const struct prove_terms *terms, uint32_t a, int64_t value)
{
    return prove_known(terms, a) && terms->list[a].low == value;
}

static inline bool prove_boolean(const struct prove_terms *terms, uint32_t a)
{
    return terms->list[a].low >= 0 && terms->list[a].high <= 1;
}
