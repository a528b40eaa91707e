#include "connectors/kafka/shelf.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "base/memory.h"

struct iso_kafka_shelf_block {
    struct iso_kafka_shelf_block *next;
    size_t used, capacity; /* bytes of the entries behind this head */
};

/* A message, its headers, then the bytes of all that they point to. */
struct entry {
    size_t size;
    struct iso_message message;
};

static uint8_t *entries(struct iso_kafka_shelf_block *block)
{
    return (uint8_t *)(block + 1);
}

static void free_blocks(struct iso_kafka_shelf *shelf, struct iso_kafka_shelf_block *block)
{
    while (block) {
        struct iso_kafka_shelf_block *next = block->next;
        shelf->bytes -= sizeof *block + block->capacity;
        iso_free(block);
        block = next;
    }
}

void iso_kafka_shelf_clean(struct iso_kafka_shelf *shelf)
{
    free_blocks(shelf, shelf->taken);
    shelf->taken = NULL;
}

void iso_kafka_shelf_release(struct iso_kafka_shelf *shelf)
{
    iso_kafka_shelf_clean(shelf);
    free_blocks(shelf, shelf->first);
    assert(!shelf->bytes);
    *shelf = (struct iso_kafka_shelf){0};
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
static struct entry *reserve(struct iso_kafka_shelf *shelf, size_t size, size_t capacity)
{
    struct iso_kafka_shelf_block *last = shelf->last;
    if (!last || last->capacity - last->used < size) {
        capacity = capacity < size ? size : capacity;
        struct iso_kafka_shelf_block *block = iso_allocate(sizeof *block + capacity);
        *block = (struct iso_kafka_shelf_block){.capacity = capacity};
        shelf->bytes += sizeof *block + capacity;
        if (last)
            last->next = block;
        else
            shelf->first = block;
        shelf->last = last = block;
    }
    struct entry *entry = (struct entry *)(entries(last) + last->used);
    last->used += size;
    return entry;
}

void iso_kafka_shelf_put(struct iso_kafka_shelf *shelf, const struct iso_message *message, size_t block)
{
    size_t size = size_of(message);
    struct entry *entry = reserve(shelf, size, block);
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
    shelf->count++;
}

void iso_kafka_shelf_take(struct iso_kafka_shelf *shelf, struct iso_message *message)
{
    assert(shelf->count);
    struct iso_kafka_shelf_block *block = shelf->first;
    const struct entry *entry = (const struct entry *)(entries(block) + shelf->read);
    *message = entry->message;
    shelf->read += entry->size;
    shelf->count--;
    if (shelf->read < block->used)
        return;
    shelf->first = block->next;
    shelf->last = shelf->first ? shelf->last : NULL;
    shelf->read = 0;
    block->next = shelf->taken;
    shelf->taken = block;
}
