#include "pipeline/pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "pipeline/pipeline_private.h"

void iso_pipeline_options_init(struct iso_pipeline_options *options)
{
    *options = (struct iso_pipeline_options){.level = ISO_SI,
                                             .session_order = true,
                                             .shards = 1,
                                             .retention = ISO_AION_FOREVER,
                                             .max_violations = 1000,
                                             .max_per_key = 1000};
}

/* ---- which source delivers what ---- */

const struct route *pipeline_route_to(const struct iso_pipeline *pipeline, const char *table, size_t length)
{
    for (uint32_t i = 0; i < pipeline->route_count; i++) {
        const struct route *route = &pipeline->routes[i];
        const struct iso_decoder_class *class = route->decoder->class;
        if (class->covers && class->covers(route->decoder, route->topic, table, length))
            return route;
    }
    return NULL;
}

static bool covers(void *context, const char *table, size_t length)
{
    return pipeline_route_to(context, table, length) != NULL;
}

static const struct route *route_of_key(const struct iso_pipeline *pipeline, const char *key, size_t length)
{
    const char *slash = memchr(key, '/', length);
    return pipeline_route_to(pipeline, key, slash ? (size_t)(slash - key) : length);
}

bool pipeline_covers(const struct iso_pipeline *pipeline, const char *key, size_t length)
{
    return route_of_key(pipeline, key, length) != NULL;
}

static bool is_whole_row(void *context, const char *key, size_t length)
{
    const struct route *route = route_of_key(context, key, length);
    return route && route->whole_rows;
}

bool pipeline_is_lossy(const struct iso_pipeline *pipeline, const char *key, size_t length)
{
    const struct route *route = route_of_key(pipeline, key, length);
    return route && route->traits.lossy;
}

/* Asked of every operation of a client: mostly there is no such source. */
static bool is_caseless(void *context, const char *key, size_t length)
{
    const struct iso_pipeline *pipeline = context;
    const struct route *route = pipeline->has_caseless ? route_of_key(pipeline, key, length) : NULL;
    return route && route->traits.caseless;
}

static bool is_unreported(void *context, const char *key, size_t length)
{
    const struct route *route = route_of_key(context, key, length);
    return route && route->traits.unreported;
}

struct iso_pipeline *iso_pipeline_new(const struct iso_pipeline_options *options)
{
    struct iso_aion_options engine;
    struct iso_pipeline *pipeline = iso_allocate_zeroed(1, sizeof *pipeline);
    pipeline->options = *options;
    iso_aion_options_init(&engine);
    engine.level = options->seeks_order ? ISO_SI : options->level;
    engine.overlaps = options->seeks_order;
    engine.session_order = options->session_order;
    engine.shards = options->shards;
    engine.run = options->run;
    engine.runner = options->runner;
    engine.finality_timeout_ms = options->finality_timeout_ms;
    engine.settle_ms = options->settle_ms;
    if (options->changes && options->clients && options->finality_timeout_ms) {
        /* Rows without a record leave the join once no record can come: a little after the grace. Until then each read
         * of theirs seems wrong. */
        engine.finality_timeout_ms += options->grace_ms;
        engine.emit_after_ms = options->settle_ms ? options->grace_ms + options->finality_timeout_ms / 2 : 0;
    }
    engine.settle_untimed = !options->finality_timeout_ms;
    engine.retention = options->retention;
    engine.memory_limit = options->memory_limit;
    engine.spill = options->spill;
    engine.spill_stays = options->spill_stays;
    engine.spill_all = options->spill_all;
    engine.spill_segment_bits = options->spill_segment_bits;
    engine.memory_in_use = options->memory_in_use;
    engine.max_per_key = options->max_per_key;
    engine.grounds = true; /* each may be excused, or doubtful, by itself */
    engine.is_doubted = pipeline_is_doubted;
    engine.on_doubted_pairs = pipeline_doubted_pairs;
    engine.conflict_window = options->changes ? pipeline_conflict_window : NULL;
    engine.on_contradiction = options->on_bad_record == ISO_BAD_FAIL ? NULL : pipeline_contradiction;
    engine.on_late = pipeline_late;
    engine.emit = pipeline_emit;
    engine.context = pipeline;
    engine.foreign = options->changes != NULL;
    engine.is_whole_row = options->changes ? is_whole_row : NULL;
    pipeline_order_init(pipeline);
    pipeline->engine = iso_aion_new(&engine);
    if (options->changes)
        pipeline->join = iso_join_new(&(struct iso_join_options){
            .kind = options->changes,
            .covers = covers,
            .is_whole_row = is_whole_row,
            .is_caseless = is_caseless,
            .is_unreported = is_unreported,
            .value_type = pipeline_value_type,
            .context = pipeline,
            .judge_uncovered = options->judge_uncovered,
            .initial_known = options->initial_known,
            .clients = options->clients,
            .records_first = options->records_first,
            .keep_joined = options->on_joined != NULL,
            .markers = options->markers,
            .one_group = options->one_group,
            .xa = options->xa,
            .patience_ms = options->patience_ms,
            .waiting_limit = options->waiting_limit,
        });
    iso_atoms_init(&pipeline->names);
    iso_inputs_init(&pipeline->inputs);
    iso_events_init(&pipeline->events);
    iso_atoms_init(&pipeline->findings.atoms);
    pipeline->findings.limit = options->max_violations;
    iso_atoms_init(&pipeline->unlisted.atoms);
    return pipeline;
}

