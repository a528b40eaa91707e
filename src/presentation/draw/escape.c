#include "draw/escape.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

static const char replacement[] = "\xef\xbf\xbd";

/* U+FFFE and U+FFFF, which XML cannot have, and what would turn the words round it the other way:
 * U+202A to U+202E, and U+2066 to U+2069. */
static bool is_unwanted(const unsigned char *at)
{
    return (at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe) ||
           (at[0] == 0xe2 && at[1] == 0x80 && at[2] >= 0xaa && at[2] <= 0xae) ||
           (at[0] == 0xe2 && at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9);
}

/* The length of the character that starts here, or of the byte that begins none; `*good`: it can be
 * shown. */
static size_t character(const unsigned char *at, size_t left, bool *good)
{
    size_t length = at[0] < 0x80 ? 1 : at[0] >> 5 == 6 ? 2 : at[0] >> 4 == 14 ? 3 : 4;
    bool is_control = (at[0] < 0x20 && at[0] != '\n' && at[0] != '\t') || at[0] == 0x7f;
    bool is_whole = length <= left && iso_utf8_valid(at, length);
    *good = is_whole && !is_control && !(length == 3 && is_unwanted(at));
    return is_whole ? length : 1;
}

static void put_xml(struct iso_text *text, const char *bytes, size_t length)
{
    static const char special[] = "&<>\"'";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    const char *found = length == 1 ? memchr(special, *bytes, sizeof special - 1) : NULL;
    if (found)
        iso_text_put(text, names[found - special]);
    else
        iso_text_put_bytes(text, bytes, length);
}

static void put_dot(struct iso_text *text, const char *bytes, size_t length)
{
    if (length == 1 && (*bytes == '"' || *bytes == '\\'))
        iso_text_put(text, "\\");
    if (*bytes == '\n')
        iso_text_put(text, "\\n");
    else
        iso_text_put_bytes(text, bytes, length);
}

static void put_all(struct iso_text *text, const char *bytes, size_t length, size_t most,
                    void (*put)(struct iso_text *text, const char *bytes, size_t length))
{
    size_t shown = 0, step;
    bool good;
    for (size_t i = 0; i < length && shown < most; i += step, shown++) {
        step = character((const unsigned char *)bytes + i, length - i, &good);
        if (good)
            put(text, bytes + i, step);
        else
            iso_text_put(text, replacement);
    }
}

size_t iso_escape_width(const char *bytes, size_t length, size_t most)
{
    size_t width = 0;
    bool good;
    for (size_t i = 0; i < length && width <= most; width++)
        i += character((const unsigned char *)bytes + i, length - i, &good);
    return width < most ? width : most;
}

void iso_escape_xml(struct iso_text *text, const char *bytes, size_t length)
{
    put_all(text, bytes, length, SIZE_MAX, put_xml);
}

void iso_escape_xml_short(struct iso_text *text, const char *bytes, size_t length, size_t most)
{
    bool fits = iso_escape_width(bytes, length, most + 1) <= most;
    put_all(text, bytes, length, fits ? most : most - 3, put_xml);
    if (!fits)
        iso_text_put(text, "...");
}

void iso_escape_dot(struct iso_text *text, const char *bytes, size_t length)
{
    put_all(text, bytes, length, SIZE_MAX, put_dot);
}

void svg_put_title(struct iso_text *text, const char *first, const char *second)
{
    iso_text_put(text, "<title>");
    iso_escape_xml(text, first, strlen(first));
    if (second) {
        iso_text_put(text, "\n");
        iso_escape_xml(text, second, strlen(second));
    }
    iso_text_put(text, "</title>");
}

void svg_put_words(struct iso_text *text, const char *words, double x, double y, size_t most)
{
    iso_text_format(text, "<text x=\"%.1f\" y=\"%.1f\">", x, y + 4);
    iso_escape_xml_short(text, words, strlen(words), most);
    iso_text_put(text, "</text>");
}
