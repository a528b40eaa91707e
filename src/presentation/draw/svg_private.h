/* Elements of SVG that all pictures are written with. Private to draw; no state. What others wrote
 * goes through iso_escape_xml. */
#pragma once

#include "base/text.h"

/* A <title>, which browsers show as a tooltip: one line, or two. */
void svg_put_title(struct iso_text *text, const char *first, const char *second);

/* A <text> whose middle line is at y, of at most so many letters. */
void svg_put_words(struct iso_text *text, const char *words, double x, double y, size_t most);
