#include "base/heap.h"

#include <assert.h>

#include "base/memory.h"

void iso_heap_push(struct iso_heap *heap, uint64_t key, uint64_t value)
{
    ISO_GROW(heap->items, heap->count, heap->capacity);
    uint32_t at = heap->count++;
    for (; at && heap->items[(at - 1) / 2].key > key; at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = (struct iso_heap_item){key, value};
}

struct iso_heap_item iso_heap_pop(struct iso_heap *heap)
{
    assert(heap->count);
    struct iso_heap_item first = heap->items[0], moved = heap->items[--heap->count];
    uint32_t at = 0, count = heap->count;
    for (uint32_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && heap->items[child + 1].key < heap->items[child].key;
        if (heap->items[child].key >= moved.key)
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = moved;
    return first;
}

void iso_heap_release(struct iso_heap *heap)
{
    iso_free(heap->items);
    *heap = (struct iso_heap){0};
}
