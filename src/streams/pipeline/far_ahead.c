/* Timestamps far above all others: a clock that jumped, timestamps of two kinds in one stream, or a
 * forged promise.
 *
 * How long a year is follows from the watermark itself: in every unit and packing below, wall
 * clocks of the years 2005 to 2085 fill a range of their own. Logical clocks that only count know
 * no years, and nothing is far from them.
 *
 * A record that lies far ahead makes nobody else late. A watermark does: all that arrives after it.
 * One that no clock explains is refused: one that lies further above every timestamp before it than
 * --max-ahead says. Where that says nothing: a year, if those are a wall clock's, else 2^32 times
 * the largest of them, or of 2^16; and 2^63, since no database hands out such timestamps, which is
 * all that applies before a timestamp arrived, and beside change streams, where watermarks may
 * count something else. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

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
        if (timestamp / units[i].per_second >= SECONDS_OF_2005 &&
            timestamp / units[i].per_second < SECONDS_OF_2085)
            return units[i].per_second * SECONDS_OF_YEAR;
    return 0;
}

static void take_far_ahead(struct iso_pipeline *pipeline, uint64_t timestamp, uint64_t origin)
{
    struct iso_pipeline_stats *stats = &pipeline->stats;
    struct input *state = pipeline_input(pipeline, iso_origin_input(origin));
    stats->far_ahead++;
    if (!state->far_ahead && pipeline->options.on_far_ahead)
        pipeline->options.on_far_ahead(pipeline->options.context,
                                       &pipeline->inputs.names.list[iso_origin_input(origin)],
                                       iso_origin_offset(origin), timestamp, stats->watermark);
    state->far_ahead = true;
}

void pipeline_note_far_ahead(struct iso_pipeline *pipeline, uint64_t timestamp, uint64_t origin)
{
    if (pipeline->clock.year && timestamp > pipeline->stats.watermark &&
        timestamp - pipeline->stats.watermark >= pipeline->clock.year)
        take_far_ahead(pipeline, timestamp, origin);
}

void pipeline_note_far_ahead_all(struct iso_pipeline *pipeline, uint32_t first, uint32_t end)
{
    const struct iso_history *block = &pipeline->batch.events.block;
    assert(first <= end && end <= block->txns.count);
    for (uint32_t t = first; pipeline->clock.year && t < end; t++)
        pipeline_note_far_ahead(pipeline,
                                block->txns.cts[t] > block->txns.sts[t] ? block->txns.cts[t]
                                                                        : block->txns.sts[t],
                                block->txns.origin[t]);
}

void pipeline_set_year(struct iso_pipeline *pipeline)
{
    pipeline->clock.year = year_at(pipeline->stats.watermark);
}

/* ---- watermarks ---- */

/* NEAR_BITS: so small a part of a timestamp is less than a year of every wall clock. */
enum { LEAST_COUNTED_BITS = 16, JUMP_BITS = 32, NEAR_BITS = 7, FAR_IN_A_ROW = 64 };
#define NO_CLOCK (UINT64_C(1) << 63)

static uint64_t sum(uint64_t one, uint64_t other)
{
    return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

/* The highest watermark that what arrived explains. */
static uint64_t explained(const struct iso_pipeline *pipeline)
{
    uint64_t highest = pipeline->clock.highest, year = year_at(highest);
    if (pipeline->options.max_ahead)
        return highest > ISO_AION_START ? sum(highest, pipeline->options.max_ahead) : UINT64_MAX;
    if (highest >= NO_CLOCK)
        return UINT64_MAX;
    if (highest <= ISO_AION_START || pipeline->join)
        return NO_CLOCK - 1;
    uint64_t counted = highest >> LEAST_COUNTED_BITS ? highest : UINT64_C(1) << LEAST_COUNTED_BITS;
    uint64_t counter = counted >> (63 - JUMP_BITS) ? NO_CLOCK - 1 : counted << JUMP_BITS;
    return year ? sum(highest, year) : counter;
}

bool pipeline_is_explained(const struct iso_pipeline *pipeline, uint64_t watermark, char *reason,
                           size_t size)
{
    uint64_t most = explained(pipeline);
    if (watermark <= most)
        return true;
    snprintf(reason, size,
             "watermark %" PRIu64
             " would make all that follows late, and nothing explains it: the latest timestamp "
             "before it is %" PRIu64 ", so that at most %" PRIu64 " was expected (--max-ahead)",
             watermark, pipeline->clock.highest, most);
    return false;
}

/* A record that lies too far ahead shows nothing of where the clock stands, unless it is one of
 * many in a row. */
static void note_far(struct iso_pipeline *pipeline, uint64_t timestamp)
{
    assert(timestamp > pipeline->clock.highest);
    pipeline->clock.beyond++;
    if (timestamp <= explained(pipeline) || pipeline->clock.beyond == FAR_IN_A_ROW) {
        pipeline->clock.highest = timestamp;
        pipeline->clock.beyond = 0;
    }
}

void pipeline_note_timestamp(struct iso_pipeline *pipeline, uint64_t timestamp)
{
    uint64_t highest = pipeline->clock.highest,
             near = pipeline->options.max_ahead ? 0 : highest >> NEAR_BITS;
    if (timestamp > highest && timestamp - highest > near) {
        note_far(pipeline, timestamp);
        return;
    }
    pipeline->clock.highest = timestamp > highest ? timestamp : highest;
    pipeline->clock.beyond = 0;
}

void pipeline_note_timestamps(struct iso_pipeline *pipeline, uint32_t first, uint32_t end)
{
    const struct iso_history *block = &pipeline->batch.events.block;
    assert(first <= end && end <= block->txns.count);
    for (uint32_t t = first; t < end; t++) {
        uint64_t sts = block->txns.flags[t] & ISO_HAS_STS ? block->txns.sts[t] : 0;
        uint64_t cts = block->txns.flags[t] & ISO_HAS_CTS ? block->txns.cts[t] : 0;
        pipeline_note_timestamp(pipeline, sts > cts ? sts : cts);
    }
}
