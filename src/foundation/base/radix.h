/* LSD radix sort of 64-bit keys, each with a 32-bit payload. Stable.
 *
 * Keys are sorted by their distance from the smallest one, in digits of 11 bits (few keys: of 8)
 * from the lowest to the highest that differs, so that dense keys cost two passes and sorted ones
 * none beyond the look at them. iso_radix_sort allocates nothing: the caller brings both buffers.
 * O(count * digits). Threads: any, on disjoint buffers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One of the two buffers of a sort: `count` keys and payloads. */
struct iso_radix {
    uint64_t *keys;
    uint32_t *payloads;
};

/* Sorts `items`, of which there are `count`; `other` is as large. True: the result is in `other`,
 * and `items` is scratch now. */
bool iso_radix_sort(struct iso_radix items, struct iso_radix other, size_t count);

/* On the heap: room for `count` items and one more; items of such a room, sorted in a room of their
 * own (`items` is taken); and their payloads alone, in order. The caller frees what is returned. */
struct iso_radix iso_radix_allocate(size_t count);
struct iso_radix iso_radix_sorted(struct iso_radix items, size_t count);
uint32_t *iso_radix_order(struct iso_radix items, size_t count);
