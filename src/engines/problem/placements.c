#include "problem/placements.h"

#include <assert.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/sorted.h"

static void new_placements(struct problem *problem)
{
    problem->placements = iso_allocate_zeroed(1, sizeof *problem->placements);
    problem->placements->list_of_key = iso_numbers_none(problem->history->keys.count);
}

void placements_begin(struct problem *problem, struct repeating_list list)
{
    if (!problem->placements)
        new_placements(problem);
    struct placements *placements = problem->placements;
    assert(placements->list_of_key[list.key] == ISO_NONE);
    ISO_GROW(placements->lists, placements->list_count, placements->list_capacity);
    list.first = list.end = placements->count;
    placements->list_of_key[list.key] = placements->list_count;
    placements->lists[placements->list_count++] = list;
}

void placements_add(struct problem *problem, struct placement placement)
{
    struct placements *placements = problem->placements;
    const struct repeating_list *list = &placements->lists[placements->list_count - 1];
    assert(list->start <= placement.at && placement.at < placement.end &&
           placement.end <= list->length);
    assert(list->first == list->end || placements->items[list->end - 1].at <= placement.at);
    ISO_PUSH_COLUMN(placements->items, placements->count, placements->capacity, placement);
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
        list->ends[i] = end_of(placements->items[list->first + i].write,
                               placements->items[list->first + i].end);
    qsort(list->ends, count, sizeof *list->ends, iso_order_u64);
}

bool placements_has(const struct repeating_list *list, uint32_t write, uint32_t end)
{
    uint64_t wanted = end_of(write, end);
    return bsearch(&wanted, list->ends, list->end - list->first, sizeof wanted, iso_order_u64);
}

void placements_end(struct problem *problem)
{
    struct placements *placements = problem->placements;
    struct repeating_list *list = &placements->lists[placements->list_count - 1];
    assert(list->end == placements->count && !list->ends);
    size_t lengths = list->length - list->start + 1;
    uint32_t *first = iso_allocate_zeroed(lengths + 2, sizeof *first);
    list->ending = iso_numbers((size_t)list->end - list->first);
    for (uint32_t i = list->first; i < list->end; i++)
        first[placements->items[i].end - list->start + 2]++;
    iso_running_sums(first + 1, (size_t)lengths + 1);
    for (uint32_t i = list->first; i < list->end; i++)
        list->ending[first[placements->items[i].end - list->start + 1]++] = i;
    list->first_ending = first;
    sort_ends(placements, list);
    list->set = iso_numbers_none(lengths);
}

void placements_release(struct placements *placements)
{
    if (!placements)
        return;
    for (uint32_t i = 0; i < placements->list_count; i++)
        ISO_FREE_ALL(placements->lists[i].first_ending, placements->lists[i].ending,
                     placements->lists[i].ends, placements->lists[i].set);
    ISO_FREE_COLUMN(placements->items, placements->capacity);
    ISO_FREE_ALL(placements->lists, placements->list_of_key, placements);
}

const struct repeating_list *placements_of_key(const struct placements *placements, uint32_t key)
{
    return placements && placements->list_of_key[key] != ISO_NONE
               ? &placements->lists[placements->list_of_key[key]]
               : NULL;
}

uint32_t placements_at(const struct placements *placements, const struct repeating_list *list,
                       uint32_t at)
{
    uint32_t low = list->first, high = list->end;
    ISO_BISECT(low, high, middle, placements->items[middle].at < at);
    return low;
}
