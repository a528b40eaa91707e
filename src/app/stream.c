#define _GNU_SOURCE
#include "app/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/captures.h"
#include "app/consume.h"
#include "app/durable.h"
#include "app/joined.h"
#include "app/replayed.h"
#include "app/rounds.h"
#include "app/source.h"
#include "base/memory.h"
#include "base/team.h"
#include "explain/brief.h"
#include "io/read.h"

enum { FLUSH_SECONDS = 10 };

void app_stream_options_init(struct app_stream_options *options)
{
    *options = (struct app_stream_options){.max_violations = 1000, .finality_timeout = 5, .settle = 50, .threads = 1};
}

void app_stream_options_release(struct app_stream_options *options)
{
    app_texts_release(&options->sources);
    app_texts_release(&options->properties);
}

/* ---- where verdicts go ---- */

static enum iso_status to_output(struct app_stream *stream, const char *line, size_t length, struct iso_error *error)
{
    iso_output_bytes(stream->lines, line, length);
    if (stream->lines->error)
        return iso_error_set(error, ISO_FAILED, "%s: %s", stream->lines->name, strerror(stream->lines->error));
    return ISO_OK;
}

/* The key is the verdict's id, so that all lines of one verdict come in order and a compacted topic keeps the last. */
static enum iso_status to_topic(struct app_stream *stream, const char *line, size_t length, struct iso_error *error)
{
    static const size_t id_place = sizeof "{\"id\":\"" - 1, id_length = 16;
    struct iso_message message = {
        .partition = ISO_KAFKA_ANY_PARTITION,
        .key = {(const uint8_t *)line + id_place, (uint32_t)id_length},
        .payload = {(const uint8_t *)line, (uint32_t)length - 1},
    };
    return iso_kafka_producer_send(stream->producer, &message, error);
}

/* A verdict line in words, to standard output; one of polygraph's, which lists what it found, as it is. */
static enum iso_status say_brief(struct app_stream *stream, const char *line, size_t length)
{
    struct app *app = stream->app;
    struct iso_brief brief;
    struct iso_text text = {0};
    if (iso_brief_init(&brief, line, length))
        iso_brief_text(&brief, &text);
    else
        iso_text_put_bytes(&text, line, length);
    iso_output_bytes(&app->out, text.bytes, text.used);
    iso_text_release(&text);
    iso_brief_release(&brief);
    if (app->out.error)
        return iso_error_set(&app->error, ISO_FAILED, "%s: %s", app->out.name, strerror(app->out.error));
    return app->error.status;
}

enum iso_status app_stream_tell(struct app_stream *stream, const char *line, size_t length)
{
    struct iso_error *error = &stream->app->error;
    size_t told = stream->durable ? app_durable_line(stream->durable, line, length) : 0;
    if (stream->web)
        iso_web_add(stream->web, line, length);
    if (told == length || (stream->options->brief && say_brief(stream, line, length) != ISO_OK))
        return error->status;
    if (stream->options->brief && !stream->options->out)
        return error->status;
    return stream->producer ? to_topic(stream, line, length, error)
                            : to_output(stream, line + told, length - told, error);
}

void app_stream_flush(struct app_stream *stream)
{
    iso_output_flush(stream->lines);
    if (stream->options->brief)
        iso_output_flush(&stream->app->out);
}

/* With --json standard output is the object's alone. */
static enum iso_status to_web(void *context, const char *line, size_t length, struct iso_error *error)
{
    struct app_stream *stream = context;
    iso_web_add(stream->web, line, length);
    return error->status;
}

static enum iso_status tell(void *context, const char *line, size_t length, struct iso_error *error)
{
    (void)error; /* the stream's */
    return app_stream_tell(context, line, length);
}

static bool on_transactions(void *context, const struct iso_history *block, uint32_t first, uint32_t count)
{
    struct app_stream *stream = context;
    if (stream->kept && !stream->joins)
        app_replayed_keep(stream->kept, block, first, count);
    return app_rounds_take(stream->rounds, block, first, count);
}

static void on_joined(void *context, const struct iso_history *block)
{
    struct app_stream *stream = context;
    if (stream->kept)
        app_replayed_keep(stream->kept, block, 0, block->transaction_count);
    if (stream->options->to_history)
        app_joined_write(stream, block);
    if (stream->options->any_order)
        app_rounds_keep(stream->rounds, block, 0, block->transaction_count);
}

