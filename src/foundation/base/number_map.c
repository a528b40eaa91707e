#include "base/number_map.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/slots.h"

enum { LEAST_SLOTS = 16, KEPT_SLOTS = 1 << 12 };

static bool is_free(const void *slot)
{
    return !((const struct iso_number_slot *)slot)->value;
}

static uint64_t hash_of(const void *slot)
{
    return iso_hash_number(((const struct iso_number_slot *)slot)->number);
}

static const struct iso_slot_kind kind = {sizeof(struct iso_number_slot), is_free, hash_of};

uint64_t iso_number_map_bytes(const struct iso_number_map *map)
{
    return map->slots ? (map->mask + (uint64_t)1) * sizeof *map->slots : 0;
}

/* The number's slot, or the free one where it would stand. */
static struct iso_number_slot *find_slot(const struct iso_number_map *map, uint64_t number)
{
    uint32_t at = (uint32_t)iso_hash_number(number) & map->mask;
    while (map->slots[at].value && map->slots[at].number != number)
        at = (at + 1) & map->mask;
    return &map->slots[at];
}

void iso_number_map_reserve(struct iso_number_map *map, uint32_t more)
{
    struct iso_number_map old = *map;
    uint64_t slots = old.slots ? old.mask + (uint64_t)1 : LEAST_SLOTS;
    while ((uint64_t)old.count + more > (slots - 1) / 4 * 3)
        slots *= 2;
    if (old.slots && slots == old.mask + (uint64_t)1)
        return;
    map->slots = iso_column_zeroed(slots * sizeof *map->slots);
    map->mask = (uint32_t)(slots - 1);
    iso_column_huge(map->slots, iso_number_map_bytes(map));
    iso_slots_spread(map->slots, map->mask, &kind, old.slots, old.mask + (uint64_t)1);
    iso_column_free(old.slots, iso_number_map_bytes(&old));
}

static struct iso_number_slot *find_or_add(struct iso_number_map *map, uint64_t number)
{
    if (!map->slots || map->count >= map->mask / 4 * 3)
        iso_number_map_reserve(map, 1);
    struct iso_number_slot *slot = find_slot(map, number);
    map->count += !slot->value;
    slot->number = number;
    return slot;
}

uint32_t iso_number_map_get(const struct iso_number_map *map, uint64_t number)
{
    return map->count ? find_slot(map, number)->value - 1 : ISO_NUMBER_NONE;
}

uint32_t iso_number_map_put(struct iso_number_map *map, uint64_t number, uint32_t value)
{
    struct iso_number_slot *slot = find_or_add(map, number);
    uint32_t old = slot->value - 1;
    assert(value != ISO_NUMBER_NONE);
    slot->value = value + 1;
    return old;
}

uint32_t iso_number_map_add(struct iso_number_map *map, uint64_t number, uint32_t value)
{
    struct iso_number_slot *slot = find_or_add(map, number);
    assert(value != ISO_NUMBER_NONE);
    slot->value = slot->value ? slot->value : value + 1;
    return slot->value - 1;
}

void iso_number_map_remove(struct iso_number_map *map, uint64_t number)
{
    struct iso_number_slot *slot = map->count ? find_slot(map, number) : NULL;
    if (!slot || !slot->value)
        return;
    iso_slots_vacate(map->slots, map->mask, &kind, (uint64_t)(slot - map->slots));
    map->count--;
}

void iso_number_map_clear(struct iso_number_map *map)
{
    if (map->slots && map->mask >= KEPT_SLOTS) {
        iso_number_map_release(map);
    } else if (map->count) {
        memset(map->slots, 0, (map->mask + 1) * sizeof *map->slots);
        map->count = 0;
    }
}

void iso_number_map_release(struct iso_number_map *map)
{
    iso_column_free(map->slots, iso_number_map_bytes(map));
    *map = (struct iso_number_map){0};
}

uint64_t iso_number_map_cost(const struct iso_number_map *map)
{
    uint64_t cost = 0;
    for (uint32_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].value)
            cost += 1 + ((i - hash_of(&map->slots[i])) & map->mask);
    return cost;
}
