/* A batch: each message through the decoder of its topic, to events and records, counted for the
 * books. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/pipeline_private.h"

/* A topic of a prefix is there. */
void pipeline_note_topic(struct iso_pipeline *pipeline, const char *topic)
{
    if (routes_note_topic(&pipeline->routes, topic) && pipeline->join)
        iso_join_sources_grew(pipeline->join);
}

static struct iso_decoder *find_decoder(struct iso_pipeline *pipeline,
                                        const struct iso_message *message)
{
    struct input *state = pipeline_input(pipeline, message->input);
    if (!state->route) {
        uint32_t route = routes_find_topic(&pipeline->routes, message->topic);
        pipeline_note_topic(pipeline, message->topic);
        state->route = route == ISO_NONE ? NO_ROUTE : route + 1;
    }
    assert(state->route == NO_ROUTE || state->route <= pipeline->routes.count);
    return state->route == NO_ROUTE ? NULL : pipeline->routes.list[state->route - 1].decoder;
}

bool pipeline_is_change_stream(const struct iso_pipeline *pipeline, uint32_t input)
{
    if (!pipeline->join)
        return false;
    assert(input < pipeline->inputs.names.count);
    uint32_t route = routes_find_topic(&pipeline->routes, pipeline->inputs.names.list[input].topic);
    return route != ISO_NONE && iso_join_knows(pipeline->routes.list[route].decoder->class->kind);
}

/* Records have watermarks if their clients send some; of change streams only some kinds do, and
 * what clients send in-band. */
bool pipeline_has_watermarks(struct iso_pipeline *pipeline, uint32_t input)
{
    struct input *state = pipeline_input(pipeline, input);
    if (!state->is_known) {
        state->is_change_stream = pipeline_is_change_stream(pipeline, input);
        state->is_known = true;
    }
    return !state->is_change_stream || state->has_watermark ||
           iso_join_has_watermarks(pipeline->join);
}

void pipeline_name_inputs(const struct iso_pipeline *pipeline, struct iso_history *block)
{
    for (uint32_t i = block->inputs.count; i < pipeline->inputs.names.count; i++) {
        const struct iso_inputs_entry *input = &pipeline->inputs.names.list[i];
        char name[320];
        if (input->partition == ISO_PIPELINE_FILE)
            snprintf(name, sizeof name, "%s", input->topic);
        else
            snprintf(name, sizeof name, "%s[%" PRId32 "]", input->topic, input->partition);
        iso_history_input(block, name);
    }
}

void pipeline_start_block(struct iso_pipeline *pipeline)
{
    iso_events_clear(&pipeline->batch.events);
    pipeline_name_inputs(pipeline, &pipeline->batch.events.block);
    if (pipeline->join)
        pipeline_name_inputs(pipeline, &iso_join_output(pipeline->join)->block);
    pipeline->batch.events.block.clock = pipeline->clock.kind;
}

static void note_first(struct iso_pipeline *pipeline, const struct iso_message *message)
{
    struct input *state = pipeline_input(pipeline, message->input);
    if (!state->begun && state->is_change_stream)
        iso_join_begun(pipeline->join, message->input);
    if (!state->begun)
        iso_pipeline_begins(pipeline, message->input, message->offset);
    state->begun = true;
}

/* ---- topics of a prefix that are none of its connector's ---- */

/* Whether its message, which the decoder refused, is of nobody of the kind, and the first that
 * arrived of its topic. */
static bool is_of_others(const struct iso_pipeline *pipeline, const struct iso_message *message,
                         const struct iso_decoder *decoder)
{
    uint32_t route = routes_find_topic(&pipeline->routes, message->topic);
    if (!decoder->is_foreign || route == ISO_NONE || !pipeline->routes.list[route].is_prefix)
        return false;
    for (uint32_t i = 0; i < pipeline->inputs.count && i < pipeline->inputs.names.count; i++)
        if (pipeline->inputs.list[i].begun &&
            !strcmp(pipeline->inputs.names.list[i].topic, message->topic))
            return false;
    return true;
}

