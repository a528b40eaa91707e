/* Identity to number: open addressing, linear probing, deletion by shifting back. */
#include <assert.h>

#include "base/hash.h"
#include "base/memory.h"
#include "join/map.h"

enum { LEAST_SLOTS = 64 };

static uint32_t slot_of(const struct join_map *map, uint64_t number, uint32_t tag)
{
    return (uint32_t)iso_hash_number(number + iso_hash_number(tag)) & map->mask;
}

static void insert(struct join_map *map, const struct join_entry *entry)
{
    uint32_t slot = slot_of(map, entry->number, entry->tag);
    while (map->slots[slot].tag)
        slot = (slot + 1) & map->mask;
    map->slots[slot] = *entry;
}

static void set_slots(struct join_map *map, uint32_t slots)
{
    struct join_map old = *map;
    map->slots = iso_allocate_zeroed(slots, sizeof *map->slots);
    map->mask = slots - 1;
    for (uint32_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i].tag)
            insert(map, &old.slots[i]);
    iso_free(old.slots);
}

bool join_map_refill(struct join_map *map)
{
    uint64_t used = 0;
    for (uint64_t i = 0; map->slots && i <= map->mask; i++)
        used += map->slots[i].tag != 0;
    if (map->slots && used > map->mask)
        return false;
    if (map->slots)
        set_slots(map, map->mask + 1);
    return true;
}

static struct join_entry *find(const struct join_map *map, struct join_identity identity)
{
    if (!map->slots)
        return NULL;
    uint32_t slot = slot_of(map, identity.number, identity.tag);
    for (; map->slots[slot].tag; slot = (slot + 1) & map->mask)
        if (map->slots[slot].number == identity.number && map->slots[slot].tag == identity.tag)
            return &map->slots[slot];
    return NULL;
}

uint32_t join_map_get(const struct join_map *map, struct join_identity identity)
{
    const struct join_entry *entry = find(map, identity);
    return entry ? entry->value : ISO_NONE;
}

void join_map_put(struct join_map *map, struct join_identity identity, uint32_t value)
{
    struct join_entry *known = find(map, identity);
    assert(identity.tag && value != ISO_NONE);
    if (known) {
        known->value = value;
        return;
    }
    if (!map->slots || map->used >= map->mask / 4 * 3)
        set_slots(map, map->slots ? (map->mask + 1) * 2 : LEAST_SLOTS);
    insert(map, &(struct join_entry){identity.number, identity.tag, value});
    map->used++;
}

void join_map_remove(struct join_map *map, struct join_identity identity)
{
    struct join_entry *known = find(map, identity);
    if (!known)
        return;
    uint32_t hole = (uint32_t)(known - map->slots);
    for (uint32_t slot = (hole + 1) & map->mask; map->slots[slot].tag; slot = (slot + 1) & map->mask) {
        uint32_t home = slot_of(map, map->slots[slot].number, map->slots[slot].tag);
        if (((slot - home) & map->mask) < ((slot - hole) & map->mask))
            continue;
        map->slots[hole] = map->slots[slot];
        hole = slot;
    }
    map->slots[hole].tag = 0;
    map->used--;
}

void join_map_release(struct join_map *map)
{
    iso_free(map->slots);
    *map = (struct join_map){0};
}
