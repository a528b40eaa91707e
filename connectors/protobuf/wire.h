/* Protobuf's wire format: a field has its number, a type of encoding, and bytes; what they mean a
 * schema says.
 *
 * What reads something returns NULL, or what it expected where the span then stands. Specification:
 * "Encoding" of Protocol Buffers. Groups (encodings 3 and 4) are refused. Ownership: spans point
 * into the message. Threads: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"

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

const char *iso_wire_fixed(struct iso_wire_span *span, unsigned size, uint64_t *value);
const char *iso_wire_number(struct iso_wire_span *span, struct iso_wire_field *field);

static inline const char *iso_wire_varint(struct iso_wire_span *span, uint64_t *value)
{
    const uint8_t *behind = iso_varint_take(span->at, span->end, value);
    if (!behind)
        return "a number of at most ten bytes";
    span->at = behind;
    return NULL;
}

static inline const char *iso_wire_sized(struct iso_wire_span *span, struct iso_wire_span *bytes)
{
    uint64_t size;
    const char *expected = iso_wire_varint(span, &size);
    if (expected)
        return expected;
    if (size > (uint64_t)(span->end - span->at))
        return "a length within the message";
    *bytes = (struct iso_wire_span){span->at, span->at + size};
    span->at += size;
    return NULL;
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
    if (field->encoding == ISO_WIRE_VARINT)
        return iso_wire_varint(span, &field->bits);
    return field->encoding == ISO_WIRE_SIZED ? iso_wire_sized(span, &field->bytes)
                                             : iso_wire_number(span, field);
}
