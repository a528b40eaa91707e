/* What the parts of the forward search share: propagate.c (what follows, and undoing it),
 * chain_tips.c (scheduling a node), search.c (which one, and back). The idea stands at the top of
 * search.c.
 */
#pragma once

#include "polygraph/engine_private.h"

enum { LOOK_UP = 256 }; /* steps between looks at the clock on the wall */
enum { WINDOW = 4096 }; /* nodes that news reaches ahead */

struct change {
    uint32_t *where, old;
};

/* A vector of a clock as it was before a change. */
struct clock_change {
    stamp_vector *where, old;
};

/* A node that was looked at, for what had moved. */
struct moved_entry {
    uint64_t groups;
    uint32_t node;
};

/* A decision: the tips that could be scheduled, the tried ones first. */
struct decision {
    size_t log_count, clock_log_count, moved_count;
    uint32_t first, count, tried; /* into `options`: chains */
};

/* All changes since the search began, so that a decision can be taken back. */
struct search_undo_log {
    struct change *log;
    size_t log_count, log_capacity;
    struct clock_change *clock_log;
    size_t clock_log_count, clock_log_capacity;
    struct moved_entry *moved;
    size_t moved_count, moved_capacity;
};

/* Open reads by what they may see: lists of candidates. */
struct search_readers {
    uint32_t *open; /* by version, and then by key for the initial one: how many there are */
    uint32_t *first, *next, *of; /* likewise; by candidate: the next one, its read */
};

/* How far the search goes back where it gets no further. */
struct search_retreat {
    uint64_t dead_ends;   /* that it may still meet */
    uint32_t furthest;    /* the most nodes that are scheduled at once */
    uint32_t stuck, jump; /* dead ends since then or the last jump; decisions to jump back over */
    double noise;         /* in positions */
    uint64_t random;
};

struct search {
    struct engine *engine;
    struct search_undo_log undo;
    struct search_readers readers;
    struct search_retreat retreat;
    uint32_t *likely;          /* events in the order in which they probably come */
    uint32_t *likely_position; /* its inverse, by node */
    uint32_t *scheduled;       /* nodes in the order of the schedule */
    uint32_t *position;        /* by node: its position in the schedule, or ISO_NONE */
    uint32_t scheduled_count;
    uint32_t *current;     /* by key: the newest version that is scheduled, or INITIAL */
    uint32_t *open_writer; /* by key: the version that has begun and not committed, or ISO_NONE */
    struct agenda reads;   /* open reads one of whose candidates' clocks has moved */
    uint32_t *blocker;     /* by chain: the chain that last blocked its tip */
    struct decision *decisions;
    uint32_t decision_count, decision_capacity;
    uint32_t *options, option_count, option_capacity;
    double *turn; /* by chain: of the tips of the decision at hand, when it probably comes */
};

static inline bool search_failed(const struct engine *engine)
{
    return engine->graph.conflict || engine->saturation.empty_read != ISO_NONE;
}

/* Nodes of a chain. */
static inline uint32_t search_chain_length(const struct engine *engine, uint32_t chain)
{
    uint32_t members = engine->chains.first[chain + 1] - engine->chains.first[chain];
    return engine->serial ? members : 2 * members;
}

/* propagate.c: all that follows from what was said since; false: a conflict. And back to where a
 * decision began. */
bool search_propagate(struct search *search);
void search_undo(struct search *search, const struct decision *decision);

/* chain_tips.c */
enum readiness { BLOCKED, FREE, GUESSES };
uint32_t search_tip(const struct search *search, uint32_t chain); /* the next node of a chain */
bool search_is_ready(struct search *search, uint32_t chain,
                     uint32_t node); /* all that reaches it is scheduled */
enum readiness search_readiness(const struct search *search,
                                uint32_t node); /* of one that is ready */
bool search_schedule(struct search *search, uint32_t chain, uint32_t node); /* false: a conflict */
