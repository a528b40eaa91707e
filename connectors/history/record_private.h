/* What the formats of history topics share. */
#ifndef ISO_RECORD_PRIVATE_H
#define ISO_RECORD_PRIVATE_H

#include "connectors/history/record.h"

extern const struct iso_decoder_class record_json, record_avro, record_protobuf;

/* Confluent's frame before a payload, or its twin in the headers. */
struct frame {
    uint32_t schema_id;
    const uint8_t *payload;
    size_t size;
};

/* False: `*expected` says what is wrong. `indexes`: message indexes follow, as before Protobuf; they are passed over
 * and must name the first message. */
bool record_unframe(const struct iso_message *message, bool indexes, struct frame *frame, const char **expected);

void record_add_watermark(struct iso_events *events, const struct iso_message *message, uint64_t timestamp);

void record_add_tombstone(struct iso_events *events, const struct iso_message *message);

static inline uint64_t record_origin(const struct iso_message *message)
{
    return iso_origin(message->input, (uint64_t)message->offset);
}

#endif
