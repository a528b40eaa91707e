#include "measure/arrival.h"

#include <math.h>
#include <stdlib.h>

#include "base/normal.h"
#include "base/order.h"

ISO_ORDER_BY_TWO(compare, struct iso_arrival, microseconds, number)

void iso_arrivals_draw(const struct iso_arrival_options *options, struct iso_arrival *arrivals,
                       size_t count)
{
    struct iso_rng rng;
    iso_rng_seed(&rng, options->seed);
    for (size_t i = 0; i < count; i++) {
        double delay = options->delay + iso_rng_normal(&rng) * options->deviation;
        double time = (double)i * 1e6 / options->rate + (delay > 0 ? delay * 1e3 : 0);
        arrivals[i] = (struct iso_arrival){(uint64_t)llround(time), (uint32_t)i};
    }
    qsort(arrivals, count, sizeof *arrivals, compare);
}
