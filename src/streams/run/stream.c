#include "run/stream.h"

#include "base/fault.h"
#include "base/own.h"
#include "base/team.h"
#include "cli/log.h"
#include "cli/system.h"
#include "run/input/consume.h"

enum { UNCOVERED_SKIP, UNCOVERED_JUDGE }; /* --uncovered */

/* ---- what the pipeline calls, with the stream as its context ---- */

static bool on_transactions(void *context, const struct iso_history *block, uint32_t first,
                            uint32_t count, struct iso_error *error)
{
    struct run_stream *stream = context;
    if (stream->kept.history && !stream->joins)
        run_kept_add(stream->kept.history, block, first, count);
    return run_rounds_take(&stream->rounds, block, first, count, error);
}

static void on_joined(void *context, struct iso_history *block)
{
    struct run_stream *stream = context;
    run_order_keep(&stream->order, block);
    run_joined_forget_queries(block);
    if (stream->kept.history)
        run_kept_add(stream->kept.history, block, 0, block->txns.count);
    run_joined_write(&stream->joined, block);
    if (stream->options->any_order)
        run_rounds_keep(&stream->rounds, block, 0, block->txns.count);
}

static void on_bad(void *context, const struct iso_message *message, const char *location,
                   const char *reason)
{
    struct run_stream *stream = context;
    run_remarks_bad(&stream->remarks, &stream->recording, message, location, reason);
}

static void on_doubtful(void *context, const struct iso_message *message, const char *location,
                        const char *reason)
{
    struct run_stream *stream = context;
    run_remarks_doubtful(&stream->remarks, &stream->recording, message, location, reason);
}

static void on_table(void *context, const char *location, const char *table, size_t length,
                     enum iso_table_news news, const char *reason)
{
    struct run_stream *stream = context;
    run_remarks_table(&stream->remarks, location, table, length, news, reason);
}

static void on_spelling(void *context, const struct iso_pipeline_spelling *spelling)
{
    struct run_stream *stream = context;
    run_remarks_spelling(&stream->remarks, spelling);
}

static void on_idle(void *context, const struct iso_inputs_entry *input, bool idle)
{
    struct run_stream *stream = context;
    if (!stream->remarks.muted)
        cli_log("topic %s partition %" PRId32 " %s", input->topic, input->partition,
                idle ? "is idle and no longer waited for" : "is waited for again");
}

static void on_timeless(void *context, const struct iso_inputs_entry *input)
{
    struct run_stream *stream = context;
    run_remarks_timeless(&stream->remarks, input);
}

static void on_far_ahead(void *context, const struct iso_inputs_entry *input, uint64_t offset,
                         uint64_t timestamp, uint64_t watermark)
{
    struct run_stream *stream = context;
    run_remarks_far_ahead(&stream->remarks, input, offset, timestamp, watermark);
}

static void on_closed_early(void *context, uint64_t timestamp)
{
    struct run_stream *stream = context;
    run_remarks_closed_early(&stream->remarks, run_stream_memory(stream->options), timestamp);
}

static void on_given_up(void *context, uint64_t transactions)
{
    struct run_stream *stream = context;
    run_remarks_given_up(&stream->remarks, run_stream_memory(stream->options), transactions);
}

/* ---- the pipeline ---- */

/* Bounds of a live run on rows and records that wait for their other half; a replay waits for
 * its end. */
enum { PATIENCE_MS = 120000, WAITING_ROWS = 2000000 };

/* Where keys go for which there is no memory. A state's is there also without a bound: there may be
 * one in the next run, or have been in the last. */
static const char *spill_folder(const struct run_stream_options *options)
{
    if (options->state)
        return options->state;
    if (!run_stream_bounds_memory(options))
        return NULL;
    return options->spill ? options->spill : cli_temporary_folder();
}

/* Serializability is then judged at the end of the run. */
static bool seeks_order(const struct run_stream_options *options,
                        const struct run_source_survey *survey)
{
    return run_stream_level(options) == ISO_SER && survey->changes &&
           !iso_join_promises_order(survey->changes);
}

static iso_pipeline_sink sink_of(const struct run_stream *stream)
{
    const struct run_stream_options *options = stream->options;
    if (stream->output.producer || (!options->json && !options->silent))
        return run_output_emit;
    return options->served ? run_output_serve : NULL;
}

