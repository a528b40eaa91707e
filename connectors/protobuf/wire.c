#include "connectors/protobuf/wire.h"

#include <string.h>

const char *iso_wire_fixed(struct iso_wire_span *span, unsigned size, uint64_t *value)
{
    *value = 0;
    if (span->end - span->at < (ptrdiff_t)size)
        return "more bytes";
    memcpy(value, span->at, size); /* little-endian machines */
    span->at += size;
    return NULL;
}

/* Reads a field of fixed size: neither a varint nor length-delimited. */
const char *iso_wire_number(struct iso_wire_span *span, struct iso_wire_field *field)
{
    if (field->encoding != ISO_WIRE_EIGHT_BYTES && field->encoding != ISO_WIRE_FOUR_BYTES)
        return "an encoding of 0, 1, 2 or 5";
    return iso_wire_fixed(span, field->encoding == ISO_WIRE_EIGHT_BYTES ? 8 : 4, &field->bits);
}
