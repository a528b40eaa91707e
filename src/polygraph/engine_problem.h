/* The problem: what a finished history says, before any graph.
 *
 * A *version* is the final write of a key by a transaction. Writes stand as they come; versions stand sorted by key,
 * chain and position (chains.c), and a *span* is the versions of one key in one chain. Transactions, writes, reads and
 * versions are numbers here, each from 0; `in_history` and `local` lead to the history's and back.
 */
#pragma once

#include "base/numbers.h"
#include "iso/polygraph.h"

#define INITIAL 0xfffffffeu /* the version that stands before all others */
#define OPEN 0xffffffffu    /* a read whose writer is not known yet */

/* A stamp is 1 + the position of a node in its chain, 0 is none. Chains are cut so that stamps fit the vector
 * unit's signed 16 bits: eight chains of a clock are compared at once. */
typedef uint16_t stamp;
enum { STAMPS_A_VECTOR = 8, LONGEST_CHAIN = 16000 };

struct engine;

/* What became of a step of the route. */
enum step_result {
    STEP_DONE,          /* what was sought is found, or nothing more follows */
    STEP_CONTRADICTION, /* no order explains the history (of a window: none, as the rest stands) */
    STEP_STOPPED        /* time or memory is spent */
};

/* Those that take part: committed ones, and those of unknown outcome that something may read from. */
struct transactions {
    uint32_t count;
    uint32_t *in_history;
    uint32_t *local; /* from the history's; ISO_NONE: takes no part */
};

/* By transaction; columns by write, but for `first`. */
struct writes {
    uint32_t count, capacity;
    uint32_t *transaction, *key, *value;
    uint32_t *first;   /* by transaction, count + 1 */
    uint32_t *version; /* once they are sorted */
};

/* External reads, by transaction; columns by read, but for `first`. */
struct reads {
    uint32_t count, capacity;
    uint32_t *transaction, *key, *operation, *value;
    uint32_t *prefix; /* lists (`value` is the list): elements before the reader's own */
    uint32_t *writer; /* a version (a write until there are versions), INITIAL or OPEN */
    uint32_t *set;    /* several possible writers, or ISO_NONE */
    uint32_t *next;   /* the next reader of the same version */
    uint32_t *first;  /* by transaction, count + 1 */
    uint32_t open;    /* how many have no writer yet */
};

/* Sets of possible writers: versions (writes until there are versions), ascending, INITIAL last. A reader's own is
 * in it and not meant. */
struct writer_sets {
    uint32_t count, *first, *member; /* first: count + 1 */
};

/* Version orders that lists give, as writes. */
struct list_orders {
    uint32_t count, capacity;
    uint32_t (*pairs)[3]; /* earlier, later, operation of the list read */
};

struct versions {
    uint32_t count;
    uint32_t *transaction, *key, *span;
    stamp *position;  /* of the writer, in its chain */
    uint32_t *reader; /* the first of the reads known to see it */
    uint32_t *first;  /* by key, keys + 1 */
};

struct spans {
    uint32_t count;
    uint32_t *first;           /* by key, keys + 1 */
    uint32_t *chain, *version; /* version: the first one, count + 1 */
    uint32_t *cursor;          /* where the last search in the span ended */
};

/* What open reads may see, listed once clocks have ruled out most (candidates.c). */
struct candidates {
    uint32_t listed_at;      /* the number of facts then; ISO_NONE: they are not listed */
    uint32_t *first, *count; /* by read, reads + 1; count: those left, the ones ruled out since stand behind them */
    uint32_t total, capacity, *version;
};

/* problem.c */
enum step_result problem_build(struct engine *engine);
void problem_release(struct engine *engine);
void problem_finding(struct engine *engine, enum iso_finding_kind kind, uint32_t transaction, uint32_t operation,
                     uint32_t other);

/* lists.c: the write that each list read saw last, INITIAL, or ISO_NONE where there is none (then there is a
 * finding, or the key's placements say it); fills list_orders and placements. The caller frees it. */
uint32_t *lists_resolve(struct engine *engine);

/* read_from.c: fills `writer` and `set` of reads; false: a read has no possible writer. Then from writes to versions. */
bool read_from_find(struct engine *engine, const uint32_t *list_writer);
void read_from_to_versions(struct engine *engine);
uint32_t *
reads_count_readers(const struct engine *engine); /* by version (version_slot): known ones. The caller frees */
uint32_t *read_from_initial_values(const struct iso_history *history); /* by key. The caller frees them */
void read_from_release(struct engine *engine);

/* unwritten.c: a finding for each register read that has no possible writer. */
void unwritten_classify(struct engine *engine);

/* candidates.c */
bool candidates_list(struct engine *engine); /* false: out of time or memory */
void candidates_release(struct engine *engine);
