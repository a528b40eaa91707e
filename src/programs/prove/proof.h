/* Proofs that a program holds: the clauses of the question, and how a solver comes to a
 * contradiction.
 *
 *     isochron-proof 1
 *     transactions 2 unroll 0 file booking.iso
 *     level ser variables 812 clauses 3321
 *     -3 5 0                                      each clause that was learned, in order
 *     0                                           the contradiction
 *     end
 *
 * The clauses of the question are not in the file: who checks makes them of the program again, by
 * the same code, and gives them to a checker that shares nothing with the solver (verify/proof.h).
 * So a proof says that the solver did not err; that the clauses say what the program means is what
 * the tests against enumeration are for.
 */
#pragma once

#include "base/text.h"
#include "prove/prove.h"

enum { ISO_PROVE_PROOF_VERSION = 1 };

struct iso_prove_clauses {
    int *list; /* literals; 0 ends a clause */
    size_t count;
    uint32_t clauses;
    int variables;
};

/* "Some execution of the level breaks a rule, or has more rounds than `unroll`", as clauses; the
 * same ones each time. */
enum iso_status iso_prove_clauses_make(struct iso_prove_clauses *clauses,
                                       const struct iso_prove_program *program,
                                       enum iso_prove_level level, uint32_t unroll,
                                       struct iso_prove_stop stop, struct iso_error *error);
void iso_prove_clauses_release(struct iso_prove_clauses *clauses);

/* The proofs of all levels that hold. ISO_UNDECIDED, with an error: that took longer than the
 * options' seconds. */
enum iso_status iso_prove_put_proofs(const struct iso_prove_program *program,
                                     const struct iso_prove_options *options,
                                     const struct iso_prove_result *result, struct iso_text *text,
                                     struct iso_error *error);

/* The question of a level for an SMT solver (SMT-LIB 2, integers): "unsat" says that the level
 * holds. */
enum iso_status iso_prove_put_smt2(const struct iso_prove_program *program,
                                   enum iso_prove_level level, uint32_t unroll,
                                   struct iso_prove_stop stop, struct iso_text *text,
                                   struct iso_error *error);