/* What is judged again after a restart was remarked on before. */
static bool says_again(const struct app_stream *stream)
{
    return stream->durable && stream->durable->catching_up;
}

static void on_bad(void *context, const struct iso_message *message, const char *reason)
{
    struct app_stream *stream = context;
    struct iso_error error = {0};
    if (!says_again(stream))
        app_warn("topic %s partition %" PRId32 " offset %" PRId64 ": left out: %s", message->topic, message->partition,
                 message->offset, reason);
    if (stream->dead_letter && iso_capture_write(stream->dead_letter, message, &error) != ISO_OK)
        app_warn("%s", error.text);
}

static void on_idle(void *context, const struct iso_inputs_entry *input, bool idle)
{
    if (says_again(context))
        return;
    app_say("topic %s partition %" PRId32 " %s", input->topic, input->partition,
            idle ? "is idle and no longer waited for" : "is waited for again");
}

static void on_far_ahead(void *context, const struct iso_inputs_entry *input, uint64_t offset, uint64_t timestamp,
                         uint64_t watermark)
{
    if (says_again(context))
        return;
    app_warn("topic %s partition %" PRId32 " offset %" PRIu64 ": timestamp %" PRIu64 " lies a year or more above the "
             "watermark, %" PRIu64,
             input->topic, input->partition, offset, timestamp, watermark);
}

/* Verdicts go to its end; what it holds already stays. */
static enum iso_status open_file(struct app_stream *stream, const char *path)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return iso_error_set(&stream->app->error, ISO_FAILED, "%s: cannot be written: %s", path, strerror(errno));
    iso_output_to(&stream->file, descriptor, path);
    stream->file.owned = true;
    stream->lines = &stream->file;
    return ISO_OK;
}

static enum iso_status open_outputs(struct app_stream *stream)
{
    const struct app_stream_options *options = stream->options;
    struct iso_error *error = &stream->app->error;
    bool to_file = options->out && !strncmp(options->out, "file:", 5) && options->out[5];
    bool to_topic = options->out && !strncmp(options->out, "kafka:", 6) && options->out[6];
    if (options->out && !to_file && !to_topic)
        return iso_error_set(error, ISO_BAD_INPUT, "--out %s: expected kafka:TOPIC or file:PATH", options->out);
    if (to_topic &&
        app_source_reads(&options->sources, options->sources.count, options->out + 6, strlen(options->out + 6)))
        return iso_error_set(error, ISO_BAD_INPUT, "--out %s: a --source reads this topic; verdicts need another",
                             options->out);
    if ((options->on_bad_record == ISO_BAD_DEAD_LETTER) != (options->dead_letter != NULL))
        return iso_error_set(error, ISO_BAD_INPUT, "--on-bad-record dead-letter and --dead-letter FILE go together");
    if (to_file)
        open_file(stream, options->out + 5);
    else if (options->out)
        stream->producer = iso_kafka_producer_new(&stream->properties, options->out + 6, 1, error);
    return error->status;
}

/* ---- the pipeline ---- */

/* What waits for its other half: two minutes and two million rows of a live run; a replay waits for its end. */
enum { PATIENCE_MS = 120000, WAITING_ROWS = 2000000 };

/* Where keys go for which there is no memory. A state's is there also without a bound: there may be one in the next
 * run, or have been in the last. */
static const char *spill_folder(const struct app_stream_options *options)
{
    if (options->state)
        return options->state;
    if (!options->memory)
        return NULL;
    return options->spill ? options->spill : app_temporary_folder();
}

/* For tests: ISOCHRON_SPILL_ALL=12 lets every key go as soon as it can, into segments of 2^12 bytes, so that little
 * data goes through all that much does. */
static void spill_all(struct iso_pipeline_options *settings)
{
    const char *text = getenv("ISOCHRON_SPILL_ALL");
    unsigned bits = text ? (unsigned)atoi(text) : 0;
    settings->spill_all = text != NULL;
    settings->spill_segment_bits = bits >= 12 && bits <= 20 ? bits : 0;
}

static void at_point(void *context, const char *point)
{
    struct app_stream *stream = context;
    if (stream->durable)
        app_durable_at(stream->durable, point);
}

