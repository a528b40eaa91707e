#include "pipeline/pipeline.h"

#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "pipeline/pipeline_private.h"

void iso_pipeline_options_init(struct iso_pipeline_options *options)
{
    *options = (struct iso_pipeline_options){.max_violations = 1000, .scan_limit = ISO_SCAN_LIMIT};
    iso_aion_options_init(&options->engine);
    options->engine.finality_timeout_ms = 0;
    options->engine.max_per_key = 1000;
}

static bool is_whole_row(void *context, const char *key, size_t length)
{
    struct iso_pipeline *pipeline = context;
    return routes_have_whole_row(&pipeline->routes, key, length);
}

static struct iso_aion *new_engine(struct iso_pipeline *pipeline)
{
    const struct iso_pipeline_options *options = &pipeline->options;
    struct iso_aion_options engine = options->engine;
    bool joins = options->join.kind != NULL;
    engine.level = options->seeks_order ? ISO_SI : engine.level;
    engine.overlaps = options->seeks_order;
    engine.host.settle_untimed = !engine.finality_timeout_ms;
    if (joins && options->join.clients && engine.finality_timeout_ms) {
        /* Rows without a record leave the join once no record can arrive: a little after the grace.
         * Until then each read of theirs seems wrong. */
        engine.emit_after_ms =
            engine.settle_ms ? options->grace_ms + engine.finality_timeout_ms / 2 : 0;
        engine.finality_timeout_ms += options->grace_ms;
    }
    engine.host.provenance = true; /* each may be suppressed, or doubtful, by itself */
    engine.host.is_doubted = pipeline_is_doubted;
    engine.host.on_doubted_pairs = pipeline_doubted_pairs;
    engine.host.conflict_window = joins ? pipeline_conflict_window : NULL;
    engine.host.on_contradiction =
        options->on_bad_record == ISO_BAD_FAIL ? NULL : pipeline_contradiction;
    engine.host.on_late = pipeline_late;
    engine.host.on_taken = pipeline_queries_add;
    engine.host.bytes_beside = pipeline_queries_bytes;
    engine.host.on_floor = pipeline_queries_floor;
    engine.host.counts_steps = true;
    engine.host.emit = pipeline_emit;
    engine.host.context = pipeline;
    engine.host.foreign = joins;
    engine.host.has_snapshot_boundaries = joins && iso_join_has_positions(options->join.kind);
    engine.host.is_whole_row = joins ? is_whole_row : NULL;
    return iso_aion_new(&engine);
}

static struct iso_join *new_join(struct iso_pipeline *pipeline)
{
    struct iso_join_options join = pipeline->options.join;
    join.covers = routes_cover;
    join.is_whole_row = routes_have_whole_row;
    join.is_caseless = routes_are_caseless;
    join.is_unreported = routes_are_unreported;
    join.value_type = routes_value_type;
    join.has_cells = routes_have_cells;
    join.covers_column = routes_cover_column;
    join.context = &pipeline->routes;
    join.keep_joined = pipeline->options.on_joined != NULL;
    join.grace_ms = pipeline->options.grace_ms;
    join.reads_at_commit = pipeline->options.engine.level == ISO_SER;
    return iso_join_new(&join);
}

struct iso_pipeline *iso_pipeline_new(const struct iso_pipeline_options *options)
{
    struct iso_pipeline *pipeline = iso_allocate_zeroed(1, sizeof *pipeline);
    pipeline->options = *options;
    pipeline->memory_limit = options->engine.memory_limit;
    pipeline_order_init(pipeline);
    pipeline->engine = new_engine(pipeline);
    pipeline->join = options->join.kind ? new_join(pipeline) : NULL;
    iso_inputs_init(&pipeline->inputs.names);
    pipeline_batch_init(&pipeline->batch);
    reports_init(&pipeline->reports, options->max_violations);
    return pipeline;
}

void iso_pipeline_free(struct iso_pipeline *pipeline)
{
    if (!pipeline)
        return;
    iso_aion_free(pipeline->engine);
    iso_join_free(pipeline->join);
    altered_release(&pipeline->altered);
    iso_free(pipeline->grace.promise.list);
    doubts_release(&pipeline->doubts);
    routes_release(&pipeline->routes);
    pipeline_batch_release(&pipeline->batch);
    inputs_release(&pipeline->inputs);
    spellings_release(&pipeline->spellings);
    reports_release(&pipeline->reports);
    iso_text_release(&pipeline->lost.lines);
    id_set_release(&pipeline->lost.beyond);
    id_set_release(&pipeline->lost.last);
    queries_release(&pipeline->queries);
    counted_release(&pipeline->counted);
    pipeline_order_release(pipeline);
    iso_free(pipeline);
}

