/* A history in the order in which its transactions would arrive, and what is known of its future:
 * what a benchmark of the online engine feeds.
 *
 * Transactions are ready in the order of their commits, at a steady rate, and are delayed each on
 * its own way (measure/arrival.h), so that those of one session overtake each other too; each says
 * its place in its session.
 */
#pragma once

#include "benchmark/kind.h"
#include "measure/arrival.h"

struct bench_arrivals {
    struct iso_history history;   /* in the order of arrival, scalar timestamps, not finished */
    struct iso_arrival *arrivals; /* by transaction of `history` */
    uint64_t *watermark; /* by transaction: once it and those before it arrived, no later one has a
                            cts up to this */
    uint64_t *settled;   /* by transaction: the watermark from which its verdict is final */
};

/* Generates or reads the point's history; `delayed` or in the order of commits. */
enum iso_status bench_arrivals_init(struct bench_arrivals *arrivals,
                                    const struct bench_point *point, bool delayed,
                                    struct iso_error *error);
void bench_arrivals_release(struct bench_arrivals *arrivals);
