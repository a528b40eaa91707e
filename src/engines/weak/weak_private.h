/* What the files of this module share.
 *
 * Transactions are the history's. Writes are final writes, one for each key of a transaction; reads
 * are external ones; both stand by transaction. A *chain* is a session's committed transactions;
 * one of unknown outcome is a chain of its own, behind what its session did before it.
 */
#pragma once

#include "base/memory.h"
#include "weak/weak.h"
#include "problem/problem.h"

/* From which sizes on what is rare in small histories is done; tests with ISO_VALIDATE meet it
 * there, too. */
#ifdef ISO_VALIDATE
enum { MANY = PROBLEM_MANY_WRITES, CHAIN_WORTH = 0, LONGEST_NARROW = 3 };
#else
enum {
    MANY = PROBLEM_MANY_WRITES, /* versions that are walked over without a better way; unsorted
                                   writes */
    CHAIN_WORTH = 1,            /* versions that are walked over rather than search a chain's */
    LONGEST_NARROW = INT16_MAX  /* transactions of a chain, of which rows of clocks have 16 bits */
};
#endif

/* A constraint on the order, beside sessions and reads. */
enum bond_kind {
    BOND_SIDE,  /* a session's transaction comes before its later one of unknown outcome */
    BOND_LIST,  /* a list read shows the order of two writers: `why` is its operation */
    BOND_NOTE,  /* `from` is visible to the reader of `to`'s version: `why` is the read */
    BOND_LEMMA, /* psi: `why` is a lemma of psi.c that says it */
    BOND_TRIED  /* psi: the solver's, for now: `why` is its variable */
};

struct bond {
    uint32_t from, to; /* transactions */
    enum bond_kind kind;
    uint32_t why, key;
};

/* A violation of psi: a write is visible to the reader of another version, and stands behind that
 * version. */
struct hit {
    uint32_t read, write;
};

/* Sessions as chains; columns by transaction. */
struct weak_chains {
    uint8_t *part; /* whether it takes part */
    uint32_t *chain, *position;
    uint32_t *before, *next; /* neighbours in its session: committed ones, or ISO_NONE */
    uint32_t count, part_count;
};

/* The order that is proposed, and what it has to keep (proposal.c). */
struct weak_order {
    uint32_t *list, *position; /* transactions in their order, and where each stands */
    struct bond *bonds;
    uint32_t bond_count, bond_capacity;
    uint32_t *reader_first, *reader; /* by transaction: the reads of what it wrote */
};

/* Versions by key, as far as the sweep has come: those of key x are list[key_first[x]] and
 * `filled[x]` of them (order_sweep.c). */
struct weak_versions {
    uint32_t *key_first, *filled, *list, *slot; /* slot: by write */
    uint32_t *span;     /* writes by key, chain and position; NULL: nobody needed them yet */
    uint32_t *span_end; /* beside them: where those of the key and chain end */
};

/* Findings of sweeps and explanations. */
struct weak_found {
    uint32_t broken_read, broken_by; /* a read of the initial version, and a visible writer of its
                                        key; or ISO_NONE */
    struct hit *hits;                /* psi: instead of notes */
    uint32_t hit_count, hit_capacity;
    uint32_t *used; /* reads whose choices the last explanation rests on */
    uint32_t used_count, used_capacity;
};

struct weak {
    const struct iso_history *history;
    const struct iso_polygraph_options *options;
    struct iso_polygraph_result *result;
    enum iso_level level;
    bool each_read; /* rc, adya-rc: each read is external but for those of the transaction's own
                        writes */
    bool sessions;  /* they keep their order */
    struct budget budget;
    uint32_t rounds;
    struct problem problem; /* what the history says: writes, reads and who may have written them */
    struct weak_chains chains;
    struct weak_order order;
    struct weak_versions versions;
    struct weak_found found;
};

enum weak_answer { WEAK_HOLDS, WEAK_BROKEN, WEAK_STOPPED };

static inline uint32_t read_key(const struct weak *weak, uint32_t read)
{
    return weak->history->ops.key[weak->problem.reads.operation[read]];
}

