/* Paths of facts, searched again rather than kept: few are ever needed. The search goes for few derived facts first,
 * then for few edges.
 */
#include "polygraph/explain.h"

static void heap_push(struct explanation *search, uint64_t cost, uint32_t node)
{
    if (search->heap_count == search->heap_capacity) {
        search->heap_capacity = (uint32_t)iso_column_capacity(search->heap_capacity, search->heap_count + 1u);
        search->heap = iso_reallocate(search->heap, search->heap_capacity * sizeof *search->heap);
    }
    uint32_t at = search->heap_count++;
    for (; at && search->heap[(at - 1) / 2].cost > cost; at = (at - 1) / 2)
        search->heap[at] = search->heap[(at - 1) / 2];
    search->heap[at].cost = cost;
    search->heap[at].node = node;
}

static uint32_t heap_pop(struct explanation *search, uint64_t *cost)
{
    uint32_t node = search->heap[0].node, last = --search->heap_count, at = 0;
    uint64_t moved = search->heap[last].cost;
    *cost = search->heap[0].cost;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= last)
            break;
        child += child + 1 < last && search->heap[child + 1].cost < search->heap[child].cost;
        if (search->heap[child].cost >= moved)
            break;
        search->heap[at] = search->heap[child];
        at = child;
    }
    search->heap[at] = search->heap[last];
    return node;
}

static void relax(struct explanation *search, uint32_t node, uint64_t cost, uint32_t by, uint32_t to)
{
    const struct engine *engine = search->engine;
    if (search->visited[node] == search->round && search->cost[node] <= cost)
        return;
    if (engine->clocks && node != to && node < engine->event_count && !reaches(engine, node, to))
        return;
    search->visited[node] = search->round;
    search->cost[node] = cost;
    search->by[node] = by;
    heap_push(search, cost, node);
}

static void keep_path(struct explanation *search, uint32_t from, uint32_t to)
{
    const struct engine *engine = search->engine;
    search->path_count = 0;
    for (uint32_t node = to; node != from || search->path_count == 0;) {
        if (search->path_count == search->path_capacity) {
            search->path_capacity = (uint32_t)iso_column_capacity(search->path_capacity, search->path_count + 1u);
            search->path = iso_reallocate(search->path, search->path_capacity * sizeof *search->path);
        }
        search->path[search->path_count++] = search->by[node];
        node = search->by[node] == OWN_EDGE ? node - 1 : engine->facts[search->by[node]].from;
    }
    for (uint32_t i = 0; i < search->path_count / 2; i++) {
        uint32_t other = search->path[i];
        search->path[i] = search->path[search->path_count - 1 - i];
        search->path[search->path_count - 1 - i] = other;
    }
}

/* What is derived is dear; a row of nodes of time is one edge in the end. */
static uint64_t cost_of(const struct engine *engine, uint32_t fact)
{
    return fact >= engine->known_count ? 1 << 20 : engine->facts[fact].to < engine->event_count;
}

bool explanation_find_path(struct explanation *search, uint32_t from, uint32_t to, uint32_t limit, bool cyclic)
{
    const struct engine *engine = search->engine;
    search->path_count = 0;
    if (from == to && !cyclic)
        return true;
    search->round++;
    search->heap_count = 0;
    heap_push(search, 0, from);
    for (bool first = true; search->heap_count; first = false) {
        uint64_t cost;
        uint32_t node = heap_pop(search, &cost);
        if (node == to && !first) {
            keep_path(search, from, to);
            return true;
        }
        if (!first && cost > search->cost[node])
            continue;
        if (node_goes_on(engine, node))
            relax(search, node + 1, cost + 1, OWN_EDGE, to);
        for (uint32_t i = engine->first_out[node]; i != ISO_NONE; i = engine->facts[i].next_out) {
            if (i < limit)
                relax(search, engine->facts[i].to, cost + cost_of(engine, i), i, to);
        }
    }
    return false;
}
