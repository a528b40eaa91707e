/* Scheduling that looks ahead, where a plain list schedule goes wrong at large: with hundreds of
 * sessions side by side few events are ordered, whatever comes too early blocks something, that
 * something else, and one SCC has nearly all.
 *
 * All nodes stand in a topological order of what is known, at first as they probably come; the
 * front of those that are not scheduled is next. When a writer begins, it comes before all versions
 * of its keys that wait: it commits before they begin, and its readers begin before they commit.
 * These edges join the order (topological.h), which moves behind what has to wait for something
 * now. An edge that would close a cycle shows that the other version comes first: then the writer
 * waits for that one. So it does for whoever is writing its key, and for the known readers of what
 * it replaces; a reader of several possible writers waits for one that it would see.
 *
 * Where waiting closes a cycle too, steps contradict one another: the cycles say which. The latest
 * of them is taken back, with all that came after, and waits for the other version of the edge that
 * it is to blame for. That costs little: the order stands as it is, edges that came last go first.
 * A reader's choice among writers is a guess that is not on record, so while reads are open nobody
 * can be blamed; then the front is scheduled all the same, and windows.c mends what comes of it.
 */
#include <assert.h>

#include "polygraph/order/topological.h"
#include "polygraph/validate.h"
#include "polygraph/order/windows.h"

enum {
    FAR = 4096,   /* positions ahead: what stands behind that sees when it comes */
    WAITING = 16, /* nodes that wait at a position before the next one has to be scheduled */
    PATIENCE = 8, /* times the work of one pass without a step back */
    MOST_JUMPS = 1000,
    LOOK_UP = 256 /* steps between looks at the clock on the wall */
};

/* Why an edge is there: a step, and what would be scheduled before it if it were taken back;
 * ISO_NONE: no step. */
struct reason {
    uint32_t step, before; /* a position; a node */
};

struct lookahead {
    struct engine *engine;
    struct topological topological;
    uint32_t *first_edge, *edge_to; /* what is known, by node */
    uint32_t next;                  /* the position of the first node that is not scheduled */
    /* by version, then by key for the initial one: known readers yet to be scheduled */
    uint32_t *unread;
    uint32_t *current;     /* by key: the newest version, or INITIAL */
    uint32_t *open_writer; /* by key: the version that has begun and not committed, or ISO_NONE */
    uint32_t *waiting;     /* by span: the first version that has not begun */
    uint32_t *replaced, replaced_count; /* what `current` was, in the order of the steps */
    uint32_t *edges_at; /* by position: how many edges there were before it was scheduled */
    struct reason *reason_of_edge,
        *reasons; /* by added edge; of the contradiction at hand, one a step */
    uint32_t reason_of_edge_capacity, reason_count, reason_capacity;
    uint32_t waited, waited_here; /* in all, at this position */
    uint32_t jumps;
    uint64_t work, most_work; /* spans looked at */
};

static bool is_scheduled(const struct lookahead *lookahead, uint32_t node)
{
    return lookahead->topological.position[node] < lookahead->next;
}

/* ---- the order to start from ---- */

static void list_edges(struct lookahead *lookahead)
{
    const struct engine *engine = lookahead->engine;
    uint32_t nodes = engine->graph.node_count,
             *first = iso_allocate_zeroed((size_t)nodes + 3, sizeof *first);
    for (uint32_t node = 0; node < nodes; node++)
        first[node + 2] += node_goes_on(engine, node);
    for (uint32_t i = 0; i < engine->graph.fact_count; i++) {
        if (engine->graph.facts[i].from != ISO_NONE)
            first[engine->graph.facts[i].from + 2]++;
    }
    iso_running_sums(first + 1, (size_t)nodes + 1);
    lookahead->edge_to = iso_allocate(((size_t)first[nodes + 1] + 1) * sizeof(uint32_t));
    for (uint32_t node = 0; node < nodes; node++) {
        if (node_goes_on(engine, node))
            lookahead->edge_to[first[node + 1]++] = node + 1;
    }
    for (uint32_t i = 0; i < engine->graph.fact_count; i++) {
        if (engine->graph.facts[i].from != ISO_NONE)
            lookahead->edge_to[first[engine->graph.facts[i].from + 1]++] =
                engine->graph.facts[i].to;
    }
    lookahead->first_edge = first;
}

