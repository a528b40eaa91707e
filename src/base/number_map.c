#include "base/number_map.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

enum { LEAST_SLOTS = 16, KEPT_SLOTS = 1 << 12 };

static uint32_t home_of(const struct iso_number_map *map, uint64_t number)
{
    return (uint32_t)iso_hash_number(number) & map->mask;
}

/* The number's slot, or the empty one where it would stand. */
static struct iso_number_slot *find_slot(const struct iso_number_map *map, uint64_t number)
{
    uint32_t at = home_of(map, number);
    while (map->slots[at].value != ISO_NUMBER_NONE && map->slots[at].number != number)
        at = (at + 1) & map->mask;
    return &map->slots[at];
}

static void set_slots(struct iso_number_map *map, uint32_t slots)
{
    struct iso_number_map old = *map;
    map->slots = iso_allocate(slots * sizeof *map->slots);
    memset(map->slots, 0xff, slots * sizeof *map->slots);
    map->mask = slots - 1;
    for (uint32_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i].value != ISO_NUMBER_NONE)
            *find_slot(map, old.slots[i].number) = old.slots[i];
    iso_free(old.slots);
}

uint32_t iso_number_map_get(const struct iso_number_map *map, uint64_t number)
{
    return map->count ? find_slot(map, number)->value : ISO_NUMBER_NONE;
}

void iso_number_map_put(struct iso_number_map *map, uint64_t number, uint32_t value)
{
    assert(value != ISO_NUMBER_NONE);
    if (!map->slots || map->count >= map->mask / 4 * 3)
        set_slots(map, map->slots ? 2 * (map->mask + 1) : LEAST_SLOTS);
    struct iso_number_slot *slot = find_slot(map, number);
    map->count += slot->value == ISO_NUMBER_NONE;
    *slot = (struct iso_number_slot){number, value};
}

void iso_number_map_remove(struct iso_number_map *map, uint64_t number)
{
    struct iso_number_slot *slot = map->count ? find_slot(map, number) : NULL;
    if (!slot || slot->value == ISO_NUMBER_NONE)
        return;
    uint32_t hole = (uint32_t)(slot - map->slots), at = hole;
    for (;;) {
        at = (at + 1) & map->mask;
        if (map->slots[at].value == ISO_NUMBER_NONE)
            break;
        uint32_t from_home = (at - home_of(map, map->slots[at].number)) & map->mask;
        if (from_home < ((at - hole) & map->mask))
            continue;
        map->slots[hole] = map->slots[at];
        hole = at;
    }
    map->slots[hole].value = ISO_NUMBER_NONE;
    map->count--;
}

void iso_number_map_clear(struct iso_number_map *map)
{
    if (map->slots && map->mask >= KEPT_SLOTS) {
        iso_number_map_release(map);
    } else if (map->count) {
        memset(map->slots, 0xff, (map->mask + 1) * sizeof *map->slots);
        map->count = 0;
    }
}

void iso_number_map_release(struct iso_number_map *map)
{
    iso_free(map->slots);
    *map = (struct iso_number_map){0};
}

uint64_t iso_number_map_cost(const struct iso_number_map *map)
{
    uint64_t cost = 0;
    for (uint32_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].value != ISO_NUMBER_NONE)
            cost += 1 + ((i - home_of(map, map->slots[i].number)) & map->mask);
    return cost;
}