struct iso_inputs *iso_pipeline_inputs(struct iso_pipeline *pipeline)
{
    return &pipeline->inputs.names;
}

void iso_pipeline_route(struct iso_pipeline *pipeline, const char *topic,
                        struct iso_decoder *decoder, bool whole_rows)
{
    pipeline->queries.of_ranges |= decoder->ranges;
    if (decoder->cells || decoder->ranges)
        pipeline_need_queries(pipeline);
    if (pipeline->join && iso_topic_is_prefix(topic))
        iso_join_sources_may_grow(pipeline->join);
    bool has_messages = routes_add(&pipeline->routes, topic, decoder, whole_rows);
    if (!pipeline->join)
        return;
    if (routes_have_ends(&pipeline->routes))
        iso_join_expect_ends(pipeline->join);
    if (routes_have_statements(&pipeline->routes))
        iso_join_expect_statements(pipeline->join);
    if (!has_messages)
        return;
    pipeline->routes.expects_records = true;
    iso_join_expect_in_band(pipeline->join);
}

void iso_pipeline_route_traits(struct iso_pipeline *pipeline, const struct iso_route_traits *traits)
{
    assert(pipeline->routes.count);
    pipeline->routes.list[pipeline->routes.count - 1].traits = *traits;
    pipeline->routes.has_caseless |= traits->caseless;
}

void iso_pipeline_initial(struct iso_pipeline *pipeline, const struct iso_history *history)
{
    iso_aion_initial(pipeline->engine, history);
    pipeline_queries_start(pipeline, history);
}

/* Beside a change stream clients' records bring no versions of their own. */
void iso_pipeline_begins(struct iso_pipeline *pipeline, uint32_t input, int64_t offset)
{
    bool brings =
        !pipeline->join || input == ISO_NONE || pipeline_is_change_stream(pipeline, input);
    pipeline->doubts.midway |= offset > 0 && brings && !pipeline->options.join.initial_known;
    if (pipeline->doubts.midway)
        pipeline_queries_midway(pipeline);
}

/* ---- transactions, to the engine ---- */

enum iso_status pipeline_add(struct iso_pipeline *pipeline, struct iso_history *block,
                             uint32_t first, uint32_t count, uint64_t now, struct iso_error *error)
{
    assert(first <= block->txns.count && count <= block->txns.count - first);
    struct iso_pipeline_intake *intake = &pipeline->stats.intake;
    uint32_t end = first + count, taken;
    while (first < end) {
        struct iso_error wrong = {0};
        enum iso_status status =
            iso_aion_add(pipeline->engine, first, end - first, now, &taken, &wrong);
        uint32_t given = status == ISO_OK ? end - first : taken + (status == ISO_BAD_INPUT);
        intake->given += given;
        intake->given_reads += given ? pipeline_reads_in(block, first, given) : 0;
        if (status == ISO_OK)
            return ISO_OK;
        if (wrong.status != ISO_BAD_INPUT)
            return iso_error_set(error, wrong.status, "%s", wrong.text);
        if (pipeline_split_key(pipeline, block, first + taken)) {
            first += taken;
            intake->given--;
            intake->given_reads -= pipeline_reads_in(block, first, 1);
            continue;
        }
        intake->refused++;
        intake->refused_reads += pipeline_reads_in(block, first + taken, 1);
        if (pipeline_refuse(pipeline, block, first + taken, wrong.text, error) != ISO_OK)
            return error->status;
        first += taken + 1;
    }
    return ISO_OK;
}

/* ---- one batch's events ---- */

/* Whether time may go on with it. What the join made before it is the engine's by then. */
static bool take_watermark(struct iso_pipeline *pipeline, const struct iso_event *event,
                           uint64_t now, struct iso_error *error)
{
    char reason[300];
    if (!pipeline_is_explained(pipeline, event->cts.physical, reason, sizeof reason)) {
        pipeline_leave_out(pipeline, pipeline_batch_find(&pipeline->batch, event->origin),
                           event->origin, reason, error);
        return false;
    }
    pipeline_note_timestamp(pipeline, event->cts.physical);
    if (pipeline->join)
        pipeline_drain(pipeline, now, error);
    return pipeline_note_watermark(pipeline, event->origin, event->cts.physical);
}

