#include "generate/draw.h"

#include <string.h>

#include "base/memory.h"

/* The weight of the first key; the i-th has the i-th part. Weights times keys stay below 2^63. */
#define FIRST_WEIGHT ((uint64_t)1 << 32)

static uint64_t weight_of(uint32_t key)
{
    uint64_t weight = FIRST_WEIGHT / ((uint64_t)key + 1);
    return weight ? weight : 1;
}

/* Columns that are not full yet take what they lack from columns that hold too much. */
static void fill_columns(struct iso_draw *draw)
{
    uint32_t *poor = iso_allocate(draw->keys * sizeof *poor),
             *rich = iso_allocate(draw->keys * sizeof *rich);
    uint32_t poor_count = 0, rich_count = 0;
    for (uint32_t key = 0; key < draw->keys; key++) {
        draw->total += weight_of(key);
        draw->alias[key] = key;
    }
    for (uint32_t key = 0; key < draw->keys; key++) {
        draw->kept[key] = weight_of(key) * draw->keys;
        if (draw->kept[key] < draw->total)
            poor[poor_count++] = key;
        else
            rich[rich_count++] = key;
    }
    while (poor_count && rich_count) {
        uint32_t taker = poor[--poor_count], giver = rich[rich_count - 1];
        draw->alias[taker] = giver;
        draw->kept[giver] -= draw->total - draw->kept[taker];
        if (draw->kept[giver] < draw->total) {
            rich_count--;
            poor[poor_count++] = giver;
        }
    }
    ISO_FREE_ALL(poor, rich);
}

void iso_draw_init(struct iso_draw *draw, enum iso_distribution distribution, uint32_t keys)
{
    memset(draw, 0, sizeof *draw);
    draw->distribution = distribution;
    draw->keys = keys;
    draw->hot = keys / 5 ? keys / 5 : 1;
    if (distribution != ISO_ZIPF)
        return;
    draw->kept = iso_allocate(keys * sizeof *draw->kept);
    draw->alias = iso_allocate(keys * sizeof *draw->alias);
    fill_columns(draw);
}

void iso_draw_release(struct iso_draw *draw)
{
    ISO_FREE_ALL(draw->kept, draw->alias);
    memset(draw, 0, sizeof *draw);
}

uint32_t iso_draw_key(const struct iso_draw *draw, struct iso_rng *rng)
{
    uint32_t key;
    switch (draw->distribution) {
    case ISO_ZIPF:
        key = (uint32_t)iso_rng_below(rng, draw->keys);
        return iso_rng_below(rng, draw->total) < draw->kept[key] ? key : draw->alias[key];
    case ISO_HOTSPOT:
        if (draw->hot == draw->keys || iso_rng_below(rng, 5) < 4)
            return (uint32_t)iso_rng_below(rng, draw->hot);
        return draw->hot + (uint32_t)iso_rng_below(rng, draw->keys - draw->hot);
    default:
        return (uint32_t)iso_rng_below(rng, draw->keys);
    }
}
