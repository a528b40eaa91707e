/* Searching in what is sorted: by whatever can be asked of an index, or a list that is sorted by a
 * number.
 *
 * The list may be of structs: `first` is the number of its first element, and the others follow at
 * distances of `stride` bytes. Threads: constant.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Raises `low` to the first index from it up to `high` of which `comes_before`, an expression in
 * `middle`, is not true: it is true of those that come first, and of no others. Lowers `high` to
 * the same. */
#define ISO_BISECT(low, high, middle, comes_before)                                                \
    do {                                                                                           \
        while ((low) < (high)) {                                                                   \
            uint32_t middle = (low) + ((high) - (low)) / 2;                                        \
            if (comes_before)                                                                      \
                (low) = middle + 1;                                                                \
            else                                                                                   \
                (high) = middle;                                                                   \
        }                                                                                          \
    } while (0)

struct iso_sorted {
    const uint64_t *first; /* not looked at while `count` is 0 */
    size_t stride;
    uint32_t count;
};

static inline uint64_t iso_sorted_at(const struct iso_sorted *sorted, uint32_t index)
{
    return *(const uint64_t *)(const void *)((const char *)sorted->first + index * sorted->stride);
}

/* How many numbers lie below `number`: where it stands, or would. */
static inline uint32_t iso_sorted_below(const struct iso_sorted *sorted, uint64_t number)
{
    uint32_t low = 0, high = sorted->count;
    ISO_BISECT(low, high, middle, iso_sorted_at(sorted, middle) < number);
    return low;
}

static inline bool iso_sorted_has(const struct iso_sorted *sorted, uint64_t number)
{
    uint32_t at = iso_sorted_below(sorted, number);
    return at < sorted->count && iso_sorted_at(sorted, at) == number;
}
