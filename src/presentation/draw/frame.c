#include "draw/frame.h"

#include <string.h>

#include "draw/drawing.h"
#include "draw/sequence.h"
#include "draw/timeline_svg.h"
#include <report.html.h>

/* The frame's text up to a mark; returns what follows the mark. */
static const char *put_until(struct iso_text *text, const char *frame, const char *mark)
{
    const char *at = strstr(frame, mark);
    iso_text_put_bytes(text, frame, (size_t)(at - frame));
    return at + strlen(mark);
}

const char *iso_frame_begin(struct iso_text *text)
{
    const char *rest = put_until(text, report_html, "<!--STYLE-->");
    iso_text_format(text, "%s%s%s", iso_drawing_style, iso_timeline_style, iso_sequence_style);
    return put_until(text, rest, "<!--CONTENT-->");
}
