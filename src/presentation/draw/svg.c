/* A drawing as SVG. Letters are counted, not measured: the fonts are of one width. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/drawing.h"
#include "draw/escape.h"
#include "draw/layout.h"

enum {
    NAME_SHOWN = 24,
    LABEL_SHOWN = 28,
    NODE_HEIGHT = 34,
    LABEL_HEIGHT = 20,
    MARGIN = 12,
    WIDE = 900
};
static const double letter = 7.5; /* pixels, of a font of 12 */

const char iso_drawing_style[] =
    ".g{font:12px ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace}"
    ".g .n rect{fill:#fff;stroke:#2b4a6f;stroke-width:1.5}.g text{fill:#1c2430;text-anchor:middle}"
    ".g .l rect{fill:#f6f7f9}.g path{fill:none;stroke:#5b6b80;stroke-width:1.5}"
    ".g .rw path,.g .missed path{stroke:#b3261e;stroke-dasharray:5 3}.g .ww path{stroke:#8a5a00}"
    ".g .l .h{fill:#5b6b80;stroke:none}.g .rw .h.h,.g .missed .h.h{fill:#b3261e}.g .ww .h.h{fill:#8a5a00}"
    "@media(prefers-color-scheme:dark){.g .n rect{fill:#1d2530;stroke:#8fb3e0}.g text{fill:#e6eaf0}"
    ".g .l rect{fill:#12171e}.g path{stroke:#9aa7b8}.g .rw path,.g .missed path{stroke:#ff8a80}.g .ww path{stroke:#e0b060}"
    ".g .l .h{fill:#9aa7b8}.g .rw .h.h,.g .missed .h.h{fill:#ff8a80}.g .ww .h.h{fill:#e0b060}}";

static void put_node(struct iso_text *text, const struct iso_drawing *drawing, uint32_t node,
                     const struct iso_layout_node *at)
{
    const char *name = drawing->text.bytes + drawing->nodes[node].name;
    iso_text_put(text, "<g class=\"n\">");
    svg_put_title(text, name, drawing->text.bytes + drawing->nodes[node].location);
    iso_text_format(text, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\"/>",
                    at->x - at->width / 2, at->y - at->height / 2, at->width, at->height);
    svg_put_words(text, name, at->x, at->y, NAME_SHOWN);
    iso_text_put(text, "</g>\n");
}

/* Vertical at every point: straight through a layer, a curve between two. */
static void put_path(struct iso_text *text, const struct iso_layout_point *points, uint32_t count)
{
    iso_text_format(text, "<path d=\"M%.1f %.1f", points[0].x, points[0].y);
    for (uint32_t i = 1; i < count; i++) {
        double middle = (points[i - 1].y + points[i].y) / 2;
        if (fabs(points[i - 1].x - points[i].x) < 0.05)
            iso_text_format(text, "V%.1f", points[i].y);
        else
            iso_text_format(text, "C%.1f %.1f %.1f %.1f %.1f %.1f", points[i - 1].x, middle,
                            points[i].x, middle, points[i].x, points[i].y);
    }
    iso_text_put(text, "\"/>");
}

static void put_head(struct iso_text *text, const struct iso_layout_point *tip, bool is_down)
{
    double back = is_down ? -8 : 8;
    iso_text_format(text, "<path class=\"h\" d=\"M%.1f %.1fl-4 %.1fh8z\"/>", tip->x, tip->y, back);
}

static void put_edge(struct iso_text *text, const struct iso_drawing *drawing, uint32_t edge,
                     const struct iso_layout *layout)
{
    const struct iso_layout_edge *at = &layout->edges[edge];
    const struct iso_layout_point *points = layout->points + at->first_point;
    const char *label = drawing->text.bytes + drawing->edges[edge].label;
    iso_text_format(text, "<g class=\"l %s\">", drawing->edges[edge].type);
    svg_put_title(text, label, NULL);
    put_path(text, points, at->point_count);
    put_head(text, &points[at->point_count - 1], points[at->point_count - 1].y > points[0].y);
    iso_text_format(text, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"3\"/>",
                    at->label.x - at->label_width / 2, at->label.y - at->label_height / 2 + 2,
                    at->label_width, at->label_height - 4);
    svg_put_words(text, label, at->label.x, at->label.y, LABEL_SHOWN);
    iso_text_put(text, "</g>\n");
}

static void lay_out(const struct iso_drawing *drawing, struct iso_layout *layout)
{
    iso_layout_init(layout, drawing->node_count, drawing->edge_count);
    for (uint32_t i = 0; i < drawing->node_count; i++) {
        const char *name = drawing->text.bytes + drawing->nodes[i].name;
        layout->nodes[i].width =
            letter * (double)iso_escape_width(name, strlen(name), NAME_SHOWN) + 24;
        layout->nodes[i].height = NODE_HEIGHT;
    }
    for (uint32_t i = 0; i < drawing->edge_count; i++) {
        const char *label = drawing->text.bytes + drawing->edges[i].label;
        layout->edges[i].from = drawing->edges[i].from;
        layout->edges[i].to = drawing->edges[i].to;
        layout->edges[i].label_width =
            letter * (double)iso_escape_width(label, strlen(label), LABEL_SHOWN) + 8;
        layout->edges[i].label_height = LABEL_HEIGHT;
    }
    iso_layout_run(layout, WIDE);
}

void iso_drawing_svg(const struct iso_drawing *drawing, bool is_alone, struct iso_text *text)
{
    struct iso_layout layout;
    lay_out(drawing, &layout);
    double width = layout.width + 2 * MARGIN,
           height = layout.height + 2 * MARGIN + (drawing->left_out ? 24 : 0);
    iso_text_format(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"g\" role=\"img\" viewBox=\"%d %d %.0f %.0f\" width=\"%.0f\" "
        "height=\"%.0f\">\n",
        -MARGIN, -MARGIN, width, height, width, height);
    if (is_alone) {
        iso_text_format(
            text,
            "<style>svg{background:#f6f7f9}@media(prefers-color-scheme:dark){svg{background:#12171e}}%s</style>\n",
            iso_drawing_style);
    }
    for (uint32_t i = 0; i < drawing->edge_count; i++)
        put_edge(text, drawing, i, &layout);
    for (uint32_t i = 0; i < drawing->node_count; i++)
        put_node(text, drawing, i, &layout.nodes[i]);
    if (drawing->left_out) {
        char note[64];
        snprintf(note, sizeof note, "%llu more not drawn", (unsigned long long)drawing->left_out);
        svg_put_words(text, note, layout.width / 2, layout.height + 16, sizeof note);
    }
    iso_text_put(text, "</svg>\n");
    iso_layout_release(&layout);
}
