/* What the files of this module share.
 *
 * - problem.c: history -> transactions, writes, reads; findings before any graph
 * - origins.c: who may have written what a read saw
 * - lists.c, repeats.c, placements.c: list reads -> the version order of lists, or what it may be
 * - advice.c: the order of the input, tried
 * - chains.c: transactions -> chains; versions sorted by key, chain, place
 * - times.c: what the clients' clocks say
 * - graph.c: facts (edges with a reason) and clocks
 * - agenda.c: the nodes whose clocks moved
 * - rules.c: what follows at a node
 * - candidates.c: which of several possible writers are left when clocks are there
 * - saturate.c: the rules, until nothing more follows
 * - search.c, heads.c, propagate.c: forward search with propagation
 * - estimate.c, schedule.c: an order to propose
 * - foresee.c, places.c: one that looks ahead, in an order that is kept while edges come and go
 * - windows.c, knots.c, components.c, window_solve.c: the order, mended where it does not work
 * - choices.c, tilings.c, solve.c, prove.c: what is open, for the solver
 * - terms.c, paths.c: for evidence
 * - explain.c: facts -> lemmas
 * - trim.c, derive.c: lemmas that are not needed
 * - polygraph.c: the route
 *
 * A *version* is the final write of a key by a transaction. A *node* is an event: at the serialisable levels
 * one a transaction, else two, begin and commit. A *fact* is an edge between nodes, or a candidate of a read
 * that is ruled out, with its reason; facts are numbered in the order in which they were found, and rest on
 * earlier ones only.
 */
#ifndef ISO_POLYGRAPH_PRIVATE_H
#define ISO_POLYGRAPH_PRIVATE_H

#include <string.h>

#include "base/memory.h"
#include "iso/polygraph.h"

#define INITIAL 0xfffffffeu /* the version that stands before all others */
#define OPEN 0xffffffffu    /* a read whose writer is not known yet */

enum fact_kind {
    FACT_SESSION,      /* commit -> begin, in a session */
    FACT_TIME,         /* by the clients' clocks */
    FACT_WR,           /* commit of the writer -> begin of the reader: `read`, `version` */
    FACT_LIST,         /* commit -> begin of two versions, `other` before `version`; `read` is the list read's
                          operation */
    FACT_HIDES,        /* commit of `other` -> begin of `version`'s writer: `other`'s commit comes before `read`,
                        * which reads   `version` */
    FACT_PAIR,         /* commit of `other` -> begin of `version`: other's begin comes before version's commit */
    FACT_RW,           /* begin of `read` -> commit of `version`, which is later than the one read */
    FACT_MEET,         /* `from` comes before every candidate of `read`, so before its begin */
    FACT_JOIN,         /* every candidate of `read` comes before `version`, so its begin comes before that one's
                          commit */
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

/* A stamp is 1 + the position of a node in its chain, 0 is none. Chains are cut so that stamps fit the vector
 * unit's signed 16 bits: eight chains of a clock are compared at once. */
typedef uint16_t stamp;
enum { STAMPS_A_VECTOR = 8, LONGEST_CHAIN = 16000 };

/* A set of nodes to look at, taken in the order of their ranks, round and round: bits by rank, and bits of
 * the words that have any. */
struct agenda {
    uint64_t *bits, *words;
    uint32_t word_count, cursor; /* of `words`; the rank to look from */
    uint32_t count;
};

struct engine {
    const struct iso_history *history;
    const struct iso_polygraph_options *options;
    struct iso_polygraph_result *result;
    bool serial;
    double deadline;         /* 0: none */
    const char *stop_reason; /* once the time is up or memory short */
    double next_look;        /* when to look at memory again */

    /* transactions that take part: committed ones, and those of unknown outcome that something may read from
     */
    uint32_t count;
    uint32_t *transaction; /* to the history's */
    uint32_t *local;       /* from the history's; ISO_NONE: takes no part */

    /* writes as they come, by transaction; version_of_write maps them to versions */
    uint32_t write_count, write_capacity;
    uint32_t *write_transaction, *write_key, *write_value;
    uint32_t *first_write; /* by transaction, count + 1 */
    uint32_t *version_of_write;

