/* What the formats of history topics share. */
#ifndef ISO_HISTORY_DECODER_PRIVATE_H
#define ISO_HISTORY_DECODER_PRIVATE_H

#include "connectors/history/history.h"

extern const struct iso_decoder_class history_json, history_avro, history_protobuf;

/* Confluent's frame before a payload, or its twin in the headers. */
struct frame {
    uint32_t schema_id;
    const uint8_t *payload;
    size_t size;
};

/* False: `*expected` says what is wrong. `indexes`: message indexes follow, as before Protobuf; they are passed over
 * and must name the first message. */
bool history_unframe(const struct iso_message *message, bool indexes, struct frame *frame, const char **expected);

void history_add_watermark(struct iso_events *events, const struct iso_message *message, uint64_t timestamp);

void history_add_tombstone(struct iso_events *events, const struct iso_message *message);

static inline uint64_t history_origin(const struct iso_message *message)
{
    return iso_origin(message->input, (uint64_t)message->offset);
}

#endif
