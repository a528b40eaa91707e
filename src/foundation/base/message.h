/* A Kafka message as bytes, from a live broker or from a capture file.
 *
 * Ownership: a message borrows everything it points to from the source that handed it out, until
 * that source is asked for its next batch. NULL bytes are Kafka's null (a tombstone's payload, a
 * missing key), which is not the empty text.
 */
#pragma once

#include <stdint.h>

struct iso_bytes {
    const uint8_t *data; /* NULL: null */
    uint32_t size;
};

struct iso_header {
    struct iso_bytes name; /* never null */
    struct iso_bytes value;
};

enum iso_timestamp_type { ISO_TIMESTAMP_NONE, ISO_TIMESTAMP_CREATE, ISO_TIMESTAMP_LOG_APPEND };

struct iso_message {
    const char *topic;
    int32_t partition;
    int32_t broker; /* that served it; -1: not known */
    int64_t offset;
    int64_t timestamp; /* milliseconds since 1970; 0 with ISO_TIMESTAMP_NONE */
    enum iso_timestamp_type timestamp_type;
    uint32_t input; /* the source's own number for (topic, partition), dense from 0 in the order of
                       appearance */
    uint32_t header_count;
    const struct iso_header *headers;
    struct iso_bytes key;
    struct iso_bytes payload;
};
