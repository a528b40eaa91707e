#include "polygraph/places.h"

#include <string.h>

#include "base/memory.h"
#include "iso/history.h"

void places_init(struct places *places, uint32_t count, const uint32_t *order, const uint32_t *first_edge,
                 const uint32_t *edge_to)
{
    size_t nodes = ((size_t)count + 1) * sizeof(uint32_t);
    *places = (struct places){.count = count,
                              .first_edge = first_edge,
                              .edge_to = edge_to,
                              .order = iso_allocate(nodes),
                              .place = iso_allocate(nodes),
                              .first_added = memset(iso_allocate(nodes), 0xff, nodes),
                              .reached = iso_allocate_zeroed((size_t)count + 1, sizeof(uint32_t)),
                              .moved = iso_allocate(nodes),
                              .came_from = iso_allocate(nodes),
                              .came_by = iso_allocate(nodes)};
    for (uint32_t i = 0; i < count; i++) {
        places->order[i] = order[i];
        places->place[order[i]] = i;
    }
}

void places_release(struct places *places)
{
    iso_free(places->order);
    iso_free(places->place);
    iso_free(places->first_added);
    iso_free(places->reached);
    iso_free(places->moved);
    iso_free(places->came_from);
    iso_free(places->came_by);
    iso_column_free(places->added, places->added_capacity * sizeof *places->added);
}

/* Nodes that are not beyond the last place. */
struct reach {
    uint32_t last, end;
};

static void come_to(struct places *places, struct reach *reach, uint32_t node, uint32_t from, uint32_t by)
{
    if (places->place[node] > reach->last || places->reached[node] == places->search)
        return;
    places->reached[node] = places->search;
    places->came_from[node] = from;
    places->came_by[node] = by;
    places->moved[reach->end++] = node;
}

/* Marks what a node reaches up to a place; false: the node that stands there is among it. */
static bool search(struct places *places, uint32_t node, uint32_t last)
{
    struct reach reach = {.last = last};
    uint32_t target = places->order[last];
    places->search++;
    come_to(places, &reach, node, ISO_NONE, ISO_NONE);
    for (uint32_t head = 0; head < reach.end; head++) {
        node = places->moved[head];
        for (uint32_t i = places->first_edge[node]; i < places->first_edge[node + 1]; i++)
            come_to(places, &reach, places->edge_to[i], node, ISO_NONE);
        for (uint32_t i = places->first_added[node]; i != ISO_NONE; i = places->added[i].next)
            come_to(places, &reach, places->added[i].to, node, i);
        if (places->reached[target] == places->search)
            return false;
    }
    return true;
}

/* Puts what is marked behind the rest, between two places, both as they stood. */
static void move(struct places *places, uint32_t first, uint32_t last)
{
    uint32_t end = first, waiting = 0;
    for (uint32_t i = first; i <= last; i++) {
        uint32_t node = places->order[i];
        if (places->reached[node] == places->search) {
            places->moved[waiting++] = node;
        } else {
            places->place[node] = end;
            places->order[end++] = node;
        }
    }
    for (uint32_t i = 0; i < waiting; i++) {
        places->place[places->moved[i]] = end;
        places->order[end++] = places->moved[i];
    }
}

static void append(struct places *places, uint32_t from, uint32_t to)
{
    if (places->added_count == places->added_capacity) {
        size_t old = places->added_capacity, next = iso_column_capacity(old, old + 1), size = sizeof *places->added;
        places->added = iso_column_grow(places->added, old * size, next * size);
        places->added_capacity = (uint32_t)next;
    }
    places->added[places->added_count] = (struct added_edge){from, to, places->first_added[from]};
    places->first_added[from] = places->added_count++;
}

bool places_add(struct places *places, uint32_t from, uint32_t to)
{
    uint32_t first = places->place[to], last = places->place[from];
    if (first <= last) {
        if (!search(places, to, last))
            return false;
        move(places, first, last);
    }
    append(places, from, to);
    return true;
}

void places_take_back(struct places *places, uint32_t added_count)
{
    while (places->added_count > added_count) {
        const struct added_edge *edge = &places->added[--places->added_count];
        places->first_added[edge->from] = edge->next;
    }
}
