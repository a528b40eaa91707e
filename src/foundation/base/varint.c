#include "base/varint.h"

#include <string.h>

enum { BYTES_MAX = 10 };

/* For a message's last bytes. */
static const uint8_t *take_bytewise(const uint8_t *at, const uint8_t *end, uint64_t *bits)
{
    *bits = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        *bits |= (uint64_t)(*at & 0x7f) << shift;
        if (*at++ < 0x80)
            return at;
    }
    return NULL;
}

/* Eight bytes at once: their groups of seven are pushed together in pairs, then pairs of pairs. */
const uint8_t *iso_varint_take_more(const uint8_t *at, const uint8_t *end, uint64_t *bits)
{
    uint64_t word, ends;
    if (end - at < BYTES_MAX)
        return take_bytewise(at, end, bits);
    if (at[1] < 0x80) {
        *bits = (at[0] & 0x7fu) | (uint64_t)at[1] << 7;
        return at + 2;
    }
    memcpy(&word, at, sizeof word); /* little-endian machines */
    ends = ~word & UINT64_C(0x8080808080808080);
    word &= (ends ? ends ^ (ends - 1) : UINT64_MAX) & UINT64_C(0x7f7f7f7f7f7f7f7f);
    word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    word = (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
    *bits = word;
    if (ends)
        return at + ((unsigned)__builtin_ctzll(ends) >> 3) + 1;
    *bits |= (uint64_t)(at[8] & 0x7f) << 56;
    if (at[8] < 0x80)
        return at + 9;
    *bits |= (uint64_t)at[9] << 63;
    return at[9] < 0x80 ? at + 10 : NULL;
}
