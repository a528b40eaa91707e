/* Scheduling with foresight, where a plain list schedule goes wrong at large: with hundreds of sessions side by side
 * few events are ordered, whatever runs too early blocks something, that something else, and one knot holds nearly all.
 *
 * All nodes stand in a topological order of what is known, at first as they probably come; the front of those that have
 * not run is next. When a writer begins, it comes before all versions of its keys that wait: it commits before they
 * begin, and its readers begin before they commit. These edges join the order (places.h), which moves behind what has
 * to wait for something now. An edge that would close a cycle shows that the other version comes first: then the
 * writer waits for that one. So it does for who holds its key, and for the known readers of what it replaces; a reader
 * of several possible writers waits for one that it would see.
 *
 * Where waiting closes a cycle too, steps contradict one another: the cycles tell which. The latest of them is taken
 * back, with all that came after, and waits for the other version of the edge that it is to blame for. That costs
 * little: the order stands as it is, edges that came last go first. A reader's choice among writers is a guess that is
 * not on record, so while reads are open nobody can be blamed; then the front runs all the same, and windows.c mends
 * what comes of it.
 */
#include "polygraph/places.h"
#include "polygraph/windows.h"

enum {
    FAR = 4096,   /* places ahead: what stands behind that sees when it comes */
    WAITING = 16, /* nodes that wait at a place before the next one has to run */
    PATIENCE = 8, /* times the work of one pass without a step back */
    MOST_JUMPS = 1000,
    LOOK_UP = 256 /* steps between looks at the clock on the wall */
};

/* Why an edge holds: a step, and what would run before it if it were taken back; ISO_NONE: no step. */
struct reason {
    uint32_t step, before; /* a place; a node */
};

struct foresight {
    struct engine *engine;
    struct places places;
    uint32_t *first_edge, *edge_to;          /* what is known, by node */
    uint32_t next;                           /* the place of the first node that has not run */
    uint32_t *unread;                        /* by version, then by key for the initial one: known readers yet to run */
    uint32_t *current;                       /* by key: the newest version, or INITIAL */
    uint32_t *holder;                        /* by key: the version that has begun and not committed, or ISO_NONE */
    uint32_t *waiting;                       /* by run: the first version that has not begun */
    uint32_t *replaced, replaced_count;      /* what `current` was, in the order of the steps */
    uint32_t *edges_at;                      /* by place: how many edges there were before it ran */
    struct reason *reason_of_edge, *reasons; /* by added edge; of the contradiction at hand, one a step */
    uint32_t reason_of_edge_capacity, reason_count, reason_capacity;
    uint32_t waited, waited_here; /* in all, at this place */
    uint32_t jumps;
    uint64_t work, most_work; /* runs looked at */
};

static uint32_t *at_version(const struct foresight *foresight, uint32_t *column, uint32_t version, uint32_t key)
{
    return &column[version == INITIAL ? foresight->engine->version_count + key : version];
}

static bool has_run(const struct foresight *foresight, uint32_t node)
{
    return foresight->places.place[node] < foresight->next;
}

/* ---- the order to start from ---- */

static void list_edges(struct foresight *foresight)
{
    const struct engine *engine = foresight->engine;
    uint32_t nodes = engine->node_count, *first = iso_allocate_zeroed((size_t)nodes + 3, sizeof *first);
    for (uint32_t node = 0; node < nodes; node++)
        first[node + 2] += node_goes_on(engine, node);
    for (uint32_t i = 0; i < engine->fact_count; i++) {
        if (engine->facts[i].from != ISO_NONE)
            first[engine->facts[i].from + 2]++;
    }
    for (uint32_t node = 0; node < nodes; node++)
        first[node + 2] += first[node + 1];
    foresight->edge_to = iso_allocate(((size_t)first[nodes + 1] + 1) * sizeof(uint32_t));
    for (uint32_t node = 0; node < nodes; node++) {
        if (node_goes_on(engine, node))
            foresight->edge_to[first[node + 1]++] = node + 1;
    }
    for (uint32_t i = 0; i < engine->fact_count; i++) {
        if (engine->facts[i].from != ISO_NONE)
            foresight->edge_to[first[engine->facts[i].from + 1]++] = engine->facts[i].to;
    }
    foresight->first_edge = first;
}

