/* SCCs: the strongly connected components of the graph of an order as it stands, and an order of
 * the components: of those that could come next, the one that stands first does. */
#include <assert.h>

#include "base/components.h"
#include "polygraph/order/windows.h"

struct scc_finder {
    struct windows *windows;
    const struct engine *engine;
    uint32_t *first_edge, *edge_to; /* by node */
    uint32_t *component;            /* by node: numbered by their first positions */
};

/* ---- edges ---- */

/* Version after version of a key. */
static bool edge_of_version(const struct windows *windows, uint32_t i, uint32_t edge[2])
{
    const struct engine *engine = windows->engine;
    if (i == 0 ||
        engine->versions.key[windows->sorted[i - 1]] != engine->versions.key[windows->sorted[i]])
        return false;
    edge[0] = version_commit(engine, windows->sorted[i - 1]);
    edge[1] = version_begin(engine, windows->sorted[i]);
    return true;
}

/* The edge from the writer that an open read sees to the read. */
static bool edge_of_seen(const struct windows *windows, uint32_t read, uint32_t edge[2])
{
    const struct engine *engine = windows->engine;
    if (engine->reads.writer[read] != OPEN || windows->seen[read] == INITIAL)
        return false;
    edge[0] = version_commit(engine, windows->seen[read]);
    edge[1] = node_begin(engine, engine->reads.transaction[read]);
    return true;
}

/* A read, before the version after the one it sees. */
static bool edge_of_read(const struct windows *windows, uint32_t read, uint32_t edge[2])
{
    const struct engine *engine = windows->engine;
    uint32_t version = windows->seen[read], key = engine->reads.key[read],
             t = engine->reads.transaction[read];
    uint32_t next =
        version == INITIAL ? engine->versions.first[key] : windows->sorted_at[version] + 1;
    if (next < engine->versions.first[key + 1] &&
        engine->versions.transaction[windows->sorted[next]] == t)
        next++;
    if (next >= engine->versions.first[key + 1])
        return false;
    edge[0] = node_begin(engine, t);
    edge[1] = version_commit(engine, windows->sorted[next]);
    return true;
}

typedef void (*edge_taker)(struct scc_finder *finder, const uint32_t edge[2]);

static void each_edge(struct scc_finder *finder, edge_taker take)
{
    const struct engine *engine = finder->engine;
    uint32_t edge[2];
    for (uint32_t node = 0; node < engine->graph.event_count; node++) {
        if (node_goes_on(engine, node))
            take(finder, (uint32_t[]){node, node + 1});
    }
    for (uint32_t i = 0; i < engine->graph.fact_count; i++) {
        if (engine->graph.facts[i].from != ISO_NONE)
            take(finder, (uint32_t[]){engine->graph.facts[i].from, engine->graph.facts[i].to});
    }
    for (uint32_t i = 0; i < engine->versions.count; i++) {
        if (edge_of_version(finder->windows, i, edge))
            take(finder, edge);
    }
    for (uint32_t read = 0; read < engine->reads.count; read++) {
        if (edge_of_seen(finder->windows, read, edge))
            take(finder, edge);
        if (edge_of_read(finder->windows, read, edge))
            take(finder, edge);
    }
}

static void count_edge(struct scc_finder *finder, const uint32_t edge[2])
{
    finder->first_edge[edge[0] + 2]++;
}

static void place_edge(struct scc_finder *finder, const uint32_t edge[2])
{
    finder->edge_to[finder->first_edge[edge[0] + 1]++] = edge[1];
}

static void list_edges(struct scc_finder *finder)
{
    uint32_t nodes = finder->engine->graph.node_count;
    finder->first_edge = iso_allocate_zeroed((size_t)nodes + 3, sizeof *finder->first_edge);
    each_edge(finder, count_edge);
    iso_running_sums(finder->first_edge + 1, (size_t)nodes + 1);
    finder->edge_to = iso_numbers((size_t)finder->first_edge[nodes + 1]);
    each_edge(finder, place_edge);
}

