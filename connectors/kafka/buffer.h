/* Messages that wait, copied: those of one partition, first in, first out.
 *
 * A message of librdkafka's takes half a kilobyte beside its bytes, and keeps the whole batch in
 * memory that its producer made. Here it takes its bytes and some hundred more, in blocks of memory
 * that go back once all of theirs were taken. Ownership: what was taken lives until the next
 * iso_kafka_buffer_free_taken. Threads: one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/message.h"

struct iso_kafka_buffer_block;

struct iso_kafka_buffer {
    struct iso_kafka_buffer_block *first,
        *last; /* `first` may be the one behind those that are empty */
    struct iso_kafka_buffer_block
        *taken;     /* blocks whose messages were all taken, until they are cleaned away */
    size_t read;    /* in `first`: where the next message stands */
    uint64_t count; /* messages */
    uint64_t bytes; /* of all blocks */
};

/* Zeroed is empty. */
void iso_kafka_buffer_release(struct iso_kafka_buffer *buffer);

/* Copies a message to the end; its topic stays borrowed. A new block takes `block` bytes
 * in all, which is what allocators give whole, or what this message needs. */
void iso_kafka_buffer_put(struct iso_kafka_buffer *buffer, const struct iso_message *message,
                          size_t block);

/* The oldest message; there must be one. */
void iso_kafka_buffer_take(struct iso_kafka_buffer *buffer, struct iso_message *message);

/* Asserted where ISO_VALIDATE is defined. */
#ifdef ISO_VALIDATE
void iso_kafka_buffer_validate(const struct iso_kafka_buffer *buffer);
#endif

/* Frees the messages that were taken before. */
void iso_kafka_buffer_free_taken(struct iso_kafka_buffer *buffer);
