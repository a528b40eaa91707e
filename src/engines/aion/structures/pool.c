#define _GNU_SOURCE
#include "aion/structures/pool.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

/* From the start large enough for a mapping of its own, and so aligned to cache lines. */
enum { FIRST_UNITS = 1 << 15 };

void aion_pool_init(struct aion_pool *pool)
{
    memset(pool, 0, sizeof *pool);
    pool->used = 1;
}

void aion_pool_release(struct aion_pool *pool)
{
    iso_column_free(pool->base, (size_t)pool->capacity * AION_UNIT);
    aion_pool_init(pool);
}

static void grow_pool(struct aion_pool *pool, uint64_t need)
{
    uint64_t next = pool->capacity ? (uint64_t)pool->capacity * 2 : FIRST_UNITS;
    while (next < need)
        next *= 2;
    if (next > UINT32_MAX)
        next = UINT32_MAX;
    if (next < need)
        iso_out_of_memory((size_t)need * AION_UNIT);
    pool->base =
        iso_column_grow(pool->base, (size_t)pool->capacity * AION_UNIT, (size_t)next * AION_UNIT);
    pool->capacity = (uint32_t)next;
    iso_column_huge(pool->base, (size_t)pool->capacity * AION_UNIT);
}

/* A part of a larger block that waits, or 0: where more than a fifth of the pool does, it does not
 * grow for a small one. */
static uint32_t split_block(struct aion_pool *pool, unsigned size)
{
    unsigned from = size + 1;
    if (pool->in_use / 4 * 5 > (uint64_t)pool->used * AION_UNIT)
        return 0;
    while (from < AION_SIZES && !pool->free[from])
        from++;
    if (from == AION_SIZES)
        return 0;
    uint32_t block = pool->free[from];
    memcpy(&pool->free[from], aion_pool_at(pool, block), sizeof pool->free[from]);
    while (from-- > size) {
        uint32_t rest = block + (1u << from);
        memcpy(aion_pool_at(pool, rest), &pool->free[from], sizeof pool->free[from]);
        pool->free[from] = rest;
    }
    return block;
}

uint32_t aion_pool_take(struct aion_pool *pool, unsigned size)
{
    assert(size < AION_SIZES);
    uint32_t block = pool->free[size];
    pool->in_use += (uint64_t)AION_UNIT << size;
    if (block) {
        memcpy(&pool->free[size], aion_pool_at(pool, block), sizeof pool->free[size]);
        __builtin_prefetch(aion_pool_at(pool, pool->free[size]), 1);
        return block;
    }
    if ((block = split_block(pool, size)))
        return block;
    uint64_t need = pool->used + ((uint64_t)1 << size);
    if (need > pool->capacity)
        grow_pool(pool, need);
    block = pool->used;
    pool->used = (uint32_t)need;
    return block;
}

void aion_pool_give(struct aion_pool *pool, uint32_t block, unsigned size)
{
    assert(block < pool->used && pool->in_use >= (uint64_t)AION_UNIT << size);
    assert(block && size < AION_SIZES);
    pool->in_use -= (uint64_t)AION_UNIT << size;
    memcpy(aion_pool_at(pool, block), &pool->free[size], sizeof pool->free[size]);
    pool->free[size] = block;
}
