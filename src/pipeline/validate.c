/* Whether the pipeline's clocks, watermarks and promises are what its files take them for: run in builds that validate
 * (ISO_VALIDATE), after each batch. */
#include <assert.h>

#include "pipeline/pipeline_private.h"

#ifdef ISO_VALIDATE

/* A staircase rises in both directions, from what it has reached on. */
static void validate_stairs(const struct stairs *stairs)
{
    assert(stairs->first <= stairs->count && stairs->count <= stairs->capacity);
    for (uint32_t i = stairs->first; i < stairs->count; i++) {
        assert(stairs->list[i].value > stairs->reached);
        assert(i == stairs->first || stairs->list[i].value > stairs->list[i - 1].value);
        assert(i == stairs->first || stairs->list[i].time > stairs->list[i - 1].time);
    }
}

static void validate_inputs(const struct iso_pipeline *pipeline)
{
    for (uint32_t i = 0; i < pipeline->inputs.count; i++) {
        const struct input *state = &pipeline->inputs.list[i];
        assert(!state->has_watermark || state->counts);
        assert(!state->idle || state->counts || state->takes_part);
        assert(!state->is_change_stream || pipeline->join);
    }
}

void pipeline_validate_clocks(const struct iso_pipeline *pipeline)
{
    assert(pipeline->stats.has_watermark || !pipeline->stats.watermark);
    assert(!pipeline->clock.year || (!pipeline->join && pipeline->stats.has_watermark));
    validate_stairs(&pipeline->grace.promise);
    validate_inputs(pipeline);
}
#endif