/* Sets limits that follow from options, beside the pipeline's own. */
static void set_limits(struct iso_pipeline_options *settings,
                       const struct run_stream_options *options, bool deadlines)
{
    settings->engine.finality_timeout_ms = deadlines ? settings->engine.finality_timeout_ms : 0;
    settings->join.patience_ms = deadlines ? PATIENCE_MS : 0;
    settings->join.waiting_limit = deadlines ? WAITING_ROWS : 0;
    settings->grace_ms = run_stream_grace(options);
    settings->engine.retention =
        settings->engine.retention ? settings->engine.retention : ISO_AION_FOREVER;
    settings->engine.memory_limit = run_stream_memory(options);
    settings->engine.spill = spill_folder(options);
    settings->engine.host.spill_stays = options->state != NULL;
    settings->engine.host.memory_in_use = settings->engine.spill && !options->state
                                              ? cli_memory_in_use
                                              : NULL; /* else durable.h says */
    ISO_FAULT(settings->engine.forced.spill_all =
                  iso_fault_spills_all(&settings->engine.forced.spill_segment_bits));
}

static void set_question(struct iso_pipeline_options *settings,
                         const struct run_stream_options *options,
                         const struct run_source_survey *survey)
{
    settings->engine.level = run_stream_level(options);
    settings->level_given = options->level >= 0;
    settings->engine.session_order = !options->no_session_order;
    settings->seeks_order = seeks_order(options, survey);
    settings->join.judge_uncovered = options->uncovered == UNCOVERED_JUDGE;
    settings->join.initial_known = options->initial || options->initial_file;
    settings->final_only = options->final_only || options->brief;
    settings->join.kind = survey->changes;
    settings->join.clients = survey->history_topics || options->history;
    settings->join.records_first = options->history && !survey->history_topics;
    settings->join.markers = survey->markers;
    settings->join.one_group = survey->one_group;
    settings->join.xa = survey->xa;
}

static void set_callbacks(struct iso_pipeline_options *settings, struct run_stream *stream,
                          bool deadlines)
{
    const struct run_stream_options *options = stream->options;
    bool wants_joined =
        settings->seeks_order || options->to_history || options->any_order || stream->kept.history;
    settings->context = stream;
    settings->sink_context = &stream->output;
    settings->sink = sink_of(stream);
    settings->on_transactions = on_transactions;
    settings->on_joined = wants_joined ? on_joined : NULL;
    settings->on_bad = on_bad;
    settings->on_doubtful = on_doubtful;
    settings->on_table = on_table;
    settings->on_spelling = on_spelling;
    settings->on_idle = on_idle;
    settings->on_timeless = deadlines ? on_timeless : NULL; /* a recording says when grace ended */
    settings->on_far_ahead = on_far_ahead;
    settings->on_closed_early = on_closed_early;
    settings->on_given_up = on_given_up;
}

static void open_pipeline(struct run_stream *stream, const struct run_source_survey *survey,
                          bool deadlines)
{
    const struct run_stream_options *options = stream->options;
    struct iso_pipeline_options settings = options->pipeline;
    set_limits(&settings, options, deadlines);
    set_question(&settings, options, survey);
    set_callbacks(&settings, stream, deadlines);
    stream->joins = survey->changes != NULL;
    stream->team = iso_team_new(settings.engine.shards);
    settings.engine.host.run_shards = iso_team_run;
    settings.engine.host.runner = stream->team;
    if (options->stats)
        settings.scans = stream->scans = iso_scans_new();
    stream->pipeline = iso_pipeline_new(&settings);
}

static enum iso_status set_initial(struct run_stream *stream, struct iso_error *error)
{
    struct iso_history history;
    iso_history_init(&history);
    if (run_stream_initial(stream->options, &history, error) == ISO_OK)
        iso_pipeline_initial(stream->pipeline, &history);
    iso_history_release(&history);
    return error->status;
}

/* ---- opening ---- */

static enum iso_status refuse_level(enum iso_level level, struct iso_error *error)
{
    char known[160];
    iso_level_list(ISO_BY_AION, known, sizeof known);
    return iso_error_set(
        error, ISO_BAD_INPUT,
        "--level %s: streams are judged at %s; let this one run into a file and check that: "
        "docs/levels.md",
        iso_level_name(level), known);
}