    /* versions, sorted by key, chain and place */
    uint32_t version_count;
    uint32_t *version_transaction, *version_key, *version_run;
    stamp *version_place;
    uint32_t *version_reader;                     /* the first of the reads known to see it */
    uint32_t *first_version;                      /* by key, keys + 1 */
    uint32_t *first_run;                          /* by key, keys + 1: runs of versions of one chain */
    uint32_t run_count, *run_chain, *run_version; /* run_version: run_count + 1 */
    uint32_t *run_cursor;                         /* where the last search in the run ended */

    /* external reads, by transaction */
    uint32_t read_count, read_capacity;
    uint32_t *read_transaction, *read_key, *read_operation, *read_value;
    uint32_t *read_prefix;     /* lists (read_value is the list): elements before the reader's own */
    uint32_t *read_writer;     /* a version (a write until there are versions), INITIAL or OPEN */
    uint32_t *read_set;        /* several possible writers, or ISO_NONE */
    uint32_t *read_next;       /* the next reader of the same version */
    uint32_t *first_read;      /* by transaction, count + 1 */
    uint32_t listed_at;        /* the number of facts when candidates were listed; ISO_NONE: they are not */
    uint32_t *first_candidate; /* by read, read_count + 1 */
    uint32_t *candidate_count; /* those left; the ones ruled out since stand behind them */
    uint32_t candidate_total, candidate_capacity, *candidates;
    uint32_t open_reads;

    /* sets of possible writers: versions (writes until there are versions), ascending, INITIAL last. A reader's own is
     * in it and not meant */
    uint32_t set_count, *set_first, *set_member; /* set_first: set_count + 1 */

    /* version orders that lists give, as writes */
    uint32_t list_pair_count, list_pair_capacity;
    uint32_t (*list_pairs)[3];     /* earlier, later, operation of the list read */
    struct placements *placements; /* of lists whose elements repeat (placements.h); NULL: none does */

    /* chains */
    uint32_t chain_count;
    uint32_t *chain, *place; /* by transaction */
    uint32_t *chain_first, *chain_member;

