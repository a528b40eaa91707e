/* The order within layers, and coordinates. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "draw/layout_private.h"

enum { SWEEPS = 12, GAP = 18, ROOM = 16 };

/* An item and where its neighbours would have it. */
struct wish {
    double at;
    uint32_t item, rank;
};

ISO_ORDER_BY_TWO(compare, struct wish, at, rank)

/* Sums, by item, of what `of` is of the neighbours above (or below). */
static void sum_neighbours(const struct layout_part *part, bool above,
                           double (*of)(const struct layout_item *), double *sums, uint32_t *counts)
{
    for (uint32_t i = 0; i < part->item_count; i++)
        sums[i] = counts[i] = 0;
    for (uint32_t l = 0; l < part->link_count; l++) {
        uint32_t item = above ? part->links[l].lower : part->links[l].upper;
        uint32_t neighbour = above ? part->links[l].upper : part->links[l].lower;
        sums[item] += of(&part->items[neighbour]);
        counts[item]++;
    }
}

static double rank_of(const struct layout_item *item)
{
    return item->rank;
}

static double x_of(const struct layout_item *item)
{
    return item->x;
}

static void sort_layer(struct layout_part *part, uint32_t layer, const double *sums,
                       const uint32_t *counts)
{
    uint32_t first = part->first_of_layer[layer], count = part->first_of_layer[layer + 1] - first;
    struct wish *wishes = iso_allocate((count + 1u) * sizeof *wishes);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t item = part->order[first + i];
        wishes[i] = (struct wish){counts[item] ? sums[item] / counts[item] : i, item, i};
    }
    qsort(wishes, count, sizeof *wishes, compare);
    for (uint32_t i = 0; i < count; i++) {
        part->order[first + i] = wishes[i].item;
        part->items[wishes[i].item].rank = i;
    }
    iso_free(wishes);
}

void layout_order(struct layout_part *part)
{
    double *sums = iso_allocate((part->item_count + 1u) * sizeof *sums);
    uint32_t *counts = iso_allocate((part->item_count + 1u) * sizeof *counts);
    for (uint32_t sweep = 0; sweep < SWEEPS; sweep++) {
        bool down = sweep % 2 == 0;
        for (uint32_t i = 0; i < part->layer_count; i++) {
            uint32_t layer = down ? i : part->layer_count - 1 - i;
            sum_neighbours(part, down, rank_of, sums, counts);
            sort_layer(part, layer, sums, counts);
        }
    }
    ISO_FREE_ALL(counts, sums);
}

/* ---- coordinates ---- */

static double apart(const struct layout_item *left, const struct layout_item *right)
{
    return (left->width + right->width) / 2 + GAP;
}

/* Near to the wishes, with room between: pushed to the right, and the whole back by what that moved
 * it on average. */
static void fit_layer(struct layout_part *part, uint32_t layer, const double *sums,
                      const uint32_t *counts)
{
    uint32_t first = part->first_of_layer[layer], end = part->first_of_layer[layer + 1];
    double moved = 0;
    for (uint32_t i = first; i < end; i++) {
        struct layout_item *item = &part->items[part->order[i]];
        double wish = counts && counts[part->order[i]]
                          ? sums[part->order[i]] / counts[part->order[i]]
                          : item->x;
        double least = wish;
        if (i > first) {
            const struct layout_item *left = &part->items[part->order[i - 1]];
            least = left->x + apart(left, item);
        }
        item->x = wish > least ? wish : least;
        moved += item->x - wish;
    }
    for (uint32_t i = first; i < end; i++)
        part->items[part->order[i]].x -= moved / (end - first);
}

static void spread(struct layout_part *part)
{
    double *sums = iso_allocate((part->item_count + 1u) * sizeof *sums);
    uint32_t *counts = iso_allocate((part->item_count + 1u) * sizeof *counts);
    for (uint32_t layer = 0; layer < part->layer_count; layer++)
        fit_layer(part, layer, NULL, NULL);
    for (uint32_t sweep = 0; sweep < SWEEPS; sweep++) {
        bool down = sweep % 2 == 0;
        for (uint32_t i = 0; i < part->layer_count; i++) {
            sum_neighbours(part, down, x_of, sums, counts);
            fit_layer(part, down ? i : part->layer_count - 1 - i, sums, counts);
        }
    }
    ISO_FREE_ALL(counts, sums);
}

/* From 0 on to the right. */
static void shift_to_corner(struct layout_part *part)
{
    double left = 0, right = 0;
    for (uint32_t i = 0; i < part->item_count; i++) {
        const struct layout_item *item = &part->items[i];
        double begin = item->x - item->width / 2, end = item->x + item->width / 2;
        left = !i || begin < left ? begin : left;
        right = !i || end > right ? end : right;
    }
    for (uint32_t i = 0; i < part->item_count; i++)
        part->items[i].x -= left;
    part->width = right - left;
}

void layout_place(struct layout_part *part)
{
    double y = 0;
    spread(part);
    shift_to_corner(part);
    for (uint32_t layer = 0; layer < part->layer_count; layer++) {
        double height = 0;
        for (uint32_t i = part->first_of_layer[layer]; i < part->first_of_layer[layer + 1]; i++)
            if (part->items[part->order[i]].height > height)
                height = part->items[part->order[i]].height;
        for (uint32_t i = part->first_of_layer[layer]; i < part->first_of_layer[layer + 1]; i++) {
            struct layout_item *item = &part->items[part->order[i]];
            item->y = y + height / 2;
            if (item->node == LAYOUT_NONE)
                item->height = height;
        }
        y += height + (layer + 1 < part->layer_count ? ROOM : 0);
    }
    part->height = y;
}
