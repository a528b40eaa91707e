#include "measure/percentile.h"

/* Below 32 every value has its bucket; above, each power of two is cut into 32. */
static uint32_t bucket_of(uint64_t value)
{
    if (value < 32)
        return (uint32_t)value;
    uint32_t power = 63 - (uint32_t)__builtin_clzll(value);
    return (power - 4) * 32 + (uint32_t)(value >> (power - 5) & 31);
}

static uint64_t upper_end(uint32_t bucket)
{
    if (bucket < 32)
        return bucket;
    uint32_t power = bucket / 32 + 4;
    uint64_t width = (uint64_t)1 << (power - 5);
    return ((uint64_t)1 << power) + (bucket % 32) * width + (width - 1);
}

void iso_histogram_add(struct iso_histogram *histogram, uint64_t value, uint64_t times)
{
    histogram->buckets[bucket_of(value)] += times;
    histogram->count += times;
    if (value > histogram->largest)
        histogram->largest = value;
}

uint64_t iso_histogram_percentile(const struct iso_histogram *histogram, double share)
{
    uint64_t wanted = (uint64_t)(share * (double)histogram->count), seen = 0;
    if (!histogram->count)
        return 0;
    if (wanted < 1)
        wanted = 1;
    for (uint32_t i = 0; i < ISO_HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= wanted)
            return upper_end(i) < histogram->largest ? upper_end(i) : histogram->largest;
    }
    return histogram->largest;
}