/* A topological order, of what can come next always what probably does; nodes of time block
 * nothing. */
static uint32_t *sort_nodes(const struct lookahead *lookahead)
{
    const struct engine *engine = lookahead->engine;
    uint32_t nodes = engine->graph.node_count, end = 0;
    uint32_t *likely = iso_numbers(nodes), *rank = iso_numbers(nodes), *order = iso_numbers(nodes);
    uint32_t times = engine->graph.node_count - engine->graph.event_count;
    uint32_t *degree = iso_numbers_zero(engine->graph.node_count);
    struct agenda agenda;
    agenda_init(&agenda, engine->graph.node_count);
    estimate_order(engine, likely + times);
    for (uint32_t i = 0; i < times; i++)
        likely[i] = engine->graph.event_count + i;
    for (uint32_t i = 0; i < engine->graph.node_count; i++)
        rank[likely[i]] = i;
    graph_count_degrees(engine, engine->graph.linked_count, degree);
    for (uint32_t node = 0; node < engine->graph.node_count; node++) {
        if (!degree[node])
            agenda_add(&agenda, rank[node]);
    }
    for (uint32_t at; (agenda.cursor = 0, at = agenda_take(&agenda)) != ISO_NONE;) {
        uint32_t node = order[end++] = likely[at];
        ISO_EACH(i, lookahead->first_edge, node) {
            if (--degree[lookahead->edge_to[i]] == 0)
                agenda_add(&agenda, rank[lookahead->edge_to[i]]);
        }
    }
    assert(end == nodes); /* what is known has no cycle */
    agenda_release(&agenda);
    ISO_FREE_ALL(likely, rank, degree);
    return order;
}

static void lookahead_init(struct lookahead *lookahead, struct engine *engine)
{
    *lookahead = (struct lookahead){.engine = engine};
    list_edges(lookahead);
    uint32_t *order = sort_nodes(lookahead);
    topological_init(&lookahead->topological, engine->graph.node_count, order,
                     lookahead->first_edge, lookahead->edge_to);
    iso_free(order);
    lookahead->unread = reads_count_readers(engine);
    lookahead->open_writer = iso_numbers_none(engine->history->keys.count);
    lookahead->waiting = iso_numbers_copy(engine->spans.version, engine->spans.count);
    lookahead->current = versions_initial(engine);
    lookahead->edges_at = iso_allocate(((size_t)engine->graph.node_count + 1) * sizeof(uint32_t));
    lookahead->replaced = iso_allocate(((size_t)engine->writes.count + 1) * sizeof(uint32_t));
    for (uint32_t key = 0; key < engine->history->keys.count; key++)
        lookahead->most_work +=
            PATIENCE * (uint64_t)(engine->versions.first[key + 1] - engine->versions.first[key]) *
            (engine->spans.first[key + 1] - engine->spans.first[key]);
}

static void lookahead_release(struct lookahead *lookahead)
{
    topological_release(&lookahead->topological);
    ISO_FREE_ALL(lookahead->first_edge, lookahead->edge_to, lookahead->unread,
                 lookahead->open_writer, lookahead->waiting, lookahead->current,
                 lookahead->edges_at, lookahead->replaced, lookahead->reasons,
                 lookahead->reason_of_edge);
}

/* ---- edges and their reasons ---- */

static bool add_implied_edge(struct lookahead *lookahead, uint32_t from, uint32_t to,
                             struct reason reason)
{
    if (!topological_add(&lookahead->topological, from, to))
        return false;
    if (lookahead->reason_of_edge_capacity < lookahead->topological.added_capacity) {
        lookahead->reason_of_edge_capacity = lookahead->topological.added_capacity;
        lookahead->reason_of_edge = iso_reallocate(
            lookahead->reason_of_edge, lookahead->reason_of_edge_capacity * sizeof reason);
    }
    lookahead->reason_of_edge[lookahead->topological.added_count - 1] = reason;
    return true;
}

