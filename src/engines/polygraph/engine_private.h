/* The engine: what the steps of the route share. Each step's own part has a header of its own:
 *
 * problem     what the history says (problem/problem.h, engine_graph.h)
 *   read_from.c        who may have written what a read saw, as versions
 *   commit_order.c            the order of versions by commit timestamps, where it is given
 *   commit_order_graph.c      the graph that this and the reads make, where nothing is open
 *   candidates.c       which of several possible writers are left when clocks are there
 * graph       what is known (engine_graph.h)
 *   chains.c           transactions -> chains; versions sorted by key, chain, position
 *   times.c            what the clients' clocks say
 *   graph.c            facts (edges with a reason) and clocks
 * saturation  what follows (here, agenda.h)
 *   agenda.c           the nodes whose clocks moved
 *   rules.c            what follows at a node
 *   saturate.c         the rules, until nothing more follows
 * ordering    an order that explains the history (search.h, windows.h, topological.h)
 *   suggestion.c           the order of the input, tried
 *   estimate.c, schedule.c             an order to propose
 *   lookahead.c, topological.c         one that looks ahead, in an order that is kept while edges
 *                                      come and go
 *   windows.c, sccs.c, window_solve.c  the order, mended where it does not work
 *   search.c, chain_tips.c, propagate.c   forward search with propagation
 * solving     what is open, for the solver (solve.h)
 *   choices.c, placement_clauses.c, solve.c
 * proving     facts -> lemmas (explain.h, derive.h)
 *   prove.c, explain.c, paths.c, pruned.c, terms.c
 *   trim_proof.c, derive.c   lemmas that are not needed
 * polygraph.c is the route.
 */
#pragma once

#include "base/sorted.h"
#include "polygraph/engine_graph.h"
#include "polygraph/saturation/agenda.h"

/* Saturation: what the rules know beside the graph.
 *
 * The rules look at a node when its clock has moved; `seen` is what they had looked at before. Each
 * pair of versions that a rule looked at is noted as a successor, so that a read that loses its
 * last-but-one candidate finds the later versions.
 */
struct successor {
    uint32_t version, next;
};

struct saturation {
    stamp *seen;               /* the clocks that the rules have seen */
    struct agenda agenda;      /* nodes whose clocks moved since */
    uint64_t *moved_groups;    /* by node: groups of vectors that moved since */
    uint32_t empty_read;       /* a read without a possible writer, or ISO_NONE */
    uint32_t *first_successor; /* by version: versions noted to come after it */
    struct successor *successors;
    uint32_t successor_count, successor_capacity;
    float *chain_scale;   /* by chain: 1 / its length */
    uint64_t *key_chains; /* by key: the chains that write it, folded to 64 */
    /* scratch */
    uint32_t *latest;     /* a version a chain */
    stamp *meet, *before; /* clocks; before: what the rules had seen of the chains that moved */
    uint64_t *moved, *all_chains; /* sets of chains: where the clock at hand has moved; all */
};

/* saturate.c, in this order: the first round, after which candidates are listed; another round,
 * with `order` sorted by what it found; all others. STEP_DONE: at last, that nothing more follows.
 * STEP_CONTRADICTION: `conflict`, or `empty_read` has no writer left. STEP_STOPPED: out of time */
enum step_result saturate_start(struct engine *engine);
enum step_result saturate_round(struct engine *engine);
enum step_result saturate(struct engine *engine);
bool graph_add_edge(struct engine *engine, struct fact fact); /* at once, with clocks */

/* rules.c */
void rules_apply(struct engine *engine, uint32_t node, uint64_t groups);
bool rules_apply_open(struct engine *engine, uint32_t read); /* false: the read is open no more */
bool rules_narrow(struct engine *engine, uint32_t read);     /* the same, without meet and join */
/* True, with the reason, if a read cannot have seen a version. */
bool rules_rule_out(const struct engine *engine, uint32_t read, uint32_t version,
                    struct fact *reason);
void rules_prune(struct engine *engine, uint32_t read, uint32_t index, enum fact_kind kind,
                 uint32_t other);
void rules_resolve(struct engine *engine, uint32_t read);
void rules_add_rw(struct engine *engine, uint32_t read, uint32_t later);

/* The state of a search, while there is one. */
struct scheduled {
    struct search *by; /* NULL: there is none; else changes are logged */
    stamp *progress;   /* by chain, the stamp of the last node that is scheduled */
    uint32_t *waiting; /* by span, the first version that has not begun */
};

