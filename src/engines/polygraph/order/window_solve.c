/* One window: the events between two positions of the order, all before them done, all after them
 * still to come.
 *
 * Variables are the pairs of versions of a key that commit inside (true: as they stand), and what
 * the open reads that begin inside see: a version of the window, or the one that stood before it.
 * Edges follow from the facts, from both, and from what the rest asks of the window: what a later
 * read sees comes last of its key; a transaction that begins before or commits after it is the
 * first or last writer. Each model's edges are sorted; where they close cycles, some short ones
 * with no edge in common become clauses.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/components.h"
#include "polygraph/order/windows.h"
#include "solver/solver.h"

enum {
    MOST_PAIRS = 1 << 20,
    MOST_EDGES = 1 << 23,
    MOST_ROUNDS = 1000,
    CYCLES_A_ROUND = 500,
    IN_VAIN = 16,
    LOOK_UP = 64
};

/* The versions of a key that commit inside. */
struct block {
    uint32_t first, count; /* of `sorted` */
    uint32_t key, first_pair;
};

/* Positions from the first one on; under one or two literals, 0: none. */
struct bound {
    uint32_t from, to;
    int first, second;
};

/* One version that an open read may see. */
struct choice {
    uint32_t read, version;
    int literal;
};

struct window {
    struct windows *windows;
    struct engine *engine;
    struct iso_solver *solver;
    uint32_t first, count; /* positions */
    struct block *blocks;
    uint32_t block_count, block_capacity, pair_count;
    int8_t *known; /* by variable of a pair: 1, -1: its value in any case; 0: open */
    ISO_LIST(struct choice) choices; /* variables behind those of pairs */
    ISO_LIST(struct bound) edges;
    uint32_t *first_edge; /* by position, once they are sorted */
    /* a model: its edges by position, where each leads and its number */
    uint32_t *first_active, *active_to, *active;
    uint32_t *first_reverse, *reverse; /* by the position it leads to: the number of the edge */
    bool too_much;
    /* sorting a model */
    struct agenda agenda;
    uint32_t *degree, *sequence, *component;
    /* cycles */
    bool *used; /* by edge: on a cycle of this round */
    struct front {
        uint32_t *by, *queue, head, end; /* by position: the edge that led there */
    } fronts[2];                         /* forward, backward */
    uint32_t *visited, round;            /* by position: two numbers a round, one a front */
    ISO_LIST(int) clause;
};

/* ---- variables ---- */

static bool is_inside(const struct window *window, uint32_t position)
{
    return position - window->first < window->count;
}

static const struct block *block_of(const struct window *window, uint32_t key)
{
    uint32_t block = window->windows->block_of_key[key];
    return block ? &window->blocks[block - 1] : NULL;
}

/* "a comes before b", of one block. */
static int literal_of(const struct window *window, const struct block *block, uint32_t a,
                      uint32_t b)
{
    uint32_t x = window->windows->sorted_at[a] - block->first,
             y = window->windows->sorted_at[b] - block->first;
    assert(x != y && x < block->count && y < block->count);
    uint32_t low = x < y ? x : y, high = x < y ? y : x;
    int variable = (int)(block->first_pair + low * (2 * block->count - low - 1) / 2 + high - low);
    return x < y ? variable : -variable;
}

static void add_block(struct window *window, uint32_t key, uint32_t version)
{
    struct windows *windows = window->windows;
    const struct engine *engine = window->engine;
    uint32_t first = windows->sorted_at[version], end = first + 1;
    assert(engine->versions.key[version] == key);
    while (first > engine->versions.first[key] &&
           is_inside(window, commit_position(windows, windows->sorted[first - 1])))
        first--;
    while (end < engine->versions.first[key + 1] &&
           is_inside(window, commit_position(windows, windows->sorted[end])))
        end++;
    ISO_GROW(window->blocks, window->block_count, window->block_capacity);
    uint64_t pairs = (uint64_t)(end - first) * (end - first - 1) / 2;
    window->too_much |= pairs + window->pair_count > MOST_PAIRS;
    window->blocks[window->block_count++] =
        (struct block){first, end - first, key, window->pair_count};
    window->pair_count += window->too_much ? 0 : (uint32_t)pairs;
    windows->block_of_key[key] = window->block_count;
}

