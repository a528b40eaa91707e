/* A binary heap: the item with the smallest key first. Of equal keys any: the same ones pushed in the same order are
 * popped in the same order.
 *
 * A zeroed heap is empty. Ownership: the heap owns its items, and iso_heap_release frees them. Threads: one at a time.
 */
#pragma once

#include <stdint.h>

struct iso_heap_item {
    uint64_t key, value;
};

struct iso_heap {
    struct iso_heap_item *items; /* items[0] is the first; clear it by count = 0 */
    uint32_t count, capacity;
};

void iso_heap_push(struct iso_heap *heap, uint64_t key, uint64_t value);
struct iso_heap_item iso_heap_pop(struct iso_heap *heap); /* which is not empty */
void iso_heap_release(struct iso_heap *heap);
