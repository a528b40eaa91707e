#include "base/shown.h"

#include <stdio.h>

/* A character: how many bytes, and its code point; no UTF-8: one byte and INVALID. */
struct character {
    size_t length;
    uint32_t code;
};

enum { INVALID = 0x110000 };

static struct character read_character(const uint8_t *at, size_t size)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    struct character wrong = {1, INVALID};
    size_t length = *at < 0x80   ? 1
                    : *at < 0xc0 ? 0
                    : *at < 0xe0 ? 2
                    : *at < 0xf0 ? 3
                    : *at < 0xf8 ? 4
                                 : 0;
    if (!length || length > size)
        return wrong;
    uint32_t code = length == 1 ? *at : *at & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return wrong;
        code = code << 6 | (at[i] & 0x3f);
    }
    bool is_scalar = code >= least[length] && code < INVALID && (code < 0xd800 || code > 0xdfff);
    return is_scalar ? (struct character){length, code} : wrong;
}

static bool is_obeyed(uint32_t code)
{
    return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code <= 0x9f) ||
           code == 0x61c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           code == INVALID;
}

/* The first byte of what is to be escaped, from `i` on; `size`: there is none. */
static size_t find_obeyed(const char *bytes, size_t size, size_t i, struct character *found)
{
    while (i < size) {
        if (bytes[i] >= 0x20 && bytes[i] < 0x7f) {
            i++;
            continue;
        }
        *found = read_character((const uint8_t *)bytes + i, size - i);
        if (is_obeyed(found->code))
            break;
        i += found->length;
    }
    return i;
}

bool iso_is_shown_as_it_is(const char *bytes, size_t size)
{
    struct character found;
    return find_obeyed(bytes, size, 0, &found) == size;
}

void iso_text_put_shown(struct iso_text *text, const char *bytes, size_t size)
{
    struct character found;
    char escaped[8];
    for (size_t i = 0; i < size;) {
        size_t next = find_obeyed(bytes, size, i, &found);
        iso_text_put_bytes(text, bytes + i, next - i);
        if (next == size)
            return;
        int length = snprintf(escaped, sizeof escaped, "\\u%04x",
                              found.code == INVALID ? 0xfffdu : found.code & 0xffffu);
        iso_text_put_bytes(text, escaped, (size_t)length);
        i = next + found.length;
    }
}

void iso_text_put_shown_string(struct iso_text *text, const char *bytes, size_t size)
{
    struct iso_text string = {0};
    iso_text_put_string(&string, bytes, size);
    iso_text_put_shown(text, string.bytes, string.used);
    iso_text_release(&string);
}

size_t iso_shown_rest(const char *bytes, size_t size)
{
    for (size_t back = 1; back <= 3 && back <= size; back++) {
        uint8_t byte = (uint8_t)bytes[size - back];
        size_t length = byte < 0xc0 ? 0 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
        if (length)
            return length > back ? back : 0;
    }
    return 0;
}
