/* One question at one level, as clauses to the solver, and its model as an execution.
 *
 * Threads: one at a time.
 */
#pragma once

#include "verdict/verdict.h"
#include "prove/bits.h"
#include "prove/execution.h"
#include "solver/solver.h"

struct prove_question {
    struct prove_encoding encoding;
    struct prove_bits bits;
    struct iso_solver *solver;
    const char *stopped; /* why it came to nothing: the time, or the size; or NULL */
};

/* Encodes; `more` terms are those that will be asked beside the encoding's own. */
void prove_question_init(struct prove_question *question, struct prove_system *system,
                         enum iso_prove_level level, const uint32_t *more, uint32_t count);
void prove_question_release(struct prove_question *question);

/* Whether all of these terms can be true at once. */
enum iso_solver_answer prove_question_ask(struct prove_question *question, const uint32_t *terms,
                                          uint32_t count);

/* Whether these terms, of a system without an encoding, can be true at once; then `execution` has
 * the inputs (NULL: they are not asked for). */
enum iso_solver_answer prove_ask_terms(struct prove_system *system, const uint32_t *terms,
                                       uint32_t count, struct iso_prove_execution *execution);

/* Can a rule be broken? Violated: `execution`, which the caller owns, is the replayed one.
 * Undecided: the reason. */
enum iso_outcome prove_solve(struct prove_system *system, enum iso_prove_level level,
                             struct iso_prove_execution *execution, const char **reason);
