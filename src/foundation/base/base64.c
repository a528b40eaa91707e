#include "base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void iso_base64_encode(const uint8_t *bytes, size_t size, char *text)
{
    for (; size >= 3; size -= 3, bytes += 3, text += 4) {
        uint32_t group = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
        text[0] = digits[group >> 18];
        text[1] = digits[group >> 12 & 63];
        text[2] = digits[group >> 6 & 63];
        text[3] = digits[group & 63];
    }
    if (size == 0)
        return;
    uint32_t group = (uint32_t)bytes[0] << 16 | (size == 2 ? (uint32_t)bytes[1] << 8 : 0);
    text[0] = digits[group >> 18];
    text[1] = digits[group >> 12 & 63];
    text[2] = size == 2 ? digits[group >> 6 & 63] : '=';
    text[3] = '=';
}

int iso_base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : c == '=' ? ISO_BASE64_END : ISO_BASE64_NONE;
}

bool iso_base64_decode(const char *text, size_t length, uint8_t *bytes, size_t *size)
{
    size_t written = 0;
    if (length % 4 != 0)
        return false;
    for (size_t i = 0; i < length; i += 4) {
        int padding =
            i + 4 < length ? 0 : (text[i + 3] == '=') + (text[i + 3] == '=' && text[i + 2] == '=');
        int32_t group = 0;
        for (int j = 0; j < 4; j++) {
            int value = j >= 4 - padding ? 0 : iso_base64_digit(text[i + j]);
            if (value < 0)
                return false;
            group = group << 6 | value;
        }
        /* Bits behind the last byte must be zero: one text for every content. */
        if ((padding == 1 && (group & 0xff)) || (padding == 2 && (group & 0xffff)))
            return false;
        for (int j = 0; j < 3 - padding; j++)
            bytes[written++] = (uint8_t)(group >> (16 - 8 * j));
    }
    *size = written;
    return true;
}