/* True is the likely answer: that it sees what it sees as things stand, and nothing else. */
static int add_choice(struct window *window, uint32_t read, uint32_t version)
{
    int variable = (int)(window->pair_count + window->choices.count + 1);
    int literal = version == window->windows->seen[read] ? variable : -variable;
    ISO_APPEND(window->choices, (struct choice){read, version, literal});
    return literal;
}

/* ---- edges ---- */

static void put_edge(struct window *window, uint32_t from, uint32_t to, int first, int second)
{
    uint32_t from_position = window->windows->position[from],
             to_position = window->windows->position[to];
    assert(is_inside(window, from_position) && is_inside(window, to_position));
    ISO_GROW_COLUMN(window->edges.list, window->edges.count, window->edges.capacity);
    window->edges.list[window->edges.count++] =
        (struct bound){from_position - window->first, to_position - window->first, first, second};
    window->too_much |= window->edges.count > MOST_EDGES;
}

static bool node_is_inside(const struct window *window, uint32_t node)
{
    return is_inside(window, window->windows->position[node]);
}

static void add_facts(struct window *window, uint32_t node)
{
    const struct engine *engine = window->engine;
    if (node_goes_on(engine, node) && node_is_inside(window, node + 1))
        put_edge(window, node, node + 1, 0, 0);
    for (uint32_t i = engine->graph.first_out[node]; i != ISO_NONE;
         i = engine->graph.facts[i].next_out) {
        if (node_is_inside(window, engine->graph.facts[i].to))
            put_edge(window, node, engine->graph.facts[i].to, 0, 0);
    }
}

static void add_unit(struct window *window, int literal)
{
    iso_solver_clause(window->solver, &literal, 1);
}

/* 1, -1: a literal of a pair, or none at all, is true or false in any case; 0: that is open. */
static int known_value(const struct window *window, int literal)
{
    uint32_t variable = (uint32_t)abs(literal);
    if (variable == 0 || variable > window->pair_count)
        return variable == 0;
    return literal > 0 ? window->known[variable] : -window->known[variable];
}

/* An edge that facts imply says nothing new: their path does not leave the window. One against them
 * is a clause. */
static void add_edge(struct window *window, uint32_t from, uint32_t to, int first, int second)
{
    int known = known_value(window, first);
    if (known < 0 || !node_is_inside(window, from) || !node_is_inside(window, to) ||
        reaches(window->engine, from, to))
        return;
    if (known) {
        first = second;
        second = 0;
    }
    if (first && reaches(window->engine, to, from))
        iso_solver_clause(window->solver, (int[]){-first, -second}, second ? 2 : 1);
    else
        put_edge(window, from, to, first, second);
}

/* Adds the order of a pair of versions, as far as it is known. */
static void look_at_pair(struct window *window, const struct block *block, uint32_t a, uint32_t b)
{
    const struct engine *engine = window->engine;
    int literal = literal_of(window, block, a, b), known = 0;
    if (!is_inside(window, begin_position(window->windows, a)) ||
        reaches(engine, version_begin(engine, a), version_commit(engine, b)))
        known = 1;
    else if (!is_inside(window, begin_position(window->windows, b)) ||
             reaches(engine, version_begin(engine, b), version_commit(engine, a)))
        known = -1;
    if (known)
        add_unit(window, known * literal);
    window->known[abs(literal)] = (int8_t)(literal > 0 ? known : -known);
}

/* The edge of either order. */
static void add_pair(struct window *window, const struct block *block, uint32_t a, uint32_t b)
{
    const struct engine *engine = window->engine;
    int literal = literal_of(window, block, a, b);
    add_edge(window, version_commit(engine, a), version_begin(engine, b), literal, 0);
    add_edge(window, version_commit(engine, b), version_begin(engine, a), -literal, 0);
}

