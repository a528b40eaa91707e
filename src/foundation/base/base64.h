/* Base64 (RFC 4648, section 4: the standard alphabet, padded), and hexadecimal digits.
 * Threads: any; no state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of text that `size` bytes become, without a NUL. */
static inline size_t iso_base64_length(size_t size)
{
    return (size + 2) / 3 * 4;
}

/* A digit's six bits, or one of these, which are below all digits. */
enum { ISO_BASE64_END = -1, ISO_BASE64_NONE = -2 };
int iso_base64_digit(char c);

void iso_base64_encode(const uint8_t *bytes, size_t size, char *text);

/* Writes at most length / 4 * 3 bytes (text and bytes may be the same memory); false if the text is
 * not base64. */
bool iso_base64_decode(const char *text, size_t length, uint8_t *bytes, size_t *size);

/* The number of a hexadecimal digit; -1: it is none. */
static inline int iso_hex_digit(char byte)
{
    char letter = (char)(byte | 0x20);
    return byte >= '0' && byte <= '9'       ? byte - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                                            : -1;
}
