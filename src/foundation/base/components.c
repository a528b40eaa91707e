#include "base/components.h"

#include <string.h>

#include "base/memory.h"

#define NONE UINT32_MAX

struct tarjan {
    const uint32_t *first_edge, *edge_to;
    uint32_t *index, *low, next;
    uint32_t *stack, stacked;
    uint32_t *path, *edge, depth; /* nodes entered and not left; by node, the edge to look at */
    uint32_t *component, count;
};

static void enter_node(struct tarjan *tarjan, uint32_t node)
{
    tarjan->index[node] = tarjan->low[node] = ++tarjan->next;
    tarjan->edge[node] = tarjan->first_edge[node];
    tarjan->stack[tarjan->stacked++] = node;
    tarjan->path[tarjan->depth++] = node;
}

static void leave_node(struct tarjan *tarjan)
{
    uint32_t node = tarjan->path[--tarjan->depth], member;
    if (tarjan->depth) {
        uint32_t *low = &tarjan->low[tarjan->path[tarjan->depth - 1]];
        *low = tarjan->low[node] < *low ? tarjan->low[node] : *low;
    }
    if (tarjan->low[node] != tarjan->index[node])
        return;
    do {
        member = tarjan->stack[--tarjan->stacked];
        tarjan->component[member] = tarjan->count;
    } while (member != node);
    tarjan->count++;
}

static void look_at_edge(struct tarjan *tarjan)
{
    uint32_t node = tarjan->path[tarjan->depth - 1];
    if (tarjan->edge[node] == tarjan->first_edge[node + 1]) {
        leave_node(tarjan);
        return;
    }
    uint32_t to = tarjan->edge_to[tarjan->edge[node]++];
    if (!tarjan->index[to])
        enter_node(tarjan, to);
    else if (tarjan->component[to] == NONE && tarjan->index[to] < tarjan->low[node])
        tarjan->low[node] = tarjan->index[to];
}

uint32_t iso_components(uint32_t nodes, const uint32_t *first_edge, const uint32_t *edge_to,
                        uint32_t *component)
{
    size_t size = ((size_t)nodes + 1) * sizeof(uint32_t);
    struct tarjan tarjan = {.first_edge = first_edge,
                            .edge_to = edge_to,
                            .index = memset(iso_allocate(size), 0, size),
                            .low = iso_allocate(size),
                            .stack = iso_allocate(size),
                            .path = iso_allocate(size),
                            .edge = iso_allocate(size),
                            .component = memset(component, 0xff, size - sizeof(uint32_t))};
    for (uint32_t node = 0; node < nodes; node++) {
        if (!tarjan.index[node])
            enter_node(&tarjan, node);
        while (tarjan.depth)
            look_at_edge(&tarjan);
    }
    ISO_FREE_ALL(tarjan.index, tarjan.low, tarjan.stack, tarjan.path, tarjan.edge);
    return tarjan.count;
}
