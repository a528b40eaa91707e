/* A time line as a list: downwards, so that it fits a phone, and with words that wrap; what counts
 * is the order, so rows are not spread by their times. */
#include <string.h>

#include "draw/escape.h"
#include "draw/page.h"

static const char *const classes[] = {[ISO_MARK_NONE] = "plain",
                                      [ISO_MARK_EXPECTED] = "expected",
                                      [ISO_MARK_ACTUAL] = "actual",
                                      [ISO_MARK_READ] = "look",
                                      [ISO_MARK_MORE] = "more"};

static void put_row(const struct iso_argument *argument, const struct iso_argument_row *row,
                    struct iso_text *text)
{
    const char *what = iso_argument_text(argument, row->what_text),
               *when = iso_argument_text(argument, row->when_text);
    const char *mark = iso_mark_word(row->mark);
    iso_text_format(text, "<li class=\"%s\"><code class=\"when\">", classes[row->mark]);
    iso_escape_xml(text, when, strlen(when));
    if (mark)
        iso_text_format(text, " (%s)", mark);
    iso_text_put(text, "</code><span class=\"what\">");
    iso_escape_xml(text, what, strlen(what));
    iso_text_put(text, "</span></li>\n");
}

void iso_page_line(const struct iso_argument *argument, struct iso_text *text)
{
    iso_text_put(text, "<ol class=\"t\">\n");
    for (uint32_t i = 0; i < argument->row_count; i++)
        if (!argument->rows[i].only_drawn)
            put_row(argument, &argument->rows[i], text);
    iso_text_put(text, "</ol>\n");
}
