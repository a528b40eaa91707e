/* A program executed by symbols: what each transaction writes, claims and asserts, as terms over
 * what it reads.
 *
 * Every transaction is executed by itself, once, without forks: where branches meet, values are
 * merged under the branch's condition (a CHOOSE). What it reads of others is a variable, one for
 * each cell and column (and statement, at rc), whose interval holds all that the others can have
 * written: found by rounds, because what is written depends on what was read; n transactions need n
 * rounds, since no chain of reads is longer. Which writer a variable gets its value from is the
 * encoding's to say (encode.h); this file knows no order.
 *
 * A *slot* is a column of a cell. All lists by cell or slot are of the whole program.
 *
 * Ownership: the system owns all but the program. Threads: one at a time.
 */
#pragma once

#include "base/memory.h"
#include "prove/program.h"
#include "prove/term.h"

enum { PROVE_NEWEST = 0xfffffffeu }; /* instead of a statement: read behind a claim */

struct prove_read {
    uint32_t statement; /* or PROVE_NEWEST; 0 where there is one snapshot */
    uint32_t cell, column;
    uint32_t variable;
};

/* The identity of a statement, by which the replay finds it: its first step, and in which rounds of
 * the loops around it. */
struct prove_statement {
    uint32_t step;
    uint64_t round;
    bool reads; /* reads its snapshot at all */
};

struct prove_claim {
    uint32_t cell, statement, guard; /* the guard does not know of a later abort */
};

struct prove_transaction {
    ISO_LIST(struct prove_statement) statements;
    ISO_LIST(struct prove_read) reads;
    ISO_LIST(struct prove_claim) claims;
    uint32_t committed;
    uint32_t *writes;  /* by cell: whether, false if it aborts */
    uint32_t *claimed; /* by cell: written or locked, false if it aborts */
    uint32_t *values;  /* by slot, if it writes */
};

struct prove_outside { /* an index that can be out of range, by what intervals know */
    uint32_t term;     /* it is reached and is out of range */
    uint32_t instance;
    struct iso_prove_span span;
};

struct prove_system {
    const struct iso_prove_program *program;
    struct prove_terms terms;
    bool statements; /* rc: a snapshot for each statement */
    bool locks;      /* a LOCK is somewhere */
    uint32_t count;  /* of transactions */
    uint32_t slots;
    uint32_t *first_slot; /* by cell */
    uint32_t *inputs;     /* by input: its variable */
    uint32_t *initial;    /* by slot */
    struct prove_transaction *transactions;
    uint32_t *ended,
        *seen; /* by slot: what reads everything at the end; what the invariants' reader reads */
    uint32_t assumed; /* all assumptions */
    uint32_t
        *rules; /* by rule: it is true (of initial values, at the end, of what the reader reads) */
    uint32_t *at_start; /* by rule: an invariant, of the initial values */
    uint32_t unrolled;  /* some transaction reaches a round beyond --unroll */
    ISO_LIST(struct prove_outside) outside;
    struct iso_prove_stop stop; /* asked while it is built, and while things are built from it */
};

/* `unroll`: rounds of FORs whose bounds are not constant; 0: they are refused. ISO_UNDECIDED: it
 * was stopped. */
enum iso_status prove_system_build(struct prove_system *system,
                                   const struct iso_prove_program *program, bool statements,
                                   uint32_t unroll, struct iso_prove_stop stop,
                                   struct iso_error *error);
/* One transaction by itself, of a template with any parameters of these ranges, on any state (each
 * value within 32 bits and a sign): `seen` is the state that it reads, `transactions[0]` what it
 * does, `rules` of that state. `ended` is another state, which `prove_system_rules` asks
 * about. For the induction of induct.h. */
enum iso_status prove_system_build_template(struct prove_system *system,
                                            const struct iso_prove_program *program,
                                            uint32_t template, const int64_t *least,
                                            const int64_t *most, uint32_t unroll,
                                            struct iso_prove_stop stop, struct iso_error *error);
/* Whether all assertions and invariants are true of `ended`, as it is now, or of the initial
 * values. */
uint32_t prove_system_rules(struct prove_system *system, bool at_end, struct iso_error *error);

void prove_system_release(struct prove_system *system);

/* The number of a round of a loop inside of the round `outer` of the loops around it. */
static inline uint64_t prove_round(uint64_t outer, uint64_t number)
{
    return outer * 1000003 + number + 1;
}

/* A session runs `a` before `b`. */
bool prove_before(const struct iso_prove_program *program, uint32_t a, uint32_t b);
