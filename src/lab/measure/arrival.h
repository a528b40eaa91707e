/* Arrivals: when, and so in which order, transactions that are ready at a steady rate reach a
 * checker, each delayed on its own way by a normally distributed time.
 *
 * A simulation in microseconds from the start; the same seed gives the same arrivals. Threads: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct iso_arrival {
    uint64_t microseconds;
    uint32_t number; /* of the transaction, in the order in which they were ready */
};

struct iso_arrival_options {
    double rate;             /* transactions a second, above 0 */
    double delay, deviation; /* milliseconds; a delay below 0 counts as none */
    uint64_t seed;
};

/* Fills in `count` arrivals, the earliest first; equal times in the order of their numbers. */
void iso_arrivals_draw(const struct iso_arrival_options *options, struct iso_arrival *arrivals,
                       size_t count);
