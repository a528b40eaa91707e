/* Decides a program: at which levels can no execution of these instances break a rule?
 *
 * One question for a level: "is there an execution that breaks a rule?", as bits to a SAT solver
 * (src/foundation/solver). No: it holds. Yes: the execution is run again with plain numbers
 * (execution.h), and only then told. An execution of a strong level is one of every weaker level,
 * so not every level needs a question of its own: a violation goes down, and that a weak level
 * holds goes up.
 *
 * Undecided: the time is up, the program is too large, or a loop of it can have more rounds than
 * --unroll.
 *
 * Ownership: the result owns what it has and borrows the program. Threads: one at a time.
 */
#pragma once

#include "base/memory.h"
#include "verdict/verdict.h"
#include "prove/execution.h"

struct iso_prove_options {
    bool levels[ISO_PROVE_LEVELS]; /* which are asked */
    uint32_t unroll; /* rounds of loops whose bounds are not constant; 0: such loops are refused */
    double seconds;  /* 0: as long as it takes */
    bool any_number; /* ser, si, pc: for any number of transactions, too (induct.h) */
    bool apart;      /* a question for each level, whatever the others' answers */
};

struct iso_prove_answer {
    enum iso_outcome outcome;
    const char *reason; /* why it is undecided */
    bool shown;         /* violated, and here is the execution */
    struct iso_prove_execution execution;
    bool any_number; /* holds for any number of transactions */
    char *not_any;   /* why that is not known, if it was asked */
};

struct iso_prove_result {
    struct iso_prove_answer answers[ISO_PROVE_LEVELS]; /* of those that were asked */
    bool asked[ISO_PROVE_LEVELS];
    bool sufficient[ISO_PROVE_LEVELS];   /* holds, and no weaker level that was asked does */
    bool breaks_above[ISO_PROVE_LEVELS]; /* violated, and of those that PostgreSQL offers a weaker
                                            one holds */
    uint32_t
        alone;  /* an instance that breaks a rule by itself, at any level; ISO_NONE: not known */
    bool locks; /* the program has locks, without force at pc, cc, ra */
    ISO_LIST(char *) warnings; /* "file:line:column: text" */
};

void iso_prove_result_init(struct iso_prove_result *result);
void iso_prove_result_release(struct iso_prove_result *result);

/* All levels that were asked and not answered. */
void iso_prove_result_undecided(struct iso_prove_result *result,
                                const struct iso_prove_options *options, const char *reason);

/* Bad input: what the program says cannot be asked (an index, an assumption, an invariant that is
 * false at the start). The result is to be read if the status is ISO_OK. */
enum iso_status iso_prove(const struct iso_prove_program *program,
                          const struct iso_prove_options *options, struct iso_prove_result *result,
                          struct iso_error *error);
