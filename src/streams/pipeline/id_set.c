#include "pipeline/id_set.h"

#include <assert.h>
#include <stddef.h>

#include "base/hash.h"
#include "base/memory.h"

enum { LEAST_SLOTS = 64 };

static uint64_t *slot_of(const struct id_set *set, uint64_t id)
{
    uint32_t slot = (uint32_t)iso_hash_number(id) & set->mask;
    assert(id > ID_SET_REMOVED);
    while (set->slots[slot] && set->slots[slot] != id)
        slot = (slot + 1) & set->mask;
    return &set->slots[slot];
}

static uint64_t count_of(const struct id_set *set)
{
    uint64_t count = 0;
    for (uint32_t i = 0; set->slots && i <= set->mask; i++)
        count += set->slots[i] > ID_SET_REMOVED;
    return count;
}

void id_set_refill(struct id_set *set)
{
    struct id_set old = *set;
    uint32_t slots = LEAST_SLOTS;
    set->count = count_of(&old);
    while (slots < 4 * set->count)
        slots *= 2;
    set->slots = iso_allocate_zeroed(slots, sizeof *set->slots);
    set->mask = slots - 1;
    set->used = (uint32_t)set->count;
    for (uint32_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i] > ID_SET_REMOVED)
            *slot_of(set, old.slots[i]) = old.slots[i];
    iso_free(old.slots);
}

bool id_set_has(const struct id_set *set, uint64_t id)
{
    return set->count && *slot_of(set, id);
}

bool id_set_add(struct id_set *set, uint64_t id)
{
    if (!set->slots || set->used >= set->mask / 2)
        id_set_refill(set);
    uint64_t *slot = slot_of(set, id);
    if (*slot)
        return false;
    *slot = id;
    set->used++;
    set->count++;
    assert(set->used < set->mask);
    return true;
}

bool id_set_remove(struct id_set *set, uint64_t id)
{
    uint64_t *slot = set->slots ? slot_of(set, id) : NULL;
    if (!slot || !*slot)
        return false;
    assert(set->count);
    *slot = ID_SET_REMOVED;
    set->count--;
    return true;
}

void id_set_release(struct id_set *set)
{
    iso_free(set->slots);
    *set = (struct id_set){0};
}
