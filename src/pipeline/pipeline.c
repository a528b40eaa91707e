#include "pipeline/pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "pipeline/pipeline_private.h"

void iso_pipeline_options_init(struct iso_pipeline_options *options)
{
    *options = (struct iso_pipeline_options){
        .level = ISO_SI, .session_order = true, .shards = 1, .retention = ISO_AION_FOREVER, .max_violations = 1000};
}

struct iso_pipeline *iso_pipeline_new(const struct iso_pipeline_options *options)
{
    struct iso_aion_options engine;
    struct iso_pipeline *pipeline = iso_allocate_zeroed(1, sizeof *pipeline);
    pipeline->options = *options;
    iso_aion_options_init(&engine);
    engine.level = options->level;
    engine.session_order = options->session_order;
    engine.shards = options->shards;
    engine.run = options->run;
    engine.runner = options->runner;
    engine.finality_timeout_ms = options->finality_timeout_ms;
    engine.settle_ms = options->settle_ms;
    engine.settle_untimed = !options->finality_timeout_ms;
    engine.retention = options->retention;
    engine.memory_limit = options->memory_limit;
    engine.spill = options->spill;
    engine.spill_stays = options->spill_stays;
    engine.spill_at = options->spill_at;
    engine.spill_context = options->context;
    engine.spill_all = options->spill_all;
    engine.spill_segment_bits = options->spill_segment_bits;
    engine.memory_in_use = options->memory_in_use;
    engine.emit = pipeline_emit;
    engine.context = pipeline;
    engine.foreign = options->changes != NULL;
    pipeline->engine = iso_aion_new(&engine);
    if (options->changes)
        pipeline->join = iso_join_new(&(struct iso_join_options){
            .kind = options->changes,
            .clients = options->clients,
            .records_first = options->records_first,
            .keep_joined = options->on_joined != NULL,
            .markers = options->markers,
            .one_group = options->one_group,
            .patience_ms = options->patience_ms,
            .waiting_limit = options->waiting_limit,
        });
    iso_atoms_init(&pipeline->names);
    iso_inputs_init(&pipeline->inputs);
    iso_events_init(&pipeline->events);
    iso_atoms_init(&pipeline->findings.atoms);
    pipeline->findings.limit = options->max_violations;
    return pipeline;
}

void iso_pipeline_free(struct iso_pipeline *pipeline)
{
    if (!pipeline)
        return;
    iso_aion_free(pipeline->engine);
    iso_join_free(pipeline->join);
    iso_atoms_release(&pipeline->names);
    told_release(&pipeline->cdc);
    told_release(&pipeline->snapshots);
    for (uint32_t i = 0; i < pipeline->route_count; i++) {
        pipeline->routes[i].decoder->class->destroy(pipeline->routes[i].decoder);
        iso_free(pipeline->routes[i].topic);
    }
    iso_free(pipeline->routes);
    iso_free(pipeline->states);
    iso_events_release(&pipeline->events);
    iso_inputs_release(&pipeline->inputs);
    iso_text_release(&pipeline->line);
    findings_release(&pipeline->findings);
    iso_free(pipeline);
}

struct iso_inputs *iso_pipeline_inputs(struct iso_pipeline *pipeline)
{
    return &pipeline->inputs;
}

void iso_pipeline_route(struct iso_pipeline *pipeline, const char *topic, struct iso_decoder *decoder)
{
    static const char messages[] = ".message"; /* Debezium's topic of logical messages */
    size_t length = strlen(topic);
    if (pipeline->join && length >= sizeof messages && !strcmp(topic + length + 1 - sizeof messages, messages))
        iso_join_expect_in_band(pipeline->join);
    pipeline->routes = iso_reallocate(pipeline->routes, (pipeline->route_count + 1) * sizeof *pipeline->routes);
    pipeline->routes[pipeline->route_count++] = (struct route){iso_copy_text(topic, strlen(topic)), decoder};
}

void iso_pipeline_initial(struct iso_pipeline *pipeline, const struct iso_history *history)
{
    iso_aion_initial(pipeline->engine, history);
}

/* ---- bad records ---- */

/* ISO_OK: it is left out. Otherwise the pipeline stops with topic, partition and offset. `message` NULL: a record out
 * of a file, or one that has been joined with what came later; the reason names its place. */