/* Refuses options that exclude each other. */
static enum iso_status check_options(const struct run_stream_options *options,
                                     const struct run_source_survey *survey,
                                     struct iso_error *error)
{
    if (options->round && survey->changes)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--round judges transactions without timestamps, and a change stream gives them some: "
            "expected --any-order, or --to-history FILE and check");
    enum iso_level level = run_stream_level(options);
    if (!iso_level_judged_by(level, ISO_BY_AION))
        return refuse_level(level, error);
    if (level != ISO_SI && level != ISO_SER && (options->any_order || options->round))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--level %s is judged by timestamps: expected neither --any-order nor --round",
            iso_level_name(level));
    if (iso_aion_is_about_sessions(level) && options->no_session_order)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--no-session-order: --level %s is about sessions",
                             iso_level_name(level));
    if ((options->history || options->to_history) && !survey->changes)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--history and --to-history join records with a change stream: "
                             "expected a --source of one");
    if (options->spill && (!run_stream_bounds_memory(options) || options->state))
        return iso_error_set(error, ISO_BAD_INPUT, "%s",
                             options->state
                                 ? "--state and --spill: the spill file is in the state directory"
                                 : "--spill: expected --memory BYTES, above which keys go there");
    if ((options->pipeline.on_bad_record == ISO_BAD_DEAD_LETTER) != (options->dead_letter != NULL))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--on-bad-record dead-letter and --dead-letter FILE go together");
    return ISO_OK;
}

/* Polygraph's parts. What has no end is put in order only when it is ended. */
static enum iso_status open_polygraph(struct run_stream *stream,
                                      const struct run_source_survey *survey, bool ends,
                                      struct iso_error *error)
{
    const struct run_stream_options *options = stream->options;
    bool sought = seeks_order(options, survey);
    stream->rounds = (struct run_rounds){.options = options,
                                         .pipeline = stream->pipeline,
                                         .output = &stream->output,
                                         .kept = &stream->kept,
                                         .enabled = ends || options->round};
    stream->order = (struct run_order){.options = options,
                                       .pipeline = stream->pipeline,
                                       .output = &stream->output,
                                       .sought = sought};
    run_rounds_init(&stream->rounds, error);
    if (sought && !ends && !options->quiet)
        cli_log(
            "level ser: %s does not promise an order of transactions by their commits: until the run ends only what "
            "si asks too is judged, then an order is sought",
            survey->changes);
    return run_order_init(&stream->order, error);
}

enum iso_status run_stream_open(struct run_stream *stream, const struct run_stream_options *options,
                                struct iso_output *standard, bool deadlines, bool ends,
                                struct iso_error *error)
{
    struct run_source_survey survey;
    *stream = (struct run_stream){.options = options,
                                  .output = {.standard = standard, .lines = standard},
                                  .records = {.path = options->history},
                                  .recording = {.dead_letter_path = options->dead_letter,
                                                .dead_letter_limit = options->dead_letter_limit}};
    if (!options->sources.count)
        return iso_error_set(error, ISO_BAD_INPUT, "no source: expected --source KIND:TOPIC");
    if (run_source_survey(&options->sources, &survey, error) != ISO_OK ||
        check_options(options, &survey, error) != ISO_OK)
        return error->status;
    const char *spill = spill_folder(options);
    if (spill && !options->state && !iso_own_folder(spill, error))
        return error->status;
    if (run_properties(&stream->properties, &options->properties, error) != ISO_OK ||
        run_output_open(&stream->output, options, standard, &stream->properties, error) != ISO_OK ||
        (options->to_history &&
         run_joined_open(&stream->joined, options->to_history, error) != ISO_OK))
        return error->status;
    if (options->keep)
        run_kept_init(&stream->kept);
    open_pipeline(stream, &survey, deadlines);
    if (open_polygraph(stream, &survey, ends, error) != ISO_OK)
        return error->status;
    for (uint32_t i = 0; i < options->sources.count && error->status == ISO_OK; i++)
        run_sources_add(&stream->sources, stream->pipeline, options->sources.items[i], error);
    if (error->status == ISO_OK)
        set_initial(stream, error);
    if (options->state || error->status != ISO_OK ||
        run_records_read(&stream->records, stream->pipeline, error) != ISO_OK)
        return error->status;
    return run_records_give(&stream->records, stream->pipeline, error);
}

enum iso_status run_stream_close(struct run_stream *stream, struct iso_error *error)
{
    run_output_close(&stream->output, error);
    run_records_release(&stream->records);
    run_joined_close(&stream->joined, stream->concluded, error);
    run_recording_close(&stream->recording, error);
    run_rounds_release(&stream->rounds);
    run_order_release(&stream->order);
    run_kept_release(&stream->kept);
    iso_pipeline_free(stream->pipeline);
    iso_scans_free(stream->scans);
    iso_team_free(stream->team);
    run_sources_release(&stream->sources);
    iso_kafka_properties_release(&stream->properties);
    return error->status;
}
