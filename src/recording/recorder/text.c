#include "recorder/recorder_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static bool reserve_text(struct recorder_text *text, size_t size)
{
    if (text->failed)
        return false;
    if (size <= text->capacity - text->used)
        return true;
    size_t capacity = text->capacity ? text->capacity : 512;
    while (capacity - text->used < size && capacity <= text->limit)
        capacity *= 2;
    char *bytes = capacity - text->used >= size ? realloc(text->bytes, capacity) : NULL;
    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void recorder_put_bytes(struct recorder_text *text, const void *bytes, size_t size)
{
    if (size == 0 || !reserve_text(text, size))
        return;
    memcpy(text->bytes + text->used, bytes, size);
    text->used += size;
}

void recorder_put(struct recorder_text *text, const char *string)
{
    recorder_put_bytes(text, string, strlen(string));
}

void recorder_put_number(struct recorder_text *text, uint64_t number)
{
    char digits[24];
    recorder_put_bytes(text, digits, (size_t)snprintf(digits, sizeof digits, "%" PRIu64, number));
}

void recorder_put_string(struct recorder_text *text, const char *string)
{
    size_t length = strlen(string);
    if (!iso_utf8_valid((const uint8_t *)string, length))
        text->failed = true;
    recorder_put(text, "\"");
    size_t plain = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)string[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        recorder_put_bytes(text, string + plain, i - plain);
        plain = i + 1;
        char escape[8];
        int size = c < 0x20 ? snprintf(escape, sizeof escape, "\\u%04x", c)
                            : snprintf(escape, sizeof escape, "\\%c", c);
        recorder_put_bytes(text, escape, (size_t)size);
    }
    recorder_put_bytes(text, string + plain, length - plain);
    recorder_put(text, "\"");
}
