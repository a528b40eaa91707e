/* One execution of a program, with all its numbers: what a violation is shown by.
 *
 * The solver's part is an order, who sees whom, and values of the inputs. Replay runs the
 * transactions by these in the order `order`, with plain numbers and no term, checks the axioms of
 * the level, and fills in what happened. A violation is told only if the replay comes to the broken
 * rule, too.
 *
 * Ownership: an execution owns its lists and borrows the program. Threads: one at a time.
 */
#pragma once

#include "base/memory.h"
#include "prove/level.h"
#include "prove/program.h"

/* The snapshot of one statement of an instance (rc). */
struct iso_prove_snapshot {
    uint32_t instance, step;
    uint64_t round; /* in which rounds of the loops around it */
    bool *seen;     /* by instance */
};

enum iso_prove_event_kind {
    ISO_PROVE_BEGINS, /* a statement: `step` */
    ISO_PROVE_READS,  /* a cell's column: `from` is the writer (ISO_NONE: its initial value; the
                         instance: itself) */
    ISO_PROVE_CLAIMS, /* a cell: by LOCK or WRITE. `from` is who claimed it last before, or ISO_NONE
                       */
    ISO_PROVE_WRITES, /* a cell's column */
    ISO_PROVE_ABORTS,
    ISO_PROVE_RETURNS /* `value`, if step has one */
};

struct iso_prove_event {
    enum iso_prove_event_kind kind;
    uint32_t instance, step;
    uint32_t statement; /* counted from 0 in the instance, those that were reached; of a continued
                           step, its statement's */
    uint32_t cell, column, from;
    int64_t value;
    bool newest;      /* READS: behind a claim */
    const bool *seen; /* BEGINS, at rc: whom the statement sees, by instance; or NULL: it needs no
                         snapshot */
};

struct iso_prove_execution {
    const struct iso_prove_program *program;
    enum iso_prove_level level;
    uint32_t count;  /* of instances */
    int64_t *inputs; /* by input */
    uint32_t *order; /* instances in the order of arbitration (of commits) */
    bool *visible;   /* [i * count + j]: j sees i; rc: at its end */
    bool *moment;    /* by instance: what the invariants' reader sees */
    ISO_LIST(struct iso_prove_snapshot) snapshots; /* rc */
    /* By replay: */
    /* Those of one instance after another, in the order `order`. */
    ISO_LIST(struct iso_prove_event) events;
    bool *aborted;    /* by instance */
    uint32_t rule;    /* the broken one, or ISO_NONE */
    uint32_t slots;   /* columns of all cells */
    uint32_t *slot;   /* by cell: its first slot */
    int64_t *initial; /* by slot */
    int64_t *found;   /* by slot: what the rule was asked of */
};

void iso_prove_execution_init(struct iso_prove_execution *execution,
                              const struct iso_prove_program *program, enum iso_prove_level level);
void iso_prove_execution_release(struct iso_prove_execution *execution);

/* Takes over the solver's part of another one of the same program: order, who sees whom, inputs. */
void iso_prove_execution_copy(struct iso_prove_execution *execution,
                              const struct iso_prove_execution *other);

/* Runs it. NULL: it is an execution of the level, and `rule` is broken or none. Else what is wrong
 * with it, which only a fault of ours can make. */
const char *iso_prove_replay(struct iso_prove_execution *execution);
