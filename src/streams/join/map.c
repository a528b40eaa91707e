/* Identity to number. */
#include <assert.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/slots.h"
#include "join/map.h"

enum { LEAST_SLOTS = 64 };

static uint64_t hash(uint64_t number, uint32_t tag)
{
    return iso_hash_number(number + iso_hash_number(tag));
}

static bool is_free(const void *slot)
{
    return !((const struct join_entry *)slot)->tag;
}

static uint64_t hash_of(const void *slot)
{
    const struct join_entry *entry = slot;
    return hash(entry->number, entry->tag);
}

static const struct iso_slot_kind kind = {sizeof(struct join_entry), is_free, hash_of};

static void set_slots(struct join_map *map, uint32_t slots)
{
    struct join_map old = *map;
    map->slots = iso_allocate_zeroed(slots, sizeof *map->slots);
    map->mask = slots - 1;
    iso_slots_spread(map->slots, map->mask, &kind, old.slots, (uint64_t)old.mask + 1);
    iso_free(old.slots);
}

bool join_map_refill(struct join_map *map)
{
    uint64_t used = 0;
    for (uint64_t i = 0; map->slots && i <= map->mask; i++)
        used += !is_free(&map->slots[i]);
    if (map->slots && used > map->mask)
        return false;
    if (map->slots)
        set_slots(map, map->mask + 1);
    return true;
}

static struct join_entry *find_entry(const struct join_map *map, struct join_identity identity)
{
    if (!map->slots)
        return NULL;
    uint32_t slot = (uint32_t)hash(identity.number, identity.tag) & map->mask;
    for (; map->slots[slot].tag; slot = (slot + 1) & map->mask)
        if (map->slots[slot].number == identity.number && map->slots[slot].tag == identity.tag)
            return &map->slots[slot];
    return NULL;
}

uint32_t join_map_get(const struct join_map *map, struct join_identity identity)
{
    const struct join_entry *entry = find_entry(map, identity);
    return entry ? entry->value : ISO_NONE;
}

void join_map_put(struct join_map *map, struct join_identity identity, uint32_t value)
{
    struct join_entry *known = find_entry(map, identity);
    assert(identity.tag && value != ISO_NONE);
    if (known) {
        known->value = value;
        return;
    }
    if (!map->slots || map->used >= map->mask / 4 * 3)
        set_slots(map, map->slots ? (map->mask + 1) * 2 : LEAST_SLOTS);
    struct join_entry *vacant =
        iso_slots_vacant(map->slots, map->mask, &kind, hash(identity.number, identity.tag));
    *vacant = (struct join_entry){identity.number, identity.tag, value};
    map->used++;
}

void join_map_remove(struct join_map *map, struct join_identity identity)
{
    struct join_entry *known = find_entry(map, identity);
    if (!known)
        return;
    iso_slots_vacate(map->slots, map->mask, &kind, (uint64_t)(known - map->slots));
    assert(map->used);
    map->used--;
}

void join_map_release(struct join_map *map)
{
    iso_free(map->slots);
    *map = (struct join_map){0};
}