static void add_reason(struct lookahead *lookahead, struct reason reason)
{
    if (reason.step >= lookahead->next)
        return;
    for (uint32_t i = 0; i < lookahead->reason_count; i++) {
        if (lookahead->reasons[i].step == reason.step)
            return;
    }
    ISO_PUSH(lookahead->reasons, lookahead->reason_count, lookahead->reason_capacity, reason);
}

/* The steps that the path rests on which a refused edge would have closed to a cycle. */
static void add_reasons(struct lookahead *lookahead, uint32_t from, uint32_t to)
{
    const struct topological *topological = &lookahead->topological;
    for (uint32_t node = from; node != to; node = topological->came_from[node]) {
        assert(node < topological->count);
        uint32_t edge = topological->came_by[node];
        if (edge != ISO_NONE)
            add_reason(lookahead, lookahead->reason_of_edge[edge]);
    }
}

/* Takes the latest step out of the reasons. */
static struct reason take_latest(struct lookahead *lookahead)
{
    uint32_t best = 0;
    assert(lookahead->reason_count);
    for (uint32_t i = 1; i < lookahead->reason_count; i++)
        best = lookahead->reasons[i].step > lookahead->reasons[best].step ? i : best;
    struct reason latest = lookahead->reasons[best];
    lookahead->reasons[best] = lookahead->reasons[--lookahead->reason_count];
    return latest;
}

static struct reason latest_of(const struct lookahead *lookahead)
{
    struct reason latest = {ISO_NONE, ISO_NONE};
    for (uint32_t i = 0; i < lookahead->reason_count; i++) {
        if (latest.step == ISO_NONE || lookahead->reasons[i].step > latest.step)
            latest = lookahead->reasons[i];
    }
    return latest;
}

static bool add_or_blame(struct lookahead *lookahead, uint32_t from, uint32_t to,
                         struct reason reason)
{
    if (add_implied_edge(lookahead, from, to, reason))
        return true;
    add_reasons(lookahead, from, to);
    return false;
}

/* ---- what the front has to wait for: a node, or ISO_NONE ---- */

/* The candidate of an open read that will commit first, if it would see none now. */
static uint32_t wait_for_candidate(const struct lookahead *lookahead, uint32_t read)
{
    const struct engine *engine = lookahead->engine;
    uint32_t first = engine->candidates.first[read], wait = ISO_NONE;
    if (candidate_of(engine, read, lookahead->current[engine->reads.key[read]]) != ISO_NONE)
        return ISO_NONE;
    for (uint32_t i = first; i < first + engine->candidates.count[read]; i++) {
        uint32_t version = engine->candidates.version[i];
        uint32_t commit = version == INITIAL ? ISO_NONE : version_commit(engine, version);
        if (version == INITIAL || is_scheduled(lookahead, commit))
            continue;
        if (wait == ISO_NONE ||
            lookahead->topological.position[commit] < lookahead->topological.position[wait])
            wait = commit;
    }
    return wait;
}

static uint32_t wait_to_begin(struct lookahead *lookahead, uint32_t t)
{
    const struct engine *engine = lookahead->engine;
    ISO_EACH(read, engine->reads.first, t) {
        if (engine->reads.writer[read] != OPEN)
            continue;
        uint32_t wait = wait_for_candidate(lookahead, read);
        if (wait != ISO_NONE)
            return wait;
    }
    ISO_EACH(write, engine->writes.first, t) {
        uint32_t open_writer = lookahead->open_writer[engine->writes.key[write]];
        if (open_writer == ISO_NONE || is_scheduled(lookahead, version_commit(engine, open_writer)))
            continue;
        uint32_t step = lookahead->topological.position[version_begin(engine, open_writer)];
        add_reason(lookahead, (struct reason){step, node_commit(engine, t)});
        return version_commit(engine, open_writer);
    }
    return ISO_NONE;
}

