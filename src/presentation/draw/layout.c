#include "base/memory.h"
#include "draw/layout_private.h"

enum { GAP_BETWEEN_PARTS = 40 };

void iso_layout_init(struct iso_layout *layout, uint32_t nodes, uint32_t edges)
{
    *layout = (struct iso_layout){.node_count = nodes, .edge_count = edges};
    layout->nodes = iso_allocate_zeroed(nodes + 1u, sizeof *layout->nodes);
    layout->edges = iso_allocate_zeroed(edges + 1u, sizeof *layout->edges);
}

void iso_layout_release(struct iso_layout *layout)
{
    ISO_FREE_ALL(layout->nodes, layout->edges, layout->points);
    *layout = (struct iso_layout){.node_count = 0};
}

/* ---- layers ---- */

/* States of a node in the search for cycles. */
enum { NEW, OPEN, DONE };

struct plan {
    struct iso_layout *layout;
    uint8_t *state;
    bool *turned;    /* by edge: it leads back to an open node */
    uint32_t *layer; /* by node */
    uint32_t *part;  /* by node: the smallest node that hangs together with it */
};

/* At most as deep as there are nodes, of which there are hundreds. */
static void visit_node(struct plan *plan, uint32_t node)
{
    const struct iso_layout *layout = plan->layout;
    plan->state[node] = OPEN;
    for (uint32_t e = 0; e < layout->edge_count; e++) {
        if (layout->edges[e].from != node)
            continue;
        plan->turned[e] = plan->state[layout->edges[e].to] == OPEN;
        if (plan->state[layout->edges[e].to] == NEW)
            visit_node(plan, layout->edges[e].to);
    }
    plan->state[node] = DONE;
}

static uint32_t upper_of(const struct plan *plan, uint32_t edge)
{
    return plan->turned[edge] ? plan->layout->edges[edge].to : plan->layout->edges[edge].from;
}

static uint32_t lower_of(const struct plan *plan, uint32_t edge)
{
    return plan->turned[edge] ? plan->layout->edges[edge].from : plan->layout->edges[edge].to;
}

/* Below everything that leads to it, nodes in even layers; and what hangs together. */
static void choose_layers(struct plan *plan)
{
    const struct iso_layout *layout = plan->layout;
    bool changed = true;
    for (uint32_t n = 0; n < layout->node_count; n++)
        plan->part[n] = n;
    while (changed) {
        changed = false;
        for (uint32_t e = 0; e < layout->edge_count; e++) {
            uint32_t upper = upper_of(plan, e), lower = lower_of(plan, e);
            uint32_t least =
                plan->part[upper] < plan->part[lower] ? plan->part[upper] : plan->part[lower];
            changed |= plan->layer[lower] < plan->layer[upper] + 2 ||
                       plan->part[upper] != plan->part[lower];
            if (plan->layer[lower] < plan->layer[upper] + 2)
                plan->layer[lower] = plan->layer[upper] + 2;
            plan->part[upper] = plan->part[lower] = least;
        }
    }
}

/* ---- one part ---- */

static uint32_t add_item(struct layout_part *part, struct layout_item item)
{
    ISO_GROW(part->items, part->item_count, part->item_capacity);
    part->items[part->item_count] = item;
    if (item.layer >= part->layer_count)
        part->layer_count = item.layer + 1;
    return part->item_count++;
}

static void add_link(struct layout_part *part, uint32_t upper, uint32_t lower)
{
    ISO_PUSH(part->links, part->link_count, part->link_capacity,
             (struct layout_link){upper, lower});
}

/* An edge is a chain of items, one in each layer that it passes; the first is its label. */
static void add_chain(struct layout_part *part, const struct plan *plan, uint32_t edge)
{
    const struct iso_layout_edge *given = &plan->layout->edges[edge];
    uint32_t upper = upper_of(plan, edge), lower = lower_of(plan, edge);
    uint32_t above = part->item_of_node[upper];
    part->chain_of_edge[edge] = part->item_count;
    for (uint32_t layer = plan->layer[upper] + 1; layer < plan->layer[lower]; layer++) {
        bool is_label = layer == plan->layer[upper] + 1;
        uint32_t item =
            add_item(part, (struct layout_item){.node = LAYOUT_NONE,
                                                .edge = edge,
                                                .layer = layer,
                                                .width = is_label ? given->label_width : 4,
                                                .height = is_label ? given->label_height : 0});
        add_link(part, above, item);
        above = item;
    }
    add_link(part, above, part->item_of_node[lower]);
}

