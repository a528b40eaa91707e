/* Protobuf's wire format: a field has its number, a type of encoding, and bytes; what they mean a schema says.
 *
 * What reads something returns NULL, or what it expected where the span then stands. Specification: "Encoding" of
 * Protocol Buffers. Groups (encodings 3 and 4) are refused. Ownership: spans point into the message. Threads: any.
 */
#ifndef ISO_PROTOBUF_WIRE_H
#define ISO_PROTOBUF_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum { ISO_WIRE_VARINT = 0, ISO_WIRE_EIGHT_BYTES = 1, ISO_WIRE_SIZED = 2, ISO_WIRE_FOUR_BYTES = 5 };

/* A part of the message. */
struct iso_wire_span {
    const uint8_t *at, *end;
};

/* One field as it is on the wire. */
struct iso_wire_field {
    uint32_t number, encoding;
    uint64_t bits;              /* of numbers */
    struct iso_wire_span bytes; /* ISO_WIRE_SIZED */
};

const char *iso_wire_varint_slow(struct iso_wire_span *span, uint64_t *value);
const char *iso_wire_fixed(struct iso_wire_span *span, unsigned size, uint64_t *value);
const char *iso_wire_content(struct iso_wire_span *span, struct iso_wire_field *field);

/* Seven bits a byte, the lowest first, at most ten bytes; what is above 64 bits is dropped, as everywhere. */
static inline const char *iso_wire_varint(struct iso_wire_span *span, uint64_t *value)
{
    if (span->at < span->end && *span->at < 0x80) { /* as most are */
        *value = *span->at++;
        return NULL;
    }
    return iso_wire_varint_slow(span, value);
}

/* The next field, where something is left. */
static inline const char *iso_wire_take(struct iso_wire_span *span, struct iso_wire_field *field)
{
    uint64_t tag;
    const char *expected = iso_wire_varint(span, &tag);
    field->bits = 0;
    if (expected)
        return expected;
    field->number = (uint32_t)(tag >> 3);
    field->encoding = tag & 7;
    if (!field->number || tag >> 32)
        return "a field's number";
    return field->encoding == ISO_WIRE_VARINT ? iso_wire_varint(span, &field->bits) : iso_wire_content(span, field);
}

/* A zig-zag number, of sint32 and sint64. */
static inline int64_t iso_wire_signed(uint64_t bits)
{
    return (int64_t)(bits >> 1 ^ (0u - (bits & 1)));
}

#endif
