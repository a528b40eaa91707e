#include <inttypes.h>
#include <string.h>

#include "draw/drawing.h"
#include "draw/escape.h"

static void put_number(struct iso_text *text, const char *before, uint32_t number)
{
    iso_text_format(text, "%s%" PRIu32, before, number);
}

static void put_label(struct iso_text *text, const struct iso_drawing *drawing, uint32_t label)
{
    const char *bytes = drawing->text.bytes + label;
    iso_escape_dot(text, bytes, strlen(bytes));
}

void iso_drawing_dot(const struct iso_drawing *drawing, struct iso_text *text)
{
    iso_text_put(text, "digraph violations {\n  node [shape=box, fontname=\"monospace\"];\n"
                       "  edge [fontname=\"monospace\"];\n");
    for (uint32_t i = 0; i < drawing->node_count; i++) {
        put_number(text, "  n", i);
        iso_text_put(text, " [label=\"");
        put_label(text, drawing, drawing->nodes[i].name);
        iso_text_put(text, "\", tooltip=\"");
        put_label(text, drawing, drawing->nodes[i].location);
        iso_text_put(text, "\"];\n");
    }
    for (uint32_t i = 0; i < drawing->edge_count; i++) {
        const struct iso_drawing_edge *edge = &drawing->edges[i];
        put_number(text, "  n", edge->from);
        put_number(text, " -> n", edge->to);
        iso_text_put(text, " [label=\"");
        put_label(text, drawing, edge->label);
        iso_text_put(text, !strcmp(edge->type, "rw") || !strcmp(edge->type, "missed")
                               ? "\", style=dashed];\n"
                               : "\"];\n");
    }
    if (drawing->left_out)
        iso_text_format(text, "  label=\"%" PRIu64 " more not drawn\";\n", drawing->left_out);
    iso_text_put(text, "}\n");
}