    /* graph */
    uint32_t event_count; /* nodes of transactions; behind them stand those of time */
    uint32_t node_count;
    uint32_t fact_count, fact_capacity, known_count, linked_count;
    struct fact *facts;
    uint32_t *first_out;                    /* by node */
    uint32_t stride;                        /* chain_count, rounded up for the vector unit */
    stamp *clocks;                          /* node * stride + chain: the latest node that reaches it */
    stamp *seen;                            /* the clocks that the rules have seen */
    uint32_t *order, *rank;                 /* nodes in a topological order; inverse */
    struct agenda agenda;                   /* nodes whose clocks moved since the rules saw them */
    uint64_t *moved_groups;                 /* by node: groups of vectors that moved since the rules saw them */
    uint32_t vector_count, vectors_a_group; /* of a clock; a set of groups is 64 bits */
    float *chain_scale;                     /* by chain: 1 / its length */
    uint32_t *latest;                       /* scratch: a version a chain */
    uint32_t *first_successor;              /* by version: versions noted to come after it */
    struct {
        uint32_t version, next;
    } * successors;
    uint32_t successor_count, successor_capacity;
    stamp *meet;                  /* scratch */
    stamp *before;                /* scratch: what the rules had seen of the chains that moved */
    uint64_t *moved, *all_chains; /* sets of chains: where the clock at hand has moved; all */
    uint64_t *key_chains;         /* by key: the chains that write it, folded to 64 */
    struct search *search;        /* while one runs: changes are logged */
    stamp *progress;              /* of a search: by chain, the stamp of the last node that has run */
    uint32_t *waiting;            /* of a search: by run, the first version that has not begun */
    bool conflict;                /* the graph has a cycle */
    uint32_t empty_read;          /* a read without a possible writer, or ISO_NONE */
};

static inline uint32_t node_begin(const struct engine *engine, uint32_t transaction)
{
    return engine->serial ? transaction : 2 * transaction;
}

static inline uint32_t node_commit(const struct engine *engine, uint32_t transaction)
{
    return engine->serial ? transaction : 2 * transaction + 1;
}

static inline uint32_t node_transaction(const struct engine *engine, uint32_t node)
{
    return engine->serial ? node : node / 2;
}

/* The events of a version's writer. */
static inline uint32_t version_begin(const struct engine *engine, uint32_t version)
{
    return node_begin(engine, engine->version_transaction[version]);
}

static inline uint32_t version_commit(const struct engine *engine, uint32_t version)
{
    return node_commit(engine, engine->version_transaction[version]);
}

/* True if an edge leads from a begin to the commit behind it. */
static inline bool node_goes_on(const struct engine *engine, uint32_t node)
{
    return !engine->serial && !(node & 1) && node < engine->event_count;
}

/* 1 + position of a node in its chain. */
static inline stamp node_stamp(const struct engine *engine, uint32_t node)
{
    return (stamp)(engine->serial ? engine->place[node] + 1 : 2 * engine->place[node / 2] + (node & 1) + 1);
}

static inline stamp *clock_of(const struct engine *engine, uint32_t node)
{
    return engine->clocks + (size_t)node * engine->stride;
}

/* The stamps of a chain that count at a node of transaction t: of its own chain, what stands before it. */
static inline uint32_t clock_before(const struct engine *engine, const stamp *clock, uint32_t chain, uint32_t t)
{
    return engine->chain[t] == chain ? node_stamp(engine, node_begin(engine, t)) - 1u : clock[chain];
}

/* True if `from` is known to come before `to`, or is it. */
static inline bool reaches(const struct engine *engine, uint32_t from, uint32_t to)
{
    return clock_of(engine, to)[engine->chain[node_transaction(engine, from)]] >= node_stamp(engine, from);
}

/* problem.c */
enum iso_status problem_build(struct engine *engine);
void problem_release(struct engine *engine);
void problem_finding(struct engine *engine, enum iso_finding_kind kind, uint32_t transaction, uint32_t operation,
                     uint32_t other);

/* lists.c: the write that each list read saw last, INITIAL, or ISO_NONE where there is none (then there is a
 * finding, or the key's placements tell); fills list_pairs and placements. The caller frees it. */
uint32_t *lists_resolve(struct engine *engine);

/* origins.c: fills read_writer and read_set; false: a read has no possible writer. Then from writes to versions. */
bool origins_find(struct engine *engine, const uint32_t *list_writer);
void origins_to_versions(struct engine *engine);
void origins_release(struct engine *engine);

/* advice.c: true, with the evidence, if the order of the input explains the history. */
bool advice_decides(struct engine *engine);

/* chains.c */
bool chains_build(struct engine *engine); /* false: the known edges close a cycle; then all are one chain */
void chains_release(struct engine *engine);
void versions_sort(struct engine *engine);
void versions_release(struct engine *engine);
uint32_t *session_predecessors(const struct engine *engine); /* by transaction; ISO_NONE: none. The caller frees it */

/* times.c */
uint32_t times_count(const struct engine *engine); /* nodes of time that the level needs */
void times_add(struct engine *engine);             /* their edges */

/* graph.c */
void graph_init(struct engine *engine);
void graph_release(struct engine *engine);
void graph_clocks_init(struct engine *engine);
void graph_add_known(struct engine *engine);
/* Appends a fact; it joins the lists of edges with the next graph_link. */
uint32_t graph_append(struct engine *engine, struct fact fact);
void graph_link(struct engine *engine);
void graph_count_degrees(const struct engine *engine, uint32_t *degree); /* by node, zeroed: edges that lead there */
bool graph_sort(struct engine *engine);                                  /* fills order and rank; false: a cycle */
/* Takes what `groups` of vectors say reaches `from` over to `to`; the groups where that is news. */
uint64_t graph_merge_clock(struct engine *engine, uint32_t from, uint32_t to, uint64_t groups);
/* Notes that a version comes before another one, for readers of it that are yet to be found. */
void graph_note_successor(struct engine *engine, uint32_t version, uint32_t later);

/* agenda.c */
void agenda_init(struct agenda *agenda, uint32_t count);
void agenda_release(struct agenda *agenda);
void agenda_clear(struct agenda *agenda);
uint32_t agenda_take(struct agenda *agenda); /* a rank; ISO_NONE: it is empty */

static inline void agenda_add(struct agenda *agenda, uint32_t rank)
{
    uint64_t bit = (uint64_t)1 << rank % 64;
    agenda->count += !(agenda->bits[rank / 64] & bit);
    agenda->bits[rank / 64] |= bit;
    agenda->words[rank / 4096] |= (uint64_t)1 << rank / 64 % 64;
}

typedef int16_t stamp_vector __attribute__((vector_size(16), may_alias));

/* The vectors of a clock that groups name. */
struct vectors {
    uint64_t left;
    uint32_t vector, end, a_group, count;
};

static inline struct vectors vectors_of(const struct engine *engine, uint64_t groups)
{
    return (struct vectors){groups, ISO_NONE, 0, engine->vectors_a_group, engine->vector_count};
}

static inline bool next_vector(struct vectors *at)
{
    if (++at->vector < at->end)
        return true;
    if (!at->left)
        return false;
    at->vector = (uint32_t)__builtin_ctzll(at->left) * at->a_group;
    at->end = at->vector + at->a_group < at->count ? at->vector + at->a_group : at->count;
    at->left &= at->left - 1;
    return at->vector < at->end;
}

static inline bool any_of(stamp_vector vector)
{
    uint64_t halves[2];
    memcpy(halves, &vector, sizeof halves);
    return halves[0] | halves[1];
}

/* The latest version of a run whose writer has at most `places` before it in its chain; ISO_NONE: none. */
static inline uint32_t run_latest(const struct engine *engine, uint32_t run, uint32_t places)
{
    uint32_t first = engine->run_version[run], count = engine->run_version[run + 1] - first, base = 0;
    const stamp *place = engine->version_place + first;
    while (count > 1) {
        uint32_t half = count / 2;
        base += place[base + half - 1] < places ? half : 0;
        count -= half;
    }
    base += place[base] < places;
    return base ? first + base - 1 : ISO_NONE;
}

/* The same, looked for from where the last one was found: nodes are looked at about in the order of time. */
static inline uint32_t run_latest_near(struct engine *engine, uint32_t run, uint32_t places)
{
    uint32_t first = engine->run_version[run], count = engine->run_version[run + 1] - first;
    const stamp *place = engine->version_place + first;
    uint32_t low = engine->run_cursor[run], high = low, step = 1;
    for (; high < count && place[high] < places; step *= 2) {
        low = high + 1;
        high = low + step < count ? low + step : count;
    }
    for (step = 1; low > 0 && low <= high && place[low - 1] >= places; step *= 2) {
        high = low - 1;
        low = high > step ? high - step : 0;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (place[middle] < places)
            low = middle + 1;
        else
            high = middle;
    }
    engine->run_cursor[run] = low;
    return low ? first + low - 1 : ISO_NONE;
}

/* A begin has stamp 2 * place + 1, a commit 2 * place + 2; at serialisable levels both are place + 1. */
static inline uint32_t places_of_begins(const struct engine *engine, uint32_t latest)
{
    return engine->serial ? latest : (latest + 1) / 2;
}

static inline uint32_t places_of_commits(const struct engine *engine, uint32_t latest)
{
    return engine->serial ? latest : latest / 2;
}

static inline uint32_t run_latest_begin(const struct engine *engine, uint32_t run, uint32_t latest)
{
    return run_latest(engine, run, places_of_begins(engine, latest));
}

static inline uint32_t run_latest_commit(const struct engine *engine, uint32_t run, uint32_t latest)
{
    return run_latest(engine, run, places_of_commits(engine, latest));
}

static inline stamp version_begin_stamp(const struct engine *engine, uint32_t version)
{
    uint32_t place = engine->version_place[version];
    return (stamp)(engine->serial ? place + 1 : 2 * place + 1);
}

static inline stamp version_commit_stamp(const struct engine *engine, uint32_t version)
{
    uint32_t place = engine->version_place[version];
    return (stamp)(engine->serial ? place + 1 : 2 * place + 2);
}

/* versions of a key, of one chain */
uint32_t run_first_after(const struct engine *engine, uint32_t run, uint32_t version);
uint32_t version_of(const struct engine *engine, uint32_t transaction, uint32_t key);

/* saturate.c, in this order: the first round, after which candidates are listed; another round, with `order` sorted by
 * what it found; all others. ISO_OK: at last, that nothing more follows. ISO_VIOLATED: `conflict`, or `empty_read` has
 * no writer left. ISO_UNDECIDED: out of time */
enum iso_status saturate_start(struct engine *engine);
enum iso_status saturate_round(struct engine *engine);
enum iso_status saturate(struct engine *engine);
bool graph_add_edge(struct engine *engine, struct fact fact); /* at once, with clocks */

/* candidates.c */
bool candidates_list(struct engine *engine); /* false: out of time or memory */
void candidates_release(struct engine *engine);

/* rules.c */
void rules_apply(struct engine *engine, uint32_t node, uint64_t groups);
bool rules_apply_open(struct engine *engine, uint32_t read); /* false: the read is open no more */
bool rules_narrow(struct engine *engine, uint32_t read);     /* the same, without meet and join */
/* True, with the reason, if a read cannot have seen a version. */
bool rules_exclude(const struct engine *engine, uint32_t read, uint32_t version, struct fact *reason);
void rules_prune(struct engine *engine, uint32_t read, uint32_t index, enum fact_kind kind, uint32_t other);
void rules_resolve(struct engine *engine, uint32_t read);
void rules_add_rw(struct engine *engine, uint32_t read, uint32_t later);

/* windows.c: true with the order of nodes in engine->order, of which the first `run_count` are given. False, and
 * nothing has changed, where a knot has more than `most_knot` nodes, a window that it takes more than `most_nodes`, or
 * the time is up. */
bool windows_order(struct engine *engine, uint32_t run_count, uint32_t most_knot, uint32_t most_nodes);

/* search.c: true with the order of events in engine->order. False after that many dead ends: all is as it was, but
 * `rank` is the order to propose, and the first `run_count` of engine->order are what had run; then graph_sort comes
 * before the next search. */
bool search_order(struct engine *engine, uint64_t dead_ends, uint32_t *run_count);
bool search_add_edge(struct engine *engine, struct fact fact);
void search_candidate_gone(struct engine *engine, uint32_t read, uint32_t version);
void search_settle(struct engine *engine, uint32_t read);
void search_set_vector(struct search *search, stamp_vector *where, stamp_vector value);
void search_log(struct search *search, uint32_t *where);

/* Changes what a search may have to undo. */
static inline void engine_set(struct engine *engine, uint32_t *where, uint32_t value)
{
    if (engine->search)
        search_log(engine->search, where);
    *where = value;
}

/* solve.c: ISO_OK with the order in engine->order, ISO_VIOLATED with the evidence filled in, ISO_UNDECIDED */
enum iso_status solve_everything(struct engine *engine);

/* terms.c: in the terms of evidence */
uint32_t event_of(const struct engine *engine, uint32_t node);
struct iso_literal literal_reads(const struct engine *engine, uint32_t read, uint32_t version, bool reads);
struct iso_literal literal_order(const struct engine *engine, uint32_t earlier, uint32_t later);
struct iso_literal literal_placed(const struct engine *engine, uint32_t placement, bool placed);
struct iso_edge edge_wr(const struct engine *engine, uint32_t read, uint32_t version);
struct iso_edge edge_ww(const struct engine *engine, uint32_t earlier, uint32_t later);
struct iso_edge edge_rw(const struct engine *engine, uint32_t read, uint32_t version, uint32_t later);
struct iso_edge edge_between(const struct engine *engine, enum iso_edge_kind kind, uint32_t from, uint32_t to,
                             uint32_t key);

/* explain.c: lemmas for what the facts say. */
struct explanation;
struct explanation *explanation_new(struct engine *engine);
void explanation_free(struct explanation *explanation);
/* What a lemma yet to come will rest on: a path of facts, or all the candidates that a read lost. */
void explanation_need_path(struct explanation *explanation, uint32_t from, uint32_t to);
void explanation_need_read(struct explanation *explanation, uint32_t read);
void explanation_need_order(struct explanation *explanation, uint32_t earlier, uint32_t later);
/* Writes the lemmas of everything that is needed, in order, into the result's evidence. */
void explanation_write(struct explanation *explanation);
/* For the caller's own lemmas, after explanation_write: the edges of a needed path. */
void explanation_edges(struct explanation *explanation, uint32_t from, uint32_t to);
/* And the lemma of a needed order. */
void explanation_order(struct explanation *explanation, uint32_t earlier, uint32_t later);

void explain_cycle(struct engine *engine);      /* the facts close a cycle */
void explain_empty_read(struct engine *engine); /* a read has no candidate left */

/* trim.c: leaves out of the result's lemmas what their last one does not rest on. */
void trim_proof(struct engine *engine);

/* True once the time is up or memory short; to be asked every millisecond or so. */
bool engine_must_stop(struct engine *engine);
bool engine_may_take(struct engine *engine, uint64_t bytes); /* false: memory is short */

#endif
