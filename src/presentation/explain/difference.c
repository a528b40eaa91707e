#include "explain/difference.h"

#include "explain/value_text.h"

/* EARLY: a difference before this byte is seen at a glance. */
enum { EARLY = 80, BEFORE = 20, AFTER = 60 };

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Writes the part of a text around the byte where it begins to differ. */
static void put_around(struct iso_text *text, const char *bytes, size_t length, size_t from)
{
    size_t start = from - BEFORE, end = length - from > AFTER ? from + AFTER : length;
    if (from == length) {
        iso_text_put(text, "ends");
        return;
    }
    while (start < from && is_inside_character(bytes[start]))
        start++;
    while (end < length && end > from + 1 && is_inside_character(bytes[end]))
        end--;
    iso_text_put(text, "says ...");
    argue_put_text(text, bytes + start, end - start);
    iso_text_put(text, end < length ? "..." : "");
}

bool explain_put_difference(struct iso_text *text, const char *expected, size_t expected_length,
                            const char *found, size_t found_length)
{
    size_t least = expected_length < found_length ? expected_length : found_length, equal = 0;
    while (equal < least && expected[equal] == found[equal])
        equal++;
    if (equal == expected_length && equal == found_length)
        return false;
    while (equal && equal < least && is_inside_character(expected[equal]))
        equal--;
    if (equal < EARLY)
        return false;
    iso_text_put(text, "The first ");
    iso_text_put_unsigned(text, equal);
    iso_text_put(text, " bytes of the two are equal; behind them the expected one ");
    put_around(text, expected, expected_length, equal);
    iso_text_put(text, ", the other one ");
    put_around(text, found, found_length, equal);
    iso_text_put(text, ".");
    return true;
}
