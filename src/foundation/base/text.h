/* A text that grows in memory: what is put together before it is written or sent.
 *
 * Ownership: a text owns its bytes, which move when it grows. Threads: one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct iso_text {
    char *bytes; /* no NUL at their end */
    size_t used, capacity;
};

void iso_text_release(struct iso_text *text); /* a zeroed one is empty */

/* Room for `size` more bytes, never NULL; the caller then adds to `used`. */
char *iso_text_reserve(struct iso_text *text, size_t size);

void iso_text_put(struct iso_text *text, const char *string);

static inline void iso_text_put_bytes(struct iso_text *text, const void *bytes, size_t size)
{
    if (!size)
        return;
    memcpy(size <= text->capacity - text->used ? text->bytes + text->used
                                               : iso_text_reserve(text, size),
           bytes, size);
    text->used += size;
}

/* As printf: for what is written now and then. */
__attribute__((format(printf, 2, 3))) void iso_text_format(struct iso_text *text,
                                                           const char *format, ...);

/* With `%` and two digits for each byte that `special`, of ASCII, has. */
void iso_text_put_escaped(struct iso_text *text, const char *bytes, size_t length,
                          const char *special);
void iso_text_put_signed(struct iso_text *text, int64_t number);
void iso_text_put_unsigned(struct iso_text *text, uint64_t number);

/* Bytes that are UTF-8 as a JSON string, quotes included. */
void iso_text_put_string(struct iso_text *text, const void *bytes, size_t size);

/* JSON that is sound, without the white space between its parts. */
void iso_text_put_compact(struct iso_text *text, const char *json, size_t length);
