#include "polygraph/order/topological.h"

#include <assert.h>

#include "base/numbers.h"
#include "history/history.h"
#include "polygraph/validate.h"

void topological_init(struct topological *topological, uint32_t count, const uint32_t *order,
                      const uint32_t *first_edge, const uint32_t *edge_to)
{
    *topological =
        (struct topological){.count = count,
                             .first_edge = first_edge,
                             .edge_to = edge_to,
                             .order = iso_numbers(count),
                             .position = iso_numbers(count),
                             .first_added = iso_numbers_none(count),
                             .reached = iso_allocate_zeroed((size_t)count + 1, sizeof(uint32_t)),
                             .moved = iso_numbers(count),
                             .came_from = iso_numbers(count),
                             .came_by = iso_numbers(count)};
    for (uint32_t i = 0; i < count; i++) {
        topological->order[i] = order[i];
        topological->position[order[i]] = i;
    }
}

void topological_release(struct topological *topological)
{
    ISO_FREE_ALL(topological->order, topological->position, topological->first_added,
                 topological->reached, topological->moved, topological->came_from,
                 topological->came_by);
    ISO_FREE_COLUMN(topological->added, topological->added_capacity);
}

/* Nodes that are not beyond the last position. */
struct reach {
    uint32_t last, end;
};

static void come_to(struct topological *topological, struct reach *reach, uint32_t node,
                    uint32_t from, uint32_t by)
{
    if (topological->position[node] > reach->last ||
        topological->reached[node] == topological->search)
        return;
    topological->reached[node] = topological->search;
    topological->came_from[node] = from;
    topological->came_by[node] = by;
    topological->moved[reach->end++] = node;
}

/* Marks what a node reaches up to a position; false: the node that stands there is among it. */
static bool search_affected(struct topological *topological, uint32_t node, uint32_t last)
{
    struct reach reach = {.last = last};
    uint32_t target = topological->order[last];
    topological->search++;
    come_to(topological, &reach, node, ISO_NONE, ISO_NONE);
    for (uint32_t head = 0; head < reach.end; head++) {
        node = topological->moved[head];
        ISO_EACH(i, topological->first_edge, node)
            come_to(topological, &reach, topological->edge_to[i], node, ISO_NONE);
        for (uint32_t i = topological->first_added[node]; i != ISO_NONE;
             i = topological->added[i].next)
            come_to(topological, &reach, topological->added[i].to, node, i);
        if (topological->reached[target] == topological->search)
            return false;
    }
    return true;
}

/* Puts what is marked behind the rest, between two positions, both as they stood. */
static void move_nodes(struct topological *topological, uint32_t first, uint32_t last)
{
    uint32_t end = first, waiting = 0;
    for (uint32_t i = first; i <= last; i++) {
        uint32_t node = topological->order[i];
        if (topological->reached[node] == topological->search) {
            topological->moved[waiting++] = node;
        } else {
            topological->position[node] = end;
            topological->order[end++] = node;
        }
    }
    for (uint32_t i = 0; i < waiting; i++) {
        topological->position[topological->moved[i]] = end;
        topological->order[end++] = topological->moved[i];
    }
    assert(end == last + 1);
}

static void append_edge(struct topological *topological, uint32_t from, uint32_t to)
{
    ISO_GROW_COLUMN(topological->added, topological->added_count, topological->added_capacity);
    topological->added[topological->added_count] =
        (struct added_edge){from, to, topological->first_added[from]};
    topological->first_added[from] = topological->added_count++;
}

bool topological_add(struct topological *topological, uint32_t from, uint32_t to)
{
    assert(from < topological->count && to < topological->count);
    uint32_t first = topological->position[to], last = topological->position[from];
    if (first <= last) {
        if (!search_affected(topological, to, last))
            return false;
        move_nodes(topological, first, last);
    }
    append_edge(topological, from, to);
    return true;
}

void topological_take_back(struct topological *topological, uint32_t added_count)
{
    assert(added_count <= topological->added_count);
    while (topological->added_count > added_count) {
        const struct added_edge *edge = &topological->added[--topological->added_count];
        topological->first_added[edge->from] = edge->next;
    }
}

#ifdef ISO_VALIDATE
void topological_validate(const struct topological *topological)
{
    const uint32_t *position = topological->position;
    for (uint32_t i = 0; i < topological->count; i++) {
        uint32_t node = topological->order[i];
        assert(position[node] == i);
        ISO_EACH(edge, topological->first_edge, node)
            assert(i < position[topological->edge_to[edge]]);
    }
    for (uint32_t i = 0; i < topological->added_count; i++) {
        const struct added_edge *added = &topological->added[i];
        assert(position[added->from] < position[added->to]);
        assert(added->next == ISO_NONE || added->next < i);
    }
}
#endif
