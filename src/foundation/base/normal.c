#include "base/normal.h"

#include <math.h>

/* In (0, 1). */
static double uniform(struct iso_rng *rng)
{
    return ((double)(iso_rng_next(rng) >> 11) + 0.5) / 9007199254740992.0;
}

double iso_rng_normal(struct iso_rng *rng)
{
    double radius = sqrt(-2 * log(uniform(rng)));
    return radius * cos(2 * acos(-1) * uniform(rng));
}
