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

static void put(struct aion_index *index, uint64_t slot)
{
    uint32_t at = (uint32_t)(slot >> 32) & index->mask;
    while (index->slots[at])
        at = (at + 1) & index->mask;
    index->slots[at] = slot;
}

static void resize(struct aion_index *index, uint64_t bytes)
{
    struct aion_index old = *index;
    index->slots = iso_column_zeroed(bytes);
    aion_advise_huge(index->slots, bytes);
    index->mask = (uint32_t)(bytes / sizeof *index->slots - 1);
    for (uint64_t i = 0; old.slots && i <= old.mask; i++) {
        if (old.slots[i])
            put(index, old.slots[i]);
    }
    iso_column_free(old.slots, aion_index_bytes(&old));
}

void aion_index_add(struct aion_index *index, uint64_t digest, uint32_t number)
{
    if (!index->slots || index->used >= index->mask / 4 * 3)
        resize(index, index->slots ? 2 * aion_index_bytes(index) : FIRST_SLOTS * sizeof *index->slots);
    put(index, (uint64_t)(uint32_t)digest << 32 | (number + 1));
    index->used++;
}

void aion_index_shrink(struct aion_index *index)
{
    if (index->slots && index->mask >= SHRINK_FROM && index->used < index->mask / 4)
        resize(index, aion_index_bytes(index) / 2);
}

/* Without tombstones: what stood behind moves up. */
void aion_index_remove(struct aion_index *index, uint64_t digest, uint32_t number)
{
    uint64_t slot = (uint64_t)(uint32_t)digest << 32 | (number + 1);
    uint32_t at = aion_index_first(index, digest), next;
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
