/* A binary heap: the item with the smallest key first. Of equal keys any: the same ones pushed in
 * the same order are popped in the same order.
 *
 * A zeroed heap is empty. Ownership: the heap owns its items, and iso_heap_release frees them.
 * Threads: one at a time.
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

/* A heap of items of any type, in a list with room: `is_before` takes pointers to two. A pop
 * removes the first item, which the caller has copied. */
#define ISO_HEAP_PUSH(list, count, item, is_before)                                                \
    do {                                                                                           \
        uint32_t at_ = (count)++;                                                                  \
        for (; at_ && is_before(&(item), &(list)[(at_ - 1) / 2]); at_ = (at_ - 1) / 2)             \
            (list)[at_] = (list)[(at_ - 1) / 2];                                                   \
        (list)[at_] = (item);                                                                      \
    } while (0)
#define ISO_HEAP_POP(list, count, is_before)                                                       \
    do {                                                                                           \
        const __typeof__(*(list)) moved_ = (list)[--(count)];                                      \
        uint32_t at_ = 0;                                                                          \
        for (uint32_t child_ = 1; child_ < (count); child_ = 2 * at_ + 1) {                        \
            child_ += child_ + 1 < (count) && is_before(&(list)[child_ + 1], &(list)[child_]);     \
            if (!is_before(&(list)[child_], &moved_))                                              \
                break;                                                                             \
            (list)[at_] = (list)[child_];                                                          \
            at_ = child_;                                                                          \
        }                                                                                          \
        (list)[at_] = moved_;                                                                      \
    } while (0)

void iso_heap_push(struct iso_heap *heap, uint64_t key, uint64_t value);
struct iso_heap_item iso_heap_pop(struct iso_heap *heap); /* which is not empty */
void iso_heap_release(struct iso_heap *heap);