/* One event of a change stream, or records that are to be joined with some. */
static void take_change(struct iso_pipeline *pipeline, const struct iso_event *event, uint64_t now,
                        struct iso_error *error)
{
    struct iso_error wrong;
    wrong.status = ISO_OK;
    if (event->type == ISO_EVENT_TRANSACTIONS)
        pipeline_note_timestamps(pipeline, event->first, event->first + event->count);
    if (event->type == ISO_EVENT_ROW && event->reason && !pipeline->replaced_null.reason) {
        pipeline->replaced_null.is = true;
        pipeline->replaced_null.origin = event->origin;
        pipeline->replaced_null.reason = event->reason;
    }
    if (iso_join_take(pipeline->join, &pipeline->batch.events.block, event, now, &wrong) != ISO_OK)
        pipeline_bad_record(pipeline, pipeline_batch_find(&pipeline->batch, event->origin),
                            event->origin, wrong.text, error);
    uint64_t origin, count;
    wrong.status = ISO_OK;
    if ((count = iso_join_early_foreign(pipeline->join, &origin, &wrong)) > 0) {
        pipeline->stats.bad_records += count - 1;
        pipeline_bad_record(pipeline, pipeline_batch_find(&pipeline->batch, origin), origin,
                            wrong.text, error);
    }
}

const char *iso_table_news_name(enum iso_table_news news)
{
    static const char *const names[] = {"columns",   "emptied",  "partly-emptied",
                                        "rewritten", "left-out", "lossy"};
    assert((size_t)news < sizeof names / sizeof *names);
    return names[news];
}

void pipeline_report_table(const struct iso_pipeline *pipeline, uint64_t origin, const char *name,
                           size_t length, enum iso_table_news news, const char *reason)
{
    char location[LOCATION_BYTES];
    pipeline_put_location(pipeline, origin, location, sizeof location);
    if (pipeline->options.on_table)
        pipeline->options.on_table(pipeline->options.context, location, name, length, news, reason);
}

static void report_table(const struct iso_pipeline *pipeline, const struct iso_event *event,
                         enum iso_table_news news)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length = 0;
    iso_atom name = news == ISO_NEWS_LOSSY ? event->key : event->table;
    const char *table = name == ISO_ABSENT ? ""
                                           : iso_atom_text(&pipeline->batch.events.block.atoms,
                                                           name, buffer, &length);
    pipeline_report_table(pipeline, event->origin, table, length, news,
                          news >= ISO_NEWS_LEFT_OUT ? event->reason : NULL);
}

/* The stream names a table that has no topic yet: its rows will come. */
static void note_collection(struct iso_pipeline *pipeline, const struct iso_event *event)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (event->table == ISO_ABSENT)
        return;
    const char *table =
        iso_atom_text(&pipeline->batch.events.block.atoms, event->table, buffer, &length);
    if (routes_note_table(&pipeline->routes, table, length))
        iso_join_sources_grew(pipeline->join);
}

/* Where a statement alone changed a whole table. */
static void report_rewrite(const struct iso_pipeline *pipeline, const struct iso_event *event)
{
    if (event->operation == ISO_TABLE_PARTLY_EMPTIED)
        report_table(pipeline, event, ISO_NEWS_PARTLY);
    else if (event->operation != ISO_TABLE_SAME)
        report_table(pipeline, event, ISO_NEWS_REWRITTEN);
}

/* Takes an event that is no change and may concern a table: its columns changed, or it cannot be
 * judged. */
