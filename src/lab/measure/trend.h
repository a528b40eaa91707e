/* Whether a figure that was sampled over time grows: its slope, and how far the slope may be
 * trusted.
 *
 * A run begins with a warm-up, which the samples themselves tell (White's rule, marginal standard
 * errors: what comes before is left out as long as that makes the mean of the rest more certain),
 * at most half of them. The slope is Theil and Sen's, the median of the slopes between any two
 * samples, which a third of wild ones does not move; its interval of 95% follows from Kendall's
 * count of pairs, widened where samples that follow each other are alike (by the first
 * autocorrelation of what lies off the line).
 *
 * Threads: any.
 */
#pragma once

#include <stddef.h>

struct iso_sample_point {
    double time, value;
};

struct iso_trend {
    size_t warm_up;     /* samples that were left out at the front */
    double level;       /* median of the others */
    double slope;       /* by unit of time; NAN: there are fewer than ISO_TREND_LEAST */
    double low, high;   /* it lies between these, with 95% */
    double correlation; /* of neighbours, 0 if it is below */
};

enum { ISO_TREND_LEAST = 10 };

/* The trend of samples, which stand in the order of their times. */
struct iso_trend iso_trend_of(const struct iso_sample_point *points, size_t count);

/* Medians of `stretches` equal stretches of the time from the first sample to the last; how many of
 * them have samples. A disturbance that is shorter than half of a stretch leaves no trace. */
size_t iso_trend_medians(const struct iso_sample_point *points, size_t count,
                         struct iso_sample_point *medians, size_t stretches);
