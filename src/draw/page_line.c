/* A time line as SVG: downwards, so that it fits a phone; what counts is the order, so rows are equally far apart. */
#include <stdio.h>
#include <string.h>

#include "draw/escape.h"
#include "draw/page.h"

enum { SHOWN = 44, ROW = 40, LEFT = 26, LETTER = 8 };

static const char *const classes[] = {[ISO_MARK_NONE] = "plain",
                                      [ISO_MARK_EXPECTED] = "expected",
                                      [ISO_MARK_ACTUAL] = "actual",
                                      [ISO_MARK_LOOK] = "look",
                                      [ISO_MARK_MORE] = "more"};
static const char *const notes[] = {[ISO_MARK_NONE] = "",
                                    [ISO_MARK_EXPECTED] = " (expected)",
                                    [ISO_MARK_ACTUAL] = " (found)",
                                    [ISO_MARK_LOOK] = "",
                                    [ISO_MARK_MORE] = ""};

static void put_words(struct iso_text *text, const char *class, int y, const char *words)
{
    char begin[64];
    snprintf(begin, sizeof begin, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, LEFT, y);
    iso_text_put(text, begin);
    iso_escape_xml_short(text, words, strlen(words), SHOWN);
    iso_text_put(text, "</text>");
}

static void put_row(const struct iso_argument *argument, uint32_t index, struct iso_text *text)
{
    const struct iso_argument_row *row = &argument->rows[index];
    const char *what = iso_argument_text(argument, row->what_text), *when = iso_argument_text(argument, row->when_text);
    char numbers[128];
    int y = (int)index * ROW;
    iso_text_put(text, "<g class=\"");
    iso_text_put(text, classes[row->mark]);
    iso_text_put(text, "\"><title>");
    iso_escape_xml(text, what, strlen(what));
    snprintf(numbers, sizeof numbers, "</title><circle cx=\"10\" cy=\"%d\" r=\"5\"/>", y + 20);
    iso_text_put(text, numbers);
    struct iso_text note = {0};
    iso_text_put(&note, when);
    iso_text_put_bytes(&note, notes[row->mark], strlen(notes[row->mark]) + 1);
    put_words(text, "when", y + 14, note.bytes);
    iso_text_release(&note);
    put_words(text, "what", y + 30, what);
    iso_text_put(text, "</g>\n");
}

void iso_page_line(const struct iso_argument *argument, struct iso_text *text)
{
    char begin[256];
    int height = (int)argument->row_count * ROW, width = LEFT + SHOWN * LETTER;
    snprintf(begin, sizeof begin,
             "<svg class=\"t\" role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n"
             "<line x1=\"10\" y1=\"20\" x2=\"10\" y2=\"%d\"/>",
             width, height, width, height, height - 20);
    iso_text_put(text, begin);
    for (uint32_t i = 0; i < argument->row_count; i++)
        put_row(argument, i, text);
    iso_text_put(text, "</svg>\n");
}