static void take_note(struct iso_pipeline *pipeline, const struct iso_event *event, uint64_t now,
                      struct iso_error *error)
{
    bool is_schema = event->type == ISO_EVENT_SCHEMA, has_table = event->table != ISO_ABSENT;
    if (is_schema && has_table && event->flags & ISO_EVENT_EPOCH && event->key == ISO_ABSENT)
        report_table(pipeline, event, ISO_NEWS_COLUMNS);
    if (is_schema && has_table && event->flags & ISO_EVENT_ALONE)
        report_rewrite(pipeline, event);
    bool of_column = !is_schema && event->key != ISO_ABSENT,
         told = !is_schema && event->flags & ISO_EVENT_EPOCH;
    if (!is_schema && has_table && !of_column)
        told |= iso_join_ask_coverage_again(pipeline->join, &pipeline->batch.events.block.atoms,
                                            event->table);
    if (told)
        report_table(pipeline, event, of_column ? ISO_NEWS_LOSSY : ISO_NEWS_LEFT_OUT);
    take_change(pipeline, event, now, error);
}

/* Transactions of the block that are for somebody else than the engine. */
static bool are_taken(struct iso_pipeline *pipeline, const struct iso_event *event,
                      struct iso_error *error)
{
    const struct iso_pipeline_options *options = &pipeline->options;
    return options->on_transactions &&
           options->on_transactions(options->context, &pipeline->batch.events.block, event->first,
                                    event->count, error);
}

