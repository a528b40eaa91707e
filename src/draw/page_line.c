/* A time line as a list: downwards, so that it fits a phone, and with words that wrap; what counts is the order, so
 * rows are not spread by their times. */
#include <string.h>

#include "draw/escape.h"
#include "draw/page.h"

static const char *const classes[] = {[ISO_MARK_NONE] = "plain",
                                      [ISO_MARK_EXPECTED] = "expected",
                                      [ISO_MARK_ACTUAL] = "actual",
                                      [ISO_MARK_READ] = "look",
                                      [ISO_MARK_MORE] = "more"};
static const char *const notes[] = {[ISO_MARK_NONE] = "",
                                    [ISO_MARK_EXPECTED] = " (expected)",
                                    [ISO_MARK_ACTUAL] = " (found)",
                                    [ISO_MARK_READ] = "",
                                    [ISO_MARK_MORE] = ""};

static void put_row(const struct iso_argument *argument, const struct iso_argument_row *row, struct iso_text *text)
{
    const char *what = iso_argument_text(argument, row->what_text), *when = iso_argument_text(argument, row->when_text);
    iso_text_format(text, "<li class=\"%s\"><code class=\"when\">", classes[row->mark]);
    iso_escape_xml(text, when, strlen(when));
    iso_text_format(text, "%s</code><span class=\"what\">", notes[row->mark]);
    iso_escape_xml(text, what, strlen(what));
    iso_text_put(text, "</span></li>\n");
}

void iso_page_line(const struct iso_argument *argument, struct iso_text *text)
{
    iso_text_put(text, "<ol class=\"t\">\n");
    for (uint32_t i = 0; i < argument->row_count; i++)
        put_row(argument, &argument->rows[i], text);
    iso_text_put(text, "</ol>\n");
}