/* No source names the topic, then: what it carries is not waited for. */
static void leave_topic(struct iso_pipeline *pipeline, const struct iso_message *message)
{
    char location[LOCATION_BYTES], reason[LOCATION_BYTES + 200];
    pipeline_put_location(pipeline, pipeline_origin_of(message), location, sizeof location);
    snprintf(
        reason, sizeof reason,
        "the whole topic: none of the connector's messages are there. If clients' records are: "
        "expected --source history:%.*s, too",
        LOCATION_BYTES, message->topic);
    pipeline_leave_topic(pipeline, message->topic);
    if (pipeline->options.on_bad)
        pipeline->options.on_bad(pipeline->options.context, message, location, reason);
}

/* ---- what arrived, for the books ---- */

uint64_t pipeline_reads_in(const struct iso_history *block, uint32_t first, uint32_t count)
{
    assert(first <= block->txns.count && count <= block->txns.count - first);
    uint64_t reads = 0;
    for (uint32_t o = block->txns.first_op[first]; o < block->txns.first_op[first + count]; o++)
        reads += !iso_kind_writes(block->ops.kind[o]);
    return reads;
}

void pipeline_count_records(struct iso_pipeline *pipeline, const struct iso_history *block,
                            uint32_t first, uint32_t count)
{
    if (count && !pipeline->stats.intake.records)
        pipeline->stats.intake.first_record = block->txns.origin[first];
    pipeline->stats.intake.records += count;
    pipeline->stats.intake.reads += count ? pipeline_reads_in(block, first, count) : 0;
}

/* When it was sent, in milliseconds since 1970; 0: it does not say. */
static uint64_t time_of(const struct iso_message *message)
{
    return message->timestamp_type != ISO_TIMESTAMP_NONE && message->timestamp > 0
               ? (uint64_t)message->timestamp
               : 0;
}

/* Counts a message by the events and records that it brought: those from these numbers on. */
static void count_message(struct iso_pipeline *pipeline, const struct iso_message *message,
                          uint32_t first_event, uint32_t first_record)
{
    struct iso_pipeline_intake *intake = &pipeline->stats.intake;
    const struct iso_events *events = &pipeline->batch.events;
    assert(first_event <= events->count && first_record <= events->block.txns.count);
    uint32_t records = events->block.txns.count - first_record;
    bool has_content = records, ignored = true;
    for (uint32_t i = first_event; i < events->count; i++) {
        uint8_t type = events->list[i].type;
        bool is_row = type == ISO_EVENT_ROW || type == ISO_EVENT_DELETE_IF;
        intake->rows += is_row;
        has_content |= is_row || type == ISO_EVENT_DROP;
        ignored &= type == ISO_EVENT_IGNORED;
    }
    pipeline_count_records(pipeline, &events->block, first_record, records);
    intake->with_content += has_content;
    intake->empty += !has_content && ignored;
    intake->protocol += !has_content && !ignored;
    if (has_content)
        counted_note_moved(&pipeline->counted, time_of(message));
}

/* ---- one batch, decoded ---- */

/* The message's transactions are the last ones of the block. */
static void imply_own(struct iso_history *block, uint32_t first)
{
    assert(first <= block->txns.count);
    if (block->txns.count > first)
        iso_history_imply_own(block, first);
}

enum iso_status pipeline_decode(struct iso_pipeline *pipeline, uint64_t now,
                                struct iso_error *error)
{
    for (uint32_t i = 0; i < pipeline->batch.count; i++) {
        const struct iso_message *message = &pipeline->batch.messages[i];
        struct iso_error wrong;
        wrong.status = ISO_OK; /* its text is read only when it is set */
        uint32_t first_event = pipeline->batch.events.count,
                 first_record = pipeline->batch.events.block.txns.count;
        struct iso_decoder *decoder = find_decoder(pipeline, message);
        pipeline->stats.intake.messages++;
        if (!decoder) {
            pipeline->stats.unrouted++;
            continue;
        }
        pipeline_arrived(pipeline, message->input, now);
        bool is_decoded =
            decoder->class->decode(decoder, message, &pipeline->batch.events, &wrong) == ISO_OK;
        if (!is_decoded && is_of_others(pipeline, message, decoder)) {
            leave_topic(pipeline, message);
            pipeline->stats.unrouted++;
            continue;
        }
        note_first(pipeline, message);
        pipeline_note_time(pipeline, message, now);
        counted_note_time(&pipeline->counted, time_of(message));
        pipeline->stats.messages++;
        pipeline->stats.bytes += message->key.size + message->payload.size;
        if (is_decoded) {
            if (decoder->ranges)
                imply_own(&pipeline->batch.events.block, first_record);
            pipeline_note_snapshots(pipeline, message, first_record);
            count_message(pipeline, message, first_event, first_record);
            continue;
        }
        pipeline->stats.intake.undecodable++;
        if (wrong.status != ISO_BAD_INPUT)
            return iso_error_set(error, wrong.status, "%s", wrong.text);
        if (pipeline_bad_record(pipeline, message, pipeline_origin_of(message), wrong.text,
                                error) != ISO_OK)
            return error->status;
    }
    pipeline_note_types(pipeline);
    return ISO_OK;
}