/* A topological order, of what can come next always what probably does; nodes of time hold nothing up. */
static uint32_t *sort_nodes(const struct foresight *foresight)
{
    const struct engine *engine = foresight->engine;
    size_t nodes = ((size_t)engine->node_count + 1) * sizeof(uint32_t);
    uint32_t *likely = iso_allocate(nodes), *rank = iso_allocate(nodes), *order = iso_allocate(nodes), end = 0;
    uint32_t times = engine->node_count - engine->event_count;
    uint32_t *degree = iso_allocate_zeroed((size_t)engine->node_count + 1, sizeof *degree);
    struct agenda agenda;
    agenda_init(&agenda, engine->node_count);
    estimate_order(engine, likely + times);
    for (uint32_t i = 0; i < times; i++)
        likely[i] = engine->event_count + i;
    for (uint32_t i = 0; i < engine->node_count; i++)
        rank[likely[i]] = i;
    graph_count_degrees(engine, degree);
    for (uint32_t node = 0; node < engine->node_count; node++) {
        if (!degree[node])
            agenda_add(&agenda, rank[node]);
    }
    for (uint32_t at; (agenda.cursor = 0, at = agenda_take(&agenda)) != ISO_NONE;) {
        uint32_t node = order[end++] = likely[at];
        for (uint32_t i = foresight->first_edge[node]; i < foresight->first_edge[node + 1]; i++) {
            if (--degree[foresight->edge_to[i]] == 0)
                agenda_add(&agenda, rank[foresight->edge_to[i]]);
        }
    }
    agenda_release(&agenda);
    iso_free(likely);
    iso_free(rank);
    iso_free(degree);
    return order;
}

static void foresight_init(struct foresight *foresight, struct engine *engine)
{
    size_t keys = ((size_t)engine->history->key_count + 1) * sizeof(uint32_t);
    size_t runs = ((size_t)engine->run_count + 1) * sizeof(uint32_t);
    *foresight = (struct foresight){.engine = engine};
    list_edges(foresight);
    uint32_t *order = sort_nodes(foresight);
    places_init(&foresight->places, engine->node_count, order, foresight->first_edge, foresight->edge_to);
    iso_free(order);
    foresight->unread =
        iso_allocate_zeroed((size_t)engine->version_count + engine->history->key_count + 1, sizeof *foresight->unread);
    foresight->holder = memset(iso_allocate(keys), 0xff, keys);
    foresight->waiting = memcpy(iso_allocate(runs), engine->run_version, runs);
    foresight->current = iso_allocate(keys);
    foresight->edges_at = iso_allocate(((size_t)engine->node_count + 1) * sizeof(uint32_t));
    foresight->replaced = iso_allocate(((size_t)engine->write_count + 1) * sizeof(uint32_t));
    for (uint32_t key = 0; key < engine->history->key_count; key++)
        foresight->most_work += PATIENCE * (uint64_t)(engine->first_version[key + 1] - engine->first_version[key]) *
                                (engine->first_run[key + 1] - engine->first_run[key]);
    for (uint32_t key = 0; key < engine->history->key_count; key++)
        foresight->current[key] = INITIAL;
    for (uint32_t read = 0; read < engine->read_count; read++) {
        if (engine->read_writer[read] != OPEN)
            ++*at_version(foresight, foresight->unread, engine->read_writer[read], engine->read_key[read]);
    }
}

static void foresight_release(struct foresight *foresight)
{
    places_release(&foresight->places);
    iso_free(foresight->first_edge);
    iso_free(foresight->edge_to);
    iso_free(foresight->unread);
    iso_free(foresight->holder);
    iso_free(foresight->waiting);
    iso_free(foresight->current);
    iso_free(foresight->edges_at);
    iso_free(foresight->replaced);
    iso_free(foresight->reasons);
    iso_free(foresight->reason_of_edge);
}

