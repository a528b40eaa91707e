/* The values that readers of everything find, as sums of what writers changed.
 *
 * At the levels where a writer sees every earlier writer of its cell (ser, si, psi; rc behind a
 * claim) a cell's final value is its initial one plus what each writer added, in whatever order
 * they came: the rest telescopes. So sums over cells (money that only moves) become what remains of
 * all changes, often a constant, which a solver of bits would need long to find. Each comparison of
 * a rule whose sides are such sums is told as one more constraint. It follows from the others, and
 * changes no answer.
 */
#pragma once

#include "prove/encoding.h"

/* `list`: by slot, the variables of the reader; `seen`: by transaction, whether it sees it, or
 * NULL: all. Calls `tell` with pairs of terms that are equal. */
void prove_telescope(struct prove_encoding *encoding, const uint32_t *list, const uint32_t *seen,
                     uint32_t rule,
                     void (*tell)(struct prove_encoding *encoding, uint32_t a, uint32_t b));
