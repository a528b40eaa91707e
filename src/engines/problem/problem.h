/* What a finished history says before any graph: who takes part, what each wrote in the end, what
 * each read of others, and who may have written what a read saw. What is wrong by itself (a
 * transaction that contradicts its own reads, a value of an aborted transaction or of nobody) is a
 * finding.
 *
 *   problem.c          history -> transactions, writes, external reads
 *   lists.c, repeats.c, placements.c   list reads -> the version order of lists, or what it may be
 *   writers.c          who may have written what a read of a register saw
 *   unwritten.c        who else wrote what nobody left behind
 *
 * Transactions, writes and reads are numbers, each from 0; `in_history` and `local` lead to the
 * history's and back. Engines copy the parts that they need (structs of lists) and go on with
 * these; the problem stays the owner of the lists.
 */
#pragma once

#include <string.h>

#include "base/numbers.h"
#include "verdict/polygraph.h"

#define INITIAL 0xfffffffeu /* the version that stands before all others */
#define OPEN 0xffffffffu    /* a read whose writer is not known yet */

/* Time and memory that may be spent, and whether they are. */
struct budget {
    const struct iso_polygraph_options *options;
    double deadline;         /* 0: none */
    const char *stop_reason; /* once the time is up or memory short, or another reason is found */
    double next_check;       /* when to ask for the memory in use again */
};

struct budget budget_from(const struct iso_polygraph_options *options, double start);
bool budget_is_spent(struct budget *budget); /* to be asked every millisecond or so */
bool budget_may_take(struct budget *budget, uint64_t bytes); /* false: memory is short */

/* The transactions that take part: committed ones, and those of unknown outcome that something may
 * read from. */
struct transactions {
    uint32_t count;
    uint32_t *in_history;
    uint32_t *local; /* from the history's; ISO_NONE: takes no part */
};

/* By transaction; columns by write, but for `first`. */
struct writes {
    uint32_t count, *transaction, *key, *value;
    uint32_t *first;   /* by transaction, count + 1 */
    uint32_t *version; /* once they are sorted */
};

/* External reads, by transaction; columns by read, but for `first`. */
struct reads {
    uint32_t count, *transaction, *key, *operation, *value;
    uint32_t *prefix; /* lists (`value` is the list): elements before the reader's own */
    uint32_t
        *writer;    /* a write (polygraph's: a version, once there are versions), INITIAL or OPEN */
    uint32_t *set;  /* several possible writers, or ISO_NONE */
    uint32_t *next; /* the next reader of the same version */
    uint32_t *first; /* by transaction, count + 1 */
    uint32_t open;   /* how many have no writer yet, but several that are possible */
};

/* Sets of possible writers: versions (writes until there are versions), ascending, INITIAL last. A
 * reader's own is in it and not meant. */
struct writer_sets {
    uint32_t count, capacity, member_capacity;
    uint32_t *first, *member; /* first: count + 1 */
};

/* Version orders that lists give, as writes. */
struct list_orders {
    uint32_t count, capacity;
    uint32_t (*pairs)[3]; /* earlier, later, operation of the list read */
};

struct placements;

/* The caller's choices of what is read from the history, and how. */
struct problem_rules {
    bool each_read; /* every read is external but for those of the transaction's own writes (rc) */
    bool all_numbered;  /* transactions have the history's numbers, also those that take no part */
    bool sorts_writes;  /* those of a transaction with many stand by key */
    bool needs_uniques; /* lists whose elements repeat are not resolved: `has_repeats` */
    bool (*must_stop)(void *context); /* while such lists are resolved: no more time or memory */
    void *context;
};

struct problem {
    const struct iso_history *history;
    const struct iso_polygraph_options *options;
    struct iso_polygraph_result *result; /* its findings */
    struct problem_rules rules;
    const uint32_t *seen; /* by read: the write that it is known to have seen, INITIAL, or OPEN: not
                             known; NULL: none is */
    struct transactions transactions;
    struct writes writes;
    struct reads reads;
    struct writer_sets writer_sets;
    struct list_orders list_orders;
    struct placements
        *placements; /* of lists whose elements repeat (placements.h); NULL: none does */
    bool has_repeats;
};

/* From a transaction with more writes on they are sorted, if at all. */
#ifdef ISO_VALIDATE
enum { PROBLEM_MANY_WRITES = 1 };
#else
enum { PROBLEM_MANY_WRITES = 16 };
#endif

/* First all but writers of reads, then these. Between the two reads may be taken out, and `seen` be
 * set. */
void problem_scan(struct problem *problem);
void problem_find_writers(struct problem *problem);
void problem_release(struct problem *problem);

/* Once writers are found, for whom operation and writer of a read are enough: gives the room of all
 * else back. */
void problem_forget_reads(struct problem *problem);

/* Findings: two read-modify-writes of one version. */
void problem_find_lost_updates(struct problem *problem);
/* `keys_by_commit`: those that replaced another version than they had read. */
void problem_find_overwritten(struct problem *problem);

/* An undecided verdict: the evidence goes, since half a proof is none. */
void problem_undecided(struct iso_polygraph_result *result,
                       const struct iso_polygraph_options *options, const char *reason);

void problem_finding(struct problem *problem, enum iso_finding_kind kind, uint32_t transaction,
                     uint32_t operation, uint32_t other);
bool problem_has_findings(const struct problem *problem);

/* placements.c */
void placements_release(struct placements *placements); /* or NULL */

/* lists.c: the writers of list reads, or a finding, or the key's placements say it; fills
 * list_orders and placements. */
void problem_resolve_lists(struct problem *problem);

/* writers.c: fills `writer` and `set` of the others; false: a read has no possible writer. */
bool problem_find_registers(struct problem *problem);

/* unwritten.c: a finding for each register read that has no possible writer. */
void problem_classify_unwritten(struct problem *problem);
