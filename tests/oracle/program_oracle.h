/* Programs against rules in their plainest form: every input, every order, every visibility, one
 * after another.
 *
 * Shares the representation of programs (prove/program.h) and the names of levels with
 * src/programs/prove, and nothing else: an execution is a list of digits, each the answer to "which
 * of so many?"; all lists are gone through as an odometer is. At rc each statement that reads
 * chooses any set of transactions that come before. The axioms of a transaction are looked at when
 * it has run: none needs what comes behind it. (At rc those of a statement at once, if nothing
 * aborts.)
 */
#ifndef TESTS_ORACLE_PROGRAM_ORACLE_H
#define TESTS_ORACLE_PROGRAM_ORACLE_H

#include "prove/level.h"
#include "prove/program.h"

enum { PROGRAM_ORACLE_CELLS = 8, PROGRAM_ORACLE_MOST = 6 /* transactions */ };

/* A state that somebody can find at the end, and at which levels: bits of 1 << level. */
struct program_oracle_state {
    int64_t values[PROGRAM_ORACLE_CELLS]; /* by slot */
    unsigned levels;
};

struct program_oracle {
    unsigned violated; /* levels at which a rule can be broken */
    bool too_many;     /* executions: nothing is said */
    struct program_oracle_state *states;
    uint32_t state_count, state_capacity;
    uint64_t executions;
};

/* Of all levels in `levels`. `states`: collects them, too. */
void program_oracle_run(struct program_oracle *oracle, const struct iso_prove_program *program,
                        unsigned levels, uint64_t most, bool states);
void program_oracle_release(struct program_oracle *oracle);

#endif
