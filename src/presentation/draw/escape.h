/* Text that anyone may have written, made safe where it goes. Threads: any.
 *
 * Bytes that are not UTF-8, and characters that XML 1.0 cannot have or that turn the direction of
 * the text round them, become U+FFFD.
 */
#pragma once

#include "base/text.h"

/* For the content and the quoted attributes of XML and HTML. */
void iso_escape_xml(struct iso_text *text, const char *bytes, size_t length);

/* As iso_escape_xml, but at most `most` characters: a longer text ends in "...". */
void iso_escape_xml_short(struct iso_text *text, const char *bytes, size_t length, size_t most);

/* How many characters iso_escape_xml_short writes. */
size_t iso_escape_width(const char *bytes, size_t length, size_t most);

/* For a quoted string of DOT. */
void iso_escape_dot(struct iso_text *text, const char *bytes, size_t length);

/* A <title> of SVG, which browsers show as a tooltip: one line, or two. */
void svg_put_title(struct iso_text *text, const char *first, const char *second);

/* A <text> of SVG whose middle line is at y, of at most so many letters. */
void svg_put_words(struct iso_text *text, const char *words, double x, double y, size_t most);
