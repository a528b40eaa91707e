#include "draw/timeline_svg.h"

#include <inttypes.h>
#include <string.h>

#include "draw/escape.h"
#include "draw/timeline_layout.h"

enum { WORDS_SHOWN = 400, DESCRIPTION_SHOWN = 2000, POINT_SIZE = 5 };

const char iso_timeline_style[] =
    ".tl{font:12px ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace}"
    ".tl text{fill:var(--ink);paint-order:stroke;stroke:var(--card);stroke-width:3px}.tl .q text{fill:var(--dim)}"
    ".tl path{fill:none;stroke:var(--line)}.tl .i{stroke-dasharray:2 4}.tl .o{fill:var(--line);opacity:.5}"
    ".tl .b rect{fill:var(--line);stroke:var(--dim)}.tl .w rect{fill:var(--blue);stroke:var(--blue);fill-opacity:.35}"
    ".tl .x rect{fill:none;stroke-dasharray:4 3}.tl .p path{fill:var(--dim);stroke:var(--dim)}"
    ".tl .p.e path{fill:var(--good);stroke:var(--good)}.tl .p.f path{fill:var(--bad);stroke:var(--bad)}"
    ".tl .p.l path{fill:var(--blue);stroke:var(--blue)}.tl .e text{fill:var(--good)}.tl .f text{fill:var(--bad)}"
    ".tl .l text{fill:var(--blue)}.tl .p .d.d{fill:none;stroke-dasharray:3 3}";

static const char *const classes[] = {[ISO_MARK_NONE] = "p",
                                      [ISO_MARK_EXPECTED] = "p e",
                                      [ISO_MARK_ACTUAL] = "p f",
                                      [ISO_MARK_READ] = "p l"};

/* From the point: a circle, a square on a corner, a square, a triangle that points down. */
static const char *const shapes[] = {[ISO_MARK_NONE] = "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
                                     [ISO_MARK_EXPECTED] = "m-5-5h10v10h-10z",
                                     [ISO_MARK_ACTUAL] = "m0-6l6 6-6 6-6-6z",
                                     [ISO_MARK_READ] = "m-6-5h12l-6 11z"};

/* ---- words ---- */

static void put_short(struct iso_text *text, const char *words, size_t most)
{
    iso_escape_xml_short(text, words, strlen(words), most);
}

static void put_tooltip(const struct iso_timeline *timeline, uint32_t words, struct iso_text *text)
{
    iso_text_put(text, "<title>");
    put_short(text, iso_timeline_text(timeline, words), WORDS_SHOWN);
    iso_text_put(text, "</title>");
}

static void put_label(const struct iso_timeline *timeline, uint32_t words,
                      const struct iso_timeline_box *at, size_t most, struct iso_text *text)
{
    svg_put_words(text, iso_timeline_text(timeline, words), at->left, at->top + at->height / 2,
                  most);
}

/* For who cannot see it: the rows as a list has them. */
static void put_description(const struct iso_timeline *timeline, uint32_t number,
                            struct iso_text *text)
{
    struct iso_text words = {0};
    iso_text_format(text, "<title id=\"time%" PRIu32 "\">", number);
    put_short(text, iso_timeline_text(timeline, timeline->title), WORDS_SHOWN);
    iso_text_format(text, "</title><desc id=\"words%" PRIu32 "\">", number);
    for (uint32_t i = 0; i < timeline->bar_count; i++) {
        iso_text_format(&words, "%s, %s; ", iso_timeline_text(timeline, timeline->bars[i].name),
                        iso_timeline_text(timeline, timeline->lanes[timeline->bars[i].lane]));
    }
    for (uint32_t i = 0; i < timeline->point_count; i++)
        iso_text_format(&words, "%s; ", iso_timeline_text(timeline, timeline->points[i].words));
    iso_text_put(&words, iso_timeline_text(timeline, timeline->note));
    iso_escape_xml_short(text, words.bytes, words.used, DESCRIPTION_SHOWN);
    iso_text_put(text, "</desc>\n");
    iso_text_release(&words);
}

/* ---- shapes ---- */

static void put_rect(const struct iso_timeline_box *box, const char *class, struct iso_text *text)
{
    iso_text_format(text, "<rect%s x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", class,
                    box->left, box->top, box->width, box->height);
}

static void put_overlap(const struct iso_timeline *timeline,
                        const struct iso_timeline_layout *layout, struct iso_text *text)
{
    double from = layout->instants[timeline->overlap_from],
           to = layout->instants[timeline->overlap_to];
    if (timeline->overlap_from != timeline->overlap_to)
        put_rect(&(struct iso_timeline_box){from, 0, to - from, layout->axis}, " class=\"o\"",
                 text);
}

