/* Layouts of random graphs: nothing overlaps, edges begin and end at their nodes and pass through
 * no other. */
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>

#include "draw/layout.h"

enum { GRAPHS = 300, MOST_NODES = 40, WIDE = 900 };

struct box {
    double left, right, top, bottom;
};

static struct box box_of(double x, double y, double width, double height)
{
    return (struct box){x - width / 2, x + width / 2, y - height / 2, y + height / 2};
}

static bool overlap(const struct box *a, const struct box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

static struct box node_box(const struct iso_layout *layout, uint32_t n)
{
    const struct iso_layout_node *node = &layout->nodes[n];
    return box_of(node->x, node->y, node->width, node->height);
}

static struct box label_box(const struct iso_layout *layout, uint32_t e)
{
    const struct iso_layout_edge *edge = &layout->edges[e];
    return box_of(edge->label.x, edge->label.y, edge->label_width, edge->label_height);
}

static void assert_apart(const struct iso_layout *layout)
{
    uint32_t nodes = layout->node_count, all = nodes + layout->edge_count;
    for (uint32_t i = 0; i < all; i++) {
        struct box one = i < nodes ? node_box(layout, i) : label_box(layout, i - nodes);
        assert_true(one.left > -0.01 && one.top > -0.01);
        assert_true(one.right < layout->width + 0.01 && one.bottom < layout->height + 0.01);
        for (uint32_t j = i + 1; j < all; j++) {
            struct box other = j < nodes ? node_box(layout, j) : label_box(layout, j - nodes);
            assert_false(overlap(&one, &other));
        }
    }
}

static bool is_at_border(const struct iso_layout *layout, uint32_t n,
                         const struct iso_layout_point *point)
{
    struct box box = node_box(layout, n);
    bool at_side = fabs(point->y - box.top) < 0.01 || fabs(point->y - box.bottom) < 0.01;
    return at_side && point->x > box.left && point->x < box.right;
}

/* The place at `part` (0 to 1) of the curve from one point to the next, vertical at both. */
static struct iso_layout_point on_curve(const struct iso_layout_point *from,
                                        const struct iso_layout_point *to, double part)
{
    double rest = 1 - part, middle = (from->y + to->y) / 2;
    double a = rest * rest * rest, b = 3 * rest * rest * part, c = 3 * rest * part * part,
           d = part * part * part;
    return (struct iso_layout_point){(a + b) * from->x + (c + d) * to->x,
                                     a * from->y + (b + c) * middle + d * to->y};
}

static void assert_passes_no_node(const struct iso_layout *layout,
                                  const struct iso_layout_edge *edge)
{
    const struct iso_layout_point *points = layout->points + edge->first_point;
    for (uint32_t i = 0; i + 1 < edge->point_count; i++)
        for (int part = 1; part < 8; part++) {
            struct iso_layout_point at = on_curve(&points[i], &points[i + 1], part / 8.0);
            for (uint32_t n = 0; n < layout->node_count; n++) {
                struct box box = node_box(layout, n);
                assert_false(at.x > box.left && at.x < box.right && at.y > box.top + 0.01 &&
                             at.y < box.bottom - 0.01);
            }
        }
}

static void assert_edges(const struct iso_layout *layout)
{
    for (uint32_t e = 0; e < layout->edge_count; e++) {
        const struct iso_layout_edge *edge = &layout->edges[e];
        const struct iso_layout_point *points = layout->points + edge->first_point;
        assert_true(edge->point_count >= 4);
        assert_true(is_at_border(layout, edge->from, &points[0]));
        assert_true(is_at_border(layout, edge->to, &points[edge->point_count - 1]));
        assert_passes_no_node(layout, edge);
    }
}

static void lay_out_random(uint64_t *seed)
{
    struct iso_layout layout;
    uint32_t nodes = 1 + (uint32_t)(test_random(seed) % MOST_NODES);
    uint32_t edges = nodes > 1 ? (uint32_t)(test_random(seed) % (2 * nodes)) : 0;
    iso_layout_init(&layout, nodes, edges);
    for (uint32_t n = 0; n < nodes; n++) {
        layout.nodes[n].width = 20 + (double)(test_random(seed) % 160);
        layout.nodes[n].height = 34;
    }
    for (uint32_t e = 0; e < edges; e++) {
        layout.edges[e].from = (uint32_t)(test_random(seed) % nodes);
        layout.edges[e].to =
            (layout.edges[e].from + 1 + (uint32_t)(test_random(seed) % (nodes - 1))) % nodes;
        layout.edges[e].label_width = 10 + (double)(test_random(seed) % 150);
        layout.edges[e].label_height = 20;
    }
    iso_layout_run(&layout, WIDE);
    assert_apart(&layout);
    assert_edges(&layout);
    iso_layout_release(&layout);
}

static void random_graphs_are_laid_out(void **state)
{
    (void)state;
    uint64_t seed = 20261121;
    for (int i = 0; i < GRAPHS; i++)
        lay_out_random(&seed);
}

/* A cycle is a chain with one edge back, whose points go up. */
static void a_cycle_is_a_chain(void **state)
{
    (void)state;
    enum { LENGTH = 5 };
    struct iso_layout layout;
    iso_layout_init(&layout, LENGTH, LENGTH);
    for (uint32_t n = 0; n < LENGTH; n++) {
        layout.nodes[n].width = layout.nodes[n].height = 30;
        layout.edges[n].from = n;
        layout.edges[n].to = (n + 1) % LENGTH;
        layout.edges[n].label_width = layout.edges[n].label_height = 20;
    }
    iso_layout_run(&layout, WIDE);
    for (uint32_t n = 0; n + 1 < LENGTH; n++)
        assert_true(layout.nodes[n].y < layout.nodes[n + 1].y);
    const struct iso_layout_edge *back = &layout.edges[LENGTH - 1];
    const struct iso_layout_point *points = layout.points + back->first_point;
    assert_true(points[0].y > points[back->point_count - 1].y);
    assert_apart(&layout);
    assert_edges(&layout);
    iso_layout_release(&layout);
}

static void nothing_is_nothing(void **state)
{
    (void)state;
    struct iso_layout layout;
    iso_layout_init(&layout, 0, 0);
    iso_layout_run(&layout, WIDE);
    assert_true(layout.width == 0 && layout.height == 0);
    iso_layout_release(&layout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_are_laid_out),
        cmocka_unit_test(a_cycle_is_a_chain),
        cmocka_unit_test(nothing_is_nothing),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
