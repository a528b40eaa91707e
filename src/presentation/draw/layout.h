/* Where nodes and edges of a small directed graph go: a layered layout (Sugiyama, Tagawa and Toda,
 * 1981).
 *
 * Edges that would lead back up are turned round; nodes go to layers by the longest path; what is
 * in a layer is ordered by the mean of its neighbours, in sweeps down and up; then each is moved
 * below or above its neighbours as far as those beside it allow. Every edge's label is an item of a
 * layer of its own between two layers of nodes, and an edge over several layers has a narrow item
 * in each: so nothing overlaps, whatever the order. Parts that hang together are laid out by
 * themselves and put in rows like words. Units are pixels, y grows downwards. Deterministic. For
 * hundreds of nodes, not for thousands. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct iso_layout_point {
    double x, y;
};

struct iso_layout_node {
    double width, height; /* given */
    double x, y;          /* found: its centre */
};

struct iso_layout_edge {
    uint32_t from, to;                 /* given; not the same */
    double label_width, label_height;  /* given */
    struct iso_layout_point label;     /* found: its centre */
    uint32_t first_point, point_count; /* found: in the layout's column, from `from` to `to`; the
                                        * first and the last lie on the borders of nodes */
};

struct iso_layout {
    uint32_t node_count, edge_count;
    struct iso_layout_node *nodes;
    struct iso_layout_edge *edges;
    uint32_t point_count, point_capacity;
    struct iso_layout_point *points;
    double width, height; /* found */
};

/* Allocates the columns; the caller fills in what is given. */
void iso_layout_init(struct iso_layout *layout, uint32_t nodes, uint32_t edges);
void iso_layout_release(struct iso_layout *layout);

/* `wide`: how wide rows of parts may become, if each part is narrower itself. */
void iso_layout_run(struct iso_layout *layout, double wide);
