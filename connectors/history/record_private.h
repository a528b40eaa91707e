/* What the formats of history topics share. */
#pragma once

#include "connectors/history/record.h"
#include "native/counted.h"

extern const struct iso_decoder_class record_json, record_avro, record_protobuf;

void record_add_watermark(struct iso_events *events, const struct iso_message *message,
                          uint64_t timestamp);

void record_add_counted(struct iso_events *events, const struct iso_message *message,
                        const struct iso_counted *counted);

void record_add_tombstone(struct iso_events *events, const struct iso_message *message);

static inline uint64_t record_origin(const struct iso_message *message)
{
    return iso_origin(message->input, (uint64_t)message->offset);
}
