/* The machine that executes one transaction after another by symbols, for the files of `system.h`.
 *
 * evaluate.c has what is read and computed, steps.c what branches, loops and claims do to the
 * state, system.c the rounds over all transactions. A term that is FALSE_TERM or TRUE_TERM is known
 * to be it, by term.h.
 */
#pragma once

#include "base/error.h"
#include "prove/system.h"

enum { FALSE_TERM, TRUE_TERM };

struct range {
    int64_t low, high;
};

/* The guess that a round starts from: how wide reads are, and who may write which cell. */
struct guess {
    struct range *ranges; /* by slot */
    bool *writers;        /* by transaction and cell */
};

/* Where an execution stands; what branches copy and merge. */
struct state {
    uint32_t *locals, *written, *values, *claimed;
    uint32_t returned, aborted;
};

enum reader { A_BODY, THE_START, THE_END, A_MOMENT };

struct machine {
    struct prove_system *system;
    const struct iso_prove_program *program;
    struct prove_terms *terms;
    const struct guess *guess;
    struct iso_error *error;
    uint32_t unroll;
    uint64_t work;
    /* the round that counts: what is refused, and what may be out of range, shows here */
    bool last;
    enum reader reader;
    uint32_t instance, locals;
    struct state state;
    uint32_t path; /* the branches taken, as one condition */
    uint32_t statement;
    uint64_t round;
    bool *varies; /* by local: something that was read, or an input, is in it */
    uint32_t *cached, *cached_statement,
        *newest; /* by slot: variables + 1 of this instance's reads */
};

static inline bool prove_fine(const struct machine *machine)
{
    return machine->error->status == ISO_OK;
}

/* ---- evaluate.c ---- */

uint32_t prove_evaluate(struct machine *machine, uint32_t expression);
/* An expression as a condition: whether it is other than 0. */
uint32_t prove_evaluate_truth(struct machine *machine, uint32_t expression);
/* A column of a cell, as the machine's reader finds it. */
uint32_t prove_read_slot(struct machine *machine, uint32_t cell, uint32_t column);
/* The value that other transactions left in a cell's column. */
uint32_t prove_read_others(struct machine *machine, uint32_t cell, uint32_t column);
/* In this branch, and not ended. */
uint32_t prove_live(struct machine *machine);
/* The expression is known before anything has run: no read and no input is in it. */
bool prove_is_fixed(const struct machine *machine, uint32_t expression);
/* The condition that an index is of this table; a constant one that is not is refused, another one
 * noted. */
uint32_t prove_in_range(struct machine *machine, uint32_t table, uint32_t index, bool fixed,
                        struct iso_prove_span span);
/* Asks now and then whether to stop. */
void prove_count_work(struct machine *machine);
/* Refuses terms that are too wide, or too many. */
void prove_refuse_wide(struct machine *machine, struct iso_prove_span span);

/* ---- steps.c ---- */

/* The state in which a transaction begins. */
struct state prove_state_new(const struct machine *machine);
void prove_state_free(struct state *state);
/* The steps from this one on, into the machine's state. */
void prove_run_block(struct machine *machine, uint32_t step);
