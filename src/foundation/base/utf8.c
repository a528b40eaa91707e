#include "base/utf8.h"

#include <string.h>

static bool is_tail(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Length of the valid sequence that starts with a byte of 0x80 or more; 0 if there is none. */
static size_t sequence(const uint8_t *bytes, size_t size)
{
    uint8_t first = bytes[0];
    if (first >= 0xc2 && first <= 0xdf)
        return size >= 2 && is_tail(bytes[1]) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        if (size < 3 || !is_tail(bytes[1]) || !is_tail(bytes[2]))
            return 0;
        bool overlong = first == 0xe0 && bytes[1] < 0xa0;
        bool surrogate = first == 0xed && bytes[1] >= 0xa0;
        return overlong || surrogate ? 0 : 3;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        if (size < 4 || !is_tail(bytes[1]) || !is_tail(bytes[2]) || !is_tail(bytes[3]))
            return 0;
        bool overlong = first == 0xf0 && bytes[1] < 0x90;
        bool beyond = first == 0xf4 && bytes[1] >= 0x90;
        return overlong || beyond ? 0 : 4;
    }
    return 0;
}

/* No byte above 127. The last word overlaps the one before. */
static bool is_ascii(const uint8_t *bytes, size_t size)
{
    uint64_t word, all = 0;
    uint32_t half, other;
    if (size >= sizeof word) {
        for (size_t i = 0; i + sizeof word < size; i += sizeof word) {
            memcpy(&word, bytes + i, sizeof word);
            all |= word;
        }
        memcpy(&word, bytes + size - sizeof word, sizeof word);
        all |= word;
    } else if (size >= sizeof half) {
        memcpy(&half, bytes, sizeof half);
        memcpy(&other, bytes + size - sizeof half, sizeof half);
        all = half | other;
    } else {
        for (size_t i = 0; i < size; i++)
            all |= bytes[i];
    }
    return !(all & 0x8080808080808080u);
}

bool iso_utf8_valid(const uint8_t *bytes, size_t size)
{
    size_t i = 0;
    if (is_ascii(bytes, size))
        return true;
    while (i < size) {
        uint64_t word;
        while (i + sizeof word <= size) {
            memcpy(&word, bytes + i, sizeof word);
            if (word & 0x8080808080808080u)
                break;
            i += sizeof word;
        }
        if (i == size)
            break;
        size_t length = bytes[i] < 0x80 ? 1 : sequence(bytes + i, size - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

size_t iso_utf8_encode(uint32_t code_point, char *text)
{
    if (code_point < 0x80) {
        text[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        text[0] = (char)(0xc0 | code_point >> 6);
        text[1] = (char)(0x80 | (code_point & 63));
        return 2;
    }
    if (code_point < 0x10000) {
        text[0] = (char)(0xe0 | code_point >> 12);
        text[1] = (char)(0x80 | (code_point >> 6 & 63));
        text[2] = (char)(0x80 | (code_point & 63));
        return 3;
    }
    text[0] = (char)(0xf0 | code_point >> 18);
    text[1] = (char)(0x80 | (code_point >> 12 & 63));
    text[2] = (char)(0x80 | (code_point >> 6 & 63));
    text[3] = (char)(0x80 | (code_point & 63));
    return 4;
}
