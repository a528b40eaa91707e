/* The verdicts of a program as one page for people: which levels hold, and each counterexample as
 * its statements in order, with who reads from whom, as the cycle that its dependencies make, and
 * as the state that is found.
 *
 * One file that loads nothing (draw/frame.h), bounded: of a counterexample that is too large for a
 * picture it has the list. Everything from the program is escaped. Threads: one at a time.
 */
#pragma once

#include "base/text.h"
#include "prove/prove.h"

/* `advice`: what --advise printed, or empty. */
void iso_prove_put_page(const struct iso_prove_program *program,
                        const struct iso_prove_result *result, const char *advice,
                        size_t advice_length, struct iso_text *text);