static enum iso_status bad_record(struct iso_pipeline *pipeline, const struct iso_message *message, const char *reason,
                                  struct iso_error *error)
{
    pipeline->stats.bad_records++;
    if (pipeline->options.on_bad_record == ISO_BAD_FAIL && !message)
        return iso_error_set(error, ISO_BAD_INPUT, "%s", reason);
    if (pipeline->options.on_bad_record == ISO_BAD_FAIL)
        return iso_error_set(error, ISO_BAD_INPUT, "topic %s partition %" PRId32 " offset %" PRId64 ": %s",
                             message->topic, message->partition, message->offset, reason);
    if (pipeline->options.on_bad && message)
        pipeline->options.on_bad(pipeline->options.context, message, reason);
    return ISO_OK;
}

/* The message of the batch that a transaction came from, or NULL. */
static const struct iso_message *message_of(const struct iso_pipeline *pipeline, uint64_t origin)
{
    for (uint32_t i = 0; i < pipeline->batch_count; i++) {
        const struct iso_message *message = &pipeline->batch[i];
        if (iso_origin(message->input, (uint64_t)message->offset) == origin)
            return message;
    }
    return NULL;
}

/* ---- one batch ---- */

static struct iso_decoder *decoder_of(const struct iso_pipeline *pipeline, const char *topic)
{
    for (uint32_t i = 0; i < pipeline->route_count; i++)
        if (!strcmp(pipeline->routes[i].topic, topic))
            return pipeline->routes[i].decoder;
    return NULL;
}

static struct iso_decoder *find_decoder(struct iso_pipeline *pipeline, const struct iso_message *message)
{
    struct input *state = pipeline_input(pipeline, message->input);
    for (uint32_t i = 0; !state->route && i < pipeline->route_count; i++)
        if (!strcmp(pipeline->routes[i].topic, message->topic))
            state->route = i + 1;
    if (!state->route)
        state->route = NO_ROUTE;
    return state->route == NO_ROUTE ? NULL : pipeline->routes[state->route - 1].decoder;
}

bool pipeline_is_change_stream(const struct iso_pipeline *pipeline, uint32_t input)
{
    const struct iso_decoder *decoder =
        pipeline->join ? decoder_of(pipeline, pipeline->inputs.list[input].topic) : NULL;
    return decoder && iso_join_knows(decoder->class->kind);
}

/* Records have watermarks if their clients send some; of change streams only some kinds do, and what clients send
 * in-band. */
bool pipeline_has_watermarks(struct iso_pipeline *pipeline, uint32_t input)
{
    struct input *state = pipeline_input(pipeline, input);
    if (!state->is_known) {
        state->is_change_stream = pipeline_is_change_stream(pipeline, input);
        state->is_known = true;
    }
    return !state->is_change_stream || state->has_watermark || iso_join_has_watermarks(pipeline->join);
}

/* The engine's errors name places by the block's inputs. */
static void name_inputs(const struct iso_pipeline *pipeline, struct iso_history *block)
{
    for (uint32_t i = block->input_count; i < pipeline->inputs.count; i++) {
        const struct iso_inputs_entry *input = &pipeline->inputs.list[i];
        char name[320];
        if (input->partition == ISO_PIPELINE_FILE)
            snprintf(name, sizeof name, "%s", input->topic);
        else
            snprintf(name, sizeof name, "%s[%" PRId32 "]", input->topic, input->partition);
        iso_history_input(block, name);
    }
}

static void start_block(struct iso_pipeline *pipeline)
{
    iso_events_clear(&pipeline->events);
    name_inputs(pipeline, &pipeline->events.block);
    if (pipeline->join)
        name_inputs(pipeline, &iso_join_output(pipeline->join)->block);
    pipeline->events.block.clock = pipeline->clock;
}

void iso_pipeline_begins(struct iso_pipeline *pipeline, int64_t offset)
{
    pipeline->midway |= offset > 0 && !pipeline->options.initial_known;
}

static void note_first(struct iso_pipeline *pipeline, const struct iso_message *message)
{
    struct input *state = pipeline_input(pipeline, message->input);
    if (!state->begun)
        iso_pipeline_begins(pipeline, message->offset);
    state->begun = true;
}

static enum iso_status decode_batch(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error)
{
    for (uint32_t i = 0; i < pipeline->batch_count; i++) {
        const struct iso_message *message = &pipeline->batch[i];
        struct iso_error wrong;
        wrong.status = ISO_OK; /* its text is only then looked at when it is set */
        struct iso_decoder *decoder = find_decoder(pipeline, message);
        if (!decoder) {
            pipeline->stats.unrouted++;
            continue;
        }
        note_first(pipeline, message);
        pipeline_arrived(pipeline, message->input, now);
        pipeline->stats.messages++;
        pipeline->stats.bytes += message->key.size + message->payload.size;
        if (decoder->class->decode(decoder, message, &pipeline->events, &wrong) == ISO_OK)
            continue;
        if (wrong.status != ISO_BAD_INPUT)
            return iso_error_set(error, wrong.status, "%s", wrong.text);
        if (bad_record(pipeline, message, wrong.text, error) != ISO_OK)
            return error->status;
    }
    return ISO_OK;
}