/* ---- components ---- */

/* Numbers components by the first positions of their nodes. */
static void number_components(struct scc_finder *finder, uint32_t count)
{
    uint32_t *number = memset(iso_allocate(((size_t)count + 1) * sizeof *number), 0xff,
                              (size_t)count * sizeof *number);
    uint32_t next = 0;
    for (uint32_t i = 0; i < finder->engine->graph.node_count; i++) {
        uint32_t *component = &finder->component[finder->windows->order[i]];
        if (number[*component] == ISO_NONE)
            number[*component] = next++;
        *component = number[*component];
    }
    iso_free(number);
}

static uint32_t find_components(struct scc_finder *finder)
{
    uint32_t nodes = finder->engine->graph.node_count;
    finder->component = iso_numbers(nodes);
    uint32_t count = iso_components(nodes, finder->first_edge, finder->edge_to, finder->component);
    number_components(finder, count);
    return count;
}

/* ---- order ---- */

static void add_scc(struct windows *windows, uint32_t first, uint32_t end)
{
    assert(!windows->scc_count || windows->sccs[windows->scc_count - 1].end <= first);
    ISO_PUSH(windows->sccs, windows->scc_count, windows->scc_capacity, (struct scc){first, end});
}

/* Nodes by component, each component's as they stand. */
static uint32_t *list_members(const struct scc_finder *finder, uint32_t count, uint32_t *first)
{
    uint32_t nodes = finder->engine->graph.node_count;
    uint32_t *members = iso_numbers(nodes);
    for (uint32_t node = 0; node < nodes; node++)
        first[finder->component[node] + 2]++;
    iso_running_sums(first + 1, (size_t)count + 1);
    for (uint32_t i = 0; i < nodes; i++)
        members[first[finder->component[finder->windows->order[i]] + 1]++] =
            finder->windows->order[i];
    return members;
}

/* The edges of a node that leave its component. */
static void follow_edges(const struct scc_finder *finder, uint32_t node, uint32_t *degree,
                         struct agenda *agenda)
{
    ISO_EACH(e, finder->first_edge, node) {
        uint32_t to = finder->component[finder->edge_to[e]];
        if (to != finder->component[node] && --degree[to] == 0)
            agenda_add(agenda, to);
    }
}

static void sort_components(struct scc_finder *finder, uint32_t count)
{
    struct windows *windows = finder->windows;
    uint32_t *degree = iso_numbers_zero(count), end = 0;
    uint32_t *first = iso_allocate_zeroed((size_t)count + 3, sizeof *first);
    uint32_t *members = list_members(finder, count, first);
    struct agenda agenda;
    agenda_init(&agenda, count);
    for (uint32_t node = 0; node < finder->engine->graph.node_count; node++) {
        ISO_EACH(e, finder->first_edge, node) {
            uint32_t to = finder->component[finder->edge_to[e]];
            degree[to] += to != finder->component[node];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!degree[i])
            agenda_add(&agenda, i);
    }
    for (uint32_t i; (agenda.cursor = 0, i = agenda_take(&agenda)) != ISO_NONE;) {
        if (first[i + 1] - first[i] > 1)
            add_scc(windows, end, end + first[i + 1] - first[i]);
        ISO_EACH(m, first, i) {
            windows->position[members[m]] = end;
            windows->order[end++] = members[m];
            follow_edges(finder, members[m], degree, &agenda);
        }
    }
    assert(end == finder->engine->graph.node_count); /* between components there is no cycle */
    agenda_release(&agenda);
    ISO_FREE_ALL(degree, first, members);
}

void sccs_find(struct windows *windows)
{
    struct scc_finder finder = {.windows = windows, .engine = windows->engine};
    windows->scc_count = 0;
    list_edges(&finder);
    sort_components(&finder, find_components(&finder));
    ISO_FREE_ALL(finder.first_edge, finder.edge_to, finder.component);
}
