/* Keys of a shard, and sessions, by the hashes of their names (aion_atom_hash): open addressing, in which what goes
 * leaves no trace.
 *
 * A slot holds the hash and a number; whether the names are equal is for the caller to say. 8 bytes a
 * slot, at most three quarters full. Threads: one at a time.
 */
#ifndef ISO_AION_INDEX_H
#define ISO_AION_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fetch.h"

struct aion_index {
    uint64_t *slots; /* 0: empty, else hash << 32 | number + 1 */
    uint32_t mask, used;
};

void aion_index_release(struct aion_index *index);
uint64_t aion_index_bytes(const struct aion_index *index);

/* A walk over the numbers that may be of a hash: `for (at = aion_index_first(..); aion_index_at(.., &number); at++)`
 */
static inline uint32_t aion_index_first(const struct aion_index *index, uint32_t hash)
{
    return hash & index->mask;
}

/* False: there are no more. `*number` is UINT32_MAX where the hash differs. */
static inline bool aion_index_at(const struct aion_index *index, uint32_t at, uint32_t hash, uint32_t *number)
{
    uint64_t slot = index->slots ? index->slots[at & index->mask] : 0;
    *number = slot >> 32 == hash ? (uint32_t)slot - 1 : UINT32_MAX;
    return slot;
}

ISO_FETCH aion_index_fetch(const struct aion_index *index, uint32_t hash)
{
    if (index->slots)
        __builtin_prefetch(&index->slots[hash & index->mask], 1);
}

void aion_index_add(struct aion_index *index, uint32_t hash, uint32_t number);
void aion_index_remove(struct aion_index *index, uint32_t hash, uint32_t number);
/* After the slots of another process were read: the numbers in them are put where they belong here. False: one of them
 * is none of `count`, or there is no empty slot. */
bool aion_index_refill(struct aion_index *index, uint32_t count,
                       uint32_t (*hash_of)(const void *context, uint32_t number), const void *context);
void aion_index_shrink(struct aion_index *index); /* if much of it is empty */

#endif
