/* An order to propose: list scheduling. Of the nodes whose known predecessors have run, the one that probably comes
 * first (estimate.c) runs next, unless it would break something at once: a writer waits for the known readers of what
 * it replaces, and, with two events, for the writer of its key that has begun; a reader with several possible writers
 * waits until it would see one of them. Where all wait, the first runs all the same. Nothing is undone: a linear pass,
 * right nearly everywhere, and windows.c mends the rest.
 */
#include "polygraph/windows.h"

enum { WAITING = 64 }; /* nodes that are passed over before the first of them has to run */

struct schedule {
    struct engine *engine;
    uint32_t *likely, *rank; /* nodes by their estimate; inverse */
    uint32_t *unread;        /* by version, then by key for the initial one: known readers yet to run */
    uint32_t *current,
        *holder;          /* by key: the newest version, or INITIAL; the version begun and not committed, or ISO_NONE */
    uint32_t *degree;     /* by node: predecessors yet to run */
    struct agenda agenda; /* nodes that have none, by rank */
};

static uint32_t *unread_of(const struct schedule *schedule, uint32_t version, uint32_t key)
{
    return &schedule->unread[version == INITIAL ? schedule->engine->version_count + key : version];
}

/* Nodes of time hold nothing up: they come first, then what is given, then what is estimated. */
static void rank_nodes(struct schedule *schedule, const uint32_t *given, uint32_t count)
{
    const struct engine *engine = schedule->engine;
    uint32_t *likely = iso_allocate(((size_t)engine->event_count + 1) * sizeof *likely), end = 0;
    memset(schedule->rank, 0xff, engine->node_count * sizeof *schedule->rank);
    estimate_order(engine, likely);
    for (uint32_t node = engine->event_count; node < engine->node_count; node++)
        schedule->likely[end++] = node;
    for (uint32_t i = 0; i < count; i++) {
        schedule->rank[given[i]] = end;
        schedule->likely[end++] = given[i];
    }
    for (uint32_t i = 0; i < engine->event_count; i++) {
        if (schedule->rank[likely[i]] == ISO_NONE)
            schedule->likely[end++] = likely[i];
    }
    for (uint32_t i = 0; i < engine->node_count; i++)
        schedule->rank[schedule->likely[i]] = i;
    iso_free(likely);
}

static void schedule_init(struct schedule *schedule, struct engine *engine, const uint32_t *given, uint32_t count)
{
    size_t keys = ((size_t)engine->history->key_count + 1) * sizeof(uint32_t);
    size_t nodes = ((size_t)engine->node_count + 1) * sizeof(uint32_t);
    *schedule = (struct schedule){.engine = engine, .likely = iso_allocate(nodes), .rank = iso_allocate(nodes)};
    schedule->unread =
        iso_allocate_zeroed((size_t)engine->version_count + engine->history->key_count + 1, sizeof *schedule->unread);
    schedule->holder = memset(iso_allocate(keys), 0xff, keys);
    schedule->current = iso_allocate(keys);
    for (uint32_t key = 0; key < engine->history->key_count; key++)
        schedule->current[key] = INITIAL;
    for (uint32_t read = 0; read < engine->read_count; read++) {
        if (engine->read_writer[read] != OPEN)
            ++*unread_of(schedule, engine->read_writer[read], engine->read_key[read]);
    }
    rank_nodes(schedule, given, count);
    schedule->degree = iso_allocate_zeroed((size_t)engine->node_count + 1, sizeof *schedule->degree);
    graph_count_degrees(engine, schedule->degree);
    agenda_init(&schedule->agenda, engine->node_count);
    for (uint32_t node = 0; node < engine->node_count; node++) {
        if (!schedule->degree[node])
            agenda_add(&schedule->agenda, schedule->rank[node]);
    }
}

static void schedule_release(struct schedule *schedule)
{
    iso_free(schedule->likely);
    iso_free(schedule->rank);
    iso_free(schedule->unread);
    iso_free(schedule->current);
    iso_free(schedule->holder);
    iso_free(schedule->degree);
    agenda_release(&schedule->agenda);
}