/* For a known reader of what is replaced, other than the transaction itself. */
static uint32_t wait_to_commit(struct lookahead *lookahead, uint32_t t)
{
    const struct engine *engine = lookahead->engine;
    ISO_EACH(write, engine->writes.first, t) {
        uint32_t key = engine->writes.key[write], current = lookahead->current[key];
        if (current == INITIAL || !lookahead->unread[current])
            continue; /* readers of the initial version are known to come before all others */
        for (uint32_t read = engine->versions.reader[current]; read != ISO_NONE;
             read = engine->reads.next[read]) {
            uint32_t begin = node_begin(engine, engine->reads.transaction[read]);
            if (engine->reads.transaction[read] == t || is_scheduled(lookahead, begin))
                continue;
            uint32_t step = lookahead->topological.position[version_begin(engine, current)];
            add_reason(lookahead, (struct reason){step, node_commit(engine, t)});
            return begin;
        }
    }
    return ISO_NONE;
}

static bool put_behind(struct lookahead *lookahead, uint32_t from, uint32_t to,
                       struct reason reason)
{
    return reaches(lookahead->engine, from, to) || add_or_blame(lookahead, from, to, reason);
}

/* A version that waits, once another one has begun: false, it cannot wait. */
static bool put_before(struct lookahead *lookahead, uint32_t version, uint32_t waiting)
{
    const struct engine *engine = lookahead->engine;
    uint32_t commit = version_commit(engine, waiting);
    struct reason reason = {lookahead->next, commit};
    if (!engine->serial && !put_behind(lookahead, version_commit(engine, version),
                                       version_begin(engine, waiting), reason))
        return false;
    for (uint32_t read = engine->versions.reader[version]; read != ISO_NONE;
         read = engine->reads.next[read]) {
        uint32_t t = engine->reads.transaction[read];
        if (t != engine->versions.transaction[waiting] &&
            !put_behind(lookahead, node_begin(engine, t), commit, reason))
            return false;
    }
    return true;
}

/* All that follows from a writer's beginning now. What is known to come after it, its readers come
 * before too; and what stands far behind it will see when it comes. */
static uint32_t wait_to_write(struct lookahead *lookahead, uint32_t t)
{
    const struct engine *engine = lookahead->engine;
    uint32_t begin = node_begin(engine, t), far = lookahead->next + FAR;
    ISO_EACH(write, engine->writes.first, t) {
        uint32_t key = engine->writes.key[write], version = engine->writes.version[write];
        lookahead->work += engine->spans.first[key + 1] - engine->spans.first[key];
        ISO_EACH(span, engine->spans.first, key) {
            uint32_t waiting = lookahead->waiting[span];
            if (span == engine->versions.span[version] ||
                waiting == engine->spans.version[span + 1] ||
                lookahead->topological.position[version_begin(engine, waiting)] > far ||
                reaches(engine, begin, version_commit(engine, waiting)))
                continue;
            if (!put_before(lookahead, version, waiting))
                return version_commit(engine, waiting);
        }
    }
    return ISO_NONE;
}

/* The known reads of a transaction that have yet to be scheduled: more, or one less each. */
static void count_reads(struct lookahead *lookahead, uint32_t t, uint32_t by)
{
    const struct engine *engine = lookahead->engine;
    ISO_EACH(read, engine->reads.first, t) {
        if (engine->reads.writer[read] != OPEN)
            lookahead->unread[version_slot(engine, engine->reads.writer[read],
                                           engine->reads.key[read])] += by;
    }
}

/* ---- back ---- */

static void take_back_step(struct lookahead *lookahead)
{
    const struct engine *engine = lookahead->engine;
    assert(lookahead->next);
    uint32_t node = lookahead->topological.order[--lookahead->next];
    if (node >= engine->graph.event_count)
        return;
    uint32_t t = node_transaction(engine, node);
    bool begins = node == node_begin(engine, t), commits = node == node_commit(engine, t);
    if (begins)
        count_reads(lookahead, t, 1);
    for (uint32_t write = engine->writes.first[t + 1]; write-- > engine->writes.first[t];) {
        uint32_t key = engine->writes.key[write], version = engine->writes.version[write];
        if (begins)
            lookahead->waiting[engine->versions.span[version]] = version;
        if (commits)
            lookahead->current[key] = lookahead->replaced[--lookahead->replaced_count];
        lookahead->open_writer[key] = begins ? ISO_NONE : version;
    }
}

