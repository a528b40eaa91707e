/* Watermarks: one an input, the least of them for the engine. */
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "pipeline/pipeline_private.h"

void inputs_release(struct inputs *inputs)
{
    iso_inputs_release(&inputs->names);
    iso_free(inputs->list);
}

struct input *pipeline_input(struct iso_pipeline *pipeline, uint32_t input)
{
    if (input >= pipeline->inputs.count) {
        uint32_t count = (uint32_t)iso_column_capacity(pipeline->inputs.count, input + 1);
        pipeline->inputs.list =
            iso_reallocate(pipeline->inputs.list, count * sizeof *pipeline->inputs.list);
        for (uint32_t i = pipeline->inputs.count; i < count; i++)
            pipeline->inputs.list[i] = (struct input){0};
        pipeline->inputs.count = count;
    }
    return &pipeline->inputs.list[input];
}

/* An input's promise: by records of its own, else by their message times. */
static bool promise_of(const struct iso_pipeline *pipeline, const struct input *state,
                       uint64_t *watermark)
{
    *watermark = state->has_watermark ? state->watermark : pipeline->grace.promise.reached;
    return state->has_watermark || (*watermark && !state->is_change_stream);
}

bool pipeline_whole(const struct iso_pipeline *pipeline, uint64_t *whole)
{
    bool any = false;
    *whole = UINT64_MAX;
    for (uint32_t i = 0; i < pipeline->inputs.count; i++) {
        const struct input *state = &pipeline->inputs.list[i];
        uint64_t own = state->has_watermark ? state->watermark : 0;
        if (!state->is_change_stream || !state->takes_part)
            continue;
        any |= state->has_watermark;
        *whole = own < *whole ? own : *whole;
    }
    return any;
}

/* Whether the pipeline's watermark waits for others and not for this one. */
static bool leads(const struct iso_pipeline *pipeline, const struct input *state)
{
    return state->has_watermark &&
           (!pipeline->stats.has_watermark || state->watermark > pipeline->stats.watermark);
}

uint64_t iso_pipeline_ahead(const struct iso_pipeline *pipeline, uint32_t input)
{
    if (input >= pipeline->inputs.count || !leads(pipeline, &pipeline->inputs.list[input]))
        return 0;
    return pipeline->inputs.list[input].ahead;
}

/* Whether others wait for it: none has promised less, or is less far in its stream. */
static bool holds_back(const struct iso_pipeline *pipeline, const struct input *state,
                       uint32_t input)
{
    uint64_t own;
    if (state->idle)
        return false;
    if (state->counts && (!promise_of(pipeline, state, &own) ||
                          (pipeline->stats.has_watermark && own <= pipeline->stats.watermark)))
        return true;
    return state->is_change_stream && iso_join_delays_others(pipeline->join, input);
}

struct iso_pipeline_input iso_pipeline_input(const struct iso_pipeline *pipeline, uint32_t input)
{
    if (input >= pipeline->inputs.count)
        return (struct iso_pipeline_input){.watermark = 0};
    const struct input *state = &pipeline->inputs.list[input];
    struct iso_pipeline_input known = {.is_idle = state->idle, .at_end = state->at_end};
    known.has_watermark = promise_of(pipeline, state, &known.watermark);
    known.is_change_stream = state->is_change_stream;
    known.holds_back = holds_back(pipeline, state, input);
    if (state->is_change_stream)
        known.at_end &= iso_join_is_at_end(pipeline->join, input);
    return known;
}

void iso_pipeline_declare(struct iso_pipeline *pipeline, uint32_t input, uint64_t now)
{
    assert(input < pipeline->inputs.names.count);
    struct input *state = pipeline_input(pipeline, input);
    pipeline_note_topic(pipeline, pipeline->inputs.names.list[input].topic);
    if (routes_has_left(&pipeline->routes, pipeline->inputs.names.list[input].topic))
        return;
    if (pipeline_is_change_stream(pipeline, input))
        iso_join_declare(pipeline->join, input, true);
    bool counts = pipeline_has_watermarks(pipeline, input);
    if (!state->takes_part)
        state->latest = now;
    state->takes_part = true;
    state->counts |= counts;
}

void pipeline_leave_topic(struct iso_pipeline *pipeline, const char *topic)
{
    routes_leave_topic(&pipeline->routes, topic);
    for (uint32_t i = 0; i < pipeline->inputs.names.count; i++) {
        if (strcmp(pipeline->inputs.names.list[i].topic, topic))
            continue;
        *pipeline_input(pipeline, i) = (struct input){.route = NO_ROUTE};
        if (pipeline->join)
            iso_join_declare(pipeline->join, i, false);
    }
}

