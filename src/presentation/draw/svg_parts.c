#include <string.h>

#include "draw/escape.h"
#include "draw/svg_private.h"

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
