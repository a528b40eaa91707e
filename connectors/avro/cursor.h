/* Avro's binary encoding, value by value: what libavro would copy piece by piece is taken where it
 * stands.
 *
 *     iso_avro_start(&cursor, bytes, size);
 *     number = iso_avro_long(&cursor); ...           what the schema says, in its order
 *     if (!iso_avro_finish(&cursor)) ...             cursor.expected, at byte cursor.position
 *
 * Everything is checked on the way: sizes, indexes, ends, UTF-8. The first failure stays: from then
 * on every value is zero or empty, every block the last, so that a caller may check once, at the
 * end, and a loop over what was read ends by itself. What takes no bytes is bounded too: the items
 * of all arrays and maps by the message's size, nested values by a multiple of it. Specification:
 * Avro 1.11, "Binary Encoding". Ownership: texts point into the message. Threads: one at a time.
 */
#pragma once

#include <string.h>

#include "base/varint.h"
#include "connectors/avro/schema.h"

struct iso_avro_cursor {
    const uint8_t *at, *end, *start;
    uint64_t items;       /* that arrays and maps may still have, also where items are empty */
    uint64_t steps;       /* nested values that may still be entered */
    unsigned depth;       /* levels entered and not yet left */
    const char *expected; /* NULL: nothing is wrong yet */
    size_t position;      /* where it was */
};

enum { ISO_AVRO_STEPS_MIN = 10000, ISO_AVRO_STEPS_PER_BYTE = 4 };

static inline void iso_avro_start(struct iso_avro_cursor *cursor, const void *bytes, size_t size)
{
    *cursor =
        (struct iso_avro_cursor){.at = bytes,
                                 .end = (const uint8_t *)bytes + size,
                                 .start = bytes,
                                 .items = size,
                                 .steps = ISO_AVRO_STEPS_MIN + size * ISO_AVRO_STEPS_PER_BYTE};
}

/* Notes the first failure. Returns false. */
bool iso_avro_fail(struct iso_avro_cursor *cursor, const char *expected);

/* All is read, and nothing was wrong. */
static inline bool iso_avro_finish(struct iso_avro_cursor *cursor)
{
    if (cursor->at != cursor->end)
        iso_avro_fail(cursor, "the message's end");
    return !cursor->expected;
}

/* ---- plain values ---- */

int64_t iso_avro_long_of_many(struct iso_avro_cursor *cursor);
bool iso_avro_string_check(struct iso_avro_cursor *cursor, struct iso_json_text *run);

/* A zig-zag number: seven bits a byte, the lowest first, the last byte without its high bit. */
static inline int64_t iso_avro_long(struct iso_avro_cursor *cursor)
{
    if (cursor->at < cursor->end && *cursor->at < 0x80) { /* as most are */
        uint32_t bits = *cursor->at++;
        return (int32_t)(bits >> 1 ^ (0u - (bits & 1)));
    }
    return iso_avro_long_of_many(cursor);
}

static inline int64_t iso_avro_int(struct iso_avro_cursor *cursor)
{
    int64_t number = iso_avro_long(cursor);
    if (number >= INT32_MIN && number <= INT32_MAX)
        return number;
    return iso_avro_fail(cursor, "a number of 32 bits");
}

uint32_t iso_avro_choice_slow(struct iso_avro_cursor *cursor, uint32_t count);

/* A union's branch or an enumeration's symbol, below `count`; 0 after a failure. */
static inline uint32_t iso_avro_choice(struct iso_avro_cursor *cursor, uint32_t count)
{
    if (cursor->at < cursor->end && !(*cursor->at & 0x81) && *cursor->at >> 1 < count)
        return *cursor->at++ >> 1;
    return iso_avro_choice_slow(cursor, count);
}

/* `size` bytes. */
static inline struct iso_json_text iso_avro_bytes(struct iso_avro_cursor *cursor, int64_t size)
{
    if (size < 0 || size > cursor->end - cursor->at) {
        iso_avro_fail(cursor, "a length within the message");
        return (struct iso_json_text){"", 0};
    }
    struct iso_json_text run = {(const char *)cursor->at, (size_t)size};
    cursor->at += size;
    return run;
}

/* Bytes behind their number, or a string whose UTF-8 somebody else checks. */
static inline struct iso_json_text iso_avro_run(struct iso_avro_cursor *cursor)
{
    return iso_avro_bytes(cursor, iso_avro_long(cursor));
}

static inline struct iso_json_text iso_avro_string(struct iso_avro_cursor *cursor)
{
    struct iso_json_text run = iso_avro_run(cursor);
    uint64_t bytes = run.length > 8 ? iso_bytes_load8(run.at) : 0;
    bytes |= run.length > 16
                 ? UINT64_MAX
                 : iso_bytes_load_short(run.at + (run.length > 8 ? run.length - 8 : 0), run.length);
    if (bytes & 0x8080808080808080u)
        iso_avro_string_check(cursor, &run);
    return run;
}

static inline bool iso_avro_boolean(struct iso_avro_cursor *cursor)
{
    if (cursor->at < cursor->end && *cursor->at <= 1)
        return *cursor->at++;
    return iso_avro_fail(cursor, "a byte 0 or 1");
}

/* `size` bytes, low ones first, as floats (4) and doubles (8) have them. */
static inline uint64_t iso_avro_word(struct iso_avro_cursor *cursor, unsigned size)
{
    struct iso_json_text run = iso_avro_bytes(cursor, size);
    uint64_t bits = 0;
    if (run.length)
        memcpy(&bits, run.at, size); /* little-endian machines */
    return bits;
}

/* ---- by the schema ---- */

/* The branch of a value that may be a union; a branch is never a union itself. */
static inline const struct iso_avro_type *iso_avro_inside(const struct iso_avro_type *type,
                                                          struct iso_avro_cursor *cursor)
{
    while (type->shape == ISO_AVRO_UNION)
        type = type->branches[iso_avro_choice(cursor, type->count)];
    return type;
}

/* The next block of an array or map: how many items it has; 0 ends. */
uint64_t iso_avro_block(struct iso_avro_cursor *cursor);

/* Goes into a nested value, or fails; iso_avro_leave in any case. */
bool iso_avro_enter(struct iso_avro_cursor *cursor);

static inline void iso_avro_leave(struct iso_avro_cursor *cursor)
{
    cursor->depth--;
}

/* Passes over a value, and checks it. */
void iso_avro_skip(const struct iso_avro_type *type, struct iso_avro_cursor *cursor);
