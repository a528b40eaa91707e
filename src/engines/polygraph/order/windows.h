/* Repair of a proposed order in windows.
 *
 * An order of all nodes (schedule.c) decides every choice: versions of a key come as their commits
 * do, and a read of several possible writers sees the latest. The graph of what follows has cycles
 * where the proposal is wrong, and only there: its strongly connected components, *SCCs*. All else
 * is put in an order in which every SCC stands together; then an SCC, alone or with what stands
 * around it, is a problem of its own: what comes before the *window* has happened, what comes after
 * is still to come, and neither can lie on a cycle with what is inside. The solver gets the pairs
 * of writers and the reads inside, the proposed order being its first model, and cycles as clauses
 * when a model has them (window_solve.c). A window without a solution grows. So one mends a hundred
 * thousand transactions a few dozen at a time.
 *
 * Windows only accept: a window that has no solution says nothing about the history as long as its
 * surroundings are a guess.
 */
#pragma once

#include "polygraph/engine_private.h"

struct windows {
    struct engine *engine;
    uint32_t *order, *position;   /* nodes as they stand; inverse */
    uint32_t *sorted, *sorted_at; /* versions, by key in the order of their commits; inverse */
    uint32_t *seen;               /* by read: the version that it sees, or INITIAL */
    uint32_t *first_seer,
        *next_seer; /* by version; by read: open reads that saw it at first. Those that have seen
                       another one since are in vain in this list */
    uint32_t *block_of_key; /* scratch of a window: 1 + the block of versions, 0: none */
    struct scc {
        uint32_t first, end; /* positions */
    } * sccs;
    uint32_t scc_count, scc_capacity;
    uint32_t most_nodes; /* of a window */
};

/* estimate.c: the events in the order in which they probably come, a linear extension of what is
 * known. */
void estimate_order(const struct engine *engine, uint32_t *likely);

/* schedule.c: all nodes in an order to propose, likewise; the first `scheduled_count` of `order`
 * are given. */
void schedule_nodes(struct engine *engine, uint32_t *order, uint32_t scheduled_count);

/* lookahead.c: likewise, but slower, and not so soon wrong where many sessions are side by side.
 * Events only; how many of them `order` has: it may stop before the last. */
uint32_t lookahead_nodes(struct engine *engine, uint32_t *order);

/* sccs.c: the graph of the order as it stands: puts SCCs together in the order, and lists them. */
void sccs_find(struct windows *windows);

/* window_solve.c: mends the order between two positions. STEP_DONE: it has no cycle there now.
 * STEP_CONTRADICTION: impossible with the rest as it stands. STEP_STOPPED: too much, or out of
 * time. */
enum step_result window_solve(struct windows *windows, uint32_t first, uint32_t end);

/* windows.c: sorts the versions `from` to `end` of `sorted`, of one key, as their commits stand. */
void windows_sort_versions(struct windows *windows, uint32_t from, uint32_t end);

static inline uint32_t commit_position(const struct windows *windows, uint32_t version)
{
    const struct engine *engine = windows->engine;
    return windows->position[version_commit(engine, version)];
}

static inline uint32_t begin_position(const struct windows *windows, uint32_t version)
{
    const struct engine *engine = windows->engine;
    return windows->position[version_begin(engine, version)];
}

/* validate.c: positions, and the order of versions. Asserted where ISO_VALIDATE is defined. */
#ifdef ISO_VALIDATE
void windows_validate(const struct windows *windows);
#else
#define windows_validate(windows) ((void)(windows))
#endif