struct engine {
    const struct iso_history *history;
    const struct iso_polygraph_options *options;
    struct iso_polygraph_result *result;
    bool serial;
    struct budget budget;
    struct problem problem; /* the owner of the parts that follow */
    struct transactions transactions;
    struct writes writes;
    struct reads reads;
    struct writer_sets writer_sets;
    struct list_orders list_orders;
    struct placements *placements;
    struct commit_order
        *commit_order; /* the order of versions by cts (commit_order.h); NULL: it is not given */
    struct versions versions;
    struct spans spans;
    struct candidates candidates;
    struct chains chains;
    struct graph graph;
    struct clocks clocks;
    struct saturation saturation;
    struct scheduled scheduled;
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
    return node_begin(engine, engine->versions.transaction[version]);
}

static inline uint32_t version_commit(const struct engine *engine, uint32_t version)
{
    return node_commit(engine, engine->versions.transaction[version]);
}

/* True if an edge leads from a begin to the commit behind it. */
static inline bool node_goes_on(const struct engine *engine, uint32_t node)
{
    return !engine->serial && !(node & 1) && node < engine->graph.event_count;
}

/* 1 + position of a node in its chain. */
static inline stamp node_stamp(const struct engine *engine, uint32_t node)
{
    return (stamp)(engine->serial ? engine->chains.position[node] + 1
                                  : 2 * engine->chains.position[node / 2] + (node & 1) + 1);
}

static inline stamp *clock_of(const struct engine *engine, uint32_t node)
{
    return engine->clocks.stamps + (size_t)node * engine->clocks.stride;
}

/* The stamps of a chain that count at a node of transaction t: of its own chain, what stands before
 * it. */
static inline uint32_t clock_before(const struct engine *engine, const stamp *clock, uint32_t chain,
                                    uint32_t t)
{
    return engine->chains.of[t] == chain ? node_stamp(engine, node_begin(engine, t)) - 1u
                                         : clock[chain];
}

/* True if `from` is known to come before `to`, or is it. */
static inline bool reaches(const struct engine *engine, uint32_t from, uint32_t to)
{
    return clock_of(engine, to)[engine->chains.of[node_transaction(engine, from)]] >=
           node_stamp(engine, from);
}

/* A column by version has those of initial versions, by key, behind it. */
static inline uint32_t version_slot(const struct engine *engine, uint32_t version, uint32_t key)
{
    return version == INITIAL ? engine->versions.count + key : version;
}

/* The index of a version among the candidates that a read has left; ISO_NONE: it is none of them.
 */
static inline uint32_t candidate_of(const struct engine *engine, uint32_t read, uint32_t version)
{
    uint32_t first = engine->candidates.first[read];
    for (uint32_t i = first; i < first + engine->candidates.count[read]; i++) {
        if (engine->candidates.version[i] == version)
            return i;
    }
    return ISO_NONE;
}

typedef int16_t stamp_vector __attribute__((vector_size(16), may_alias));

/* The vectors of a clock that groups name. */
struct vectors {
    uint64_t left;
    uint32_t vector, end, a_group, count;
};