void iso_pipeline_free(struct iso_pipeline *pipeline)
{
    if (!pipeline)
        return;
    iso_aion_free(pipeline->engine);
    iso_join_free(pipeline->join);
    iso_atoms_release(&pipeline->names);
    altered_release(&pipeline->altered);
    grace_release(&pipeline->grace);
    told_release(&pipeline->cdc);
    told_release(&pipeline->snapshots);
    doubted_release(&pipeline->doubted);
    for (uint32_t i = 0; i < pipeline->route_count; i++) {
        pipeline->routes[i].decoder->class->destroy(pipeline->routes[i].decoder);
        iso_free(pipeline->routes[i].topic);
    }
    iso_free(pipeline->routes);
    iso_free(pipeline->states);
    iso_events_release(&pipeline->events);
    iso_inputs_release(&pipeline->inputs);
    iso_text_release(&pipeline->line);
    spellings_release(&pipeline->spellings);
    findings_release(&pipeline->findings);
    unlisted_release(&pipeline->unlisted);
    pipeline_order_release(pipeline);
    iso_number_map_release(&pipeline->batch.places);
    iso_free(pipeline);
}

struct iso_inputs *iso_pipeline_inputs(struct iso_pipeline *pipeline)
{
    return &pipeline->inputs;
}

static void expect_in_band(struct iso_pipeline *pipeline)
{
    pipeline->expects_records = true;
    iso_join_expect_in_band(pipeline->join);
}

void iso_pipeline_route(struct iso_pipeline *pipeline, const char *topic, struct iso_decoder *decoder, bool whole_rows)
{
    static const char messages[] = ".message"; /* Debezium's topic of logical messages */
    size_t length = strlen(topic);
    if (pipeline->join && length >= sizeof messages && !strcmp(topic + length + 1 - sizeof messages, messages))
        expect_in_band(pipeline);
    pipeline->routes = iso_reallocate(pipeline->routes, (pipeline->route_count + 1) * sizeof *pipeline->routes);
    pipeline->routes[pipeline->route_count++] =
        (struct route){.topic = iso_copy_text(topic, strlen(topic)), .decoder = decoder, .whole_rows = whole_rows};
}

void iso_pipeline_route_traits(struct iso_pipeline *pipeline, const struct iso_route_traits *traits)
{
    pipeline->routes[pipeline->route_count - 1].traits = *traits;
    pipeline->has_caseless |= traits->caseless;
}

void iso_pipeline_initial(struct iso_pipeline *pipeline, const struct iso_history *history)
{
    iso_aion_initial(pipeline->engine, history);
}

/* ---- bad records ---- */

enum { PLACE_BYTES = 400 };

/* "topic clients partition 0 offset 7", or "clients.jsonl line 7". */
static void put_place(const struct iso_pipeline *pipeline, uint64_t origin, char *text, size_t size)
{
    uint32_t input = iso_origin_input(origin);
    const struct iso_inputs_entry *entry = input < pipeline->inputs.count ? &pipeline->inputs.list[input] : NULL;
    if (!entry)
        snprintf(text, size, "an unknown place");
    else if (entry->partition == ISO_PIPELINE_FILE)
        snprintf(text, size, "%s line %" PRIu64, entry->topic, iso_origin_place(origin));
    else
        snprintf(text, size, "topic %s partition %" PRId32 " offset %" PRIu64, entry->topic, entry->partition,
                 iso_origin_place(origin));
}

