/* An order to propose: list scheduling. Of the nodes whose known predecessors are scheduled, the
 * one that probably comes first (estimate.c) is next, unless it would break something at once: a
 * writer waits for the known readers of what it replaces, and, with two events, for the writer of
 * its key that has begun; a reader with several possible writers waits until it would see one of
 * them. Where all wait, the first is scheduled all the same. Nothing is undone: a linear pass,
 * right nearly everywhere, and windows.c mends the rest.
 */
#include <assert.h>

#include "polygraph/order/windows.h"

enum { WAITING = 64 }; /* nodes that are passed over before the first of them has to be scheduled */

struct schedule {
    struct engine *engine;
    uint32_t *likely, *rank; /* nodes by their estimate; inverse */
    /* by version, then by key for the initial one: known readers yet to be scheduled */
    uint32_t *unread;
    uint32_t *current, *open_writer; /* by key: the newest version, or INITIAL; the version begun
                                        and not committed, or ISO_NONE */
    uint32_t *own_read;              /* by write: its transaction's read of the key, or ISO_NONE */
    uint32_t *degree;                /* by node: predecessors yet to be scheduled */
    struct agenda agenda;            /* nodes that have none, by rank */
};

static uint32_t *unread_of(const struct schedule *schedule, uint32_t version, uint32_t key)
{
    return &schedule->unread[version_slot(schedule->engine, version, key)];
}

/* Nodes of time block nothing: they come first, then what is given, then what is estimated. */
static void rank_nodes(struct schedule *schedule, const uint32_t *commit_order, uint32_t count)
{
    const struct engine *engine = schedule->engine;
    uint32_t *likely = iso_numbers(engine->graph.event_count), end = 0;
    memset(schedule->rank, 0xff, engine->graph.node_count * sizeof *schedule->rank);
    estimate_order(engine, likely);
    for (uint32_t node = engine->graph.event_count; node < engine->graph.node_count; node++)
        schedule->likely[end++] = node;
    for (uint32_t i = 0; i < count; i++) {
        schedule->rank[commit_order[i]] = end;
        schedule->likely[end++] = commit_order[i];
    }
    for (uint32_t i = 0; i < engine->graph.event_count; i++) {
        if (schedule->rank[likely[i]] == ISO_NONE)
            schedule->likely[end++] = likely[i];
    }
    for (uint32_t i = 0; i < engine->graph.node_count; i++)
        schedule->rank[schedule->likely[i]] = i;
    iso_free(likely);
}

/* A transaction has one external read of a key. */
static uint32_t *list_own_reads(const struct engine *engine)
{
    uint32_t *own = iso_numbers(engine->writes.count);
    uint32_t *last = iso_numbers_zero(engine->history->keys.count); /* by key: 1 + a read */
    for (uint32_t t = 0; t < engine->transactions.count; t++) {
        ISO_EACH(read, engine->reads.first, t)
            last[engine->reads.key[read]] = read + 1;
        ISO_EACH(write, engine->writes.first, t) {
            uint32_t read = last[engine->writes.key[write]];
            own[write] = read && engine->reads.transaction[read - 1] == t ? read - 1 : ISO_NONE;
        }
    }
    iso_free(last);
    return own;
}

static void schedule_init(struct schedule *schedule, struct engine *engine,
                          const uint32_t *commit_order, uint32_t count)
{
    *schedule = (struct schedule){.engine = engine,
                                  .likely = iso_numbers(engine->graph.node_count),
                                  .rank = iso_numbers(engine->graph.node_count)};
    schedule->unread = reads_count_readers(engine);
    schedule->open_writer = iso_numbers_none(engine->history->keys.count);
    schedule->current = versions_initial(engine);
    schedule->own_read = list_own_reads(engine);
    rank_nodes(schedule, commit_order, count);
    schedule->degree = iso_numbers_zero(engine->graph.node_count);
    graph_count_degrees(engine, engine->graph.linked_count, schedule->degree);
    agenda_init(&schedule->agenda, engine->graph.node_count);
    for (uint32_t node = 0; node < engine->graph.node_count; node++) {
        if (!schedule->degree[node])
            agenda_add(&schedule->agenda, schedule->rank[node]);
    }
}