static void put_grid(const struct iso_timeline *timeline, const struct iso_timeline_layout *layout,
                     struct iso_text *text)
{
    iso_text_put(text, "<path class=\"i\" d=\"");
    for (uint32_t i = 0; i < timeline->instant_count; i++)
        iso_text_format(text, "M%.1f 0V%.1f", layout->instants[i], layout->axis);
    iso_text_put(text, "\"/><path d=\"");
    for (uint32_t i = 0; i < timeline->lane_count; i++)
        iso_text_format(text, "M0 %.1fH%.1f", layout->lane_bottom[i], layout->width);
    if (timeline->point_count)
        iso_text_format(text, "M%.1f %.1fH%.1f", layout->left, layout->track, layout->right);
    iso_text_format(text, "M%.1f %.1fH%.1f", layout->left, layout->axis, layout->right);
    for (uint32_t i = 1; i < timeline->instant_count; i++)
        if (layout->breaks[i])
            iso_text_format(text, "M%.1f %.1fl-4 10m5 0l4-10",
                            (layout->instants[i - 1] + layout->instants[i]) / 2, layout->axis - 5);
    iso_text_put(text, "\"/>");
}

static void put_frame(const struct iso_timeline *timeline, const struct iso_timeline_layout *layout,
                      struct iso_text *text)
{
    iso_text_put(text, "<g class=\"q\">");
    put_grid(timeline, layout, text);
    for (uint32_t i = 0; i < timeline->lane_count; i++)
        put_label(timeline, timeline->lanes[i], &layout->lane_labels[i], ISO_TIMELINE_LANE_SHOWN,
                  text);
    if (timeline->point_count)
        put_label(timeline, timeline->track, &layout->track_label, ISO_TIMELINE_LANE_SHOWN, text);
    iso_text_put(text, "</g>\n");
}

/* Behind the lines, which must not run through them. */
static void put_frame_labels(const struct iso_timeline *timeline,
                             const struct iso_timeline_layout *layout, struct iso_text *text)
{
    iso_text_put(text, "<g class=\"q\">");
    for (uint32_t i = 0; i < timeline->instant_count; i++)
        put_label(timeline, timeline->instants[i].label, &layout->instant_labels[i],
                  ISO_TIMELINE_INSTANT_SHOWN, text);
    put_label(timeline, timeline->note, &layout->note, ISO_TIMELINE_NOTE_SHOWN, text);
    iso_text_put(text, "</g>\n");
}

static void put_bar(const struct iso_timeline *timeline, const struct iso_timeline_layout *layout,
                    uint32_t i, struct iso_text *text)
{
    const struct iso_timeline_bar *bar = &timeline->bars[i];
    iso_text_format(text, "<g class=\"b%s%s%s\">", bar->is_blamed ? " w" : "",
                    bar->status == ISO_COMMITTED ? "" : " x", bar->is_found ? " f" : "");
    put_tooltip(timeline, bar->words, text);
    put_rect(&layout->bars[i], "", text);
    put_label(timeline, bar->name, &layout->bar_labels[i], ISO_TIMELINE_BAR_SHOWN, text);
    iso_text_put(text, "</g>\n");
}

/* From a bar, as near above the point as it gets. */
static void put_link(const struct iso_timeline_box *bar, double x, double y, struct iso_text *text)
{
    double right = bar->left + bar->width, from = x < bar->left ? bar->left : x > right ? right : x;
    iso_text_format(text, "<path class=\"d\" d=\"M%.1f %.1fL%.1f %.1f\"/>", from,
                    bar->top + bar->height, x, y);
}

static void put_point(const struct iso_timeline *timeline, const struct iso_timeline_layout *layout,
                      uint32_t i, struct iso_text *text)
{
    const struct iso_timeline_point *point = &timeline->points[i];
    const char *mark = iso_mark_word(point->mark);
    const struct iso_timeline_box *label = &layout->point_labels[i];
    iso_text_format(text, "<g class=\"%s\">", classes[point->mark]);
    put_tooltip(timeline, point->words, text);
    if (point->bar != ISO_NONE)
        put_link(&layout->bars[point->bar], layout->points[i], layout->track - POINT_SIZE, text);
    iso_text_format(text, "<path d=\"M%.1f %.1f%s\"/>", layout->points[i], layout->track,
                    shapes[point->mark]);
    iso_text_format(text, "<text x=\"%.1f\" y=\"%.1f\">", label->left,
                    label->top + label->height / 2 + 4);
    put_short(text, iso_timeline_text(timeline, point->name), ISO_TIMELINE_POINT_SHOWN);
    if (mark)
        iso_text_format(text, " (%s)", mark);
    iso_text_put(text, "</text></g>\n");
}

void iso_timeline_svg(const struct iso_timeline *timeline, uint32_t number, struct iso_text *text)
{
    struct iso_timeline_layout layout;
    iso_timeline_lay_out(timeline, &layout);
    iso_text_format(text,
                    "<svg class=\"tl\" role=\"img\" aria-labelledby=\"time%" PRIu32 " words%" PRIu32
                    "\" ",
                    number, number);
    iso_text_format(text, "viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n",
                    layout.width, layout.height, layout.width, layout.height);
    put_description(timeline, number, text);
    put_overlap(timeline, &layout, text);
    put_frame(timeline, &layout, text);
    for (uint32_t i = 0; i < timeline->bar_count; i++)
        put_bar(timeline, &layout, i, text);
    for (uint32_t i = 0; i < timeline->point_count; i++)
        put_point(timeline, &layout, i, text);
    put_frame_labels(timeline, &layout, text);
    iso_text_put(text, "</svg>\n");
}