void pipeline_arrived(struct iso_pipeline *pipeline, uint32_t input, uint64_t now)
{
    assert(input < pipeline->inputs.names.count);
    struct input *state = pipeline_input(pipeline, input);
    state->counts = pipeline_has_watermarks(pipeline, input);
    state->takes_part = true;
    state->latest = now;
    state->ahead = leads(pipeline, state) ? state->ahead + 1 : 0;
    if (state->is_change_stream && state->at_end)
        iso_join_at_end(pipeline->join, input, false);
    state->at_end = false;
    if (!state->idle)
        return;
    state->idle = false;
    if (state->is_change_stream)
        iso_join_left_behind(pipeline->join, input, false);
    if (pipeline->options.on_idle)
        pipeline->options.on_idle(pipeline->options.context, &pipeline->inputs.names.list[input],
                                  false);
}

static bool all_idle(const struct iso_pipeline *pipeline)
{
    for (uint32_t i = 0; i < pipeline->inputs.count; i++)
        if (pipeline->inputs.list[i].counts && !pipeline->inputs.list[i].idle)
            return false;
    return true;
}

/* The least watermark of the inputs that are waited for; false if one of them has none yet, or
 * there is no input. If all are idle, their earlier promises still stand: then it is the least of
 * those that have one. */
static bool least(const struct iso_pipeline *pipeline, uint64_t *watermark)
{
    bool any = false, idle = all_idle(pipeline);
    *watermark = UINT64_MAX;
    for (uint32_t i = 0; i < pipeline->inputs.count; i++) {
        const struct input *state = &pipeline->inputs.list[i];
        uint64_t own;
        bool promises = promise_of(pipeline, state, &own);
        if (!state->counts || state->idle != idle || (idle && !promises))
            continue;
        if (!promises)
            return false;
        any = true;
        *watermark = own < *watermark ? own : *watermark;
    }
    return any;
}

void pipeline_advance(struct iso_pipeline *pipeline, uint64_t now)
{
    uint64_t watermark;
    if (!least(pipeline, &watermark) ||
        (pipeline->stats.has_watermark && watermark <= pipeline->stats.watermark))
        return;
    assert(!pipeline->stats.has_watermark || watermark > pipeline->stats.watermark);
    pipeline->stats.watermark = watermark;
    pipeline->stats.has_watermark = true;
    if (!pipeline->join) /* whose watermarks may be counters */
        pipeline_set_year(pipeline);
    if (pipeline->join)
        iso_join_advance(pipeline->join, watermark, now); /* drained with the batch */
    else {
        iso_aion_watermark(pipeline->engine, watermark, now);
        pipeline_queries_watermark(pipeline, watermark);
    }
}

bool pipeline_note_watermark(struct iso_pipeline *pipeline, uint64_t origin, uint64_t timestamp)
{
    assert(iso_origin_input(origin) < pipeline->inputs.names.count);
    struct input *state = pipeline_input(pipeline, iso_origin_input(origin));
    pipeline->stats.watermarks++;
    pipeline_note_far_ahead(pipeline, timestamp, origin);
    if (state->has_watermark && timestamp <= state->watermark)
        return false;
    state->watermark = timestamp;
    return state->has_watermark = state->counts = true;
}

/* Whether anything waits for it: for its watermark, or for its rows. */
static bool is_awaited(const struct iso_pipeline *pipeline, const struct input *state)
{
    return state->counts || (state->takes_part && state->is_change_stream &&
                             iso_join_waits_for_positions(pipeline->join));
}

bool pipeline_idle(struct iso_pipeline *pipeline, uint64_t now)
{
    uint64_t patience = pipeline->options.idle_timeout_ms;
    bool changed = false;
    for (uint32_t i = 0; patience && i < pipeline->inputs.count; i++) {
        struct input *state = &pipeline->inputs.list[i];
        if (!is_awaited(pipeline, state) || state->idle || now - state->latest < patience)
            continue;
        state->idle = changed = true;
        if (state->is_change_stream)
            iso_join_left_behind(pipeline->join, i, true);
        pipeline->stats.went_idle++;
        if (pipeline->options.on_idle)
            pipeline->options.on_idle(pipeline->options.context, &pipeline->inputs.names.list[i],
                                      true);
    }
    if (changed)
        pipeline_advance(pipeline, now);
    return changed;
}
