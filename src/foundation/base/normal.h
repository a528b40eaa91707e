/* Normally distributed random numbers: the same for a seed wherever log and cos are correctly
 * rounded or nearly so, which is why they stay out of base/rng.h. Threads: one each. */
#pragma once

#include "base/rng.h"

/* Mean 0, deviation 1. Takes two numbers of the generator (Box and Muller's transform). */
double iso_rng_normal(struct iso_rng *rng);
