/* Confluent's framing: a magic byte, the schema's id, and before Protobuf the path to the message
 * in its schema. The newer serializers put the same bytes into a record header (`__key_schema_id`,
 * `__value_schema_id`) and leave the rest alone. Threads: any; no state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/message.h"

enum iso_frame_part { ISO_FRAME_KEY, ISO_FRAME_PAYLOAD };
enum { ISO_FRAME_BYTES = 5 }; /* the magic byte and the id */

struct iso_frame {
    uint32_t schema_id;
    const uint8_t *bytes; /* what was framed */
    size_t size;
};

/* Takes the frame from the message's key or payload, which is not null. False: `*expected` says
 * what is wrong. `indexes`: message indexes follow, as before Protobuf; they are passed over and
 * must name the first message. */
bool iso_frame_open_slow(const struct iso_message *message, enum iso_frame_part part, bool indexes,
                         struct iso_frame *frame, const char **expected);

static inline bool iso_frame_open(const struct iso_message *message, enum iso_frame_part part,
                                  bool indexes, struct iso_frame *frame, const char **expected)
{
    const struct iso_bytes *framed = part == ISO_FRAME_KEY ? &message->key : &message->payload;
    const uint8_t *at = framed->data;
    if (indexes || message->header_count || framed->size < ISO_FRAME_BYTES || *at)
        return iso_frame_open_slow(message, part, indexes, frame, expected);
    *frame = (struct iso_frame){(uint32_t)at[1] << 24 | (uint32_t)at[2] << 16 |
                                    (uint32_t)at[3] << 8 | at[4],
                                at + ISO_FRAME_BYTES, framed->size - ISO_FRAME_BYTES};
    return true;
}
