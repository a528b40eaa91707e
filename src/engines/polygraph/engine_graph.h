/* The graph of what is known: chains, facts, and clocks.
 *
 * A *node* is an event: at the serialisable levels one a transaction, else two, begin and commit. A
 * *fact* is an edge between nodes, or a candidate of a read that is ruled out, with its reason;
 * facts are numbered in the order in which they were found, and rest on earlier ones only.
 */
#pragma once

#include "problem/problem.h"

/* The problem: versions, spans and candidates.
 *
 * A *version* is the final write of a key by a transaction (problem/problem.h). Versions stand
 * sorted by key, chain and position (chains.c), and a *span* is the versions of one key in one
 * chain.
 */
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

enum fact_kind {
    FACT_SESSION, /* commit -> begin, in a session */
    FACT_TIME,    /* by the clients' clocks */
    FACT_WR,      /* commit of the writer -> begin of the reader: `read`, `version` */
    /* which of two versions of a key comes first (ww): */
    FACT_LIST, /* commit -> begin of two versions, `other` before `version`; `read` is the list
                  read's operation */
    FACT_COMMIT_ORDER, /* commit -> begin of two versions, `other` before `version`, by their commit
                          timestamps */
    FACT_HIDES, /* commit of `other` -> begin of `version`'s writer: `other`'s commit comes before
                 * `read`, which reads   `version` */
    FACT_PAIR,  /* commit of `other` -> begin of `version`: other's begin comes before version's
                   commit */
    FACT_RW,    /* begin of `read` -> commit of `version`, which is later than the one read */
    FACT_MEET,  /* `from` comes before every candidate of `read`, so before its begin */
    FACT_JOIN,  /* every candidate of `read` comes before `version`, so its begin comes before that
                   one's  commit */
    FACT_PRUNE_AFTER,  /* no edge: `read` cannot read `version`, which commits after it begins */
    FACT_PRUNE_HIDDEN, /* no edge: `read` cannot read `version`, hidden by `other` */
    FACT_GUESS         /* an edge that a search or a model assumes */
};

struct fact {
    uint32_t from, to; /* nodes; ISO_NONE where it is no edge */
    uint32_t next_out; /* the next fact with the same `from`, an older one */
    uint32_t read, version, other;
    uint32_t kind;
};

/* A cover of the transactions by paths of known edges. */
struct chains {
    uint32_t count;
    uint32_t *of, *position;  /* by transaction */
    uint32_t *first, *member; /* by chain, count + 1; transactions by chain and position */
};

struct graph {
    uint32_t event_count; /* nodes of transactions; behind them stand those of time */
    uint32_t node_count;
    uint32_t fact_count, fact_capacity, known_count,
        linked_count; /* known: what the history says */
    struct fact *facts;
    uint32_t *first_out;    /* by node */
    uint32_t *order, *rank; /* nodes in a topological order; inverse */
    bool conflict;          /* it has a cycle */
};

/* For each node and chain the latest node of the chain that reaches it. */
struct clocks {
    uint32_t stride;                        /* chains, rounded up for the vector unit */
    stamp *stamps;                          /* node * stride + chain */
    uint32_t vector_count, vectors_a_group; /* of a clock; a set of groups is 64 bits */
};

/* chains.c */
/* false: the known edges close a cycle; then all are one chain */
bool chains_build(struct engine *engine);
void chains_release(struct engine *engine);
void versions_sort(struct engine *engine);
void versions_release(struct engine *engine);
uint32_t *versions_initial(const struct engine *engine); /* by key: INITIAL. The caller frees it */
/* by transaction; ISO_NONE: none. The caller frees it */
uint32_t *session_predecessors(const struct engine *engine);

/* times.c */
uint32_t times_count(const struct engine *engine); /* nodes of time that the level needs */
void times_add(struct engine *engine);             /* their edges */

/* graph.c */
void graph_init(struct engine *engine);
void graph_release(struct engine *engine);
void graph_clocks_init(struct engine *engine);
uint64_t graph_count_known(struct engine *engine); /* at most so many facts does the next one add */
void graph_add_known(struct engine *engine);
/* Appends a fact; it joins the lists of edges with the next graph_link. */
uint32_t graph_append(struct engine *engine, struct fact fact);
void graph_link(struct engine *engine);
/* By node, zeroed: how many edges of the first facts lead there. */
void graph_count_degrees(const struct engine *engine, uint32_t fact_count, uint32_t *degree);
/* Nodes in a topological order of the first facts, all linked, into `order`; how many are on no
 * cycle and behind none. */
uint32_t graph_sort_by(const struct engine *engine, uint32_t fact_count, uint32_t *order);
/* by all linked facts: fills order and rank; false: a cycle */
bool graph_sort(struct engine *engine);
/* Takes what `groups` of vectors say reaches `from` over to `to`; the groups where that is news. */
uint64_t graph_merge_clock(struct engine *engine, uint32_t from, uint32_t to, uint64_t groups);
/* Notes that a version comes before another one, for readers of it that are yet to be found. */
void graph_note_successor(struct engine *engine, uint32_t version, uint32_t later);