static void sort_by_layer(struct layout_part *part)
{
    uint32_t *at = iso_allocate_zeroed(part->layer_count + 1u, sizeof *at);
    part->first_of_layer =
        iso_allocate_zeroed(part->layer_count + 1u, sizeof *part->first_of_layer);
    part->order = iso_allocate((part->item_count + 1u) * sizeof *part->order);
    for (uint32_t i = 0; i < part->item_count; i++)
        part->first_of_layer[part->items[i].layer + 1]++;
    for (uint32_t layer = 0; layer < part->layer_count; layer++)
        part->first_of_layer[layer + 1] += part->first_of_layer[layer];
    for (uint32_t i = 0; i < part->item_count; i++) {
        struct layout_item *item = &part->items[i];
        item->rank = at[item->layer]++;
        part->order[part->first_of_layer[item->layer] + item->rank] = i;
    }
    iso_free(at);
}

static void add_point(struct iso_layout *layout, double x, double y)
{
    ISO_PUSH(layout->points, layout->point_count, layout->point_capacity,
             (struct iso_layout_point){x, y});
}

enum { PORTS_APART = 10 };

/* Where an edge leaves a node, or arrives at it: side by side in the order in which the edges
 * continue. */
static double port(const struct layout_part *part, uint32_t node, uint32_t neighbour, bool is_below)
{
    uint32_t count = 0, rank = 0;
    double x = part->items[neighbour].x, width = part->items[node].width;
    for (uint32_t l = 0; l < part->link_count; l++) {
        const struct layout_link *link = &part->links[l];
        if ((is_below ? link->upper : link->lower) != node)
            continue;
        uint32_t other = is_below ? link->lower : link->upper;
        count++;
        rank += part->items[other].x < x || (part->items[other].x == x && other < neighbour);
    }
    double step = width / (count + 1) < PORTS_APART ? width / (count + 1) : PORTS_APART;
    return part->items[node].x + (rank - (count - 1) / 2.0) * step;
}

/* The edge's points, downwards, and turned round if the edge was. */
static void trace(struct layout_part *part, const struct plan *plan, uint32_t edge,
                  struct iso_layout_point corner)
{
    struct iso_layout *layout = part->layout;
    struct iso_layout_edge *found = &layout->edges[edge];
    uint32_t upper_item = part->item_of_node[upper_of(plan, edge)],
             first = part->chain_of_edge[edge];
    uint32_t lower_item = part->item_of_node[lower_of(plan, edge)];
    const struct layout_item *upper = &part->items[upper_item], *lower = &part->items[lower_item];
    const struct layout_item *chain = &part->items[first];
    uint32_t length = lower->layer - upper->layer - 1;
    found->first_point = layout->point_count;
    found->label = (struct iso_layout_point){corner.x + chain->x, corner.y + chain->y};
    add_point(layout, corner.x + port(part, upper_item, first, true),
              corner.y + upper->y + upper->height / 2);
    for (uint32_t i = 0; i < length; i++) { /* straight through each layer */
        add_point(layout, corner.x + chain[i].x, corner.y + chain[i].y - chain[i].height / 2);
        add_point(layout, corner.x + chain[i].x, corner.y + chain[i].y + chain[i].height / 2);
    }
    add_point(layout, corner.x + port(part, lower_item, first + length - 1, false),
              corner.y + lower->y - lower->height / 2);
    found->point_count = layout->point_count - found->first_point;
    for (uint32_t i = 0; plan->turned[edge] && i < found->point_count / 2; i++) {
        struct iso_layout_point *points = layout->points + found->first_point, kept = points[i];
        points[i] = points[found->point_count - 1 - i];
        points[found->point_count - 1 - i] = kept;
    }
}

