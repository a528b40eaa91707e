/* Advice that makes a program hold where it does not: the smallest set of reads to lock, or of rows
 * to update.
 *
 * Candidates are the cells that a transaction reads: a lock in front of the read (SELECT .. FOR
 * UPDATE), which is asked first, or an update of the cell to what it is, which conflicts with
 * others of its kind where a lock does not (at si). Each set of them, the small ones first, is put
 * into the program, and the program is proved again; what is advised is proved. Programs of SQL
 * have advice of their own (lower/remedy.h).
 *
 * Threads: one at a time.
 */
#pragma once

#include "prove/prove.h"

enum { ISO_PROVE_ADVISED = 3 /* at most so many together */ };

struct iso_prove_remedy {
    bool update; /* else lock */
    uint32_t template, table, step;
    uint32_t index; /* an expression; ISO_NONE: all rows */
};

struct iso_prove_advice {
    bool asked; /* violated there, and locks count there: si, rc */
    bool found, timeout;
    struct iso_prove_remedy remedies[ISO_PROVE_ADVISED];
    uint32_t count;
    uint32_t tried; /* sets */
};

/* For si and rc, where they are violated. The program gets more steps while it is tried, and is
 * then as it was. */
enum iso_status iso_prove_advise(struct iso_prove_program *program,
                                 const struct iso_prove_options *options,
                                 const struct iso_prove_result *result,
                                 struct iso_prove_advice advice[ISO_PROVE_LEVELS],
                                 struct iso_error *error);

/* The next `count` of `all` numbers, in their order; false: those were the last. */
bool iso_prove_next_choice(uint32_t *chosen, uint32_t count, uint32_t all);

/* "at rc: lock seats in book, before booking.iso:5:27", a line for each level. */
void iso_prove_put_advice(const struct iso_prove_program *program,
                          const struct iso_prove_result *result,
                          const struct iso_prove_advice advice[ISO_PROVE_LEVELS],
                          struct iso_text *text);
void iso_prove_put_advice_json(const struct iso_prove_program *program,
                               const struct iso_prove_advice advice[ISO_PROVE_LEVELS],
                               struct iso_text *text);