static bool pack(uint64_t *physical, const uint64_t *logical, uint64_t index, unsigned bits)
{
    if (!bits || bits > 63 || physical[index] >> (64 - bits) || logical[index] >> bits)
        return false;
    physical[index] = physical[index] << bits | logical[index];
    return true;
}

/* Pairs become scalars, in place; false at the first that does not fit, whose transaction is `*culprit`. */
static bool pack_pairs(struct iso_history *block, unsigned bits, uint32_t *culprit)
{
    for (uint32_t t = 0; t < block->transaction_count; t++) {
        *culprit = t;
        if ((block->flags[t] & ISO_HAS_STS) && !pack(block->sts, block->sts_logical, t, bits))
            return false;
        if ((block->flags[t] & ISO_HAS_CTS) && !pack(block->cts, block->cts_logical, t, bits))
            return false;
        for (uint32_t o = block->first_operation[t]; o < block->first_operation[t + 1]; o++)
            if ((block->kind[o] & ISO_OPERATION_OTS) && !pack(block->ots, block->ots_logical, o, bits))
                return false;
    }
    block->clock = ISO_CLOCK_SCALAR;
    return true;
}

/* The engine takes plain numbers only. */
static enum iso_status make_scalar(struct iso_pipeline *pipeline, struct iso_history *block, struct iso_error *error)
{
    uint32_t culprit = 0;
    if (block->clock != ISO_CLOCK_NONE)
        pipeline->clock = block->clock;
    if (block->snapshot_count && !pipeline->join)
        return iso_error_set(error, ISO_BAD_INPUT, "%s: snapshots in a stream need a CDC source to be joined with",
                             block->inputs[0]);
    if (block->clock != ISO_CLOCK_PAIR || pack_pairs(block, pipeline->options.hlc_bits, &culprit))
        return ISO_OK;
    char place[400];
    const struct iso_message *message = message_of(pipeline, block->origin[culprit]);
    if (message)
        snprintf(place, sizeof place, "topic %s partition %" PRId32 " offset %" PRId64, message->topic,
                 message->partition, message->offset);
    else
        iso_history_place_text(block, culprit, place, sizeof place);
    return iso_error_set(error, ISO_BAD_INPUT,
                         "%s: a timestamp {p,l} does not fit into 64 bits, expected --hlc-bits "
                         "with room for both",
                         place);
}

enum iso_status pipeline_add(struct iso_pipeline *pipeline, const struct iso_history *block, uint32_t first,
                             uint32_t count, uint64_t now, struct iso_error *error)
{
    uint32_t end = first + count, taken;
    while (first < end) {
        struct iso_error wrong = {0};
        if (iso_aion_add(pipeline->engine, first, end - first, now, &taken, &wrong) == ISO_OK)
            return ISO_OK;
        if (wrong.status != ISO_BAD_INPUT)
            return iso_error_set(error, wrong.status, "%s", wrong.text);
        if (bad_record(pipeline, message_of(pipeline, block->origin[first + taken]), wrong.text, error) != ISO_OK)
            return error->status;
        first += taken + 1;
    }
    return ISO_OK;
}

static void take_watermark(struct iso_pipeline *pipeline, const struct iso_event *event, uint64_t now,
                           struct iso_error *error)
{
    if (pipeline->join)
        pipeline_drain(pipeline, now, error);
    pipeline_watermark(pipeline, event->origin, event->cts.physical, now);
}

/* One event of a change stream, or records that are to be joined with some. */
static void take_change(struct iso_pipeline *pipeline, const struct iso_event *event, uint64_t now,
                        struct iso_error *error)
{
    struct iso_error wrong;
    wrong.status = ISO_OK;
    uint64_t origin = event->type == ISO_EVENT_TRANSACTIONS ? UINT64_MAX : event->origin;
    if (iso_join_take(pipeline->join, &pipeline->events.block, event, now, &wrong) != ISO_OK)
        bad_record(pipeline, message_of(pipeline, origin), wrong.text, error);
}

/* Transactions of the block that are for somebody else than the engine. */
static bool are_taken(struct iso_pipeline *pipeline, const struct iso_event *event)
{
    const struct iso_pipeline_options *options = &pipeline->options;
    return options->on_transactions &&
           options->on_transactions(options->context, &pipeline->events.block, event->first, event->count);
}