static bool is_in(const struct plan *plan, uint32_t edge, uint32_t number)
{
    return plan->part[plan->layout->edges[edge].from] == number;
}

static void make_part(struct layout_part *part, const struct plan *plan, uint32_t number)
{
    struct iso_layout *layout = plan->layout;
    *part = (struct layout_part){.layout = layout, .turned = plan->turned};
    part->item_of_node = iso_allocate((layout->node_count + 1u) * sizeof *part->item_of_node);
    part->chain_of_edge = iso_allocate((layout->edge_count + 1u) * sizeof *part->chain_of_edge);
    for (uint32_t n = 0; n < layout->node_count; n++)
        if (plan->part[n] == number)
            part->item_of_node[n] =
                add_item(part, (struct layout_item){.node = n,
                                                    .edge = LAYOUT_NONE,
                                                    .layer = plan->layer[n],
                                                    .width = layout->nodes[n].width,
                                                    .height = layout->nodes[n].height});
    for (uint32_t e = 0; e < layout->edge_count; e++)
        if (is_in(plan, e, number))
            add_chain(part, plan, e);
    sort_by_layer(part);
    layout_order(part);
    layout_place(part);
}

static void release_part(struct layout_part *part)
{
    ISO_FREE_ALL(part->items, part->links, part->first_of_layer, part->order, part->chain_of_edge,
                 part->item_of_node);
}

/* ---- the whole ---- */

/* Where the next part goes: in rows, like words. */
struct rows {
    double wide, x, y, height;
};

static struct iso_layout_point next_corner(struct rows *rows, const struct layout_part *part)
{
    if (rows->x > 0 && rows->x + part->width > rows->wide) {
        rows->y += rows->height + GAP_BETWEEN_PARTS;
        rows->x = rows->height = 0;
    }
    struct iso_layout_point corner = {rows->x, rows->y};
    rows->x += part->width + GAP_BETWEEN_PARTS;
    if (part->height > rows->height)
        rows->height = part->height;
    return corner;
}

static void lay_part(struct plan *plan, uint32_t number, struct rows *rows)
{
    struct iso_layout *layout = plan->layout;
    struct layout_part part;
    make_part(&part, plan, number);
    struct iso_layout_point corner = next_corner(rows, &part);
    for (uint32_t i = 0; i < part.item_count; i++) {
        if (part.items[i].node == LAYOUT_NONE)
            continue;
        layout->nodes[part.items[i].node].x = corner.x + part.items[i].x;
        layout->nodes[part.items[i].node].y = corner.y + part.items[i].y;
    }
    for (uint32_t e = 0; e < layout->edge_count; e++)
        if (is_in(plan, e, number))
            trace(&part, plan, e, corner);
    if (corner.x + part.width > layout->width)
        layout->width = corner.x + part.width;
    if (corner.y + part.height > layout->height)
        layout->height = corner.y + part.height;
    release_part(&part);
}

void iso_layout_run(struct iso_layout *layout, double wide)
{
    struct plan plan = {.layout = layout};
    struct rows rows = {.wide = wide};
    plan.state = iso_allocate_zeroed(layout->node_count + 1u, sizeof *plan.state);
    plan.turned = iso_allocate_zeroed(layout->edge_count + 1u, sizeof *plan.turned);
    plan.layer = iso_allocate_zeroed(layout->node_count + 1u, sizeof *plan.layer);
    plan.part = iso_allocate_zeroed(layout->node_count + 1u, sizeof *plan.part);
    for (uint32_t n = 0; n < layout->node_count; n++)
        if (plan.state[n] == NEW)
            visit_node(&plan, n);
    choose_layers(&plan);
    for (uint32_t n = 0; n < layout->node_count; n++)
        if (plan.part[n] == n)
            lay_part(&plan, n, &rows);
    ISO_FREE_ALL(plan.state, plan.turned, plan.layer, plan.part);
}