/* ISO_OK: it is left out. Otherwise the pipeline stops with its place. */
static enum iso_status leave_out(struct iso_pipeline *pipeline, const struct iso_message *message, uint64_t origin,
                                 const char *reason, struct iso_error *error)
{
    char place[PLACE_BYTES];
    pipeline->stats.bad_records++;
    put_place(pipeline, origin, place, sizeof place);
    if (pipeline->options.on_bad_record == ISO_BAD_FAIL)
        return iso_error_set(error, ISO_BAD_INPUT, "%s: %s", place, reason);
    if (pipeline->options.on_bad)
        pipeline->options.on_bad(pipeline->options.context, message, place, reason);
    return ISO_OK;
}

/* The same; what it told of transactions and rows is missing. */
static enum iso_status bad_record(struct iso_pipeline *pipeline, const struct iso_message *message, uint64_t origin,
                                  const char *reason, struct iso_error *error)
{
    if (pipeline->options.on_bad_record != ISO_BAD_FAIL)
        pipeline_lacks(pipeline, iso_origin_input(origin));
    return leave_out(pipeline, message, origin, reason, error);
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
    if (!state->begun && state->is_change_stream)
        iso_join_begun(pipeline->join, message->input);
    if (!state->begun)
        iso_pipeline_begins(pipeline, message->offset);
    state->begun = true;
}

/* ---- what came, for the books ---- */

static uint64_t reads_in(const struct iso_history *block, uint32_t first, uint32_t count)
{
    uint64_t reads = 0;
    for (uint32_t o = block->first_operation[first]; o < block->first_operation[first + count]; o++)
        reads += !iso_kind_writes(block->kind[o]);
    return reads;
}

static void count_records(struct iso_pipeline *pipeline, const struct iso_history *block, uint32_t first,
                          uint32_t count)
{
    pipeline->stats.intake.records += count;
    pipeline->stats.intake.reads += count ? reads_in(block, first, count) : 0;
}

/* What a message brought: events and records from these on. */
static void count_message(struct iso_pipeline *pipeline, uint32_t first_event, uint32_t first_record)
{
    struct iso_pipeline_intake *intake = &pipeline->stats.intake;
    const struct iso_events *events = &pipeline->events;
    uint32_t records = events->block.transaction_count - first_record;
    bool tells = records, ignored = true;
    for (uint32_t i = first_event; i < events->count; i++) {
        uint8_t type = events->list[i].type;
        bool is_row = type == ISO_EVENT_ROW || type == ISO_EVENT_DELETE_IF;
        intake->rows += is_row;
        tells |= is_row || type == ISO_EVENT_DROP;
        ignored &= type == ISO_EVENT_IGNORED;
    }
    count_records(pipeline, &events->block, first_record, records);
    intake->telling += tells;
    intake->empty += !tells && ignored;
    intake->protocol += !tells && !ignored;
}

/* ---- one batch, decoded ---- */

