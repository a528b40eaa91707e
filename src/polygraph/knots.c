/* Knots: the strongly connected components of the graph of an order as it stands, and an order of the components: of
 * those that could come next, the one that stands first does. */
#include "polygraph/windows.h"

struct knots {
    struct windows *windows;
    const struct engine *engine;
    uint32_t *first_edge, *edge_to; /* by node */
    uint32_t *component;            /* by node: numbered by their first places */
};

/* ---- edges ---- */

/* Version after version of a key. */
static bool edge_of_version(const struct windows *windows, uint32_t i, uint32_t edge[2])
{
    const struct engine *engine = windows->engine;
    if (i == 0 || engine->version_key[windows->sorted[i - 1]] != engine->version_key[windows->sorted[i]])
        return false;
    edge[0] = version_commit(engine, windows->sorted[i - 1]);
    edge[1] = version_begin(engine, windows->sorted[i]);
    return true;
}

/* What an open read sees, before it. */
static bool edge_of_seen(const struct windows *windows, uint32_t read, uint32_t edge[2])
{
    const struct engine *engine = windows->engine;
    if (engine->read_writer[read] != OPEN || windows->seen[read] == INITIAL)
        return false;
    edge[0] = version_commit(engine, windows->seen[read]);
    edge[1] = node_begin(engine, engine->read_transaction[read]);
    return true;
}

/* A read, before the version after the one it sees. */
static bool edge_of_read(const struct windows *windows, uint32_t read, uint32_t edge[2])
{
    const struct engine *engine = windows->engine;
    uint32_t version = windows->seen[read], key = engine->read_key[read], t = engine->read_transaction[read];
    uint32_t next = version == INITIAL ? engine->first_version[key] : windows->sorted_at[version] + 1;
    if (next < engine->first_version[key + 1] && engine->version_transaction[windows->sorted[next]] == t)
        next++;
    if (next >= engine->first_version[key + 1])
        return false;
    edge[0] = node_begin(engine, t);
    edge[1] = version_commit(engine, windows->sorted[next]);
    return true;
}

typedef void (*edge_taker)(struct knots *knots, const uint32_t edge[2]);

static void each_edge(struct knots *knots, edge_taker take)
{
    const struct engine *engine = knots->engine;
    uint32_t edge[2];
    for (uint32_t node = 0; node < engine->event_count; node++) {
        if (node_goes_on(engine, node))
            take(knots, (uint32_t[]){node, node + 1});
    }
    for (uint32_t i = 0; i < engine->fact_count; i++) {
        if (engine->facts[i].from != ISO_NONE)
            take(knots, (uint32_t[]){engine->facts[i].from, engine->facts[i].to});
    }
    for (uint32_t i = 0; i < engine->version_count; i++) {
        if (edge_of_version(knots->windows, i, edge))
            take(knots, edge);
    }
    for (uint32_t read = 0; read < engine->read_count; read++) {
        if (edge_of_seen(knots->windows, read, edge))
            take(knots, edge);
        if (edge_of_read(knots->windows, read, edge))
            take(knots, edge);
    }
}

static void count_edge(struct knots *knots, const uint32_t edge[2])
{
    knots->first_edge[edge[0] + 2]++;
}

static void place_edge(struct knots *knots, const uint32_t edge[2])
{
    knots->edge_to[knots->first_edge[edge[0] + 1]++] = edge[1];
}

static void list_edges(struct knots *knots)
{
    uint32_t nodes = knots->engine->node_count;
    knots->first_edge = iso_allocate_zeroed((size_t)nodes + 3, sizeof *knots->first_edge);
    each_edge(knots, count_edge);
    for (uint32_t node = 0; node < nodes; node++)
        knots->first_edge[node + 2] += knots->first_edge[node + 1];
    knots->edge_to = iso_allocate(((size_t)knots->first_edge[nodes + 1] + 1) * sizeof *knots->edge_to);
    each_edge(knots, place_edge);
}

/* ---- components ---- */

