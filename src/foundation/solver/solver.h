/* A SAT solver over clauses of integers: CaDiCaL behind a small wall.
 *
 * Variables are 1, 2, ...; a literal is a variable or its negation. A variable that nothing decides
 * becomes true, so encode the likely answer as *true*. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct iso_solver;

enum iso_solver_answer { ISO_SOLVER_TRUE, ISO_SOLVER_FALSE, ISO_SOLVER_STOPPED };

struct iso_solver *iso_solver_new(void);
void iso_solver_free(struct iso_solver *solver);

/* Asked now and then: true stops the search. */
void iso_solver_set_stop(struct iso_solver *solver, bool (*stop)(void *context), void *context);

void iso_solver_clause(struct iso_solver *solver, const int *literals, uint32_t count);
enum iso_solver_answer iso_solver_solve(struct iso_solver *solver, const int *assumptions,
                                        uint32_t count);
bool iso_solver_value(struct iso_solver *solver, int variable); /* after TRUE */
bool iso_solver_failed(struct iso_solver *solver,
                       int assumption); /* after FALSE: the answer used it */

/* For proofs: before the first clause. Every clause that is learned is told, in order; each follows
 * from those before by unit propagation. Switches off what would break that. */
void iso_solver_set_learn(struct iso_solver *solver,
                          void (*learn)(void *context, const int *clause, uint32_t count),
                          void *context);
