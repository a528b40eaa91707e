/* Bytes of records, written and read: what record.c and compact.c share. */
#pragma once

#include <string.h>

#include "aion/memory/record.h"
#include "base/varint.h"

/* Flags that are the key's whether it is in memory or not; RARE: more follows; SEGMENT: it is none
 * of a key. LISTED: from this bit on, how much of the key's list of violations was reported. */
enum {
    KEPT = AION_KEY_USE | AION_KEY_DROPPED | AION_KEY_PAGED | AION_KEY_ASSUMED,
    COLD = 8,
    SEGMENT = 16,
    LISTED = 32
};

/* Bytes that a version or non-version write has at least. */
enum { ENTRY_LEAST = 10 };

/* ---- writing ---- */

void aion_bytes_widen(struct aion_bytes *record, size_t bytes);
void aion_put_atom(struct aion_bytes *record, const struct iso_atoms *atoms, iso_atom atom);

static inline void put(struct aion_bytes *record, uint64_t number)
{
    if (record->size + 10 > record->capacity)
        aion_bytes_widen(record, 512);
    /* bytes may be anything's: else all is loaded again after each */
    uint8_t *at = record->bytes + record->size;
    for (; number >= 0x80; number >>= 7)
        *at++ = (uint8_t)(number | 0x80);
    *at++ = (uint8_t)number;
    record->size = (size_t)(at - record->bytes);
}

static inline void put_bytes(struct aion_bytes *record, const void *bytes, size_t size)
{
    if (record->size + size > record->capacity)
        aion_bytes_widen(record, size);
    memcpy(record->bytes + record->size, bytes, size);
    record->size += size;
}

/* Counts bytes that expire once the floor is above `time`. Only versions that the watermark has
 * passed are sure to see such a floor before long. */
static inline void note_expiring(struct iso_spill_record *record, size_t bytes, uint64_t time)
{
    record->expiring += (uint32_t)bytes;
    record->until = time > record->until ? time : record->until;
}

/* ---- reading ---- */

struct cursor {
    struct iso_aion_shard *shard;
    const uint8_t *at, *end; /* `at` NULL: something was wrong */
};

static inline uint64_t take(struct cursor *cursor)
{
    uint64_t number = 0;
    if (cursor->at)
        cursor->at = iso_varint_take(cursor->at, cursor->end, &number);
    return cursor->at ? number : 0;
}

/* How many of what takes at least `least` bytes each. */
static inline uint32_t take_count(struct cursor *cursor, uint32_t least)
{
    uint64_t count = take(cursor);
    if (cursor->at && count > (uint64_t)(cursor->end - cursor->at) / least)
        cursor->at = NULL;
    return cursor->at ? (uint32_t)count : 0;
}

/* Steps over an atom: is it this one? */
bool aion_take_same(struct cursor *cursor, const struct iso_atoms *atoms, iso_atom other);

static inline void pass_atom(struct cursor *cursor)
{
    aion_take_same(cursor, NULL, ISO_ABSENT);
}