static void schedule_release(struct schedule *schedule)
{
    ISO_FREE_ALL(schedule->likely, schedule->rank, schedule->unread, schedule->current,
                 schedule->open_writer, schedule->own_read, schedule->degree);
    agenda_release(&schedule->agenda);
}

static bool may_begin(const struct schedule *schedule, uint32_t t)
{
    const struct engine *engine = schedule->engine;
    for (uint32_t write = engine->writes.first[t];
         !engine->serial && write < engine->writes.first[t + 1]; write++) {
        if (schedule->open_writer[engine->writes.key[write]] != ISO_NONE)
            return false;
    }
    ISO_EACH(read, engine->reads.first, t) {
        if (engine->reads.writer[read] == OPEN &&
            candidate_of(engine, read, schedule->current[engine->reads.key[read]]) == ISO_NONE)
            return false;
    }
    return true;
}

/* Its own reads do not block a transaction that is one event. */
static bool may_commit(const struct schedule *schedule, uint32_t t)
{
    const struct engine *engine = schedule->engine;
    ISO_EACH(write, engine->writes.first, t) {
        uint32_t key = engine->writes.key[write], current = schedule->current[key];
        uint32_t left = *unread_of(schedule, current, key), own = schedule->own_read[write];
        if (left && engine->serial && own != ISO_NONE && engine->reads.writer[own] == current)
            left--;
        if (left)
            return false;
    }
    return true;
}

static bool may_be_next(const struct schedule *schedule, uint32_t node)
{
    const struct engine *engine = schedule->engine;
    if (node >= engine->graph.event_count)
        return true;
    uint32_t t = node_transaction(engine, node);
    return (node != node_begin(engine, t) || may_begin(schedule, t)) &&
           (node != node_commit(engine, t) || may_commit(schedule, t));
}

static uint32_t take_next_node(struct schedule *schedule)
{
    uint32_t passed[WAITING], count = 0, rank = ISO_NONE;
    struct agenda *agenda = &schedule->agenda;
    agenda->cursor = 0;
    while (rank == ISO_NONE && count < WAITING && agenda->count) {
        uint32_t next = agenda_take(agenda);
        if (may_be_next(schedule, schedule->likely[next]))
            rank = next;
        else
            passed[count++] = next;
    }
    assert(rank != ISO_NONE || count); /* what is known has no cycle: something can be next */
    for (uint32_t i = rank == ISO_NONE; i < count; i++)
        agenda_add(agenda, passed[i]);
    return schedule->likely[rank == ISO_NONE ? passed[0] : rank];
}

static void schedule_event(struct schedule *schedule, uint32_t node)
{
    const struct engine *engine = schedule->engine;
    uint32_t t = node_transaction(engine, node);
    bool begins = node == node_begin(engine, t), commits = node == node_commit(engine, t);
    for (uint32_t read = engine->reads.first[t]; begins && read < engine->reads.first[t + 1];
         read++) {
        if (engine->reads.writer[read] != OPEN)
            --*unread_of(schedule, engine->reads.writer[read], engine->reads.key[read]);
    }
    ISO_EACH(write, engine->writes.first, t) {
        uint32_t key = engine->writes.key[write], version = engine->writes.version[write];
        if (commits)
            schedule->current[key] = version;
        schedule->open_writer[key] = commits ? ISO_NONE : version;
    }
}

static void release_successor(struct schedule *schedule, uint32_t node)
{
    assert(schedule->degree[node]);
    if (--schedule->degree[node] == 0)
        agenda_add(&schedule->agenda, schedule->rank[node]);
}

void schedule_nodes(struct engine *engine, uint32_t *order, uint32_t scheduled_count)
{
    struct schedule schedule;
    schedule_init(&schedule, engine, order, scheduled_count);
    for (uint32_t i = 0; i < engine->graph.node_count; i++) {
        uint32_t node = order[i] = take_next_node(&schedule);
        if (node < engine->graph.event_count)
            schedule_event(&schedule, node);
        if (node_goes_on(engine, node))
            release_successor(&schedule, node + 1);
        for (uint32_t fact = engine->graph.first_out[node]; fact != ISO_NONE;
             fact = engine->graph.facts[fact].next_out)
            release_successor(&schedule, engine->graph.facts[fact].to);
    }
    schedule_release(&schedule);
}
