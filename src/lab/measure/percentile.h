/* Percentiles of many durations in constant memory: a histogram with buckets that grow by 1/32, so
 * that a percentile is exact to 3.2%. Microseconds, nanoseconds: the unit is the caller's. Threads:
 * one at a time; merge to join. */
#pragma once

#include <stdint.h>
#include <stddef.h>

enum { ISO_HISTOGRAM_BUCKETS = 32 * 60 };

struct iso_histogram {
    uint64_t count, largest;
    uint64_t buckets[ISO_HISTOGRAM_BUCKETS];
};

void iso_histogram_add(struct iso_histogram *histogram, uint64_t value, uint64_t times);

/* The value that `share` (0 to 1) of all values do not exceed; 0 if there are none. */
uint64_t iso_histogram_percentile(const struct iso_histogram *histogram, double share);

/* The median of a few measurements: one that was disturbed does not move it. Threads: any. */
/* The median of the numbers that are not NAN, which are sorted in place; NAN if there are none. The
 * mean of the two in the middle where their count is even. */
double iso_median(double *numbers, size_t count);
