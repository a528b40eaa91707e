/* Memory of a shard: blocks of 64 bytes times a power of two, named by 32-bit numbers instead of
 * pointers.
 *
 * A block is a number of 64-byte units from the start of one growing column, so that state can be
 * saved as it is and read back at another address. A block that is given back waits for the next
 * one of its size, or is split for smaller ones where much waits. Pointers are good until the next
 * aion_pool_take. Cost: taking and giving back touch one cache line, the block's first. Threads:
 * one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { AION_UNIT = 64, AION_SIZES = 27 };

struct aion_pool {
    uint8_t *base;
    uint32_t used, capacity; /* units; unit 0 is nobody's, so that 0 can stand for none */
    uint64_t in_use;         /* bytes in blocks that are out */
    uint32_t free[AION_SIZES];
};

void aion_pool_init(struct aion_pool *pool);
void aion_pool_release(struct aion_pool *pool);

/* A block of 64 << size bytes, without defined content. */
uint32_t aion_pool_take(struct aion_pool *pool, unsigned size);
void aion_pool_give(struct aion_pool *pool, uint32_t block, unsigned size);

static inline void *aion_pool_at(const struct aion_pool *pool, uint32_t block)
{
    return pool->base + (size_t)block * AION_UNIT;
}

/* The smallest size that has room for `bytes`. */
static inline unsigned aion_pool_size(size_t bytes)
{
    unsigned size = 0;
    while (((size_t)AION_UNIT << size) < bytes)
        size++;
    return size;
}