static inline struct vectors vectors_of(const struct engine *engine, uint64_t groups)
{
    return (struct vectors){groups, ISO_NONE, 0, engine->clocks.vectors_a_group,
                            engine->clocks.vector_count};
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

/* The latest version of a span whose writer has at most `positions` before it in its chain;
 * ISO_NONE: none. */
static inline uint32_t span_latest(const struct engine *engine, uint32_t span, uint32_t positions)
{
    uint32_t first = engine->spans.version[span], count = engine->spans.version[span + 1] - first,
             base = 0;
    const stamp *position = engine->versions.position + first;
    while (count > 1) {
        uint32_t half = count / 2;
        base += position[base + half - 1] < positions ? half : 0;
        count -= half;
    }
    base += position[base] < positions;
    return base ? first + base - 1 : ISO_NONE;
}

/* As span_latest, but looked for from where the last one was found: nodes are looked at about in
 * the order of time. */
static inline uint32_t span_latest_near(struct engine *engine, uint32_t span, uint32_t positions)
{
    uint32_t first = engine->spans.version[span], count = engine->spans.version[span + 1] - first;
    const stamp *position = engine->versions.position + first;
    uint32_t low = engine->spans.cursor[span], high = low, step = 1;
    for (; high < count && position[high] < positions; step *= 2) {
        low = high + 1;
        high = low + step < count ? low + step : count;
    }
    for (step = 1; low > 0 && low <= high && position[low - 1] >= positions; step *= 2) {
        high = low - 1;
        low = high > step ? high - step : 0;
    }
    ISO_BISECT(low, high, middle, position[middle] < positions);
    engine->spans.cursor[span] = low;
    return low ? first + low - 1 : ISO_NONE;
}

/* A begin has stamp 2 * position + 1, a commit 2 * position + 2; at serialisable levels both are
 * position + 1. */
static inline uint32_t positions_of_begins(const struct engine *engine, uint32_t latest)
{
    return engine->serial ? latest : (latest + 1) / 2;
}

static inline uint32_t positions_of_commits(const struct engine *engine, uint32_t latest)
{
    return engine->serial ? latest : latest / 2;
}

static inline uint32_t span_latest_begin(const struct engine *engine, uint32_t span,
                                         uint32_t latest)
{
    return span_latest(engine, span, positions_of_begins(engine, latest));
}

static inline uint32_t span_latest_commit(const struct engine *engine, uint32_t span,
                                          uint32_t latest)
{
    return span_latest(engine, span, positions_of_commits(engine, latest));
}

static inline stamp version_begin_stamp(const struct engine *engine, uint32_t version)
{
    uint32_t position = engine->versions.position[version];
    return (stamp)(engine->serial ? position + 1 : 2 * position + 1);
}

static inline stamp version_commit_stamp(const struct engine *engine, uint32_t version)
{
    uint32_t position = engine->versions.position[version];
    return (stamp)(engine->serial ? position + 1 : 2 * position + 2);
}

/* graph.c: of the versions of a key, of one chain */
uint32_t span_first_after(const struct engine *engine, uint32_t span, uint32_t version);

/* suggestion.c: true, with the evidence, if the order of the input explains the history. */
bool suggestion_decides(struct engine *engine);

/* windows.c: true with the order of nodes in engine->graph.order, of which the first
 * `scheduled_count` are given. False, and nothing has changed, where an SCC has more than
 * `most_scc` nodes, a window that it takes more than `most_nodes`, or the time is up. */
bool windows_order(struct engine *engine, uint32_t scheduled_count, uint32_t most_scc,
                   uint32_t most_nodes);

/* search.c: true with the order of events in engine->graph.order. False after that many dead ends:
 * all is as it was, but `rank` is the order to propose, and the first `scheduled_count` of the
 * graph's order are what was scheduled; then graph_sort comes before the next search. */
bool search_order(struct engine *engine, uint64_t dead_ends, uint32_t *scheduled_count);
/* propagate.c */
bool search_add_edge(struct engine *engine, struct fact fact);
void search_candidate_gone(struct engine *engine, uint32_t read, uint32_t version);
void search_decide_read(struct engine *engine, uint32_t read);
void search_set_vector(struct search *search, stamp_vector *where, stamp_vector value);
void search_log(struct search *search, uint32_t *where);

/* Changes what a search may have to undo. */
static inline void engine_set(struct engine *engine, uint32_t *where, uint32_t value)
{
    if (engine->scheduled.by)
        search_log(engine->scheduled.by, where);
    *where = value;
}

/* solve.c: STEP_DONE with the order in engine->order, STEP_CONTRADICTION with the evidence filled
 * in, STEP_STOPPED */
enum step_result solve_everything(struct engine *engine);

/* terms.c: in the terms of evidence */
uint32_t event_of(const struct engine *engine, uint32_t node);
struct iso_literal literal_reads(const struct engine *engine, uint32_t read, uint32_t version,
                                 bool reads);
struct iso_literal literal_order(const struct engine *engine, uint32_t earlier, uint32_t later);
struct iso_literal literal_placed(const struct engine *engine, uint32_t placement, bool placed);
struct iso_edge edge_wr(const struct engine *engine, uint32_t read, uint32_t version);
struct iso_edge edge_ww(const struct engine *engine, uint32_t earlier, uint32_t later);
struct iso_edge edge_rw(const struct engine *engine, uint32_t read, uint32_t version,
                        uint32_t later);
struct iso_edge edge_between(const struct engine *engine, enum iso_edge_kind kind, uint32_t from,
                             uint32_t to, uint32_t key);

/* explain.c: lemmas for what the facts say. */
struct explanation;
struct explanation *explanation_new(struct engine *engine);
void explanation_free(struct explanation *explanation);
/* Notes the grounds of a lemma yet to come: a path of facts, or all the candidates that a read
 * lost. */
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

/* trim_proof.c: leaves out of the result's lemmas what their last one does not rest on. */
void trim_proof(struct engine *engine);

static inline bool engine_must_stop(struct engine *engine)
{
    return budget_is_spent(&engine->budget);
}

/* polygraph.c: the same, for a solver and for rules. */
bool engine_ask_stop(void *engine);