static void make_pipeline(struct app_stream *stream, const struct app_source_survey *survey, bool deadlines)
{
    const struct app_stream_options *options = stream->options;
    struct iso_pipeline_options settings;
    iso_pipeline_options_init(&settings);
    settings.level = (enum iso_level)options->level;
    settings.session_order = !options->no_session_order;
    stream->team = iso_team_new((uint32_t)options->threads);
    settings.shards = (uint32_t)options->threads;
    settings.run = iso_team_run;
    settings.runner = stream->team;
    settings.finality_timeout_ms = deadlines ? options->finality_timeout * 1000 : 0;
    settings.idle_timeout_ms = options->idle_timeout * 1000;
    settings.settle_ms = options->settle;
    settings.retention = options->retention ? options->retention : ISO_AION_FOREVER;
    settings.memory_limit = options->memory;
    settings.spill = spill_folder(options);
    settings.spill_stays = options->state != NULL;
    spill_all(&settings);
    settings.spill_at = options->state ? at_point : NULL;
    settings.memory_in_use = settings.spill && !options->state ? app_memory_in_use : NULL; /* else app/durable.c says */
    settings.changes = survey->changes;
    stream->joins = survey->changes != NULL;
    settings.clients = survey->history_topics || options->history;
    settings.markers = survey->markers;
    settings.one_group = survey->one_group;
    settings.records_first = options->history && !survey->history_topics;
    settings.patience_ms = deadlines ? PATIENCE_MS : 0;
    settings.waiting_limit = deadlines ? WAITING_ROWS : 0;
    settings.on_joined = options->to_history || options->any_order || stream->kept ? on_joined : NULL;
    settings.hlc_bits = (unsigned)options->hlc_bits;
    settings.on_bad_record = (enum iso_on_bad_record)options->on_bad_record;
    settings.max_violations = (uint32_t)options->max_violations;
    settings.initial_known = options->initial || options->initial_file;
    settings.final_only = options->final_only || options->brief;
    settings.sink = stream->producer || (!options->json && !options->silent) ? tell : options->served ? to_web : NULL;
    settings.sink_context = stream;
    settings.on_transactions = on_transactions;
    settings.on_bad = on_bad;
    settings.on_idle = on_idle;
    settings.on_far_ahead = on_far_ahead;
    settings.context = stream;
    stream->pipeline = iso_pipeline_new(&settings);
}

static enum iso_status set_initial(struct app_stream *stream)
{
    const struct app_stream_options *options = stream->options;
    struct iso_history history;
    iso_history_init(&history);
    if (options->initial_file)
        iso_read_initial(options->initial_file, &history, &stream->app->error);
    if (options->initial && strcmp(options->initial, "null"))
        history.initial_value = iso_atoms_text(&history.atoms, options->initial, strlen(options->initial));
    if (stream->app->error.status == ISO_OK)
        iso_pipeline_initial(stream->pipeline, &history);
    iso_history_release(&history);
    return stream->app->error.status;
}

enum iso_status app_stream_open(struct app_stream *stream, struct app *app, const struct app_stream_options *options,
                                bool deadlines, bool ends)
{
    struct app_source_survey survey;
    *stream = (struct app_stream){.app = app, .options = options, .lines = &app->out};
    if (!options->sources.count)
        return iso_error_set(&app->error, ISO_BAD_INPUT, "no source: expected --source KIND:TOPIC");
    if (app_source_survey(&options->sources, &survey, &app->error) != ISO_OK)
        return app->error.status;
    if (options->round && survey.changes)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--round judges transactions without timestamps, and a change stream gives them some: "
                             "expected --any-order, or --to-history FILE and check");
    if ((options->history || options->to_history) && !survey.changes)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--history and --to-history join records with a change stream: "
                             "expected a --source of one");
    if (options->spill && (!options->memory || options->state))
        return iso_error_set(&app->error, ISO_BAD_INPUT, "%s",
                             options->state
                                 ? "--state and --spill: what goes out of memory goes to the state's directory"
                                 : "--spill: expected --memory BYTES, over which something goes there");
    if (app_properties(&stream->properties, &options->properties, &app->error) != ISO_OK ||
        open_outputs(stream) != ISO_OK || app_joined_open(stream) != ISO_OK)
        return app->error.status;
    if (options->keep) {
        stream->kept = iso_allocate(sizeof *stream->kept);
        iso_history_init(stream->kept);
    }
    make_pipeline(stream, &survey, deadlines);
    stream->rounds = iso_allocate(sizeof *stream->rounds);
    app_rounds_init(stream->rounds, stream, ends || options->round);
    for (uint32_t i = 0; i < options->sources.count && app->error.status == ISO_OK; i++)
        app_source_add(stream, options->sources.items[i]);
    if (app->error.status == ISO_OK)
        set_initial(stream);
    if (options->state || app->error.status != ISO_OK || app_joined_read(stream) != ISO_OK)
        return app->error.status;
    return app_joined_give(stream);
}

