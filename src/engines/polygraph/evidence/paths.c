/* Paths of facts, searched again rather than kept: few are ever needed. The search goes for few
 * derived facts first, then for few edges.
 */
#include <assert.h>

#include "polygraph/evidence/explain.h"

static void relax_node(struct explanation *search, uint32_t node, uint64_t cost, uint32_t by,
                       uint32_t to)
{
    const struct engine *engine = search->engine;
    if (search->visited[node] == search->round && search->cost[node] <= cost)
        return;
    if (engine->clocks.stamps && node != to && node < engine->graph.event_count &&
        !reaches(engine, node, to))
        return;
    search->visited[node] = search->round;
    search->cost[node] = cost;
    search->by[node] = by;
    iso_heap_push(&search->heap, cost, node);
}

static void keep_path(struct explanation *search, uint32_t from, uint32_t to)
{
    const struct engine *engine = search->engine;
    search->path_count = 0;
    for (uint32_t node = to; node != from || search->path_count == 0;) {
        assert(search->visited[node] == search->round);
        ISO_PUSH(search->path, search->path_count, search->path_capacity, search->by[node]);
        node = search->by[node] == OWN_EDGE ? node - 1 : engine->graph.facts[search->by[node]].from;
    }
    for (uint32_t i = 0; i < search->path_count / 2; i++) {
        uint32_t other = search->path[i];
        search->path[i] = search->path[search->path_count - 1 - i];
        search->path[search->path_count - 1 - i] = other;
    }
}

/* Derived facts are dear; a row of nodes of time is one edge in the end. */
static uint64_t cost_of(const struct engine *engine, uint32_t fact)
{
    return fact >= engine->graph.known_count
               ? 1 << 20
               : engine->graph.facts[fact].to < engine->graph.event_count;
}

bool explanation_find_path(struct explanation *search, uint32_t from, uint32_t to, uint32_t limit,
                           bool cyclic)
{
    const struct engine *engine = search->engine;
    assert(limit <= engine->graph.fact_count);
    search->path_count = 0;
    if (from == to && !cyclic)
        return true;
    search->round++;
    search->heap.count = 0;
    iso_heap_push(&search->heap, 0, from);
    for (bool first = true; search->heap.count; first = false) {
        struct iso_heap_item item = iso_heap_pop(&search->heap);
        uint64_t cost = item.key;
        uint32_t node = (uint32_t)item.value;
        if (node == to && !first) {
            keep_path(search, from, to);
            return true;
        }
        if (!first && cost > search->cost[node])
            continue;
        if (node_goes_on(engine, node))
            relax_node(search, node + 1, cost + 1, OWN_EDGE, to);
        for (uint32_t i = engine->graph.first_out[node]; i != ISO_NONE;
             i = engine->graph.facts[i].next_out) {
            if (i < limit)
                relax_node(search, engine->graph.facts[i].to, cost + cost_of(engine, i), i, to);
        }
    }
    return false;
}