/* ---- edges and their reasons ---- */

static bool add(struct foresight *foresight, uint32_t from, uint32_t to, struct reason reason)
{
    if (!places_add(&foresight->places, from, to))
        return false;
    if (foresight->reason_of_edge_capacity < foresight->places.added_capacity) {
        foresight->reason_of_edge_capacity = foresight->places.added_capacity;
        foresight->reason_of_edge =
            iso_reallocate(foresight->reason_of_edge, foresight->reason_of_edge_capacity * sizeof reason);
    }
    foresight->reason_of_edge[foresight->places.added_count - 1] = reason;
    return true;
}

static void add_reason(struct foresight *foresight, struct reason reason)
{
    if (reason.step >= foresight->next)
        return;
    for (uint32_t i = 0; i < foresight->reason_count; i++) {
        if (foresight->reasons[i].step == reason.step)
            return;
    }
    if (foresight->reason_count == foresight->reason_capacity) {
        foresight->reason_capacity =
            (uint32_t)iso_column_capacity(foresight->reason_capacity, foresight->reason_count + 1u);
        foresight->reasons = iso_reallocate(foresight->reasons, foresight->reason_capacity * sizeof reason);
    }
    foresight->reasons[foresight->reason_count++] = reason;
}

/* The steps that the path rests on which a refused edge would have closed to a cycle. */
static void add_reasons(struct foresight *foresight, uint32_t from, uint32_t to)
{
    const struct places *places = &foresight->places;
    for (uint32_t node = from; node != to; node = places->came_from[node]) {
        uint32_t edge = places->came_by[node];
        if (edge != ISO_NONE)
            add_reason(foresight, foresight->reason_of_edge[edge]);
    }
}

/* Takes the latest step out of the reasons. */
static struct reason take_latest(struct foresight *foresight)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < foresight->reason_count; i++)
        best = foresight->reasons[i].step > foresight->reasons[best].step ? i : best;
    struct reason latest = foresight->reasons[best];
    foresight->reasons[best] = foresight->reasons[--foresight->reason_count];
    return latest;
}

static struct reason latest_of(const struct foresight *foresight)
{
    struct reason latest = {ISO_NONE, ISO_NONE};
    for (uint32_t i = 0; i < foresight->reason_count; i++) {
        if (latest.step == ISO_NONE || foresight->reasons[i].step > latest.step)
            latest = foresight->reasons[i];
    }
    return latest;
}

static bool add_or_blame(struct foresight *foresight, uint32_t from, uint32_t to, struct reason reason)
{
    if (add(foresight, from, to, reason))
        return true;
    add_reasons(foresight, from, to);
    return false;
}

/* ---- what the front has to wait for: a node, or ISO_NONE ---- */

/* The candidate of an open read that will commit first, if it would see none now. */
static uint32_t wait_for_candidate(const struct foresight *foresight, uint32_t read)
{
    const struct engine *engine = foresight->engine;
    uint32_t first = engine->first_candidate[read], current = foresight->current[engine->read_key[read]];
    uint32_t wait = ISO_NONE;
    for (uint32_t i = first; i < first + engine->candidate_count[read]; i++) {
        uint32_t version = engine->candidates[i];
        if (version == current)
            return ISO_NONE;
        uint32_t commit = version == INITIAL ? ISO_NONE : version_commit(engine, version);
        if (version == INITIAL || has_run(foresight, commit))
            continue;
        if (wait == ISO_NONE || foresight->places.place[commit] < foresight->places.place[wait])
            wait = commit;
    }
    return wait;
}