static bool pack(uint64_t *physical, const uint64_t *logical, uint64_t index, unsigned bits)
{
    if (!bits || bits > 63 || physical[index] >> (64 - bits) || logical[index] >> bits)
        return false;
    physical[index] = physical[index] << bits | logical[index];
    return true;
}

/* Pairs become scalars, in place; false at the first that does not fit, whose transaction is
 * `*culprit`. */
static bool pack_pairs(struct iso_history *block, unsigned bits, uint32_t *culprit)
{
    for (uint32_t t = 0; t < block->txns.count; t++) {
        *culprit = t;
        if ((block->txns.flags[t] & ISO_HAS_STS) &&
            !pack(block->txns.sts, block->txns.sts_logical, t, bits))
            return false;
        if ((block->txns.flags[t] & ISO_HAS_CTS) &&
            !pack(block->txns.cts, block->txns.cts_logical, t, bits))
            return false;
        ISO_EACH(o, block->txns.first_op, t)
            if ((block->ops.kind[o] & ISO_OPERATION_OTS) &&
                !pack(block->ops.ots, block->ops.ots_logical, o, bits))
                return false;
    }
    for (uint32_t i = 0; i < block->ranges.count; i++) {
        struct iso_range *set = &block->ranges.list[i];
        *culprit = set->transaction;
        if (set->form == ISO_SET_RANGE && set->kind & ISO_OPERATION_OTS &&
            !pack(&set->ots, &set->ots_logical, 0, bits))
            return false;
    }
    block->clock = ISO_CLOCK_SCALAR;
    return true;
}

/* The first transaction that has a snapshot, or an operation that has one. */
static uint32_t find_snapshot(const struct iso_history *block)
{
    for (uint32_t t = 0; t < block->txns.count; t++) {
        if (block->txns.snapshot && block->txns.snapshot[t] != ISO_NONE)
            return t;
        ISO_EACH(o, block->txns.first_op, t)
            if (block->ops.kind[o] & ISO_OPERATION_SNAPSHOT)
                return t;
    }
    return ISO_NONE;
}

static void put_culprit(struct iso_pipeline *pipeline, const struct iso_history *block,
                        uint32_t culprit, char location[LOCATION_BYTES])
{
    assert(culprit < block->txns.count);
    if (pipeline_batch_find(&pipeline->batch, block->txns.origin[culprit]))
        pipeline_put_location(pipeline, block->txns.origin[culprit], location, LOCATION_BYTES);
    else
        iso_history_location_text(block, culprit, location, LOCATION_BYTES);
}

enum iso_status pipeline_make_scalar(struct iso_pipeline *pipeline, struct iso_history *block,
                                     struct iso_error *error)
{
    char location[LOCATION_BYTES];
    uint32_t culprit = pipeline->join || !block->snapshots.count ? ISO_NONE : find_snapshot(block);
    if (block->clock != ISO_CLOCK_NONE)
        pipeline->clock.kind = block->clock;
    if (culprit != ISO_NONE) {
        put_culprit(pipeline, block, culprit, location);
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "%s: snapshots in a stream need a CDC source to be joined with: expected --source "
            "KIND:TOPIC,cells=true of the change stream, too",
            location);
    }
    if (block->clock != ISO_CLOCK_PAIR || pack_pairs(block, pipeline->options.hlc_bits, &culprit))
        return ISO_OK;
    put_culprit(pipeline, block, culprit, location);
    return iso_error_set(error, ISO_BAD_INPUT,
                         "%s: a timestamp {p,l} does not fit into 64 bits, expected --hlc-bits "
                         "with room for both",
                         location);
}