/* Whether a read with several possible writers would see one of them now. */
static bool sees_candidate(const struct schedule *schedule, uint32_t read)
{
    const struct engine *engine = schedule->engine;
    uint32_t first = engine->first_candidate[read], current = schedule->current[engine->read_key[read]];
    for (uint32_t i = first; i < first + engine->candidate_count[read]; i++) {
        if (engine->candidates[i] == current)
            return true;
    }
    return false;
}

static bool may_begin(const struct schedule *schedule, uint32_t t)
{
    const struct engine *engine = schedule->engine;
    for (uint32_t write = engine->first_write[t]; !engine->serial && write < engine->first_write[t + 1]; write++) {
        if (schedule->holder[engine->write_key[write]] != ISO_NONE)
            return false;
    }
    for (uint32_t read = engine->first_read[t]; read < engine->first_read[t + 1]; read++) {
        if (engine->read_writer[read] == OPEN && !sees_candidate(schedule, read))
            return false;
    }
    return true;
}

/* Its own reads do not hold up a transaction that is one event. */
static bool may_commit(const struct schedule *schedule, uint32_t t)
{
    const struct engine *engine = schedule->engine;
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++) {
        uint32_t key = engine->write_key[write], current = schedule->current[key];
        uint32_t left = *unread_of(schedule, current, key);
        for (uint32_t read = engine->first_read[t]; left && engine->serial && read < engine->first_read[t + 1]; read++)
            left -= engine->read_key[read] == key && engine->read_writer[read] == current;
        if (left)
            return false;
    }
    return true;
}

static bool may_run(const struct schedule *schedule, uint32_t node)
{
    const struct engine *engine = schedule->engine;
    if (node >= engine->event_count)
        return true;
    uint32_t t = node_transaction(engine, node);
    return (node != node_begin(engine, t) || may_begin(schedule, t)) &&
           (node != node_commit(engine, t) || may_commit(schedule, t));
}

static uint32_t take(struct schedule *schedule)
{
    uint32_t passed[WAITING], count = 0, rank = ISO_NONE;
    struct agenda *agenda = &schedule->agenda;
    agenda->cursor = 0;
    while (rank == ISO_NONE && count < WAITING && agenda->count) {
        uint32_t next = agenda_take(agenda);
        if (may_run(schedule, schedule->likely[next]))
            rank = next;
        else
            passed[count++] = next;
    }
    for (uint32_t i = rank == ISO_NONE; i < count; i++)
        agenda_add(agenda, passed[i]);
    return schedule->likely[rank == ISO_NONE ? passed[0] : rank];
}

static void run_event(struct schedule *schedule, uint32_t node)
{
    const struct engine *engine = schedule->engine;
    uint32_t t = node_transaction(engine, node);
    bool begins = node == node_begin(engine, t), commits = node == node_commit(engine, t);
    for (uint32_t read = engine->first_read[t]; begins && read < engine->first_read[t + 1]; read++) {
        if (engine->read_writer[read] != OPEN)
            --*unread_of(schedule, engine->read_writer[read], engine->read_key[read]);
    }
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++) {
        uint32_t key = engine->write_key[write], version = engine->version_of_write[write];
        if (commits)
            schedule->current[key] = version;
        schedule->holder[key] = commits ? ISO_NONE : version;
    }
}

static void release_successor(struct schedule *schedule, uint32_t node)
{
    if (--schedule->degree[node] == 0)
        agenda_add(&schedule->agenda, schedule->rank[node]);
}

void schedule_nodes(struct engine *engine, uint32_t *order, uint32_t run_count)
{
    struct schedule schedule;
    schedule_init(&schedule, engine, order, run_count);
    for (uint32_t i = 0; i < engine->node_count; i++) {
        uint32_t node = order[i] = take(&schedule);
        if (node < engine->event_count)
            run_event(&schedule, node);
        if (node_goes_on(engine, node))
            release_successor(&schedule, node + 1);
        for (uint32_t fact = engine->first_out[node]; fact != ISO_NONE; fact = engine->facts[fact].next_out)
            release_successor(&schedule, engine->facts[fact].to);
    }
    schedule_release(&schedule);
}
