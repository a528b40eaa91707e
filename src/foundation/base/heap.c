#include "base/heap.h"

#include <assert.h>
#include <stdbool.h>

#include "base/memory.h"

static bool is_before(const struct iso_heap_item *one, const struct iso_heap_item *other)
{
    return one->key < other->key;
}

void iso_heap_push(struct iso_heap *heap, uint64_t key, uint64_t value)
{
    struct iso_heap_item item = {key, value};
    ISO_GROW(heap->items, heap->count, heap->capacity);
    ISO_HEAP_PUSH(heap->items, heap->count, item, is_before);
}

struct iso_heap_item iso_heap_pop(struct iso_heap *heap)
{
    assert(heap->count);
    struct iso_heap_item first = heap->items[0];
    ISO_HEAP_POP(heap->items, heap->count, is_before);
    return first;
}

void iso_heap_release(struct iso_heap *heap)
{
    iso_free(heap->items);
    *heap = (struct iso_heap){0};
}
