/* The keys of a shard by the digests of their names: open addressing, in which what goes leaves no trace.
 *
 * A slot holds 32 bits of the digest and a number; whether the names are equal is for the caller to say. 8 bytes a
 * slot, at most three quarters full. Threads: one at a time.
 */
#ifndef ISO_AION_INDEX_H
#define ISO_AION_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fetch.h"

struct aion_index {
    uint64_t *slots; /* 0: empty, else 32 bits of the digest << 32 | number + 1 */
    uint32_t mask, used;
};

void aion_index_release(struct aion_index *index);
uint64_t aion_index_bytes(const struct aion_index *index);

/* A walk over the numbers that may be of a digest: `for (at = aion_index_first(..); aion_index_at(.., &number); at++)`
 */
static inline uint32_t aion_index_first(const struct aion_index *index, uint64_t digest)
{
    return (uint32_t)digest & index->mask;
}

/* False: there are no more. `*number` is UINT32_MAX where the digest differs. */
static inline bool aion_index_at(const struct aion_index *index, uint32_t at, uint64_t digest, uint32_t *number)
{
    uint64_t slot = index->slots ? index->slots[at & index->mask] : 0;
    *number = slot >> 32 == (uint32_t)digest ? (uint32_t)slot - 1 : UINT32_MAX;
    return slot;
}

ISO_FETCH aion_index_fetch(const struct aion_index *index, uint64_t digest)
{
    if (index->slots)
        __builtin_prefetch(&index->slots[(uint32_t)digest & index->mask], 1);
}

void aion_index_add(struct aion_index *index, uint64_t digest, uint32_t number);
void aion_index_remove(struct aion_index *index, uint64_t digest, uint32_t number);
void aion_index_shrink(struct aion_index *index); /* if much of it is empty */

#endif
