#include "aion/index.h"

#include <assert.h>
#include <string.h>

#include "aion/pool.h"
#include "base/memory.h"

enum { FIRST_SLOTS = 256, SHRINK_FROM = 1 << 17 };

void aion_index_release(struct aion_index *index)
{
    iso_column_free(index->slots, aion_index_bytes(index));
    memset(index, 0, sizeof *index);
}

uint64_t aion_index_bytes(const struct aion_index *index)
{
    return index->slots ? ((uint64_t)index->mask + 1) * sizeof *index->slots : 0;
}

static void put_slot(struct aion_index *index, uint64_t slot)
{
    uint32_t at = (uint32_t)(slot >> 32) & index->mask;
    while (index->slots[at])
        at = (at + 1) & index->mask;
    index->slots[at] = slot;
}

static void resize_index(struct aion_index *index, uint64_t bytes)
{
    struct aion_index old = *index;
    index->slots = iso_column_zeroed(bytes);
    aion_advise_huge(index->slots, bytes);
    index->mask = (uint32_t)(bytes / sizeof *index->slots - 1);
    for (uint64_t i = 0; old.slots && i <= old.mask; i++) {
        if (old.slots[i])
            put_slot(index, old.slots[i]);
    }
    iso_column_free(old.slots, aion_index_bytes(&old));
}

void aion_index_add(struct aion_index *index, uint32_t hash, uint32_t number)
{
    if (!index->slots || index->used >= index->mask / 4 * 3)
        resize_index(index, index->slots ? 2 * aion_index_bytes(index) : FIRST_SLOTS * sizeof *index->slots);
    put_slot(index, (uint64_t)hash << 32 | (number + 1));
    index->used++;
}

void aion_index_shrink(struct aion_index *index)
{
    if (index->slots && index->mask >= SHRINK_FROM && index->used < index->mask / 4)
        resize_index(index, aion_index_bytes(index) / 2);
}

bool aion_index_refill(struct aion_index *index, uint32_t count,
                       uint32_t (*hash_of)(const void *context, uint32_t number), const void *context)
{
    struct aion_index old = *index;
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
    index->slots = iso_column_zeroed(aion_index_bytes(&old));
    aion_advise_huge(index->slots, aion_index_bytes(&old));
    for (uint64_t i = 0; i <= old.mask; i++) {
        uint32_t number = (uint32_t)old.slots[i] - 1;
        if (old.slots[i])
            put_slot(index, (uint64_t)hash_of(context, number) << 32 | (number + 1));
    }
    iso_column_free(old.slots, aion_index_bytes(&old));
    return true;
}

/* Without tombstones: what stood behind moves up. */
void aion_index_remove(struct aion_index *index, uint32_t hash, uint32_t number)
{
    uint64_t slot = (uint64_t)hash << 32 | (number + 1);
    uint32_t at = aion_index_first(index, hash), next;
    while (index->slots[at] != slot) {
        assert(index->slots[at]);
        at = (at + 1) & index->mask;
    }
    for (next = at;;) {
        next = (next + 1) & index->mask;
        if (!index->slots[next])
            break;
        uint32_t home = (uint32_t)(index->slots[next] >> 32) & index->mask;
        if (((next - home) & index->mask) >= ((next - at) & index->mask)) {
            index->slots[at] = index->slots[next];
            at = next;
        }
    }
    index->slots[at] = 0;
    index->used--;
}