static enum iso_status process(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error)
{
    const struct iso_history *block = &pipeline->events.block;
    if (!pipeline->join)
        iso_aion_block(pipeline->engine, block);
    for (uint32_t i = 0; i < pipeline->events.count && error->status == ISO_OK; i++) {
        const struct iso_event *event = &pipeline->events.list[i];
        switch ((enum iso_event_type)event->type) {
        case ISO_EVENT_TRANSACTIONS:
            if (pipeline->join) {
                take_change(pipeline, event, now, error);
                break;
            }
            if (are_taken(pipeline, event))
                break;
            pipeline_look_ahead_all(pipeline, event->first, event->first + event->count);
            pipeline_add(pipeline, block, event->first, event->count, now, error);
            break;
        case ISO_EVENT_WATERMARK:
            take_watermark(pipeline, event, now, error);
            break;
        case ISO_EVENT_IGNORED:
            pipeline->stats.ignored++;
            if (pipeline->join)
                take_change(pipeline, event, now, error);
            break;
        case ISO_EVENT_HEARTBEAT:
        case ISO_EVENT_SCHEMA:
            pipeline->stats.ignored++;
            break;
        default:
            take_change(pipeline, event, now, error);
        }
    }
    if (pipeline->join) {
        iso_join_end_batch(pipeline->join);
        pipeline_drain(pipeline, now, error);
    }
    return error->status;
}

enum iso_status iso_pipeline_records(struct iso_pipeline *pipeline, struct iso_history *block, uint64_t now,
                                     struct iso_error *error)
{
    enum { PIECE = 4096 };
    name_inputs(pipeline, &iso_join_output(pipeline->join)->block);
    if (make_scalar(pipeline, block, error) != ISO_OK)
        return error->status;
    for (uint32_t t = 0; t < block->transaction_count && error->status == ISO_OK; t += PIECE) {
        uint32_t left = block->transaction_count - t;
        iso_join_take_records(pipeline->join, block, t, left < PIECE ? left : PIECE, now);
        pipeline_drain(pipeline, now, error);
    }
    iso_join_end_batch(pipeline->join);
    return error->status;
}

static enum iso_status check_sink(struct iso_pipeline *pipeline, struct iso_error *error)
{
    if (pipeline->failure.status != ISO_OK)
        iso_error_set(error, pipeline->failure.status, "%s", pipeline->failure.text);
    const struct iso_error *engine = iso_aion_failure(pipeline->engine);
    if (engine->status != ISO_OK)
        iso_error_set(error, engine->status, "%s", engine->text);
    return error->status;
}

enum iso_status iso_pipeline_feed(struct iso_pipeline *pipeline, const struct iso_message *messages, uint32_t count,
                                  uint64_t now, struct iso_error *error)
{
    struct iso_error undecodable = {0};
    if (!count)
        return ISO_OK;
    pipeline->batch = messages;
    pipeline->batch_count = count;
    start_block(pipeline);
    decode_batch(pipeline, now, &undecodable);
    /* What came before a record that stops the pipeline is judged first. */
    if (make_scalar(pipeline, &pipeline->events.block, error) == ISO_OK)
        process(pipeline, now, error);
    if (undecodable.status != ISO_OK)
        iso_error_set(error, undecodable.status, "%s", undecodable.text);
    return check_sink(pipeline, error);
}

enum iso_status iso_pipeline_tick(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error)
{
    pipeline_idle(pipeline, now);
    if (pipeline->join) {
        iso_join_tick(pipeline->join, now);
        pipeline_drain(pipeline, now, error);
    }
    iso_aion_tick(pipeline->engine, now);
    return check_sink(pipeline, error);
}

enum iso_status iso_pipeline_end(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error)
{
    if (pipeline->join) {
        iso_join_end(pipeline->join, now);
        if (pipeline_drain(pipeline, now, error) != ISO_OK)
            return error->status;
    }
    iso_aion_end(pipeline->engine, now);
    return check_sink(pipeline, error);
}

void iso_pipeline_memory(struct iso_pipeline *pipeline, uint64_t limit, uint64_t in_use, bool anew)
{
    iso_aion_memory(pipeline->engine, limit, in_use, anew);
}

uint64_t iso_pipeline_memory_needed(const struct iso_pipeline *pipeline)
{
    return iso_aion_memory_needed(pipeline->engine);
}

void iso_pipeline_stats(const struct iso_pipeline *pipeline, struct iso_pipeline_stats *stats)
{
    *stats = pipeline->stats;
    iso_aion_stats(pipeline->engine, &stats->engine);
    pipeline_correct(pipeline, stats);
}
