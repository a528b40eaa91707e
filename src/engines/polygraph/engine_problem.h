/* The problem: versions, spans and candidates.
 *
 * A *version* is the final write of a key by a transaction (problem/problem.h). Versions stand
 * sorted by key, chain and position (chains.c), and a *span* is the versions of one key in one
 * chain.
 */
#pragma once

#include "problem/problem.h"

/* A stamp is 1 + the position of a node in its chain, 0 is none. Chains are cut so that stamps fit
 * the vector unit's signed 16 bits: eight chains of a clock are compared at once. */
typedef uint16_t stamp;
enum { STAMPS_A_VECTOR = 8, LONGEST_CHAIN = 16000 };

struct engine;

/* How a step of the route ended. */
enum step_result {
    STEP_DONE,          /* what was sought is found, or nothing more follows */
    STEP_CONTRADICTION, /* no order explains the history (of a window: none, as the rest stands) */
    STEP_STOPPED        /* time or memory is spent */
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

/* The versions that open reads may see, listed once clocks have ruled out most (candidates.c). */
struct candidates {
    uint32_t listed_at;      /* the number of facts then; ISO_NONE: they are not listed */
    uint32_t *first, *count; /* by read, reads + 1; count: those left, the ones ruled out since
                                stand behind them */
    uint32_t total, capacity, *version;
};

/* read_from.c: `writer` and `set` of reads, and sets, from writes to versions; and by version
 * (version_slot) how many reads are known to see it. The caller frees those. */
void read_from_to_versions(struct engine *engine);
uint32_t *reads_count_readers(const struct engine *engine);

/* candidates.c */
bool candidates_list(struct engine *engine); /* false: out of time or memory */
void candidates_release(struct engine *engine);
