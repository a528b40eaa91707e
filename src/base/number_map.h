/* Numbers to numbers, for what has as many as others like: open addressing, linear probing, slots by the process's seed
 * (base/hash.h). Deletion shifts back, so that there are no tombstones.
 *
 * Zeroed, a map is empty. Of a map that had many, iso_number_map_clear keeps no room. Threads: a map that does not change
 * may be read by many.
 */
#ifndef ISO_BASE_NUMBER_MAP_H
#define ISO_BASE_NUMBER_MAP_H

#include <stdint.h>

#define ISO_NUMBER_NONE UINT32_MAX /* a value that no number has */

struct iso_number_map {
    struct iso_number_slot {
        uint64_t number;
        uint32_t value; /* ISO_NUMBER_NONE: the slot is empty */
    } * slots;
    uint32_t mask, count;
};

/* ISO_NUMBER_NONE: it is not there. */
uint32_t iso_number_map_get(const struct iso_number_map *map, uint64_t number);
/* In place of what the number had; `value` is not ISO_NUMBER_NONE. */
void iso_number_map_put(struct iso_number_map *map, uint64_t number, uint32_t value);
void iso_number_map_remove(struct iso_number_map *map, uint64_t number);
void iso_number_map_clear(struct iso_number_map *map);
void iso_number_map_release(struct iso_number_map *map);

/* Slots that are looked at to find each number once: for tests of growth. */
uint64_t iso_number_map_cost(const struct iso_number_map *map);

#endif
