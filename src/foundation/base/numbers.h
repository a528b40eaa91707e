/* Sums of counts, numbers by group, and lists of 32-bit numbers: with room for `count` of them, and
 * one more, so that none is empty. On the heap: iso_free. */
#pragma once

#include <string.h>

#include "base/memory.h"

static inline uint32_t *iso_numbers(size_t count)
{
    return iso_allocate((count + 1) * sizeof(uint32_t));
}

static inline uint32_t *iso_numbers_zero(size_t count)
{
    return iso_allocate_zeroed(count + 1, sizeof(uint32_t));
}

/* Each of them ISO_NONE. */
static inline uint32_t *iso_numbers_none(size_t count)
{
    return memset(iso_numbers(count), 0xff, (count + 1) * sizeof(uint32_t));
}

/* A copy of `count` numbers and the one behind them. */
static inline uint32_t *iso_numbers_copy(const uint32_t *numbers, size_t count)
{
    return memcpy(iso_numbers(count), numbers, (count + 1) * sizeof *numbers);
}

/* Each number becomes the sum of those up to it: counts by group become where each group ends. */
static inline void iso_running_sums(uint32_t *numbers, size_t count)
{
    for (size_t i = 1; i < count; i++)
        numbers[i] += numbers[i - 1];
}

/* Each number of a group, which are first[group] to first[group + 1] - 1. */
#define ISO_EACH(number, first, group)                                                             \
    for (uint32_t number = (first)[group]; number < (first)[(group) + 1]; number++)

/* Adds each of the numbers of 64 bits in `bytes` bytes: counts that stand in two structs. */
static inline void iso_add_counts(void *sums, const void *more, size_t bytes)
{
    uint64_t *to = sums;
    const uint64_t *from = more;
    for (size_t i = 0; i < bytes / sizeof *to; i++)
        to[i] += from[i];
}
