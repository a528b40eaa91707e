/* Timestamps far above the watermark: a clock that jumped, or timestamps of two kinds in one stream.
 *
 * How long a year is follows from the watermark itself: in every unit and packing below, wall clocks of the years 2005
 * to 2085 fill a range of their own. Logical clocks that only count know no years, and nothing is far from them. */
#include "pipeline/pipeline_private.h"

enum { SECONDS_OF_YEAR = 31556952 };
#define SECONDS_OF_2005 UINT64_C(1104537600)
#define SECONDS_OF_2085 UINT64_C(3629059200)

static const struct {
    uint64_t per_second;
} units[] = {
    {1},                       /* seconds */
    {1000},                    /* milliseconds */
    {1000000},                 /* microseconds */
    {UINT64_C(1000) << 18},    /* TiDB: milliseconds and 18 bits of a counter */
    {1000000000},              /* nanoseconds */
    {UINT64_C(1000000) << 12}, /* YugabyteDB: microseconds and 12 bits of a counter */
};

/* A year in the units of the clock that shows `timestamp`; 0: no wall clock. */
static uint64_t year_at(uint64_t timestamp)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (timestamp / units[i].per_second >= SECONDS_OF_2005 && timestamp / units[i].per_second < SECONDS_OF_2085)
            return units[i].per_second * SECONDS_OF_YEAR;
    return 0;
}

static void take_far_ahead(struct iso_pipeline *pipeline, uint64_t timestamp, uint64_t origin)
{
    struct iso_pipeline_stats *stats = &pipeline->stats;
    struct input *state = pipeline_input(pipeline, iso_origin_input(origin));
    stats->far_ahead++;
    if (!state->far_ahead && pipeline->options.on_far_ahead)
        pipeline->options.on_far_ahead(pipeline->options.context, &pipeline->inputs.list[iso_origin_input(origin)],
                                       iso_origin_place(origin), timestamp, stats->watermark);
    state->far_ahead = true;
}

void pipeline_look_ahead(struct iso_pipeline *pipeline, uint64_t timestamp, uint64_t origin)
{
    if (pipeline->year && timestamp > pipeline->stats.watermark &&
        timestamp - pipeline->stats.watermark >= pipeline->year)
        take_far_ahead(pipeline, timestamp, origin);
}

void pipeline_look_ahead_all(struct iso_pipeline *pipeline, uint32_t first, uint32_t end)
{
    const struct iso_history *block = &pipeline->events.block;
    for (uint32_t t = first; pipeline->year && t < end; t++)
        pipeline_look_ahead(pipeline, block->cts[t] > block->sts[t] ? block->cts[t] : block->sts[t], block->origin[t]);
}

void pipeline_set_year(struct iso_pipeline *pipeline)
{
    pipeline->year = year_at(pipeline->stats.watermark);
}
