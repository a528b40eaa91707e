/* Unit propagation that knows what each conclusion rests on, for trimming proofs.
 *
 * Clauses are counted, not watched: a clause knows how many of its literals are not false, and
 * every literal the clauses that it stands in. A clause has a *source*, a number of the caller's,
 * or ISO_NONE. What follows without assumptions is *known*; what was concluded under assumptions
 * rests on sources and on known literals, each of which rests on a clause again. Ownership: the
 * derivation owns all. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct derivation;

struct derivation *derivation_new(uint32_t sources); /* sources are below */
void derivation_free(struct derivation *derivation);

/* The variable of a name, from 1; the same for the same name. */
int derivation_variable(struct derivation *derivation, const uint32_t name[4], bool *is_new);

/* Without assumptions only. */
void derivation_add(struct derivation *derivation, const int *literals, uint32_t count,
                    uint32_t source);

void derivation_assume(struct derivation *derivation, int literal);
bool derivation_fails(const struct derivation *derivation); /* there is a contradiction */
bool derivation_has(const struct derivation *derivation, int literal);
void derivation_undo(struct derivation *derivation); /* all assumptions */

/* Before that: notes that `source` rests on what made a literal true, or on what the contradiction
 * came from. */
void derivation_rests_on(struct derivation *derivation, uint32_t source, int literal);
void derivation_rests_on_failure(struct derivation *derivation, uint32_t source);

/* Marks a source and all that it rests on. */
void derivation_mark(const struct derivation *derivation, uint32_t source, bool *marked);