static uint32_t wait_to_begin(struct foresight *foresight, uint32_t t)
{
    const struct engine *engine = foresight->engine;
    for (uint32_t read = engine->first_read[t]; read < engine->first_read[t + 1]; read++) {
        if (engine->read_writer[read] != OPEN)
            continue;
        uint32_t wait = wait_for_candidate(foresight, read);
        if (wait != ISO_NONE)
            return wait;
    }
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++) {
        uint32_t holder = foresight->holder[engine->write_key[write]];
        if (holder == ISO_NONE || has_run(foresight, version_commit(engine, holder)))
            continue;
        uint32_t step = foresight->places.place[version_begin(engine, holder)];
        add_reason(foresight, (struct reason){step, node_commit(engine, t)});
        return version_commit(engine, holder);
    }
    return ISO_NONE;
}

/* For a known reader of what is replaced, other than the transaction itself. */
static uint32_t wait_to_commit(struct foresight *foresight, uint32_t t)
{
    const struct engine *engine = foresight->engine;
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++) {
        uint32_t key = engine->write_key[write], current = foresight->current[key];
        if (current == INITIAL || !*at_version(foresight, foresight->unread, current, key))
            continue; /* readers of the initial version are known to come before all others */
        for (uint32_t read = engine->version_reader[current]; read != ISO_NONE; read = engine->read_next[read]) {
            uint32_t begin = node_begin(engine, engine->read_transaction[read]);
            if (engine->read_transaction[read] == t || has_run(foresight, begin))
                continue;
            uint32_t step = foresight->places.place[version_begin(engine, current)];
            add_reason(foresight, (struct reason){step, node_commit(engine, t)});
            return begin;
        }
    }
    return ISO_NONE;
}

static bool put_behind(struct foresight *foresight, uint32_t from, uint32_t to, struct reason reason)
{
    return reaches(foresight->engine, from, to) || add_or_blame(foresight, from, to, reason);
}

/* A version that waits, once another one has begun: false, it cannot wait. */
static bool put_before(struct foresight *foresight, uint32_t version, uint32_t waiting)
{
    const struct engine *engine = foresight->engine;
    uint32_t commit = version_commit(engine, waiting);
    struct reason reason = {foresight->next, commit};
    if (!engine->serial &&
        !put_behind(foresight, version_commit(engine, version), version_begin(engine, waiting), reason))
        return false;
    for (uint32_t read = engine->version_reader[version]; read != ISO_NONE; read = engine->read_next[read]) {
        uint32_t t = engine->read_transaction[read];
        if (t != engine->version_transaction[waiting] && !put_behind(foresight, node_begin(engine, t), commit, reason))
            return false;
    }
    return true;
}

/* All that follows from a writer's beginning now. What is known to come after it, its readers come before too; and what
 * stands far behind it will see when it comes. */
static uint32_t wait_to_write(struct foresight *foresight, uint32_t t)
{
    const struct engine *engine = foresight->engine;
    uint32_t begin = node_begin(engine, t), far = foresight->next + FAR;
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++) {
        uint32_t key = engine->write_key[write], version = engine->version_of_write[write];
        foresight->work += engine->first_run[key + 1] - engine->first_run[key];
        for (uint32_t run = engine->first_run[key]; run < engine->first_run[key + 1]; run++) {
            uint32_t waiting = foresight->waiting[run];
            if (run == engine->version_run[version] || waiting == engine->run_version[run + 1] ||
                foresight->places.place[version_begin(engine, waiting)] > far ||
                reaches(engine, begin, version_commit(engine, waiting)))
                continue;
            if (!put_before(foresight, version, waiting))
                return version_commit(engine, waiting);
        }
    }
    return ISO_NONE;
}

/* The known reads of a transaction that have yet to run: more, or one less each. */
static void count_reads(struct foresight *foresight, uint32_t t, uint32_t by)
{
    const struct engine *engine = foresight->engine;
    for (uint32_t read = engine->first_read[t]; read < engine->first_read[t + 1]; read++) {
        if (engine->read_writer[read] != OPEN)
            *at_version(foresight, foresight->unread, engine->read_writer[read], engine->read_key[read]) += by;
    }
}

/* ---- back ---- */

