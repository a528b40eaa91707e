#include "polygraph/placements.h"

#include <stdlib.h>

#include "base/order.h"

static void new_placements(struct engine *engine)
{
    engine->placements = iso_allocate_zeroed(1, sizeof *engine->placements);
    engine->placements->list_of_key = iso_numbers_none(engine->history->key_count);
}

void placements_begin(struct engine *engine, struct repeating_list list)
{
    if (!engine->placements)
        new_placements(engine);
    struct placements *placements = engine->placements;
    if (placements->list_count == placements->list_capacity) {
        placements->list_capacity =
            (uint32_t)iso_column_capacity(placements->list_capacity, placements->list_count + 1u);
        placements->lists = iso_reallocate(placements->lists, placements->list_capacity * sizeof *placements->lists);
    }
    list.first = list.end = placements->count;
    placements->list_of_key[list.key] = placements->list_count;
    placements->lists[placements->list_count++] = list;
}

void placements_add(struct engine *engine, struct placement placement)
{
    struct placements *placements = engine->placements;
    ISO_GROW_COLUMN(placements->items, placements->count, placements->capacity);
    placements->items[placements->count++] = placement;
    placements->lists[placements->list_count - 1].end = placements->count;
}

static uint64_t end_of(uint32_t write, uint32_t end)
{
    return (uint64_t)write << 32 | end;
}

static void sort_ends(const struct placements *placements, struct repeating_list *list)
{
    uint32_t count = list->end - list->first;
    list->ends = iso_allocate(((size_t)count + 1) * sizeof *list->ends);
    for (uint32_t i = 0; i < count; i++)
        list->ends[i] = end_of(placements->items[list->first + i].write, placements->items[list->first + i].end);
    qsort(list->ends, count, sizeof *list->ends, iso_order_u64);
}

bool placements_has(const struct repeating_list *list, uint32_t write, uint32_t end)
{
    uint64_t wanted = end_of(write, end);
    return bsearch(&wanted, list->ends, list->end - list->first, sizeof wanted, iso_order_u64);
}

void placements_end(struct engine *engine)
{
    struct placements *placements = engine->placements;
    struct repeating_list *list = &placements->lists[placements->list_count - 1];
    size_t lengths = list->length - list->start + 1;
    uint32_t *first = iso_allocate_zeroed(lengths + 2, sizeof *first);
    list->ending = iso_numbers((size_t)list->end - list->first);
    for (uint32_t i = list->first; i < list->end; i++)
        first[placements->items[i].end - list->start + 2]++;
    for (size_t length = 0; length < lengths; length++)
        first[length + 2] += first[length + 1];
    for (uint32_t i = list->first; i < list->end; i++)
        list->ending[first[placements->items[i].end - list->start + 1]++] = i;
    list->first_ending = first;
    sort_ends(placements, list);
    list->set = memset(iso_allocate(lengths * sizeof *list->set), 0xff, lengths * sizeof *list->set);
}

void placements_release(struct engine *engine)
{
    struct placements *placements = engine->placements;
    if (!placements)
        return;
    for (uint32_t i = 0; i < placements->list_count; i++) {
        iso_free(placements->lists[i].first_ending);
        iso_free(placements->lists[i].ending);
        iso_free(placements->lists[i].ends);
        iso_free(placements->lists[i].set);
    }
    iso_column_free(placements->items, placements->capacity * sizeof *placements->items);
    iso_free(placements->lists);
    iso_free(placements->list_of_key);
    iso_free(placements);
}

const struct repeating_list *placements_of_key(const struct engine *engine, uint32_t key)
{
    const struct placements *placements = engine->placements;
    return placements && placements->list_of_key[key] != ISO_NONE ? &placements->lists[placements->list_of_key[key]]
                                                                  : NULL;
}

uint32_t placements_at(const struct engine *engine, const struct repeating_list *list, uint32_t at)
{
    uint32_t low = list->first, high = list->end;
    ISO_BISECT(low, high, middle, engine->placements->items[middle].at < at);
    return low;
}
