#define _GNU_SOURCE
#include "wire/offer.h"

#include <string.h>

#include "wire/cursor.h"
#include "wire/reader.h"

enum { CODE_SASL = 10, LIST = WIRE_HEADER + 4 };

static const char bound[] = "SCRAM-SHA-256-PLUS";

size_t wire_hide_binding(uint8_t *bytes, size_t size, bool *looks)
{
    uint8_t *at = bytes, *end = bytes + size, *offer = NULL;
    uint64_t length = 0;
    while (at < end) {
        length = wire_length(at, end);
        if (!length || length > (uint64_t)(end - at) || (*at != 'v' && *at != 'N'))
            break;
        at += length;
    }
    *looks = at == end;
    if (at < end && *at == 'R' && length > LIST && length <= (uint64_t)(end - at) &&
        wire_number(at + WIRE_HEADER) == CODE_SASL)
        offer = memmem(at + LIST, (size_t)length - LIST, bound, sizeof bound);
    if (!offer || (offer > at + LIST && offer[-1]))
        return size;
    memmove(offer, offer + sizeof bound, (size_t)(end - offer) - sizeof bound);
    uint32_t left = (uint32_t)(length - 1 - sizeof bound);
    for (int i = 0; i < 4; i++)
        at[1 + i] = (uint8_t)(left >> (24 - 8 * i));
    return size - sizeof bound;
}
