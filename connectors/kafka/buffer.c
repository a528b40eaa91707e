#include "connectors/kafka/buffer.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "base/memory.h"

struct iso_kafka_buffer_block {
    struct iso_kafka_buffer_block *next;
    size_t used, capacity; /* bytes of the entries behind this head */
};

/* A message, its headers, then the bytes of all that they point to. */
struct entry {
    size_t size;
    struct iso_message message;
};

static uint8_t *entries_of(struct iso_kafka_buffer_block *block)
{
    return (uint8_t *)(block + 1);
}

static void free_blocks(struct iso_kafka_buffer *buffer, struct iso_kafka_buffer_block *block)
{
    while (block) {
        struct iso_kafka_buffer_block *next = block->next;
        buffer->bytes -= sizeof *block + block->capacity;
        iso_free(block);
        block = next;
    }
}

void iso_kafka_buffer_free_taken(struct iso_kafka_buffer *buffer)
{
    free_blocks(buffer, buffer->taken);
    buffer->taken = NULL;
}

void iso_kafka_buffer_release(struct iso_kafka_buffer *buffer)
{
    iso_kafka_buffer_free_taken(buffer);
    free_blocks(buffer, buffer->first);
    assert(!buffer->bytes);
    *buffer = (struct iso_kafka_buffer){0};
}

static size_t size_of(const struct iso_message *message)
{
    size_t size = sizeof(struct entry) + message->header_count * sizeof *message->headers;
    size += (size_t)message->key.size + message->payload.size;
    for (uint32_t i = 0; i < message->header_count; i++)
        size += (size_t)message->headers[i].name.size + message->headers[i].value.size;
    return (size + alignof(struct entry) - 1) / alignof(struct entry) * alignof(struct entry);
}

static uint8_t *copy_bytes(uint8_t *at, struct iso_bytes *bytes)
{
    if (!bytes->data)
        return at;
    memcpy(at, bytes->data, bytes->size);
    bytes->data = at;
    return at + bytes->size;
}

/* Room for an entry at the end. */
static struct entry *reserve_entry(struct iso_kafka_buffer *buffer, size_t size, size_t capacity)
{
    struct iso_kafka_buffer_block *last = buffer->last;
    if (!last || last->capacity - last->used < size) {
        capacity = capacity < size ? size : capacity;
        struct iso_kafka_buffer_block *block = iso_allocate(sizeof *block + capacity);
        *block = (struct iso_kafka_buffer_block){.capacity = capacity};
        buffer->bytes += sizeof *block + capacity;
        if (last)
            last->next = block;
        else
            buffer->first = block;
        buffer->last = last = block;
    }
    struct entry *entry = (struct entry *)(entries_of(last) + last->used);
    last->used += size;
    return entry;
}

void iso_kafka_buffer_put(struct iso_kafka_buffer *buffer, const struct iso_message *message,
                          size_t block)
{
    size_t size = size_of(message);
    struct entry *entry = reserve_entry(buffer, size, block - sizeof *buffer->last);
    struct iso_header *headers = (struct iso_header *)(entry + 1);
    uint8_t *at = (uint8_t *)(headers + message->header_count);
    entry->size = size;
    entry->message = *message;
    entry->message.headers = headers;
    at = copy_bytes(at, &entry->message.key);
    at = copy_bytes(at, &entry->message.payload);
    for (uint32_t i = 0; i < message->header_count; i++) {
        headers[i] = message->headers[i];
        at = copy_bytes(at, &headers[i].name);
        at = copy_bytes(at, &headers[i].value);
    }
    buffer->count++;
}

void iso_kafka_buffer_take(struct iso_kafka_buffer *buffer, struct iso_message *message)
{
    assert(buffer->count);
    struct iso_kafka_buffer_block *block = buffer->first;
    const struct entry *entry = (const struct entry *)(entries_of(block) + buffer->read);
    *message = entry->message;
    buffer->read += entry->size;
    buffer->count--;
    if (buffer->read < block->used)
        return;
    buffer->first = block->next;
    buffer->last = buffer->first ? buffer->last : NULL;
    buffer->read = 0;
    block->next = buffer->taken;
    buffer->taken = block;
}

#ifdef ISO_VALIDATE
void iso_kafka_buffer_validate(const struct iso_kafka_buffer *buffer)
{
    uint64_t bytes = 0, count = 0;
    const struct iso_kafka_buffer_block *last = NULL;
    for (struct iso_kafka_buffer_block *block = buffer->first; block;
         last = block, block = block->next) {
        size_t at = block == buffer->first ? buffer->read : 0;
        assert(at < block->used && block->used <= block->capacity);
        for (; at < block->used; count++)
            at += ((const struct entry *)(entries_of(block) + at))->size;
        assert(at == block->used);
        bytes += sizeof *block + block->capacity;
    }
    for (const struct iso_kafka_buffer_block *block = buffer->taken; block; block = block->next)
        bytes += sizeof *block + block->capacity;
    assert(last == buffer->last && count == buffer->count && bytes == buffer->bytes);
    assert(buffer->first || !buffer->read);
}
#endif