/* Whether a read that comes after the window sees a version. */
static bool is_seen_later(const struct window *window, uint32_t version)
{
    const struct windows *windows = window->windows;
    const struct engine *engine = window->engine;
    uint32_t end = window->first + window->count;
    for (uint32_t read = engine->versions.reader[version]; read != ISO_NONE;
         read = engine->reads.next[read]) {
        if (windows->position[node_begin(engine, engine->reads.transaction[read])] >= end)
            return true;
    }
    for (uint32_t read = windows->first_seer[version]; read != ISO_NONE;
         read = windows->next_seer[read]) {
        if (windows->seen[read] == version &&
            windows->position[node_begin(engine, engine->reads.transaction[read])] >= end)
            return true;
    }
    return false;
}

/* In the proposed order the versions that later reads see come last. */
static void look_at_block(struct window *window, const struct block *block)
{
    const uint32_t *versions = window->windows->sorted + block->first;
    for (uint32_t i = 0; i < block->count; i++) {
        bool last = is_seen_later(window, versions[i]);
        for (uint32_t j = i + 1; j < block->count; j++)
            look_at_pair(window, block, versions[i], versions[j]);
        for (uint32_t j = 0; last && j < block->count; j++) {
            if (j != i)
                add_unit(window, literal_of(window, block, versions[j], versions[i]));
        }
    }
}

static void add_block_edges(struct window *window, const struct block *block)
{
    const struct engine *engine = window->engine;
    const uint32_t *versions = window->windows->sorted + block->first;
    uint32_t next = block->first + block->count;
    bool commits_later = next < engine->versions.first[block->key + 1];
    for (uint32_t i = 0; i < block->count; i++) {
        for (uint32_t j = i + 1; j < block->count; j++)
            add_pair(window, block, versions[i], versions[j]);
        if (commits_later) /* and may begin inside */
            add_edge(window, version_commit(engine, versions[i]),
                     version_begin(engine, window->windows->sorted[next]), 0, 0);
    }
}

/* A read that sees a version, or what stood before the window, comes before the others of the
 * block: `literal` says that it does, 0: in any case. */
static void add_read_edges(struct window *window, const struct block *block, uint32_t read,
                           uint32_t version, int literal)
{
    const struct engine *engine = window->engine;
    uint32_t t = engine->reads.transaction[read], begin = node_begin(engine, t);
    bool inside =
        version != INITIAL && is_inside(window, commit_position(window->windows, version));
    for (uint32_t i = 0; i < block->count; i++) {
        uint32_t later = window->windows->sorted[block->first + i];
        if (later != version && engine->versions.transaction[later] != t)
            add_edge(window, begin, version_commit(engine, later),
                     inside ? literal_of(window, block, version, later) : literal,
                     inside ? literal : 0);
    }
}

/* The version of a key that the window starts with. */
static uint32_t version_before(const struct window *window, uint32_t key)
{
    const struct windows *windows = window->windows;
    uint32_t start = window->engine->versions.first[key], low = start,
             high = window->engine->versions.first[key + 1];
    ISO_BISECT(low, high, middle,
               commit_position(windows, windows->sorted[middle]) < window->first);
    return low == start ? INITIAL : windows->sorted[low - 1];
}

static void add_literal(struct window *window, int literal)
{
    ISO_APPEND(window->clause, literal);
}

static void add_open_read(struct window *window, uint32_t read)
{
    const struct engine *engine = window->engine;
    uint32_t first = engine->candidates.first[read],
             before = version_before(window, engine->reads.key[read]);
    const struct block *block = block_of(window, engine->reads.key[read]);
    window->clause.count = 0;
    for (uint32_t i = first; i < first + engine->candidates.count[read]; i++) {
        uint32_t version = engine->candidates.version[i];
        bool inside =
            version != INITIAL && is_inside(window, commit_position(window->windows, version));
        if (!inside && version != before)
            continue;
        int literal = add_choice(window, read, version);
        add_literal(window, literal);
        if (inside)
            add_edge(window, version_commit(engine, version),
                     node_begin(engine, engine->reads.transaction[read]), literal, 0);
        if (block)
            add_read_edges(window, block, read, version, literal);
    }
    iso_solver_clause(window->solver, window->clause.list, window->clause.count);
}

static void add_reads(struct window *window, uint32_t t)
{
    const struct engine *engine = window->engine;
    ISO_EACH(read, engine->reads.first, t) {
        const struct block *block = block_of(window, engine->reads.key[read]);
        if (engine->reads.writer[read] == OPEN)
            add_open_read(window, read);
        else if (block)
            add_read_edges(window, block, read, engine->reads.writer[read], 0);
    }
}