static void take_back_step(struct foresight *foresight)
{
    const struct engine *engine = foresight->engine;
    uint32_t node = foresight->places.order[--foresight->next];
    if (node >= engine->event_count)
        return;
    uint32_t t = node_transaction(engine, node);
    bool begins = node == node_begin(engine, t), commits = node == node_commit(engine, t);
    if (begins)
        count_reads(foresight, t, 1);
    for (uint32_t write = engine->first_write[t + 1]; write-- > engine->first_write[t];) {
        uint32_t key = engine->write_key[write], version = engine->version_of_write[write];
        if (begins)
            foresight->waiting[engine->version_run[version]] = version;
        if (commits)
            foresight->current[key] = foresight->replaced[--foresight->replaced_count];
        foresight->holder[key] = begins ? ISO_NONE : version;
    }
}

/* Goes back to the latest of the steps that contradict one another, which has to wait; false: there is none. */
static bool jump_back(struct foresight *foresight)
{
    while (foresight->reason_count) {
        struct reason latest = take_latest(foresight);
        if (foresight->work > foresight->most_work || ++foresight->jumps > MOST_JUMPS)
            return false;
        foresight->work += foresight->next - latest.step;
        while (foresight->next > latest.step)
            take_back_step(foresight);
        places_take_back(&foresight->places, foresight->edges_at[foresight->next]);
        if (add_or_blame(foresight, latest.before, foresight->places.order[foresight->next], latest_of(foresight)))
            return true;
    }
    return false;
}

/* False: the front has to wait, or the steps before it are others now. */
static bool may_run(struct foresight *foresight)
{
    const struct engine *engine = foresight->engine;
    uint32_t node = foresight->places.order[foresight->next], added_count = foresight->places.added_count;
    foresight->reason_count = 0;
    foresight->work++;
    foresight->edges_at[foresight->next] = added_count;
    if (node >= engine->event_count)
        return true;
    uint32_t t = node_transaction(engine, node), wait = ISO_NONE;
    bool begins = node == node_begin(engine, t), commits = node == node_commit(engine, t);
    if (begins)
        wait = wait_to_begin(foresight, t);
    if (commits && wait == ISO_NONE)
        wait = wait_to_commit(foresight, t);
    if (begins && wait == ISO_NONE) {
        wait = wait_to_write(foresight, t);
        if (wait != ISO_NONE)
            places_take_back(&foresight->places, added_count);
    }
    if (wait == ISO_NONE)
        return true;
    foresight->waited++;
    if (++foresight->waited_here > WAITING)
        return true;
    return !add_or_blame(foresight, wait, node, latest_of(foresight)) && (engine->open_reads || !jump_back(foresight));
}

static void run_next(struct foresight *foresight)
{
    const struct engine *engine = foresight->engine;
    uint32_t node = foresight->places.order[foresight->next++];
    foresight->waited_here = 0;
    if (node >= engine->event_count)
        return;
    uint32_t t = node_transaction(engine, node);
    bool begins = node == node_begin(engine, t), commits = node == node_commit(engine, t);
    if (begins)
        count_reads(foresight, t, UINT32_MAX);
    for (uint32_t write = engine->first_write[t]; write < engine->first_write[t + 1]; write++) {
        uint32_t key = engine->write_key[write], version = engine->version_of_write[write];
        if (begins)
            foresight->waiting[engine->version_run[version]] = version + 1;
        if (commits) {
            foresight->replaced[foresight->replaced_count++] = foresight->current[key];
            foresight->current[key] = version;
        }
        foresight->holder[key] = commits ? ISO_NONE : version;
    }
}

uint32_t foresee_nodes(struct engine *engine, uint32_t *order)
{
    struct foresight foresight;
    foresight_init(&foresight, engine);
    for (uint32_t steps = 1; foresight.next < engine->node_count && foresight.waited < engine->node_count / 4;
         steps++) {
        if (steps % LOOK_UP == 0 && engine_must_stop(engine))
            break;
        if (may_run(&foresight))
            run_next(&foresight);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < foresight.next; i++) {
        if (foresight.places.order[i] < engine->event_count)
            order[count++] = foresight.places.order[i];
    }
    foresight_release(&foresight);
    return count;
}
