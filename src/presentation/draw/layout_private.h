/* Steps of the layout. Private to draw. */
#pragma once

#include "draw/layout.h"

#define LAYOUT_NONE UINT32_MAX

/* One item of a layer: a node, an edge's label, or a point where an edge passes. */
struct layout_item {
    uint32_t node, edge; /* LAYOUT_NONE: not one */
    uint32_t layer, rank;
    double width, height, x, y;
};

/* Items that an edge joins, the upper one in the layer just above the lower one's. */
struct layout_link {
    uint32_t upper, lower;
};

/* One part that hangs together. */
struct layout_part {
    struct iso_layout *layout;
    const bool *turned; /* by edge */
    uint32_t item_count, item_capacity;
    struct layout_item *items;
    uint32_t link_count, link_capacity;
    struct layout_link *links;
    uint32_t layer_count;
    uint32_t *first_of_layer; /* layer_count + 1 of them, into `order` */
    uint32_t *order;          /* items by layer and rank */
    uint32_t
        *chain_of_edge; /* by edge: its first item below its upper node; the next ones follow it */
    uint32_t *item_of_node;
    double width, height;
};

/* Orders each layer, and gives items their x and y. */
void layout_order(struct layout_part *part);
void layout_place(struct layout_part *part);