static void sort_edges(struct window *window)
{
    struct bound *sorted = iso_allocate(((size_t)window->edges.count + 1) * sizeof *sorted);
    window->first_edge = iso_allocate_zeroed((size_t)window->count + 3, sizeof *window->first_edge);
    for (uint32_t i = 0; i < window->edges.count; i++)
        window->first_edge[window->edges.list[i].from + 2]++;
    iso_running_sums(window->first_edge + 1, (size_t)window->count + 1);
    for (uint32_t i = 0; i < window->edges.count; i++)
        sorted[window->first_edge[window->edges.list[i].from + 1]++] = window->edges.list[i];
    ISO_FREE_COLUMN(window->edges.list, window->edges.capacity);
    window->edges.list = sorted;
}

/* False: too much. */
static bool build_window(struct window *window)
{
    const struct engine *engine = window->engine;
    const uint32_t *nodes = window->windows->order + window->first;
    for (uint32_t i = 0; i < window->count; i++) {
        uint32_t t =
            nodes[i] < engine->graph.event_count ? node_transaction(engine, nodes[i]) : ISO_NONE;
        add_facts(window, nodes[i]);
        if (t == ISO_NONE || nodes[i] != node_commit(engine, t))
            continue;
        ISO_EACH(write, engine->writes.first, t) {
            if (!block_of(window, engine->writes.key[write]))
                add_block(window, engine->writes.key[write], engine->writes.version[write]);
        }
    }
    window->known = iso_allocate_zeroed((size_t)window->pair_count + 1, sizeof *window->known);
    for (uint32_t i = 0; i < window->block_count && !window->too_much; i++)
        look_at_block(window, &window->blocks[i]);
    for (uint32_t i = 0; i < window->block_count && !window->too_much; i++)
        add_block_edges(window, &window->blocks[i]);
    for (uint32_t i = 0; i < window->count && !window->too_much; i++) {
        if (nodes[i] < engine->graph.event_count &&
            nodes[i] == node_begin(engine, node_transaction(engine, nodes[i])))
            add_reads(window, node_transaction(engine, nodes[i]));
    }
    sort_edges(window);
    return !window->too_much;
}

/* ---- models ---- */

static bool literals_are_true(const bool *value, int literal)
{
    return literal == 0 || (literal > 0 ? value[literal] : !value[-literal]);
}

static void activate_edges(struct window *window)
{
    uint32_t variables = window->pair_count + window->choices.count, end = 0;
    bool *value = iso_allocate(((size_t)variables + 1) * sizeof *value);
    for (uint32_t i = 1; i <= variables; i++)
        value[i] = iso_solver_value(window->solver, (int)i);
    for (uint32_t position = 0; position < window->count; position++) {
        window->first_active[position] = end;
        ISO_EACH(i, window->first_edge, position) {
            if (!literals_are_true(value, window->edges.list[i].first) ||
                !literals_are_true(value, window->edges.list[i].second))
                continue;
            window->active_to[end] = window->edges.list[i].to;
            window->active[end++] = i;
        }
    }
    window->first_active[window->count] = end;
    assert(end <= window->edges.count);
    iso_free(value);
}

/* A graph without cycles into `sequence`; what stands first now comes first of what could. */
static void sort_model(struct window *window)
{
    uint32_t end = 0;
    memset(window->degree, 0, window->count * sizeof *window->degree);
    for (uint32_t i = 0; i < window->first_active[window->count]; i++)
        window->degree[window->active_to[i]]++;
    for (uint32_t position = 0; position < window->count; position++) {
        if (!window->degree[position])
            agenda_add(&window->agenda, position);
    }
    for (uint32_t position;
         (window->agenda.cursor = 0, position = agenda_take(&window->agenda)) != ISO_NONE;) {
        window->sequence[end++] = position;
        ISO_EACH(i, window->first_active, position) {
            if (--window->degree[window->active_to[i]] == 0)
                agenda_add(&window->agenda, window->active_to[i]);
        }
    }
    assert(end == window->count); /* else there is a cycle */
}

/* ---- cycles ---- */

