/* A body's parts, one after the other: numbers in network order, texts that end in a zero byte,
 * runs of bytes. What is not there sets `bad`, and everything behind it is zero or empty: a caller
 * looks once, at the end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct wire_cursor {
    const uint8_t *at, *end;
    bool bad;
};

static inline uint32_t wire_number(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline struct wire_cursor wire_cursor(const uint8_t *body, uint32_t size)
{
    return (struct wire_cursor){body, body + size, !body};
}

static inline const uint8_t *wire_bytes(struct wire_cursor *cursor, uint32_t count)
{
    if (cursor->bad || (size_t)(cursor->end - cursor->at) < count) {
        cursor->bad = true;
        return NULL;
    }
    cursor->at += count;
    return cursor->at - count;
}

static inline uint32_t wire_u32(struct wire_cursor *cursor)
{
    const uint8_t *at = wire_bytes(cursor, 4);
    return at ? wire_number(at) : 0;
}

static inline uint16_t wire_u16(struct wire_cursor *cursor)
{
    const uint8_t *at = wire_bytes(cursor, 2);
    return at ? (uint16_t)(at[0] << 8 | at[1]) : 0;
}

static inline uint8_t wire_u8(struct wire_cursor *cursor)
{
    const uint8_t *at = wire_bytes(cursor, 1);
    return at ? *at : 0;
}

/* "" if there is none. */
static inline const char *wire_text(struct wire_cursor *cursor)
{
    const uint8_t *zero =
        cursor->bad ? NULL : memchr(cursor->at, 0, (size_t)(cursor->end - cursor->at));
    if (!zero) {
        cursor->bad = true;
        return "";
    }
    const char *text = (const char *)cursor->at;
    cursor->at = zero + 1;
    return text;
}

/* The value of `name` in a startup message's body, behind the protocol's number; NULL: none. */
static inline const char *wire_startup(const uint8_t *body, uint32_t size, const char *name)
{
    const char *found = NULL;
    struct wire_cursor cursor = wire_cursor(body, size);
    while (!cursor.bad && cursor.at < cursor.end && *cursor.at) {
        const char *option = wire_text(&cursor), *value = wire_text(&cursor);
        if (!strcmp(option, name))
            found = value;
    }
    return found;
}
