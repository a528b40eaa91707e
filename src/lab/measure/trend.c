#include "measure/trend.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double middle(const double *sorted, size_t count)
{
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

size_t iso_trend_medians(const struct iso_sample_point *points, size_t count,
                         struct iso_sample_point *medians, size_t stretches)
{
    size_t kept = 0;
    double *values = iso_allocate(count * sizeof *values);
    double start = count ? points[0].time : 0, span = count ? points[count - 1].time - start : 0;
    for (size_t i = 0, stretch = 0; i < count && span > 0; stretch++) {
        double end = start + span * (double)(stretch + 1) / (double)stretches;
        size_t here = 0;
        for (; i < count && (points[i].time < end || stretch + 1 >= stretches); i++)
            values[here++] = points[i].value;
        if (!here)
            continue;
        qsort(values, here, sizeof *values, compare);
        medians[kept++] =
            (struct iso_sample_point){end - span / (double)stretches / 2, middle(values, here)};
    }
    iso_free(values);
    return kept;
}

/* How many samples at the front to leave out: where the variance of the rest's mean is least. */
static size_t find_warm_up(const struct iso_sample_point *points, size_t count)
{
    size_t best = 0;
    double least = INFINITY, sum = 0, squares = 0, shift = count ? points[count - 1].value : 0;
    for (size_t first = count; first-- > 0;) {
        double value = points[first].value - shift, rest = (double)(count - first);
        sum += value;
        squares += value * value;
        double error = (squares - sum * sum / rest) / (rest * rest);
        if (first <= count / 2 && error <= least) {
            least = error;
            best = first;
        }
    }
    return best;
}

/* How far the deviations of neighbouring samples from the line agree: their correlation. */
static double find_correlation(const struct iso_sample_point *points, size_t count,
                               const struct iso_trend *trend)
{
    double *off = iso_allocate(count * sizeof *off), mean = 0, squares = 0, products = 0;
    for (size_t i = 0; i < count; i++) {
        off[i] = points[i].value - trend->slope * points[i].time;
        mean += off[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        squares += (off[i] - mean) * (off[i] - mean);
        products += i ? (off[i] - mean) * (off[i - 1] - mean) : 0;
    }
    iso_free(off);
    return squares > 0 && products > 0 ? products / squares : 0;
}

/* The slopes between any two, sorted; the caller frees them. */
static double *all_slopes(const struct iso_sample_point *points, size_t count, size_t *pairs)
{
    double *slopes = iso_allocate(count * count / 2 * sizeof *slopes);
    *pairs = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            if (points[j].time > points[i].time)
                slopes[(*pairs)++] =
                    (points[j].value - points[i].value) / (points[j].time - points[i].time);
        }
    }
    qsort(slopes, *pairs, sizeof *slopes, compare);
    return slopes;
}

struct iso_trend iso_trend_of(const struct iso_sample_point *points, size_t count)
{
    const double wide = 1.959964; /* standard deviations: 95% */
    struct iso_trend trend = {
        .warm_up = find_warm_up(points, count), .slope = NAN, .low = NAN, .high = NAN};
    size_t pairs;
    points += trend.warm_up;
    count -= trend.warm_up;
    if (count < ISO_TREND_LEAST)
        return trend;
    double *values = iso_allocate(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = points[i].value;
    qsort(values, count, sizeof *values, compare);
    trend.level = middle(values, count);
    iso_free(values);
    double *slopes = all_slopes(points, count, &pairs);
    if (pairs) {
        double n = (double)count;
        trend.slope = middle(slopes, pairs);
        trend.correlation = find_correlation(points, count, &trend);
        double alike = (1 + trend.correlation) / (1 - trend.correlation);
        double reach = wide * sqrt(n * (n - 1) * (2 * n + 5) / 18 * alike) / 2,
               half = (double)(pairs - 1) / 2;
        trend.low = slopes[(size_t)fmax(floor(half - reach), 0)];
        trend.high = slopes[(size_t)fmin(ceil(half + reach), (double)(pairs - 1))];
    }
    iso_free(slopes);
    return trend;
}
