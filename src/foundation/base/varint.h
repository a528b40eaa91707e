/* Numbers of variable length, as Avro, Protobuf and others write them: seven bits a byte, the
 * lowest first, the last byte without its high bit; at most ten bytes. Threads: any; no state.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

const uint8_t *iso_varint_take_more(const uint8_t *at, const uint8_t *end, uint64_t *bits);

/* The byte behind the number; NULL: it is cut off, or longer. What a tenth byte says beyond 64 bits
 * is dropped. */
static inline const uint8_t *iso_varint_take(const uint8_t *at, const uint8_t *end, uint64_t *bits)
{
    if (at < end && *at < 0x80) { /* as most are */
        *bits = *at;
        return at + 1;
    }
    return iso_varint_take_more(at, end, bits);
}

/* Zig-zag: 0, -1, 1, -2, ... */
static inline int64_t iso_varint_signed(uint64_t bits)
{
    return (int64_t)(bits >> 1 ^ (0u - (bits & 1)));
}
