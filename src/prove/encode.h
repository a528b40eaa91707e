/* The executions of a program at a level as constraints over terms: relations, not values.
 *
 *     ar(i, j)          i comes before j; total: one variable for a pair
 *     vis(i, j)         j sees i; at rc for each statement of j that reads its snapshot; implies ar(i, j)
 *     moment(i)         the invariants' reader sees i
 *
 * with the axioms of the level (docs/prove.md has them), and for each reader and each cell: if i is the ar-last visible
 * writer of the cell, then what is read is what i wrote; if there is none, the initial value. An aborted transaction
 * writes and claims nothing, and no axiom holds for what it sees; while `strict` is true those of its level do, so that
 * a counterexample is one that a database can show, if there is such a one.
 *
 * A constraint is a clause: terms of which one is true, or else two terms are equal.
 */
#ifndef ISO_PROVE_ENCODE_H
#define ISO_PROVE_ENCODE_H

#include "prove/level.h"
#include "prove/system.h"

struct prove_constraint {
    uint32_t first, count;     /* in `terms` of the encoding */
    uint32_t equal_a, equal_b; /* or none */
};

struct prove_encoding {
    struct prove_system *system;
    enum iso_prove_level level;
    struct {
        struct prove_constraint *list;
        uint32_t count, capacity;
    } constraints;
    struct {
        uint32_t *list;
        uint32_t count, capacity;
    } terms;
    uint32_t *order;      /* [i * count + j]: ar(i, j) */
    uint32_t *visible;    /* [i * count + j]: vis(i, j); not at rc */
    uint32_t **statement; /* rc, by transaction: [statement * count + i], of statements that read */
    uint32_t *moment;     /* by transaction */
    uint32_t strict;      /* a variable, or true if nothing can abort */
    bool stopped;         /* by the system's stop, or too large: not to be used */
    uint32_t wrong;       /* some assertion or invariant is false */
};

/* The system has `statements` if the level is rc. Terms are added to it. */
void prove_encode(struct prove_encoding *encoding, struct prove_system *system, enum iso_prove_level level);
void prove_encoding_release(struct prove_encoding *encoding);

#endif
