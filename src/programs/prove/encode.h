/* The executions of a program at a level as constraints over terms: relations, not values.
 *
 *     ar(i, j)          i comes before j; total: one variable for a pair
 *     vis(i, j)         j sees i; at rc for each statement of j that reads its snapshot; implies
 *                       ar(i, j)
 *     moment(i)         the invariants' reader sees i
 *
 * with the axioms of the level (docs/prove.md has them), and for each reader and each cell: if i is
 * the ar-last visible writer of the cell, then what is read is what i wrote; if there is none, the
 * initial value. An aborted transaction writes and claims nothing, and no axiom holds for what it
 * sees; while `strict` is true those of its level do, so that a counterexample is one that a
 * database can show, if there is such a one.
 *
 * A constraint is a clause: terms of which one is true, or else two terms are equal.
 */
#pragma once

#include "prove/encoding.h"

/* The system has `statements` if the level is rc. Terms are added to it. */
void prove_encode(struct prove_encoding *encoding, struct prove_system *system,
                  enum iso_prove_level level);
void prove_encoding_release(struct prove_encoding *encoding);