static void list_reverse(struct window *window)
{
    memset(window->first_reverse, 0, ((size_t)window->count + 2) * sizeof *window->first_reverse);
    for (uint32_t a = 0; a < window->first_active[window->count]; a++)
        window->first_reverse[window->active_to[a] + 2]++;
    iso_running_sums(window->first_reverse + 1, (size_t)window->count + 1);
    for (uint32_t a = 0; a < window->first_active[window->count]; a++)
        window->reverse[window->first_reverse[window->active_to[a] + 1]++] = window->active[a];
}

static void start_front(struct window *window, uint32_t side, uint32_t position)
{
    struct front *front = &window->fronts[side];
    front->queue[0] = position;
    front->head = 0;
    front->end = 1;
    window->visited[position] = 2 * window->round + side;
}

/* The next position of a front goes on; the position where it meets the other one, or ISO_NONE. */
static uint32_t advance_front(struct window *window, uint32_t side, uint32_t component)
{
    struct front *front = &window->fronts[side];
    uint32_t position = front->queue[front->head++], mark = 2 * window->round + side;
    const uint32_t *first = side ? window->first_reverse : window->first_active;
    const uint32_t *edges = side ? window->reverse : window->active;
    ISO_EACH(a, first, position) {
        uint32_t i = edges[a], next = side ? window->edges.list[i].from : window->edges.list[i].to;
        if (window->component[next] != component || window->used[i] ||
            window->visited[next] == mark)
            continue;
        front->by[next] = i;
        if (window->visited[next] == (mark ^ 1))
            return next;
        window->visited[next] = mark;
        front->queue[front->end++] = next;
    }
    return ISO_NONE;
}

/* A short path within a component, from both ends at once, by the `by` of both; where they meet, or
 * ISO_NONE. */
static uint32_t find_path(struct window *window, uint32_t from, uint32_t to)
{
    uint32_t meeting = ISO_NONE;
    struct front *fronts = window->fronts;
    window->round++;
    start_front(window, 0, from);
    start_front(window, 1, to);
    while (meeting == ISO_NONE && fronts[0].head < fronts[0].end &&
           fronts[1].head < fronts[1].end) {
        bool backward = fronts[1].end - fronts[1].head < fronts[0].end - fronts[0].head;
        meeting = advance_front(window, backward, window->component[from]);
    }
    return meeting;
}

/* An edge of a cycle into its clause; one under a literal is on no other cycle of this round. */
static void take_edge(struct window *window, uint32_t i)
{
    const struct bound *edge = &window->edges.list[i];
    if (edge->first)
        add_literal(window, -edge->first);
    if (edge->second)
        add_literal(window, -edge->second);
    window->used[i] = edge->first;
}

/* The clause of a cycle that edge i closes, if there is one. */
static bool add_cycle(struct window *window, uint32_t position, uint32_t i)
{
    uint32_t to = window->edges.list[i].to, meeting = find_path(window, to, position);
    if (meeting == ISO_NONE)
        return false;
    window->clause.count = 0;
    take_edge(window, i);
    for (uint32_t at = meeting; at != to; at = window->edges.list[window->fronts[0].by[at]].from)
        take_edge(window, window->fronts[0].by[at]);
    for (uint32_t at = meeting; at != position;
         at = window->edges.list[window->fronts[1].by[at]].to)
        take_edge(window, window->fronts[1].by[at]);
    iso_solver_clause(window->solver, window->clause.list, window->clause.count);
    window->engine->result->counters.window_cycles++;
    return true;
}

/* Every cycle has an edge back in the order as it stands. False: out of time. */
static bool add_cycles(struct window *window)
{
    uint32_t found = 0, in_vain = 0;
    memset(window->used, 0, window->edges.count * sizeof *window->used);
    list_reverse(window);
    for (uint32_t position = 0; position < window->count; position++) {
        ISO_EACH(a, window->first_active, position) {
            uint32_t i = window->active[a], to = window->active_to[a];
            if (to > position || window->component[to] != window->component[position] ||
                window->used[i])
                continue;
            if (add_cycle(window, position, i))
                found++;
            else
                in_vain++;
            if ((found + in_vain) % LOOK_UP == 0 && engine_must_stop(window->engine))
                return false;
            if (found >= CYCLES_A_ROUND || (found && in_vain > found + IN_VAIN))
                return true;
        }
    }
    return true;
}

