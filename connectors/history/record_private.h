/* What the formats of history topics share. */
#ifndef ISO_RECORD_PRIVATE_H
#define ISO_RECORD_PRIVATE_H

#include "connectors/history/record.h"

extern const struct iso_decoder_class record_json, record_avro, record_protobuf;

void record_add_watermark(struct iso_events *events, const struct iso_message *message, uint64_t timestamp);

/* Session `sid`, an atom of the block, has had so many records; `has_ended`: there will be no more. */
void record_add_counted(struct iso_events *events, const struct iso_message *message, iso_atom sid, uint64_t records,
                        bool has_ended);

void record_add_tombstone(struct iso_events *events, const struct iso_message *message);

static inline uint64_t record_origin(const struct iso_message *message)
{
    return iso_origin(message->input, (uint64_t)message->offset);
}

#endif
