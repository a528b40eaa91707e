/* LSD radix sort of 64-bit keys, each with a 32-bit payload. Stable.
 *
 * Keys are sorted by their distance from the smallest one, in digits of 11 bits from the lowest to
 * the highest that differs, so that dense keys cost two passes and sorted ones none beyond the look
 * at them. The caller brings both buffers: nothing is allocated. O(count * digits). Threads: any,
 * on disjoint buffers.
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