/* Numbers components by the first places of their nodes. */
static void number_components(struct knots *knots, uint32_t count)
{
    uint32_t *number = memset(iso_allocate(((size_t)count + 1) * sizeof *number), 0xff, (size_t)count * sizeof *number);
    uint32_t next = 0;
    for (uint32_t i = 0; i < knots->engine->node_count; i++) {
        uint32_t *component = &knots->component[knots->windows->order[i]];
        if (number[*component] == ISO_NONE)
            number[*component] = next++;
        *component = number[*component];
    }
    iso_free(number);
}

static uint32_t find_components(struct knots *knots)
{
    uint32_t nodes = knots->engine->node_count;
    knots->component = iso_allocate(((size_t)nodes + 1) * sizeof *knots->component);
    uint32_t count = components_find(nodes, knots->first_edge, knots->edge_to, knots->component);
    number_components(knots, count);
    return count;
}

/* ---- order ---- */

static void add_knot(struct windows *windows, uint32_t first, uint32_t end)
{
    if (windows->knot_count == windows->knot_capacity) {
        windows->knot_capacity = (uint32_t)iso_column_capacity(windows->knot_capacity, windows->knot_count + 1u);
        windows->knots = iso_reallocate(windows->knots, windows->knot_capacity * sizeof *windows->knots);
    }
    windows->knots[windows->knot_count++] = (struct knot){first, end};
}

/* Nodes by component, each component's as they stand. */
static uint32_t *list_members(const struct knots *knots, uint32_t count, uint32_t *first)
{
    uint32_t nodes = knots->engine->node_count;
    uint32_t *members = iso_allocate(((size_t)nodes + 1) * sizeof *members);
    for (uint32_t node = 0; node < nodes; node++)
        first[knots->component[node] + 2]++;
    for (uint32_t i = 0; i < count; i++)
        first[i + 2] += first[i + 1];
    for (uint32_t i = 0; i < nodes; i++)
        members[first[knots->component[knots->windows->order[i]] + 1]++] = knots->windows->order[i];
    return members;
}

/* The edges of a node that leave its component. */
static void follow(const struct knots *knots, uint32_t node, uint32_t *degree, struct agenda *agenda)
{
    for (uint32_t e = knots->first_edge[node]; e < knots->first_edge[node + 1]; e++) {
        uint32_t to = knots->component[knots->edge_to[e]];
        if (to != knots->component[node] && --degree[to] == 0)
            agenda_add(agenda, to);
    }
}

static void sort_components(struct knots *knots, uint32_t count)
{
    struct windows *windows = knots->windows;
    uint32_t *degree = iso_allocate_zeroed((size_t)count + 1, sizeof *degree), end = 0;
    uint32_t *first = iso_allocate_zeroed((size_t)count + 3, sizeof *first);
    uint32_t *members = list_members(knots, count, first);
    struct agenda agenda;
    agenda_init(&agenda, count);
    for (uint32_t node = 0; node < knots->engine->node_count; node++) {
        for (uint32_t e = knots->first_edge[node]; e < knots->first_edge[node + 1]; e++) {
            uint32_t to = knots->component[knots->edge_to[e]];
            degree[to] += to != knots->component[node];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!degree[i])
            agenda_add(&agenda, i);
    }
    for (uint32_t i; (agenda.cursor = 0, i = agenda_take(&agenda)) != ISO_NONE;) {
        if (first[i + 1] - first[i] > 1)
            add_knot(windows, end, end + first[i + 1] - first[i]);
        for (uint32_t m = first[i]; m < first[i + 1]; m++) {
            windows->place[members[m]] = end;
            windows->order[end++] = members[m];
            follow(knots, members[m], degree, &agenda);
        }
    }
    agenda_release(&agenda);
    iso_free(degree);
    iso_free(first);
    iso_free(members);
}

void knots_find(struct windows *windows)
{
    struct knots knots = {.windows = windows, .engine = windows->engine};
    windows->knot_count = 0;
    list_edges(&knots);
    sort_components(&knots, find_components(&knots));
    iso_free(knots.first_edge);
    iso_free(knots.edge_to);
    iso_free(knots.component);
}
