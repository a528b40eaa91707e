/* Watermarks: one an input, the least of them for the engine. */
#include "base/memory.h"
#include "pipeline/pipeline_private.h"

struct input *pipeline_input(struct iso_pipeline *pipeline, uint32_t input)
{
    if (input >= pipeline->state_count) {
        uint32_t count = (uint32_t)iso_column_capacity(pipeline->state_count, input + 1);
        pipeline->states = iso_reallocate(pipeline->states, count * sizeof *pipeline->states);
        for (uint32_t i = pipeline->state_count; i < count; i++)
            pipeline->states[i] = (struct input){0};
        pipeline->state_count = count;
    }
    return &pipeline->states[input];
}

/* Whether the pipeline's watermark waits for others and not for this one. */
static bool leads(const struct iso_pipeline *pipeline, const struct input *state)
{
    return state->has_watermark && (!pipeline->stats.has_watermark || state->watermark > pipeline->stats.watermark);
}

uint64_t iso_pipeline_ahead(const struct iso_pipeline *pipeline, uint32_t input)
{
    if (input >= pipeline->state_count || !leads(pipeline, &pipeline->states[input]))
        return 0;
    return pipeline->states[input].ahead;
}

struct iso_pipeline_input iso_pipeline_input(const struct iso_pipeline *pipeline, uint32_t input)
{
    if (input >= pipeline->state_count)
        return (struct iso_pipeline_input){.watermark = 0};
    const struct input *state = &pipeline->states[input];
    return (struct iso_pipeline_input){state->watermark, state->has_watermark, state->idle};
}

void iso_pipeline_declare(struct iso_pipeline *pipeline, uint32_t input, uint64_t now)
{
    struct input *state = pipeline_input(pipeline, input);
    if (pipeline_is_change_stream(pipeline, input))
        iso_join_declare(pipeline->join, input);
    if (state->counts || !pipeline_has_watermarks(pipeline, input))
        return;
    state->counts = true;
    state->latest = now;
}

void pipeline_arrived(struct iso_pipeline *pipeline, uint32_t input, uint64_t now)
{
    struct input *state = pipeline_input(pipeline, input);
    state->counts = pipeline_has_watermarks(pipeline, input);
    state->latest = now;
    state->ahead = leads(pipeline, state) ? state->ahead + 1 : 0;
    if (!state->idle)
        return;
    state->idle = false;
    if (pipeline->options.on_idle)
        pipeline->options.on_idle(pipeline->options.context, &pipeline->inputs.list[input], false);
}

static bool all_idle(const struct iso_pipeline *pipeline)
{
    for (uint32_t i = 0; i < pipeline->state_count; i++)
        if (pipeline->states[i].counts && !pipeline->states[i].idle)
            return false;
    return true;
}

/* The least watermark of the inputs that are waited for; false if one of them has none yet, or there is no input. If
 * all are idle, what they promised before still holds: then it is the least of those that have one. */
static bool least(const struct iso_pipeline *pipeline, uint64_t *watermark)
{
    bool any = false, idle = all_idle(pipeline);
    *watermark = UINT64_MAX;
    for (uint32_t i = 0; i < pipeline->state_count; i++) {
        const struct input *state = &pipeline->states[i];
        if (!state->counts || state->idle != idle || (idle && !state->has_watermark))
            continue;
        if (!state->has_watermark)
            return false;
        any = true;
        *watermark = state->watermark < *watermark ? state->watermark : *watermark;
    }
    return any;
}

static void advance(struct iso_pipeline *pipeline, uint64_t now)
{
    uint64_t watermark;
    if (!least(pipeline, &watermark) || (pipeline->stats.has_watermark && watermark <= pipeline->stats.watermark))
        return;
    pipeline->stats.watermark = watermark;
    pipeline->stats.has_watermark = true;
    if (!pipeline->join) /* whose watermarks may be counters */
        pipeline_set_year(pipeline);
    if (pipeline->join)
        iso_join_advance(pipeline->join, watermark, now); /* drained with the batch */
    else
        iso_aion_watermark(pipeline->engine, watermark, now);
}

void pipeline_watermark(struct iso_pipeline *pipeline, uint64_t origin, uint64_t timestamp, uint64_t now)
{
    struct input *state = pipeline_input(pipeline, iso_origin_input(origin));
    pipeline->stats.watermarks++;
    pipeline_look_ahead(pipeline, timestamp, origin);
    if (state->has_watermark && timestamp <= state->watermark)
        return;
    state->watermark = timestamp;
    state->has_watermark = state->counts = true;
    advance(pipeline, now);
}

void pipeline_idle(struct iso_pipeline *pipeline, uint64_t now)
{
    uint64_t patience = pipeline->options.idle_timeout_ms;
    bool changed = false;
    for (uint32_t i = 0; patience && i < pipeline->state_count; i++) {
        struct input *state = &pipeline->states[i];
        if (!state->counts || state->idle || now - state->latest < patience)
            continue;
        state->idle = changed = true;
        pipeline->stats.went_idle++;
        if (pipeline->options.on_idle)
            pipeline->options.on_idle(pipeline->options.context, &pipeline->inputs.list[i], true);
    }
    if (changed)
        advance(pipeline, now);
}