enum iso_status app_stream_close(struct app_stream *stream)
{
    struct iso_error *error = &stream->app->error;
    struct iso_error flushing = {0};
    /* Also after an error: what had been judged until then has been told. */
    if (stream->producer && iso_kafka_producer_flush(stream->producer, FLUSH_SECONDS, &flushing) != ISO_OK &&
        error->status == ISO_OK)
        iso_error_set(error, flushing.status, "%s", flushing.text);
    iso_kafka_producer_free(stream->producer);
    if (stream->lines == &stream->file)
        iso_output_close(&stream->file, error);
    app_joined_close(stream);
    app_captures_close(stream);
    if (stream->rounds)
        app_rounds_release(stream->rounds);
    iso_free(stream->rounds);
    if (stream->kept)
        iso_history_release(stream->kept);
    iso_free(stream->kept);
    iso_text_release(&stream->verdict);
    iso_pipeline_free(stream->pipeline);
    iso_team_free(stream->team);
    for (uint32_t i = 0; i < stream->registry_count; i++)
        iso_registry_free(stream->registries[i]);
    for (uint32_t i = 0; i < stream->topic_count; i++)
        iso_free(stream->topics[i]);
    iso_free(stream->registries);
    iso_free(stream->topics);
    iso_kafka_properties_release(&stream->properties);
    return error->status;
}

/* ---- the end ---- */

static void say_summary(const struct app_stream *stream, enum iso_status outcome, const char *reason, double seconds)
{
    struct iso_pipeline_stats stats;
    uint64_t violations = 0;
    iso_pipeline_stats(stream->pipeline, &stats);
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        violations += stats.engine.counts[axiom];
    app_say("%s at %s: %" PRIu64 " transaction%s, %" PRIu64 " violation%s, %" PRIu64 " message%s in %.1f s%s%s",
            outcome == ISO_VIOLATED ? "violated"
            : outcome == ISO_OK     ? "holds"
                                    : "undecided",
            iso_level_name((enum iso_level)stream->options->level), stats.engine.transactions,
            app_plural(stats.engine.transactions), violations, app_plural(violations), stats.messages,
            app_plural(stats.messages), seconds, reason ? "; reason: " : "", reason ? reason : "");
}

enum iso_status app_stream_conclude(struct app_stream *stream, double seconds)
{
    const struct app_stream_options *options = stream->options;
    const char *reason, *any_order = NULL;
    stream->concluded = true;
    if (stream->rounds->kind == APP_ROUNDS_UNTIMED && stream->durable && !stream->complete)
        return ISO_UNDECIDED; /* it will be gone on with */
    if (stream->rounds->kind == APP_ROUNDS_UNTIMED)
        return app_rounds_conclude(stream->rounds, seconds);
    enum iso_status outcome = iso_pipeline_outcome(stream->pipeline, options->allow_unjudged, &reason);
    bool unplaced = reason && !strcmp(reason, "no-start-timestamp"); /* what timestamps cannot place, an order may */
    if (options->any_order && (outcome == ISO_VIOLATED || unplaced))
        any_order = app_rounds_any_order(stream->rounds);
    if (options->json || stream->kept) {
        struct iso_text text = {0};
        iso_pipeline_summary(stream->pipeline, options->allow_unjudged, any_order, &text);
        if (options->json)
            iso_output_bytes(&stream->app->out, text.bytes, text.used);
        if (stream->kept)
            iso_text_put_bytes(&stream->verdict, text.bytes, text.used);
        iso_text_release(&text);
    }
    if (options->brief)
        app_stream_flush(stream); /* whoever reads both reads the summary last */
    if (!options->quiet)
        say_summary(stream, outcome, reason, seconds);
    if (any_order && !options->quiet)
        app_say("any order: %s", any_order);
    return outcome;
}
