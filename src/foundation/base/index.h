/* An index: numbers by the hashes of what they stand for: keys in a list, texts, whatever the
 * caller has numbered.
 *
 *   slots, by hash & mask     | | h1 7 | h1 2 | | h2 4 | two of one hash stand behind each other
 *
 * A slot holds 32 bits of the hash, and the number. Whether what it stands for is equal is for the
 * caller to say:
 *
 *     iso_index_reserve(&index, 1);
 *     uint32_t at = iso_index_home(hash), number;
 *     for (; iso_index_next(&index, &at, hash, &number); at++)
 *         if (is_equal(&list[number], sought))
 *             return number;
 *     iso_index_fill(&index, at, hash, count); // where the search ended
 *
 * 8 bytes a slot, at most three quarters full. Numbers below UINT32_MAX. Where numbers are sought
 * by numbers: base/number_map.h. A zeroed index is empty, and may be searched. Threads: many may
 * search one that does not change.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/fetch.h"

#define ISO_NONE 0xffffffffu /* no such number: of a transaction, an operation, a key, ... */

struct iso_index {
    uint64_t *slots;     /* 0: free, else hash << 32 | number + 1 */
    uint32_t mask, used; /* mask: slots - 1, a power of two less one */
};

void iso_index_release(struct iso_index *index);
void iso_index_clear(struct iso_index *index); /* keeps the room */
uint64_t iso_index_bytes(const struct iso_index *index);

static inline uint32_t iso_index_home(uint64_t hash)
{
    return (uint32_t)hash;
}

/* The next number from `*at` on that has this hash. False: there are no more, and what is new may
 * stand at `*at`. */
static inline bool iso_index_next(const struct iso_index *index, uint32_t *at, uint64_t hash,
                                  uint32_t *number)
{
    if (!index->slots)
        return false;
    for (;; ++*at) {
        uint64_t slot = index->slots[*at & index->mask];
        *number = (uint32_t)slot - 1;
        if (!slot || slot >> 32 == (uint32_t)hash)
            return slot;
    }
}

ISO_FETCH iso_index_fetch(const struct iso_index *index, uint64_t hash)
{
    if (index->slots)
        __builtin_prefetch(&index->slots[hash & index->mask], 1);
}

/* Room for `more`. */
void iso_index_widen(struct iso_index *index, uint32_t more);
static inline void iso_index_reserve(struct iso_index *index, uint32_t more)
{
    if (!index->slots || (uint64_t)index->used + more > (uint64_t)index->mask / 4 * 3)
        iso_index_widen(index, more);
}

static inline void iso_index_fill(struct iso_index *index, uint32_t at, uint64_t hash,
                                  uint32_t number)
{
    index->slots[at & index->mask] = hash << 32 | (number + 1);
    index->used++;
}

void iso_index_add(struct iso_index *index, uint64_t hash,
                   uint32_t number); /* reserves, and does not search */
void iso_index_remove(struct iso_index *index, uint64_t hash, uint32_t number); /* which is there */

/* After the slots of another process were read: the numbers in them go where they belong here.
 * False: one of them is none of `count`, there is no free slot, or `used` is wrong. */
bool iso_index_refill(struct iso_index *index, uint32_t count,
                      uint32_t (*hash_of)(const void *context, uint32_t number),
                      const void *context);
void iso_index_shrink(struct iso_index *index); /* if it is large, and most of it is free */
