/* Checks a SAT solver's proof, clause by clause: each one that it learned follows from those before
 * by unit propagation. The last one is empty: then nothing satisfies the clauses that were given.
 * Shares no code with any solver.
 *
 * Ownership: a checker owns its copies. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct iso_proof;

struct iso_proof *iso_proof_new(int variables); /* 1 to `variables` */
void iso_proof_free(struct iso_proof *proof);

void iso_proof_give(struct iso_proof *proof, const int *literals, uint32_t count);

/* False: it does not follow, or names a variable that there is not. */
bool iso_proof_learn(struct iso_proof *proof, const int *literals, uint32_t count);

/* The clauses contradict one another. */
bool iso_proof_is_closed(const struct iso_proof *proof);
