/* Which key an operation is on: uniform, zipf (the i-th key in proportion to 1/i), or a hot spot
 * (80% of the operations on the first 20% of the keys).
 *
 * Zipf draws in constant time from an alias table (Walker; filled as by Vose): key i keeps its own
 * column with a probability, else the draw goes to its alias. All in integers, so that the same
 * seed gives the same keys everywhere.
 */
#pragma once

#include "base/rng.h"

enum iso_distribution { ISO_UNIFORM, ISO_ZIPF, ISO_HOTSPOT };

struct iso_draw {
    enum iso_distribution distribution;
    uint32_t keys, hot;
    uint64_t total;  /* zipf: a column is `total` high, */
    uint64_t *kept;  /* of which so much is the key's own, */
    uint32_t *alias; /* and the rest this key's */
};

/* `keys` at least 1. */
void iso_draw_init(struct iso_draw *draw, enum iso_distribution distribution, uint32_t keys);
void iso_draw_release(struct iso_draw *draw);
uint32_t iso_draw_key(const struct iso_draw *draw, struct iso_rng *rng);
