#include "observe/observed_private.h"

#include <assert.h>

#include "base/memory.h"

enum { QUEUE_MOST = 1 << 14, QUEUE_BYTES = 1 << 24 };

struct entry *observed_at(const struct observed *observed, uint32_t position)
{
    const struct pending *pending = &observed->pending;
    assert(position < pending->count);
    return &pending->entries[(pending->first + position) % pending->capacity];
}

struct entry *observed_head(const struct observed *observed)
{
    return observed->pending.count ? observed_at(observed, 0) : NULL;
}

struct entry *observed_push(struct observed *observed, enum entry_kind kind, enum question own)
{
    struct pending *pending = &observed->pending;
    if (pending->count == pending->capacity) {
        uint32_t capacity = pending->capacity ? pending->capacity * 2 : 8;
        struct entry *queue = iso_allocate_zeroed(capacity, sizeof *queue);
        for (uint32_t i = 0; i < pending->count; i++)
            queue[i] = *observed_at(observed, i);
        iso_free(pending->entries);
        *pending = (struct pending){queue, 0, pending->count, capacity, pending->bytes};
    }
    pending->count++;
    struct entry *entry = observed_at(observed, pending->count - 1);
    entry->kind = kind;
    entry->own = own;
    entry->position = 0;
    entry->text = NULL;
    entry->bytes.used = entry->cost = 0;
    entry->sent = observed->world->shared->tells_moments ? iso_clock_nanoseconds() : 0;
    if (pending->count > QUEUE_MOST)
        observed_lose(observed);
    return entry;
}

void observed_weigh(struct observed *observed, struct entry *entry, size_t bytes)
{
    entry->cost += bytes;
    observed->pending.bytes += bytes;
    if (observed->pending.bytes > QUEUE_BYTES)
        observed_lose(observed);
}

void observed_keep_body(struct observed *observed, struct entry *entry,
                        const struct wire_piece *piece)
{
    if (!piece->body) {
        observed_lose(observed); /* too large to be known, and then nothing is */
        return;
    }
    iso_text_put_bytes(&entry->bytes, piece->body, piece->size);
    iso_text_put_bytes(&entry->bytes, "", 1);
    observed_weigh(observed, entry, entry->bytes.used);
}

void observed_pop(struct observed *observed)
{
    struct entry *entry = observed_head(observed);
    assert(entry && observed->pending.bytes >= entry->cost);
    observed->pending.bytes -= entry->cost;
    observed_text_release(entry->text);
    entry->text = NULL;
    entry->bytes.used = 0;
    if (entry->bytes.capacity > 1 << 14)
        iso_text_release(&entry->bytes);
    observed->pending.first = (observed->pending.first + 1) % observed->pending.capacity;
    observed->pending.count--;
}

void observed_pop_to_sync(struct observed *observed)
{
    while (observed->pending.count && observed_head(observed)->kind != ENTRY_SYNC)
        observed_pop(observed);
    observed->conversation.skips = !observed->pending.count;
}

void observed_begin_copy(struct observed *observed)
{
    uint32_t at = 1;
    for (; at < observed->pending.count && observed_at(observed, at)->kind != ENTRY_COPIED; at++)
        if (observed_at(observed, at)->kind == ENTRY_SYNC)
            observed_at(observed, at)->kind = ENTRY_COPIED;
    observed->conversation.copies = at == observed->pending.count;
}
