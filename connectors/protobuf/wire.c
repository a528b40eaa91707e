#include "connectors/protobuf/wire.h"

#include <string.h>

const char *iso_wire_varint_slow(struct iso_wire_span *span, uint64_t *value)
{
    const uint8_t *at = span->at;
    uint64_t bits = 0;
    for (unsigned shift = 0; at < span->end && shift < 64; shift += 7) {
        uint8_t byte = *at++;
        bits |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            span->at = at;
            *value = bits;
            return NULL;
        }
    }
    return "a number of at most ten bytes";
}

const char *iso_wire_fixed(struct iso_wire_span *span, unsigned size, uint64_t *value)
{
    *value = 0;
    if (span->end - span->at < (ptrdiff_t)size)
        return "more bytes";
    memcpy(value, span->at, size); /* little-endian machines */
    span->at += size;
    return NULL;
}

/* What follows the tag of a field that is no varint. */
const char *iso_wire_content(struct iso_wire_span *span, struct iso_wire_field *field)
{
    uint64_t size;
    const char *expected;
    switch (field->encoding) {
    case ISO_WIRE_EIGHT_BYTES:
        return iso_wire_fixed(span, 8, &field->bits);
    case ISO_WIRE_FOUR_BYTES:
        return iso_wire_fixed(span, 4, &field->bits);
    case ISO_WIRE_SIZED:
        if ((expected = iso_wire_varint(span, &size)))
            return expected;
        if (size > (uint64_t)(span->end - span->at))
            return "a length within the message";
        field->bytes = (struct iso_wire_span){span->at, span->at + size};
        span->at += size;
        return NULL;
    default:
        return "an encoding of 0, 1, 2 or 5";
    }
}
