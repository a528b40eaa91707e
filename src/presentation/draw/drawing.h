/* A graph of the transactions that violations involve, and what drew them together. Cycles come
 * first; what would make it larger than ISO_DRAWING_NODES is left out and counted.
 *
 * Written as DOT, for graphviz, or as SVG with a layout of our own. Ownership: a drawing owns its
 * texts and keeps nothing else. Threads: one at a time.
 */
#pragma once

#include "explain/argument.h"
#include "bytes/output.h"

enum { ISO_DRAWING_NODES = 200, ISO_DRAWING_EDGES = 1000 };

struct iso_drawing_node {
    iso_atom tid;
    uint32_t name, location; /* "T1" or "9"; "session 2, h.jsonl:7": offsets in `text` */
};

struct iso_drawing_edge {
    uint32_t from, to;
    char type[8];
    uint32_t label;
};

struct iso_drawing {
    struct iso_text text; /* NUL-terminated pieces */
    uint32_t node_count, edge_count;
    struct iso_drawing_node nodes[ISO_DRAWING_NODES];
    struct iso_drawing_edge edges[ISO_DRAWING_EDGES];
    uint64_t left_out; /* violations */
};

void iso_drawing_init(struct iso_drawing *drawing);
void iso_drawing_release(struct iso_drawing *drawing);

/* Adds one node, one edge between two of them, if there is room; nodes are numbered as they come.
 * `type`: "wr", "ww", "rw", or another word of at most 7 letters. */
void iso_drawing_put_node(struct iso_drawing *drawing, const char *name, const char *location);
void iso_drawing_put_edge(struct iso_drawing *drawing, uint32_t from, uint32_t to, const char *type,
                          const char *label);

/* Adds an argument's transactions and edges; false, and nothing, if there is no more room. */
bool iso_drawing_add(struct iso_drawing *drawing, const struct iso_argument *argument);

/* Everything that claims say, cycles first. */
void iso_drawing_add_all(struct iso_drawing *drawing, const struct iso_facts *facts,
                         enum iso_wall wall);

void iso_drawing_dot(const struct iso_drawing *drawing, struct iso_text *text);

/* An <svg> element. `is_alone`: a file of its own, with its style; else the page has it
 * (iso_drawing_style). */
void iso_drawing_svg(const struct iso_drawing *drawing, bool is_alone, struct iso_text *text);

/* The rules for drawings as CSS, light and dark. */
extern const char iso_drawing_style[];