static enum iso_status process(struct iso_pipeline *pipeline, uint64_t now, struct iso_error *error)
{
    struct iso_history *block = &pipeline->batch.events.block;
    if (!pipeline->join) {
        iso_aion_block(pipeline->engine, block);
        pipeline_queries_block(pipeline, block);
    }
    for (uint32_t i = 0; i < pipeline->batch.events.count && error->status == ISO_OK; i++) {
        const struct iso_event *event = &pipeline->batch.events.list[i];
        switch ((enum iso_event_type)event->type) {
        case ISO_EVENT_COUNTED:
            counted_note_total(&pipeline->counted, block, event);
            break;
        case ISO_EVENT_TRANSACTIONS:
            for (uint32_t t = event->first; t < event->first + event->count; t++)
                counted_note_record(&pipeline->counted, block, t);
            if (pipeline->join) {
                take_change(pipeline, event, now, error);
                break;
            }
            if (are_taken(pipeline, event, error)) {
                pipeline->stats.intake.elsewhere += event->count;
                pipeline->stats.intake.elsewhere_reads +=
                    pipeline_reads_in(block, event->first, event->count);
                break;
            }
            pipeline_note_timestamps(pipeline, event->first, event->first + event->count);
            pipeline_note_far_ahead_all(pipeline, event->first, event->first + event->count);
            pipeline_add(pipeline, block, event->first, event->count, now, error);
            break;
        case ISO_EVENT_WATERMARK:
            if (take_watermark(pipeline, event, now, error))
                pipeline_advance(pipeline, now);
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
        case ISO_EVENT_COLLECTION:
            note_collection(pipeline, event);
            take_change(pipeline, event, now, error);
            break;
        case ISO_EVENT_DROP:
            report_table(pipeline, event, ISO_NEWS_EMPTIED);
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
    pipeline->doubts.loses = !pipeline->join && pipeline->counted.hole_count;
    pipeline_queries_flush(pipeline);
    return error->status;
}

enum iso_status iso_pipeline_records(struct iso_pipeline *pipeline, struct iso_history *block,
                                     uint64_t now, struct iso_error *error)
{
    enum { PIECE = 4096 };
    pipeline_name_inputs(pipeline, &iso_join_output(pipeline->join)->block);
    if (pipeline_make_scalar(pipeline, block, error) != ISO_OK)
        return error->status;
    pipeline_count_records(pipeline, block, 0, block->txns.count);
    pipeline->counted.file = block->lost;
    for (uint32_t t = 0; t < block->txns.count; t++) {
        struct iso_error wrong = {.status = ISO_OK};
        if (iso_join_check_record(pipeline->join, block, t, &wrong) != ISO_OK &&
            pipeline_refuse(pipeline, block, t, wrong.text, error) != ISO_OK)
            return error->status;
    }
    for (uint32_t t = 0; t < block->txns.count && error->status == ISO_OK; t += PIECE) {
        uint32_t left = block->txns.count - t;
        iso_join_take_records(pipeline->join, block, t, left < PIECE ? left : PIECE, now);
        pipeline_drain(pipeline, now, error);
    }
    iso_join_end_batch(pipeline->join);
    return error->status;
}

void iso_pipeline_clock(struct iso_pipeline *pipeline, uint64_t time)
{
    counted_note_time(&pipeline->counted, time);
    pipeline_doubt_lost(pipeline);
}

uint64_t iso_pipeline_awaited(const struct iso_pipeline *pipeline)
{
    return counted_awaited(&pipeline->counted);
}

/* Reports once what had no room in memory. */
static void report_short_memory(struct iso_pipeline *pipeline)
{
    const struct iso_pipeline_options *options = &pipeline->options;
    uint64_t below = iso_aion_closed_early(pipeline->engine),
             given_up = iso_aion_given_up(pipeline->engine);
    if (below && !pipeline->reports.closed_early && options->on_closed_early)
        options->on_closed_early(options->context, below);
    if (given_up && !pipeline->reports.given_up && options->on_given_up)
        options->on_given_up(options->context, given_up);
    pipeline->reports.closed_early |= below != 0;
    pipeline->reports.given_up |= given_up != 0;
}

static enum iso_status check_sink(struct iso_pipeline *pipeline, struct iso_error *error)
{
    pipeline_validate(pipeline);
    if (pipeline->reports.failure.status != ISO_OK)
        iso_error_set(error, pipeline->reports.failure.status, "%s",
                      pipeline->reports.failure.text);
    const struct iso_error *engine = iso_aion_failure(pipeline->engine);
    if (engine->status != ISO_OK)
        iso_error_set(error, engine->status, "%s", engine->text);
    return error->status;
}

enum iso_status pipeline_recheck(struct iso_pipeline *pipeline, uint64_t now,
                                 struct iso_error *error)
{
    iso_join_recheck(pipeline->join);
    pipeline_drain(pipeline, now, error);
    return check_sink(pipeline, error);
}

enum iso_status iso_pipeline_feed(struct iso_pipeline *pipeline, const struct iso_message *messages,
                                  uint32_t count, uint64_t now, struct iso_error *error)
{
    struct iso_error undecodable = {0};
    if (!count)
        return ISO_OK;
    pipeline_batch_start(&pipeline->batch, messages, count);
    pipeline_start_block(pipeline);
    pipeline_queries_clock(pipeline, now);
    pipeline_decode(pipeline, now, &undecodable);
    /* Records that arrived before the one that stops the pipeline are judged first. */
    if (pipeline_make_scalar(pipeline, &pipeline->batch.events.block, error) == ISO_OK)
        process(pipeline, now, error);
    if (undecodable.status != ISO_OK)
        iso_error_set(error, undecodable.status, "%s", undecodable.text);
    pipeline_batch_end(&pipeline->batch);
    pipeline_queries_fit(pipeline);
    report_short_memory(pipeline);
    return check_sink(pipeline, error);
}

enum iso_status iso_pipeline_tick(struct iso_pipeline *pipeline, uint64_t now,
                                  struct iso_error *error)
{
    if (pipeline_idle(pipeline, now) && pipeline->join)
        pipeline_recheck(pipeline, now, error);
    if (pipeline->join) {
        iso_join_tick(pipeline->join, now);
        pipeline_drain(pipeline, now, error);
    }
    iso_aion_tick(pipeline->engine, now);
    pipeline_queries_tick(pipeline, now);
    return check_sink(pipeline, error);
}

enum iso_status iso_pipeline_end(struct iso_pipeline *pipeline, uint64_t now,
                                 struct iso_error *error)
{
    pipeline->counted.is_closed = true;
    pipeline_doubt_lost(pipeline);
    if (pipeline->join) {
        uint64_t whole;
        if (pipeline->options.join.clients && iso_join_has_watermarks(pipeline->join) &&
            pipeline_whole(pipeline, &whole))
            iso_join_whole(pipeline->join, whole);
        iso_join_end(pipeline->join, now);
        if (pipeline_drain(pipeline, now, error) != ISO_OK)
            return error->status;
    }
    iso_aion_end(pipeline->engine, now);
    pipeline_queries_end(pipeline);
    pipeline_release_absent(pipeline, pipeline->altered.absent_count);
    assert(!pipeline->altered.absent_count);
    pipeline_report_all_unlisted(pipeline);
    return check_sink(pipeline, error);
}

void iso_pipeline_memory(struct iso_pipeline *pipeline, uint64_t limit, uint64_t in_use, bool anew)
{
    pipeline->memory_limit = limit;
    iso_aion_memory(pipeline->engine, limit, in_use, anew);
    report_short_memory(pipeline);
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
