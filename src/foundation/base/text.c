#include "base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/memory.h"

void iso_text_release(struct iso_text *text)
{
    iso_free(text->bytes);
    *text = (struct iso_text){0};
}

char *iso_text_reserve(struct iso_text *text, size_t size)
{
    if (size > text->capacity - text->used || !text->bytes) {
        text->capacity = iso_column_capacity(text->capacity, text->used + size);
        text->bytes = iso_reallocate(text->bytes, text->capacity);
    }
    return text->bytes + text->used;
}

void iso_text_put(struct iso_text *text, const char *string)
{
    iso_text_put_bytes(text, string, strlen(string));
}

void iso_text_format(struct iso_text *text, const char *format, ...)
{
    enum { LIKELY = 128 };
    char *room = iso_text_reserve(text, LIKELY);
    size_t size = text->capacity - text->used;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(room, size, format, arguments);
    va_end(arguments);
    assert(length >= 0);
    if ((size_t)length >= size) { /* with its zero byte */
        room = iso_text_reserve(text, (size_t)length + 1);
        va_start(arguments, format);
        vsnprintf(room, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    text->used += (size_t)length;
}

enum { NUMBER_ROOM = 24 };

void iso_text_put_unsigned(struct iso_text *text, uint64_t number)
{
    char digits[NUMBER_ROOM], *end = digits + sizeof digits, *at = end;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    iso_text_put_bytes(text, at, (size_t)(end - at));
}

void iso_text_put_escaped(struct iso_text *text, const char *bytes, size_t length,
                          const char *special)
{
    size_t plain = 0; /* from here on nothing is put yet */
    for (size_t i = 0; i < length; i++) {
        if (!bytes[i] || !strchr(special, bytes[i]))
            continue;
        iso_text_put_bytes(text, bytes + plain, i - plain);
        iso_text_format(text, "%%%02X", (unsigned)bytes[i]);
        plain = i + 1;
    }
    iso_text_put_bytes(text, bytes + plain, length - plain);
}

void iso_text_put_signed(struct iso_text *text, int64_t number)
{
    if (number < 0)
        iso_text_put_bytes(text, "-", 1);
    iso_text_put_unsigned(text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

/* The letter of a short escape, or 0. */
static char short_escape(uint8_t byte)
{
    switch (byte) {
    case '"':
        return '"';
    case '\\':
        return '\\';
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

void iso_text_put_string(struct iso_text *text, const void *bytes, size_t size)
{
    static const char hexadecimal[] = "0123456789abcdef";
    const uint8_t *at = bytes;
    char *from = iso_text_reserve(text, size * 6 + 2), *to = from;
    *to++ = '"';
    for (size_t i = 0; i < size; i++) {
        char letter;
        if (at[i] >= 0x20 && at[i] != '"' && at[i] != '\\') {
            *to++ = (char)at[i];
        } else if ((letter = short_escape(at[i]))) {
            *to++ = '\\';
            *to++ = letter;
        } else {
            memcpy(to, "\\u00", 4);
            to[4] = hexadecimal[at[i] >> 4];
            to[5] = hexadecimal[at[i] & 15];
            to += 6;
        }
    }
    *to++ = '"';
    text->used += (size_t)(to - from);
}

void iso_text_put_compact(struct iso_text *text, const char *json, size_t length)
{
    char *from = iso_text_reserve(text, length), *to = from;
    const char *at = json, *end = json + length;
    bool inside = false;
    for (; at < end; at++) {
        if (inside && *at == '\\') {
            *to++ = *at++;
        } else if (*at == '"') {
            inside = !inside;
        } else if (!inside && (unsigned char)*at <= ' ') {
            continue;
        }
        *to++ = *at;
    }
    text->used += (size_t)(to - from);
}
