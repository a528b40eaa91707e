/* The constraints of a level, as encode.h makes them; linear.h adds to them. */
#pragma once

#include "base/memory.h"
#include "prove/level.h"
#include "prove/system.h"

struct prove_constraint {
    uint32_t first, count;     /* in `terms` of the encoding */
    uint32_t equal_a, equal_b; /* or none */
};

struct prove_encoding {
    struct prove_system *system;
    enum iso_prove_level level;
    ISO_LIST(struct prove_constraint) constraints;
    ISO_LIST(uint32_t) terms;
    uint32_t *order;      /* [i * count + j]: ar(i, j) */
    uint32_t *visible;    /* [i * count + j]: vis(i, j); not at rc */
    uint32_t **statement; /* rc, by transaction: [statement * count + i], of statements that read */
    uint32_t *moment;     /* by transaction */
    uint32_t strict;      /* a variable, or true if nothing can abort */
    bool stopped;         /* by the system's stop, or too large: not to be used */
    uint32_t wrong;       /* some assertion or invariant is false */
};
