/* Numbers to numbers, for what has as many as others like: open addressing, slots by the process's
 * seed (base/hash.h).
 *
 * 16 bytes a slot, at most three quarters full. Zeroed, a map is empty. Of a map that had many,
 * iso_number_map_clear keeps no room. Threads: a map that does not change may be read by many.
 */
#pragma once

#include <stdint.h>

#include "base/fetch.h"
#include "base/hash.h"

#define ISO_NUMBER_NONE UINT32_MAX /* a value that no number has */

struct iso_number_map {
    struct iso_number_slot {
        uint64_t number;
        uint32_t value; /* + 1; 0: the slot is free */
    } * slots;
    uint32_t mask, count;
};

/* ISO_NUMBER_NONE: it is not there. */
uint32_t iso_number_map_get(const struct iso_number_map *map, uint64_t number);
/* In place of what the number had, which is returned, or ISO_NUMBER_NONE; as `value` never is. */
uint32_t iso_number_map_put(struct iso_number_map *map, uint64_t number, uint32_t value);
/* Only if the number has none. What it has then. */
uint32_t iso_number_map_add(struct iso_number_map *map, uint64_t number, uint32_t value);
void iso_number_map_reserve(struct iso_number_map *map,
                            uint32_t more); /* room for as many, at once */
void iso_number_map_remove(struct iso_number_map *map, uint64_t number);
void iso_number_map_clear(struct iso_number_map *map);
void iso_number_map_release(struct iso_number_map *map);
uint64_t iso_number_map_bytes(const struct iso_number_map *map); /* its slots, a column */

ISO_FETCH iso_number_map_fetch(const struct iso_number_map *map, uint64_t number)
{
    if (map->slots)
        __builtin_prefetch(&map->slots[(uint32_t)iso_hash_number(number) & map->mask]);
}

/* Makes one number of a pair. */
static inline uint64_t iso_number_pair(uint32_t one, uint32_t other)
{
    return (uint64_t)one << 32 | other;
}

/* Slots that are looked at to find each number once: for tests of growth. */
uint64_t iso_number_map_cost(const struct iso_number_map *map);