/* Whether read_source() is a transaction, without asking which. */
static inline bool has_source(const struct weak *weak, uint32_t read)
{
    return weak->problem.reads.writer[read] < INITIAL;
}

/* The writer of the value read; ISO_NONE: nobody, or not known. */
static inline uint32_t read_source(const struct weak *weak, uint32_t read)
{
    uint32_t write = weak->problem.reads.writer[read];
    return write == INITIAL || write == OPEN ? ISO_NONE : weak->problem.writes.transaction[write];
}

static inline bool is_unknown(const struct weak *weak, uint32_t transaction)
{
    return iso_status_of(weak->history, transaction) == ISO_UNKNOWN;
}

/* Whether `earlier` comes before `later` in their session. */
static inline bool is_session_before(const struct weak *weak, uint32_t earlier, uint32_t later)
{
    if (!weak->sessions || is_unknown(weak, earlier))
        return false;
    uint32_t last = is_unknown(weak, later) ? weak->chains.before[later] : later;
    if (last == ISO_NONE || weak->chains.chain[earlier] != weak->chains.chain[last])
        return false;
    return last == later ? weak->chains.position[earlier] < weak->chains.position[later]
                         : weak->chains.position[earlier] <= weak->chains.position[last];
}

/* session_chains.c: transactions, writes, reads and their writers; false: there are findings. */
bool weak_problem_build(struct weak *weak);
void weak_problem_release(struct weak *weak);

/* proposal.c: an order that keeps sessions, reads and bonds, near the one before. False: they close
 * a cycle. */
bool weak_order_propose(struct weak *weak);
bool weak_order_sort(struct weak *weak);
bool weak_order_force(struct weak *weak);   /* the same, but bonds that are tried may be broken */
void weak_order_readers(struct weak *weak); /* once writers are known: fills `reader` */
void weak_order_add_bond(struct weak *weak, struct bond bond);
/* After false: a cycle as edges, each from a transaction to the next one; the caller frees it. */
struct step {
    uint32_t from, to;
    uint32_t bond; /* or ISO_NONE: */
    uint32_t read; /* of `to`, from `from`; or ISO_NONE: their session */
};
struct step *weak_order_cycle(const struct weak *weak, uint32_t *count);

/* order_sweep.c: notes what is broken in the order, as bonds; false: nothing is. */
bool weak_sweep(struct weak *weak);
void weak_sweep_release(struct weak *weak);

/* cycle_lemmas.c: fills the evidence. A lemma is begun, then gets edges, which bring the choices of
 * writers that they rest on. */
struct proof {
    struct weak *weak;
    struct iso_evidence *evidence;
};
void weak_put_session(struct proof *proof, uint32_t from, uint32_t to);
void weak_put_read(struct proof *proof, uint32_t from, uint32_t to, uint32_t read);
void weak_put_order(struct proof *proof, uint32_t from, uint32_t to, uint32_t key);
void weak_put_overwritten(struct proof *proof, uint32_t reader, uint32_t read, uint32_t later);
void weak_say_order(struct proof *proof, uint32_t earlier, uint32_t later, uint32_t key);
void weak_say_bond(struct proof *proof, const struct bond *bond);
void weak_explain_accept(struct weak *weak);

/* Explains the cycle or the read that is broken. Fills `used`. */
void weak_explain_broken(struct weak *weak);
struct iso_literal weak_literal_reads(const struct weak *weak, uint32_t read, uint32_t write,
                                      bool reads);

/* weak.c: sweeps until nothing breaks, or what broke closes a cycle. Reads whose writer is open say
 * nothing. */
enum weak_answer weak_judge_order(struct weak *weak);

/* choose.c: the same with writers chosen for those that are open. BROKEN: the evidence is there. */
enum weak_answer weak_choose(struct weak *weak);

/* psi.c: the same where what writers overwrote is visible, too. BROKEN: the evidence is there. */
enum weak_answer weak_psi_judge(struct weak *weak);

/* proposal.c: forgets notes, which may rest on choices. */
void weak_order_forget(struct weak *weak);
