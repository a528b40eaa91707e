#include "base/index.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "base/slots.h"

enum { LEAST_SLOTS = 64, SHRINK_FROM = 1 << 17 };

static bool is_free(const void *slot)
{
    return !*(const uint64_t *)slot;
}

static uint64_t hash_of_slot(const void *slot)
{
    return *(const uint64_t *)slot >> 32;
}

static const struct iso_slot_kind kind = {sizeof(uint64_t), is_free, hash_of_slot};

uint64_t iso_index_bytes(const struct iso_index *index)
{
    return index->slots ? ((uint64_t)index->mask + 1) * sizeof *index->slots : 0;
}

void iso_index_release(struct iso_index *index)
{
    iso_column_free(index->slots, iso_index_bytes(index));
    *index = (struct iso_index){0};
}

void iso_index_clear(struct iso_index *index)
{
    if (index->slots)
        memset(index->slots, 0, iso_index_bytes(index));
    index->used = 0;
}

static void new_slots(struct iso_index *index, uint64_t slots)
{
    index->slots = iso_column_zeroed(slots * sizeof *index->slots);
    index->mask = (uint32_t)(slots - 1);
    iso_column_huge(index->slots, iso_index_bytes(index));
}

static void resize(struct iso_index *index, uint64_t slots)
{
    struct iso_index old = *index;
    new_slots(index, slots);
    iso_slots_spread(index->slots, index->mask, &kind, old.slots, old.mask + (uint64_t)1);
    iso_column_free(old.slots, iso_index_bytes(&old));
}

void iso_index_widen(struct iso_index *index, uint32_t more)
{
    uint64_t slots = index->slots ? index->mask + (uint64_t)1 : LEAST_SLOTS;
    while ((uint64_t)index->used + more > (slots - 1) / 4 * 3)
        slots *= 2;
    resize(index, slots);
}

void iso_index_add(struct iso_index *index, uint64_t hash, uint32_t number)
{
    iso_index_reserve(index, 1);
    *(uint64_t *)iso_slots_vacant(index->slots, index->mask, &kind, hash) =
        hash << 32 | (number + 1);
    index->used++;
}

void iso_index_remove(struct iso_index *index, uint64_t hash, uint32_t number)
{
    uint64_t slot = hash << 32 | (number + 1), at = hash & index->mask;
    while (index->slots[at] != slot) {
        assert(index->slots[at]);
        at = (at + 1) & index->mask;
    }
    iso_slots_vacate(index->slots, index->mask, &kind, at);
    index->used--;
}

void iso_index_shrink(struct iso_index *index)
{
    if (index->slots && index->mask >= SHRINK_FROM && index->used < index->mask / 4)
        resize(index, (index->mask + (uint64_t)1) / 2);
}

bool iso_index_refill(struct iso_index *index, uint32_t count,
                      uint32_t (*hash_of)(const void *context, uint32_t number),
                      const void *context)
{
    struct iso_index old = *index;
    uint32_t used = 0;
    if (!old.slots)
        return !old.used;
    for (uint64_t i = 0; i <= old.mask; i++) {
        if (old.slots[i] && (uint32_t)old.slots[i] - 1 >= count)
            return false;
        used += old.slots[i] != 0;
    }
    if (used != old.used || used > old.mask)
        return false;
    new_slots(index, old.mask + (uint64_t)1);
    index->used = 0;
    for (uint64_t i = 0; i <= old.mask; i++) {
        if (old.slots[i])
            iso_index_add(index, hash_of(context, (uint32_t)old.slots[i] - 1),
                          (uint32_t)old.slots[i] - 1);
    }
    iso_column_free(old.slots, iso_index_bytes(&old));
    return true;
}