/* Goes back to the latest of the steps that contradict one another, which has to wait; false: there
 * is none. */
static bool jump_back(struct lookahead *lookahead)
{
    while (lookahead->reason_count) {
        struct reason latest = take_latest(lookahead);
        if (lookahead->work > lookahead->most_work || ++lookahead->jumps > MOST_JUMPS)
            return false;
        lookahead->work += lookahead->next - latest.step;
        while (lookahead->next > latest.step)
            take_back_step(lookahead);
        topological_take_back(&lookahead->topological, lookahead->edges_at[lookahead->next]);
        if (add_or_blame(lookahead, latest.before, lookahead->topological.order[lookahead->next],
                         latest_of(lookahead)))
            return true;
    }
    return false;
}

/* False: the front has to wait, or the steps before it are others now. */
static bool may_be_next(struct lookahead *lookahead)
{
    const struct engine *engine = lookahead->engine;
    uint32_t node = lookahead->topological.order[lookahead->next],
             added_count = lookahead->topological.added_count;
    lookahead->reason_count = 0;
    lookahead->work++;
    lookahead->edges_at[lookahead->next] = added_count;
    if (node >= engine->graph.event_count)
        return true;
    uint32_t t = node_transaction(engine, node), wait = ISO_NONE;
    bool begins = node == node_begin(engine, t), commits = node == node_commit(engine, t);
    if (begins)
        wait = wait_to_begin(lookahead, t);
    if (commits && wait == ISO_NONE)
        wait = wait_to_commit(lookahead, t);
    if (begins && wait == ISO_NONE) {
        wait = wait_to_write(lookahead, t);
        if (wait != ISO_NONE)
            topological_take_back(&lookahead->topological, added_count);
    }
    if (wait == ISO_NONE)
        return true;
    lookahead->waited++;
    if (++lookahead->waited_here > WAITING)
        return true;
    return !add_or_blame(lookahead, wait, node, latest_of(lookahead)) &&
           (engine->reads.open || !jump_back(lookahead));
}

static void schedule_next(struct lookahead *lookahead)
{
    const struct engine *engine = lookahead->engine;
    uint32_t node = lookahead->topological.order[lookahead->next++];
    lookahead->waited_here = 0;
    if (node >= engine->graph.event_count)
        return;
    uint32_t t = node_transaction(engine, node);
    bool begins = node == node_begin(engine, t), commits = node == node_commit(engine, t);
    if (begins)
        count_reads(lookahead, t, UINT32_MAX);
    ISO_EACH(write, engine->writes.first, t) {
        uint32_t key = engine->writes.key[write], version = engine->writes.version[write];
        if (begins)
            lookahead->waiting[engine->versions.span[version]] = version + 1;
        if (commits) {
            assert(lookahead->replaced_count < engine->writes.count);
            lookahead->replaced[lookahead->replaced_count++] = lookahead->current[key];
            lookahead->current[key] = version;
        }
        lookahead->open_writer[key] = commits ? ISO_NONE : version;
    }
}

uint32_t lookahead_nodes(struct engine *engine, uint32_t *order)
{
    struct lookahead lookahead;
    lookahead_init(&lookahead, engine);
    for (uint32_t steps = 1; lookahead.next < engine->graph.node_count &&
                             lookahead.waited < engine->graph.node_count / 4;
         steps++) {
        if (steps % LOOK_UP == 0 && engine_must_stop(engine))
            break;
        if (may_be_next(&lookahead))
            schedule_next(&lookahead);
    }
    topological_validate(&lookahead.topological);
    uint32_t count = 0;
    for (uint32_t i = 0; i < lookahead.next; i++) {
        if (lookahead.topological.order[i] < engine->graph.event_count)
            order[count++] = lookahead.topological.order[i];
    }
    lookahead_release(&lookahead);
    return count;
}