static enum iso_status decode_batch(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error)
{
    for (uint32_t i = 0; i < pipeline->batch.count; i++) {
        const struct iso_message *message = &pipeline->batch.messages[i];
        struct iso_error wrong;
        wrong.status = ISO_OK; /* its text is only then looked at when it is set */
        uint32_t first_event = pipeline->events.count, first_record = pipeline->events.block.transaction_count;
        struct iso_decoder *decoder = find_decoder(pipeline, message);
        pipeline->stats.intake.messages++;
        if (!decoder) {
            pipeline->stats.unrouted++;
            continue;
        }
        pipeline_arrived(pipeline, message->input, now);
        note_first(pipeline, message);
        pipeline_note_time(pipeline, message, now);
        pipeline->stats.messages++;
        pipeline->stats.bytes += message->key.size + message->payload.size;
        if (decoder->class->decode(decoder, message, &pipeline->events, &wrong) == ISO_OK) {
            pipeline_note_snapshots(pipeline, message, first_record);
            count_message(pipeline, first_event, first_record);
            continue;
        }
        pipeline->stats.intake.undecodable++;
        if (wrong.status != ISO_BAD_INPUT)
            return iso_error_set(error, wrong.status, "%s", wrong.text);
        if (bad_record(pipeline, message, pipeline_origin_of(message), wrong.text, error) != ISO_OK)
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
    char place[PLACE_BYTES];
    const struct iso_message *message = pipeline_batch_find(&pipeline->batch, block->origin[culprit]);
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

/* A record that is judged although another contradicts it: handed on as one that was left out is. */
static void tell_doubtful(struct iso_pipeline *pipeline, uint64_t origin, const char *reason)
{
    char place[PLACE_BYTES];
    put_place(pipeline, origin, place, sizeof place);
    if (pipeline->options.on_doubtful)
        pipeline->options.on_doubtful(pipeline->options.context, pipeline_batch_find(&pipeline->batch, origin), place,
                                      reason);
}

void pipeline_tell_contradiction(struct iso_pipeline *pipeline, const struct iso_history *block, uint32_t t,
                                 uint64_t first)
{
    char place[PLACE_BYTES], text[PLACE_BYTES + 300], buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    const char *tid = iso_atom_text(&block->atoms, block->tid[t], buffer, &length);
    put_place(pipeline, first, place, sizeof place);
    snprintf(text, sizeof text,
             "transaction %.*s arrived before with other content, first at %s: findings that name it are doubtful. "
             "Give each session and each start of an application ids of its own",
             (int)(length < 100 ? length : 100), tid, place);
    tell_doubtful(pipeline, block->origin[t], text);
}

/* A transaction that the engine did not take; its reason begins with the place, as histories have it. */
static enum iso_status refuse(struct iso_pipeline *pipeline, const struct iso_history *block, uint32_t t,
                              const char *reason, struct iso_error *error)
{
    char place[512], first[PLACE_BYTES], text[1700];
    uint64_t origin = block->origin[t], other = iso_aion_contradicted(pipeline->engine);
    iso_history_place_text(block, t, place, sizeof place);
    size_t length = strlen(place);
    if (!strncmp(reason, place, length) && !strncmp(reason + length, ": ", 2))
        reason += length + 2;
    if (other != UINT64_MAX) {
        put_place(pipeline, other, first, sizeof first);
        snprintf(text, sizeof text,
                 "%s; it arrived first at %s. Give each session and each start of an application ids of its own, or "
                 "leave such records out with --on-bad-record skip",
                 reason, first);
        reason = text;
    }
    return bad_record(pipeline, pipeline_batch_find(&pipeline->batch, origin), origin, reason, error);
}

static bool is_of_list(const struct iso_history *block, uint32_t operation)
{
    uint8_t kind = iso_kind_of(block, operation);
    return kind == ISO_APPEND || kind == ISO_READ_LIST;
}

/* A key that is a list to some and a single value to others becomes two, both of them doubtful: this transaction's
 * operations that do not fit go to a key of another name. False: it was refused for another reason. */
static bool split_key(struct iso_pipeline *pipeline, struct iso_history *block, uint32_t t)
{
    uint32_t misused = iso_aion_misused(pipeline->engine), key = misused == ISO_NONE ? 0 : block->key[misused];
    char buffer[ISO_ATOM_TEXT_MAX], reason[300];
    size_t length;
    if (misused == ISO_NONE || pipeline->options.on_bad_record == ISO_BAD_FAIL)
        return false;
    bool list = is_of_list(block, misused);
    struct iso_text name = {0};
    const char *text = iso_atom_text(&block->atoms, block->key_atom[key], buffer, &length);
    iso_text_put_bytes(&name, text, length);
    iso_text_put(&name, list ? " (as a list)" : " (as a single value)");
    iso_atom other = iso_atoms_text(&block->atoms, name.bytes, name.used);
    pipeline_doubt_key(pipeline, &block->atoms, block->key_atom[key]);
    pipeline_doubt_key(pipeline, &block->atoms, other);
    uint32_t moved = iso_history_key(block, other);
    for (uint32_t o = block->first_operation[t]; o < block->first_operation[t + 1]; o++)
        block->key[o] = block->key[o] == key && is_of_list(block, o) == list ? moved : block->key[o];
    snprintf(reason, sizeof reason, "uses key %.*s as a %s, and others do not: what names it is doubtful",
             (int)(name.used < 100 ? length : 80), name.bytes, list ? "list" : "single value");
    pipeline->stats.contradictions++;
    tell_doubtful(pipeline, block->origin[t], reason);
    iso_text_release(&name);
    return true;
}

enum iso_status pipeline_add(struct iso_pipeline *pipeline, struct iso_history *block, uint32_t first, uint32_t count,
                             uint64_t now, struct iso_error *error)
{
    struct iso_pipeline_intake *intake = &pipeline->stats.intake;
    uint32_t end = first + count, taken;
    while (first < end) {
        struct iso_error wrong = {0};
        enum iso_status status = iso_aion_add(pipeline->engine, first, end - first, now, &taken, &wrong);
        uint32_t given = status == ISO_OK ? end - first : taken + (status == ISO_BAD_INPUT);
        intake->given += given;
        intake->given_reads += given ? reads_in(block, first, given) : 0;
        if (status == ISO_OK)
            return ISO_OK;
        if (wrong.status != ISO_BAD_INPUT)
            return iso_error_set(error, wrong.status, "%s", wrong.text);
        if (split_key(pipeline, block, first + taken)) {
            first += taken;
            intake->given--;
            intake->given_reads -= reads_in(block, first, 1);
            continue;
        }
        intake->refused++;
        intake->refused_reads += reads_in(block, first + taken, 1);
        if (refuse(pipeline, block, first + taken, wrong.text, error) != ISO_OK)
            return error->status;
        first += taken + 1;
    }
    return ISO_OK;
}

static void take_watermark(struct iso_pipeline *pipeline, const struct iso_event *event, uint64_t now,
                           struct iso_error *error)
{
    char reason[300];
    if (!pipeline_is_explained(pipeline, event->cts.physical, reason, sizeof reason)) {
        leave_out(pipeline, pipeline_batch_find(&pipeline->batch, event->origin), event->origin, reason, error);
        return;
    }
    pipeline_note_timestamp(pipeline, event->cts.physical);
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
    if (event->type == ISO_EVENT_TRANSACTIONS)
        pipeline_note_timestamps(pipeline, event->first, event->first + event->count);
    if (iso_join_take(pipeline->join, &pipeline->events.block, event, now, &wrong) != ISO_OK)
        bad_record(pipeline, pipeline_batch_find(&pipeline->batch, event->origin), event->origin, wrong.text, error);
}

const char *iso_table_news_name(enum iso_table_news news)
{
    static const char *const names[] = {"columns", "emptied", "partly-emptied", "rewritten", "left-out"};
    return names[news];
}

static void tell_table(const struct iso_pipeline *pipeline, const struct iso_event *event, enum iso_table_news news)
{
    char place[PLACE_BYTES], buffer[ISO_ATOM_TEXT_MAX];
    size_t length = 0;
    const char *table =
        event->table == ISO_ABSENT ? "" : iso_atom_text(&pipeline->events.block.atoms, event->table, buffer, &length);
    put_place(pipeline, event->origin, place, sizeof place);
    if (pipeline->options.on_table)
        pipeline->options.on_table(pipeline->options.context, place, table, length, news,
                                   news == ISO_NEWS_LEFT_OUT ? event->reason : NULL);
}

/* Where a statement alone changed a whole table. */
static void tell_change(const struct iso_pipeline *pipeline, const struct iso_event *event)
{
    if (event->operation == ISO_TABLE_PARTLY_EMPTIED)
        tell_table(pipeline, event, ISO_NEWS_PARTLY);
    else if (event->operation != ISO_TABLE_SAME)
        tell_table(pipeline, event, ISO_NEWS_REWRITTEN);
}

/* What is no change itself, and may say something of a table: that its columns changed, that it cannot be judged. */
static void take_note(struct iso_pipeline *pipeline, const struct iso_event *event, uint64_t now,
                      struct iso_error *error)
{
    bool is_schema = event->type == ISO_EVENT_SCHEMA, has_table = event->table != ISO_ABSENT;
    if (is_schema && has_table && event->flags & ISO_EVENT_EPOCH)
        tell_table(pipeline, event, ISO_NEWS_COLUMNS);
    if (is_schema && has_table && event->flags & ISO_EVENT_ALONE)
        tell_change(pipeline, event);
    if (!is_schema && has_table && iso_join_look_again(pipeline->join, &pipeline->events.block.atoms, event->table))
        tell_table(pipeline, event, ISO_NEWS_LEFT_OUT);
    take_change(pipeline, event, now, error);
}

/* Transactions of the block that are for somebody else than the engine. */
static bool are_taken(struct iso_pipeline *pipeline, const struct iso_event *event, struct iso_error *error)
{
    const struct iso_pipeline_options *options = &pipeline->options;
    return options->on_transactions &&
           options->on_transactions(options->context, &pipeline->events.block, event->first, event->count, error);
}

static enum iso_status process(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error)
{
    struct iso_history *block = &pipeline->events.block;
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
            if (are_taken(pipeline, event, error)) {
                pipeline->stats.intake.elsewhere += event->count;
                pipeline->stats.intake.elsewhere_reads += reads_in(block, event->first, event->count);
                break;
            }
            pipeline_note_timestamps(pipeline, event->first, event->first + event->count);
            pipeline_look_ahead_all(pipeline, event->first, event->first + event->count);
            pipeline_add(pipeline, block, event->first, event->count, now, error);
            break;
        case ISO_EVENT_WATERMARK:
            take_watermark(pipeline, event, now, error);
            break;
        case ISO_EVENT_IGNORED:
        case ISO_EVENT_SCHEMA:
            pipeline->stats.ignored++;
            if (pipeline->join)
                take_note(pipeline, event, now, error);
            break;
        case ISO_EVENT_HEARTBEAT:
            pipeline->stats.ignored++;
            break;
        case ISO_EVENT_DROP:
            tell_table(pipeline, event, ISO_NEWS_EMPTIED);
            take_change(pipeline, event, now, error);
            break;
        default:
            take_change(pipeline, event, now, error);
        }
    }
    if (pipeline->join) {
        iso_join_end_batch(pipeline->join);
        pipeline_drain(pipeline, now, error);
        pipeline_note_stream(pipeline);
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
    count_records(pipeline, block, 0, block->transaction_count);
    for (uint32_t t = 0; t < block->transaction_count && error->status == ISO_OK; t += PIECE) {
        uint32_t left = block->transaction_count - t;
        iso_join_take_records(pipeline->join, block, t, left < PIECE ? left : PIECE, now);
        pipeline_drain(pipeline, now, error);
    }
    iso_join_end_batch(pipeline->join);
    return error->status;
}

/* What memory did not hold: once. */
static void tell_short(struct iso_pipeline *pipeline)
{
    const struct iso_pipeline_options *options = &pipeline->options;
    uint64_t below = iso_aion_closed_early(pipeline->engine), given_up = iso_aion_given_up(pipeline->engine);
    if (below && !pipeline->closed_early && options->on_closed_early)
        options->on_closed_early(options->context, below);
    if (given_up && !pipeline->given_up && options->on_given_up)
        options->on_given_up(options->context, given_up);
    pipeline->closed_early |= below != 0;
    pipeline->given_up |= given_up != 0;
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

enum iso_status pipeline_look(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error)
{
    iso_join_look(pipeline->join);
    pipeline_drain(pipeline, now, error);
    return check_sink(pipeline, error);
}

enum iso_status iso_pipeline_feed(struct iso_pipeline *pipeline, const struct iso_message *messages, uint32_t count,
                                  uint64_t now, struct iso_error *error)
{
    struct iso_error undecodable = {0};
    if (!count)
        return ISO_OK;
    pipeline_batch_start(&pipeline->batch, messages, count);
    start_block(pipeline);
    decode_batch(pipeline, now, &undecodable);
    /* What came before a record that stops the pipeline is judged first. */
    if (make_scalar(pipeline, &pipeline->events.block, error) == ISO_OK)
        process(pipeline, now, error);
    if (undecodable.status != ISO_OK)
        iso_error_set(error, undecodable.status, "%s", undecodable.text);
    pipeline_batch_end(&pipeline->batch);
    tell_short(pipeline);
    return check_sink(pipeline, error);
}

enum iso_status iso_pipeline_tick(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error)
{
    if (pipeline_idle(pipeline, now) && pipeline->join)
        pipeline_look(pipeline, now, error);
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
    pipeline_release_absent(pipeline, pipeline->altered.absent_count);
    pipeline_tell_all_unlisted(pipeline);
    findings_validate(&pipeline->findings);
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
