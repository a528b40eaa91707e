#include "connectors/cdc_common/framing.h"

#include <string.h>

enum { MAGIC_ID = 0, MAGIC_GUID = 1, INDEXES_MAX = 16 };

/* A zig-zag varint of 32 bits; NULL if there is none. */
static const uint8_t *varint(const uint8_t *at, const uint8_t *end, int32_t *value)
{
    uint32_t bits = 0;
    for (unsigned shift = 0; at < end && shift < 35; shift += 7) {
        uint8_t byte = *at++;
        bits |= (uint32_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *value = (int32_t)(bits >> 1 ^ (0u - (bits & 1)));
            return at;
        }
    }
    return NULL;
}

/* Passes over message indexes; the record is the schema's first message, so all of them must be
 * 0. */
static const uint8_t *skip_indexes(const uint8_t *at, const uint8_t *end)
{
    int32_t count, index;
    at = varint(at, end, &count);
    if (!at || count < 0 || count > INDEXES_MAX)
        return NULL;
    for (int32_t i = 0; at && i < count; i++) {
        at = varint(at, end, &index);
        if (at && index != 0)
            return NULL;
    }
    return at;
}

static const struct iso_bytes *find_header(const struct iso_message *message, const char *name)
{
    size_t length = strlen(name);
    for (uint32_t i = 0; i < message->header_count; i++) {
        const struct iso_header *header = &message->headers[i];
        if (header->name.size == length && !memcmp(header->name.data, name, length) &&
            header->value.data)
            return &header->value;
    }
    return NULL;
}

bool iso_frame_open_slow(const struct iso_message *message, enum iso_frame_part part, bool indexes,
                         struct iso_frame *frame, const char **expected)
{
    const struct iso_bytes *framed = part == ISO_FRAME_KEY ? &message->key : &message->payload;
    const struct iso_bytes *header =
        find_header(message, part == ISO_FRAME_KEY ? "__key_schema_id" : "__value_schema_id");
    const uint8_t *at = header ? header->data : framed->data;
    const uint8_t *end = at + (header ? header->size : framed->size);
    if (end - at > 0 && *at == MAGIC_GUID) {
        *expected = "a schema id of four bytes (magic 0); schema GUIDs (magic 1) are not supported";
        return false;
    }
    if (end - at < ISO_FRAME_BYTES || *at != MAGIC_ID) {
        *expected = "Confluent framing: a byte 0 and a schema id of four bytes";
        return false;
    }
    frame->schema_id = (uint32_t)at[1] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 8 | at[4];
    at += ISO_FRAME_BYTES;
    if (indexes && !(at = skip_indexes(at, end))) {
        *expected = "message indexes that name the schema's first message";
        return false;
    }
    frame->bytes = header ? framed->data : at;
    frame->size = header ? framed->size : (size_t)(end - at);
    return true;
}