/* The model becomes the order. */
static void keep_model(struct window *window)
{
    struct windows *windows = window->windows;
    uint32_t *nodes = windows->order + window->first;
    assert(!window->too_much);
    for (uint32_t i = window->choices.count; i-- > 0;) {
        const struct choice *choice = &window->choices.list[i];
        if (iso_solver_value(window->solver, abs(choice->literal)) == (choice->literal > 0))
            windows->seen[choice->read] = choice->version;
    }
    for (uint32_t i = 0; i < window->count; i++)
        windows->position[nodes[window->sequence[i]]] = window->first + i;
    for (uint32_t i = 0; i < window->count; i++)
        window->sequence[i] = nodes[window->sequence[i]];
    memcpy(nodes, window->sequence, window->count * sizeof *nodes);
    for (uint32_t i = 0; i < window->block_count; i++)
        windows_sort_versions(windows, window->blocks[i].first,
                              window->blocks[i].first + window->blocks[i].count);
}

static enum step_result solve_rounds(struct window *window)
{
    /* every variable must be known to the solver */
    for (uint32_t i = 1; i <= window->pair_count + window->choices.count; i++)
        iso_solver_clause(window->solver, (int[]){(int)i, -(int)i}, 2);
    for (uint32_t round = 0; round < MOST_ROUNDS; round++) {
        window->engine->result->counters.window_rounds++;
        enum iso_solver_answer answer = iso_solver_solve(window->solver, NULL, 0);
        if (answer == ISO_SOLVER_FALSE)
            return STEP_CONTRADICTION;
        if (answer == ISO_SOLVER_STOPPED || engine_must_stop(window->engine))
            return STEP_STOPPED;
        activate_edges(window);
        if (iso_components(window->count, window->first_active, window->active_to,
                           window->component) == window->count) {
            sort_model(window);
            keep_model(window);
            return STEP_DONE;
        }
        if (!add_cycles(window))
            return STEP_STOPPED;
    }
    return STEP_STOPPED;
}

static void release_window(struct window *window)
{
    for (uint32_t i = 0; i < window->block_count; i++)
        window->windows->block_of_key[window->blocks[i].key] = 0;
    iso_solver_free(window->solver);
    ISO_FREE_ALL(window->blocks, window->known, window->choices.list, window->edges.list,
                 window->first_edge, window->first_active, window->active_to, window->active,
                 window->used, window->degree, window->sequence, window->component);
    for (uint32_t side = 0; side < 2; side++) {
        ISO_FREE_ALL(window->fronts[side].by, window->fronts[side].queue);
    }
    ISO_FREE_ALL(window->visited, window->first_reverse, window->reverse, window->clause.list);
    agenda_release(&window->agenda);
}

enum step_result window_solve(struct windows *windows, uint32_t first, uint32_t end)
{
    uint32_t count = end - first;
    assert(first < end && end <= windows->engine->graph.node_count);
    struct window window = {.windows = windows,
                            .engine = windows->engine,
                            .solver = iso_solver_new(),
                            .first = first,
                            .count = count,
                            .degree = iso_numbers(count),
                            .sequence = iso_numbers(count),
                            .component = iso_numbers(count),
                            .first_active = iso_numbers(count),
                            .first_reverse = iso_numbers((size_t)count + 2),
                            .fronts = {{.by = iso_numbers(count), .queue = iso_numbers(count)},
                                       {.by = iso_numbers(count), .queue = iso_numbers(count)}},
                            .visited = iso_numbers_zero(count)};
    agenda_init(&window.agenda, window.count);
    iso_solver_set_stop(window.solver, engine_ask_stop, windows->engine);
    enum step_result status = STEP_STOPPED;
    if (build_window(&window)) {
        window.active_to = iso_numbers(window.edges.count);
        window.reverse = iso_numbers(window.edges.count);
        window.active = iso_numbers(window.edges.count);
        window.used = iso_allocate(((size_t)window.edges.count + 1) * sizeof *window.used);
        status = solve_rounds(&window);
    }
    release_window(&window);
    return status;
}
