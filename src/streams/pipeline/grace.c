/* Finality without the clients' help.
 *
 * Kafka's message times say when something was over: a client's record is sent after its
 * transaction, a row after its commit. So once every partition of clients was read up to message
 * time T, the records that are still to arrive were sent after T, and what they describe began
 * after T - grace, if no transaction lasts, and is published, longer than the grace. It sees no
 * less than what was over at T - grace. That is a promise for every input whose records bring none
 * of their own:
 *
 *   snapshots (PostgreSQL)       no smaller xmin than the largest among records sent until then
 *   timestamps (TiCDC, Dgraph)   none up to the stream's own watermark as it stood then
 *
 * A partition that stands at its end may stay silent for ever: there the stream's time counts,
 * which is the largest message time of the change streams, and goes on with the caller's clock
 * while they are silent. What is sent later bears a later time, whatever that clock shows. T itself
 * is passed to the pipeline (iso_pipeline_reached), like the ends of inputs, and not taken from its
 * clock in passing: who passes it writes it down, so that a recording or a journal gives the same
 * promises at the same positions.
 *
 * The promise is a staircase (base/stairs.h): the highest step up to T - grace is the one in force.
 */
#include <assert.h>

#include "pipeline/pipeline_private.h"

static void climb(struct iso_pipeline *pipeline, uint64_t time, uint64_t value)
{
    iso_stairs_climb(&pipeline->grace.promise, pipeline->options.grace_ms, time, value);
}

/* ---- what messages say ---- */

static bool is_used(const struct iso_pipeline *pipeline)
{
    return pipeline->join && pipeline->options.grace_ms;
}

void pipeline_note_time(struct iso_pipeline *pipeline, const struct iso_message *message,
                        uint64_t now)
{
    struct grace *grace = &pipeline->grace;
    struct input *state = pipeline_input(pipeline, message->input);
    if (!is_used(pipeline))
        return;
    if (message->timestamp_type == ISO_TIMESTAMP_NONE || message->timestamp <= 0) {
        if (!state->is_change_stream && !state->timeless && pipeline->options.on_timeless)
            pipeline->options.on_timeless(pipeline->options.context,
                                          &pipeline->inputs.names.list[message->input]);
        state->timeless |= !state->is_change_stream;
        return;
    }
    uint64_t time = (uint64_t)message->timestamp;
    state->reached = time > state->reached ? time : state->reached;
    if (!state->is_change_stream || time <= grace->stream_time)
        return;
    grace->stream_time = time;
    grace->stream_seen = now;
}

void pipeline_note_snapshots(struct iso_pipeline *pipeline, const struct iso_message *message,
                             uint32_t first)
{
    const struct iso_history *block = &pipeline->batch.events.block;
    const struct input *state = pipeline_input(pipeline, message->input);
    if (!is_used(pipeline) || !block->txns.snapshot || state->is_change_stream || state->timeless)
        return;
    for (uint32_t t = first; t < block->txns.count; t++)
        if (block->txns.snapshot[t] != ISO_NONE)
            climb(pipeline, state->reached, block->snapshots.list[block->txns.snapshot[t]].xmin);
}

/* The least of the change streams' watermarks; 0: one has none. */
static uint64_t stream_watermark(const struct iso_pipeline *pipeline)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < pipeline->inputs.count; i++) {
        const struct input *state = &pipeline->inputs.list[i];
        if (!state->counts || !state->is_change_stream)
            continue;
        uint64_t own = state->has_watermark ? state->watermark : 0;
        least = own < least ? own : least;
    }
    return least == UINT64_MAX ? 0 : least;
}

void pipeline_note_stream(struct iso_pipeline *pipeline)
{
    struct grace *grace = &pipeline->grace;
    if (!is_used(pipeline) || !grace->stream_time)
        return;
    climb(pipeline, grace->stream_time,
          iso_join_has_watermarks(pipeline->join) ? stream_watermark(pipeline)
                                                  : iso_join_closed(pipeline->join));
}

/* ---- T ---- */

/* Whether more is promised once T is `time`. */
static bool is_promising(const struct iso_pipeline *pipeline, uint64_t time)
{
    const struct iso_stairs *stairs = &pipeline->grace.promise;
    uint64_t patience = pipeline->options.grace_ms;
    return time >= patience && stairs->first < stairs->count &&
           stairs->list[stairs->first].time <= time - patience;
}

bool iso_pipeline_time(const struct iso_pipeline *pipeline, uint64_t now, uint64_t *time)
{
    const struct grace *grace = &pipeline->grace;
    bool any = false;
    *time = UINT64_MAX;
    if (!is_used(pipeline))
        return false;
    for (uint32_t i = 0; i < pipeline->inputs.count; i++) {
        const struct input *state = &pipeline->inputs.list[i];
        bool silent = (state->at_end || state->idle) && grace->stream_time;
        uint64_t stream = silent ? grace->stream_time + (now - grace->stream_seen) : 0;
        uint64_t reached = stream > state->reached ? stream : state->reached;
        if (!state->takes_part || state->is_change_stream)
            continue;
        if (state->timeless)
            return false;
        any = true;
        *time = reached < *time ? reached : *time;
    }
    return any && *time > grace->reached && is_promising(pipeline, *time);
}

enum iso_status iso_pipeline_reached(struct iso_pipeline *pipeline, uint64_t time, uint64_t now,
                                     struct iso_error *error)
{
    struct grace *grace = &pipeline->grace;
    if (!is_used(pipeline) || time <= grace->reached)
        return ISO_OK;
    grace->reached = time;
    if (!is_promising(pipeline, time))
        return ISO_OK;
    iso_stairs_reach(&grace->promise, time - pipeline->options.grace_ms);
    pipeline_advance(pipeline, now);
    return pipeline_recheck(pipeline, now, error);
}

/* ---- ends ---- */

enum iso_status iso_pipeline_at_end(struct iso_pipeline *pipeline, uint32_t input, uint64_t now,
                                    struct iso_error *error)
{
    assert(input < pipeline->inputs.names.count);
    struct input *state = pipeline_input(pipeline, input);
    state->at_end = true;
    if (!pipeline->join || !pipeline_is_change_stream(pipeline, input))
        return ISO_OK;
    iso_join_at_end(pipeline->join, input, true);
    return pipeline_recheck(pipeline, now, error);
}
