/* UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. Threads: any; no
 * state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

bool iso_utf8_valid(const uint8_t *bytes, size_t size);

/* Writes the code point (a Unicode scalar value); returns how many bytes, 1 to 4. */
size_t iso_utf8_encode(uint32_t code_point, char *text);

/* The bytes of a byte order mark in front of a text. */
static inline size_t iso_utf8_mark(const char *at, size_t length)
{
    return length >= 3 && !memcmp(at, "\xef\xbb\xbf", 3) ? 3 : 0;
}
