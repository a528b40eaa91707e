#include "run/watch.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "base/memory.h"
#include "cli/log.h"
#include "cli/system.h"
#include "run/durable/catch_up.h"
#include "run/durable/checkpoint.h"
#include "run/clock.h"
#include "run/input/consume.h"
#include "run/shown/display.h"
#include "run/ends.h"
#include "run/input/intake.h"
#include "run/shown/signals.h"
#include "run/shown/status.h"

enum { POLL_MS = 50, FLUSH_MS = 1000, DELIVERY_MS = 1000 /* of a message, at most */ };

/* Verdict lines that a topic has not taken yet. The engine itself keeps nothing waiting: it has
 * judged a batch before the next is asked for; and the producer's queue, of 100,000 messages, never
 * fills up. */
enum { WAITING_HIGH = 10000, WAITING_LOW = 1000 };

/* By how many percent the process may be above --memory before that is reported. */
enum { ABOVE_PERCENT = 5 };

/* The part of --memory that messages may take which were read and wait for their turn. */
enum { WAITING_PART = 6 };

/* While catching up, a partition gets no further ahead of the slowest than so many messages: what
 * lies above the watermark has to be kept, and looked at again for whatever comes below it. A
 * partition that lags by fewer messages than BEHIND_FEW lags because it has nothing to say, and
 * nobody waits for it. */
enum { AHEAD_MANY = 4096, BEHIND_FEW = 1024 };

struct watcher {
    const struct run_watch_options *options;
    struct run_stream stream;
    struct run_durable durable; /* open with --state */
    struct iso_kafka_consumer *consumer;
    struct iso_message *batch; /* of a restart: what is left of one that holds messages of before */
    struct run_clock clock;
    struct run_ends ends;
    struct run_status status;
    struct run_display display;
    volatile sig_atomic_t *stopped;
    uint64_t left;        /* messages to read */
    uint32_t declared;    /* partitions that the pipeline knows of */
    int64_t flushed;      /* when what is written beside the verdicts was */
    bool reported_memory; /* that --memory is not enough */
    int64_t asked;        /* when it was asked to stop; with --drain */
    int64_t came;         /* when messages came last; while it drains */
    bool reads;           /* what was there at the start is declared */
    bool drains;          /* it was stopped, and reads to the ends of then */
};

/* NULL: nothing is remembered. */
static struct run_durable *durable_of(struct watcher *watcher)
{
    return watcher->durable.stream ? &watcher->durable : NULL;
}

/* ---- partitions ---- */

static void declare_partitions(struct watcher *watcher, uint64_t now, struct iso_error *error)
{
    struct run_durable *durable = durable_of(watcher);
    const struct iso_kafka_partition *partitions;
    uint32_t count = iso_kafka_consumer_partitions(watcher->consumer, &partitions);
    for (; watcher->declared < count && error->status == ISO_OK; watcher->declared++) {
        const struct iso_kafka_partition *partition = &partitions[watcher->declared];
        if (durable && iso_progress_position(&durable->progress, partition->input)->declared)
            continue;
        if (durable && run_durable_declare(durable, partition, now, error) != ISO_OK)
            return;
        iso_pipeline_declare(watcher->stream.pipeline, partition->input, now);
        run_intake_declare(&watcher->stream, partition->topic, partition->partition, error);
        if (watcher->reads && !partition->partition)
            cli_log("topic %s appeared: it is read from its beginning, and judged from here on",
                    partition->topic);
    }
}

/* Where partitions are not read from their beginning, or no longer can be. */
static void note_beginnings(struct watcher *watcher)
{
    const struct iso_kafka_partition *partitions;
    uint32_t count = iso_kafka_consumer_partitions(watcher->consumer, &partitions);
    for (uint32_t i = 0; i < count; i++)
        iso_pipeline_begins(watcher->stream.pipeline, partitions[i].input, partitions[i].next);
}

/* Holds partitions that are far ahead, as long as one that is not has much to be read. */
static void align_partitions(struct watcher *watcher)
{
    const struct iso_kafka_partition *partitions;
    const struct iso_pipeline *pipeline = watcher->stream.pipeline;
    uint32_t count = iso_kafka_consumer_partitions(watcher->consumer, &partitions);
    bool lagging = false;
    for (uint32_t i = 0; i < count && !lagging; i++)
        lagging = !partitions[i].at_end && !iso_pipeline_ahead(pipeline, partitions[i].input) &&
                  iso_kafka_consumer_behind(watcher->consumer, i) > BEHIND_FEW;
    for (uint32_t i = 0; i < count; i++)
        iso_kafka_consumer_pause(watcher->consumer, i,
                                 lagging && iso_pipeline_ahead(pipeline, partitions[i].input) >
                                                AHEAD_MANY);
}

/* ---- one step ---- */

/* Flushes the recording and the dead letters to the disk within a second, should this process be
 * killed. */
static void flush_recording(struct watcher *watcher, int64_t now, struct iso_error *error)
{
    if (now - watcher->flushed < FLUSH_MS || error->status != ISO_OK)
        return;
    watcher->flushed = now;
    run_recording_flush(&watcher->stream.recording, error);
}

/* A batch's messages, without those that were read before a restart. */
static enum iso_status leave_out_known(struct watcher *watcher, const struct iso_message **messages,
                                       uint32_t *count, struct iso_error *error)
{
    if (!watcher->batch || !run_durable_knows(&watcher->durable, *messages, *count))
        return ISO_OK;
    watcher->batch = iso_reallocate(watcher->batch, *count * sizeof *watcher->batch);
    memcpy(watcher->batch, *messages, *count * sizeof *watcher->batch);
    *messages = watcher->batch;
    return run_durable_compare(&watcher->durable, watcher->batch, count, error);
}

/* Leaves of a batch what is to be judged, which is in the journal then, if there is one. */
static void prepare_batch(struct watcher *watcher, const struct iso_message **messages,
                          uint32_t *count, uint64_t time, struct iso_error *error)
{
    struct run_durable *durable = durable_of(watcher);
    declare_partitions(watcher, time, error);
    leave_out_known(watcher, messages, count, error);
    *count = *count < watcher->left ? *count : (uint32_t)watcher->left;
    watcher->left -= *count;
    if (durable && error->status == ISO_OK)
        run_durable_step(durable, *messages, *count, time, error);
}

/* Once, when the process is above --memory and nothing is left that could go to the store. */
static void report_memory(struct watcher *watcher)
{
    uint64_t limit = run_stream_memory(watcher->stream.options),
             needed = iso_pipeline_memory_needed(watcher->stream.pipeline);
    if (watcher->reported_memory || needed <= limit)
        return;
    uint64_t in_use = cli_memory_in_use();
    if (in_use <= limit + limit / 100 * ABOVE_PERCENT)
        return;
    needed = needed > in_use ? needed : in_use; /* it has grown since the engine looked */
    watcher->reported_memory = true;
    cli_log_warning(
        "--memory %" PRIu64 " is not enough: the process has %" PRIu64
        " bytes, and everything possible went to the spill file. Input at this rate and with this "
        "retention needs %" PRIu64 " at least, or a smaller --retention",
        limit, in_use, needed);
}

/* Has those who look on see how far it is. */
static void show_how_far(struct watcher *watcher, int64_t now)
{
    const struct run_clock *clock = &watcher->clock;
    run_display_update(&watcher->display, &watcher->stream, watcher->consumer, clock->silent_since,
                       now);
    report_memory(watcher);
    run_status_publish(&watcher->status, run_clock_silence(clock, now), (uint64_t)now);
}

/* Does the work that is due between two batches, at the time of the first. */
static void work_between_batches(struct watcher *watcher, uint64_t time, int64_t now,
                                 struct iso_error *error)
{
    struct run_stream *stream = &watcher->stream;
    struct iso_kafka_producer *producer = stream->output.producer;
    if (error->status == ISO_OK)
        iso_pipeline_tick(stream->pipeline, time, error);
    if (error->status == ISO_OK)
        run_ends_report(&watcher->ends, stream, durable_of(watcher), watcher->consumer, time,
                        error);
    if (producer && error->status == ISO_OK) {
        iso_kafka_producer_poll(producer, error);
        iso_kafka_consumer_backlog(watcher->consumer, iso_kafka_producer_waiting(producer));
    }
    if (durable_of(watcher) && error->status == ISO_OK)
        run_checkpoint_after_batch(&watcher->durable, (uint64_t)now, error);
}

static enum iso_status feed_step(struct watcher *watcher, struct iso_error *error)
{
    const struct iso_message *messages;
    uint32_t count;
    struct iso_error polling = {0};
    iso_kafka_consumer_poll(watcher->consumer, POLL_MS, &messages, &count, &polling);
    int64_t now = iso_clock_ms();
    uint64_t time = run_clock_time(&watcher->clock, watcher->consumer, now);
    if (watcher->clock.jumped)
        watcher->flushed = watcher->display.updated = 0; /* what the clock says to do is due now */
    prepare_batch(watcher, &messages, &count, time, error);
    if (count && error->status == ISO_OK)
        run_intake_feed(&watcher->stream, messages, count, time, error);
    ISO_FAULT(iso_fault_point(count ? "after-feed" : "after-idle-step"));
    align_partitions(watcher);
    flush_recording(watcher, now, error);
    run_bad_records_sum_up(&watcher->stream.remarks.bad_records, iso_clock_seconds(), false);
    /* Messages that came before the consumer failed have been judged. */
    if (polling.status != ISO_OK && error->status == ISO_OK)
        iso_error_set(error, polling.status, "%s", polling.text);
    work_between_batches(watcher, time, now, error);
    if (count)
        watcher->came = iso_clock_ms();
    /* caught up: whoever reads the verdicts is to see them */
    else
        run_output_flush(&watcher->stream.output);
    show_how_far(watcher, now);
    run_signals_note_step();
    return error->status;
}

/* ---- when it ends ---- */

/* All has come that there was to come. */
static bool is_finished(const struct watcher *watcher)
{
    return watcher->durable.finished ||
           (watcher->consumer && iso_kafka_consumer_finished(watcher->consumer));
}

/* Reading to the ends of then, it waits no longer than --shutdown-timeout for a broker. */
static bool is_given_up(const struct watcher *watcher)
{
    if (iso_clock_ms() - watcher->came < (int64_t)watcher->options->shutdown_timeout)
        return false;
    cli_log_warning(
        "--drain: no broker gave anything for as long as --shutdown-timeout: what still waits stays undecided");
    return true;
}

/* Recorders that live say within the time that they promise how many records they have had. */
static bool waits_for_recorders(struct watcher *watcher)
{
    int64_t now = iso_clock_ms(), most = (int64_t)watcher->options->shutdown_timeout;
    int64_t awaited = (int64_t)iso_pipeline_awaited(watcher->stream.pipeline) + DELIVERY_MS;
    if (!watcher->asked && awaited > DELIVERY_MS)
        cli_log("--drain: who records says within %.0f s how much there was; a second signal ends "
                "the run at once",
                (double)awaited / 1000);
    watcher->asked = watcher->asked ? watcher->asked : now;
    return awaited > DELIVERY_MS && now - watcher->asked < (awaited < most ? awaited : most);
}

/* As many messages were read as were asked for, or it was asked to stop. With --drain it reads to
 * the ends of then. */
static bool is_stopped(struct watcher *watcher)
{
    struct iso_error error = {.status = ISO_OK};
    if (!watcher->consumer || !watcher->left || (*watcher->stopped && !watcher->options->drain))
        return true;
    if (!*watcher->stopped || watcher->drains)
        return watcher->drains && is_given_up(watcher);
    if (waits_for_recorders(watcher))
        return false;
    watcher->drains = watcher->ends.ends_alone = true;
    watcher->came = iso_clock_ms();
    if (iso_kafka_consumer_stop_at_ends(watcher->consumer, &error) == ISO_OK)
        return false;
    cli_log_warning("--drain: %s", error.text);
    return true;
}

/* There is nothing more to read: it has ended before, or is to stop while it catches up. */
static bool is_over(const struct watcher *watcher)
{
    return watcher->durable.finished || watcher->durable.catching_up;
}

/* The end of the input, if it did not come before a restart. */
static void end_input(struct watcher *watcher, struct iso_error *error)
{
    struct run_durable *durable = durable_of(watcher);
    if (is_over(watcher))
        return;
    uint64_t time = run_clock_time(&watcher->clock, watcher->consumer, iso_clock_ms());
    if (!durable || run_durable_finish(durable, time, error) == ISO_OK)
        iso_pipeline_end(watcher->stream.pipeline, time, error);
    ISO_FAULT(iso_fault_point("after-end"));
}

/* --shutdown-timeout in whole seconds, as alarms count. */
static unsigned patience_of(const struct run_watch_options *options)
{
    return (unsigned)((options->shutdown_timeout + 999) / 1000);
}

/* Whether the topic of --out has all lines; what it does not take in time waits for it. */
static bool hand_over(struct watcher *watcher)
{
    struct run_stream *stream = &watcher->stream;
    struct iso_kafka_producer *producer = stream->output.producer;
    struct iso_error late = ISO_NO_ERROR;
    if (!producer || !*watcher->stopped ||
        iso_kafka_producer_flush(producer, patience_of(watcher->options), &late) == ISO_OK)
        return true;
    stream->untaken = iso_kafka_producer_waiting(producer);
    stream->output.gave_up = stream->untaken > 0;
    return !stream->untaken;
}

/* A run that is stopped saves its state before it prints its summary: there is little time. A
 * run that comes to its end may emit something more. */
static enum iso_status conclude_run(struct watcher *watcher, double seconds,
                                    struct iso_error *error)
{
    struct run_stream *stream = &watcher->stream;
    struct run_durable *durable = watcher->durable.catching_up ? NULL : durable_of(watcher);
    unsigned patience = patience_of(watcher->options);
    enum iso_status outcome = ISO_OK;
    iso_pipeline_clock(stream->pipeline, (uint64_t)time(NULL) * 1000);
    if (!hand_over(watcher))
        durable = NULL; /* a restart hands over the rest */
    run_signals_note_step();
    if (error->status == ISO_OK && durable && !stream->complete)
        run_checkpoint_last(durable, patience, error);
    if (error->status == ISO_OK)
        outcome = run_stream_conclude(stream, seconds, error);
    if (error->status == ISO_OK && durable && stream->complete)
        run_checkpoint_last(durable, patience, error);
    return error->status == ISO_OK ? outcome : error->status;
}

/* ---- opening ---- */

/* A restart: does again what the journal says, and goes on reading behind it. */
static enum iso_status go_on(struct watcher *watcher, struct iso_kafka_consumer_options *settings,
                             struct iso_kafka_position **positions, struct iso_error *error)
{
    struct run_durable *durable = &watcher->durable;
    if (run_durable_find_delivered(durable, error) != ISO_OK ||
        run_recording_resume(&durable->stream->recording, durable->options.record, &durable->mark,
                             error) != ISO_OK ||
        run_catch_up(durable, settings, watcher->stopped, error) != ISO_OK ||
        durable->catching_up || run_durable_resume(durable, error) != ISO_OK || durable->finished)
        return error->status;
    settings->positions = *positions = run_durable_positions(durable, &settings->position_count);
    settings->start = ISO_KAFKA_POSITIONS;
    run_clock_resume(&watcher->clock, durable->progress.time, iso_clock_ms());
    watcher->batch = iso_allocate(1);
    return ISO_OK;
}

/* A consumer that has been opened: what is known of its partitions, and what is written down beside
 * them. */
static void begin_reading(struct watcher *watcher, bool is_new, struct iso_error *error)
{
    struct run_durable *durable = durable_of(watcher);
    const struct iso_kafka_partition *partitions;
    uint32_t count = iso_kafka_consumer_partitions(watcher->consumer, &partitions);
    if (is_new || !durable)
        note_beginnings(watcher); /* a restart knows what came before */
    if (is_new)
        run_durable_begin(durable, partitions, count, (uint64_t)watcher->clock.looked, error);
    if (durable && error->status == ISO_OK)
        run_durable_give_records(durable, error);
    if (!durable && error->status == ISO_OK)
        run_recording_open(&watcher->stream.recording, watcher->options->durable.record, false,
                           error);
}

static enum iso_status open_consumer(struct watcher *watcher, struct iso_error *error)
{
    const struct run_watch_options *options = watcher->options;
    struct run_stream *stream = &watcher->stream;
    struct iso_kafka_position *positions = NULL;
    struct iso_kafka_consumer_options settings = {
        .properties = &stream->properties,
        .topics = (const char *const *)stream->sources.topics,
        .topic_count = stream->sources.topic_count,
        .prefixes = (const char *const *)stream->sources.prefixes,
        .prefix_count = stream->sources.prefix_count,
        .until_eof = options->until_eof,
        .wait_for_topics = options->wait_for_topics,
        .high_water = WAITING_HIGH,
        .low_water = WAITING_LOW,
        .memory = run_stream_memory(&options->stream) / WAITING_PART,
    };
    if (run_consume_from(options->from, &settings, error) != ISO_OK)
        return error->status;
    if (options->durable.state &&
        run_durable_open(&watcher->durable, stream, &options->durable, error) != ISO_OK)
        return error->status;
    bool is_new = options->durable.state && iso_store_is_new(watcher->durable.store);
    if (is_new && run_records_read(&stream->records, stream->pipeline, error) !=
                      ISO_OK) /* its file is the first input */
        return error->status;
    if (options->durable.state && !is_new)
        go_on(watcher, &settings, &positions, error);
    if (error->status == ISO_OK && !is_over(watcher))
        watcher->consumer =
            iso_kafka_consumer_new(&settings, iso_pipeline_inputs(stream->pipeline), error);
    if (watcher->consumer)
        begin_reading(watcher, is_new, error);
    iso_free(positions);
    return error->status;
}

/* Shows violations that were emitted before a restart. */
static void show_standing(void *web, const char *line, size_t length)
{
    iso_web_add(web, line, length);
}

static enum iso_status open_status(struct watcher *watcher, struct iso_error *error)
{
    const struct run_watch_options *options = watcher->options;
    struct run_stream *stream = &watcher->stream;
    struct iso_http_options server = {.listen = options->listen,
                                      .token_file = options->listen_token,
                                      .names = options->listen_names.items,
                                      .name_count = options->listen_names.count};
    if (options->expect_messages && !stream->joins)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "--expect-messages: clients may be silent: expected a change stream among the sources");
    watcher->status = (struct run_status){.stream = stream,
                                          .durable = durable_of(watcher),
                                          .consumer = watcher->consumer,
                                          .expect_messages = options->expect_messages};
    if (watcher->consumer)
        run_status_open(&watcher->status, server, error);
    stream->output.web = watcher->status.web;
    if (stream->output.web && durable_of(watcher))
        iso_pipeline_standing(stream->pipeline, show_standing, stream->output.web);
    return error->status;
}

/* ---- the run ---- */

static void catch_signals(struct watcher *watcher)
{
    watcher->stopped =
        run_catch_signals(patience_of(watcher->options), watcher->options->stream.quiet);
}

/* Opening takes none of the pipeline's time. */
static void start_run(struct watcher *watcher, struct iso_error *error)
{
    const struct run_watch_options *options = watcher->options;
    uint64_t read = watcher->durable.progress.messages;
    int64_t now = iso_clock_ms();
    watcher->left = options->messages ? options->messages : UINT64_MAX;
    watcher->left -= read < watcher->left ? read : watcher->left;
    run_clock_skip(&watcher->clock, now);
    run_display_init(&watcher->display, cli_log_can_draw() && !options->stream.quiet, now);
    if (watcher->consumer)
        declare_partitions(watcher, run_clock_time(&watcher->clock, watcher->consumer, now), error);
    watcher->reads = true;
}

static enum iso_status watch_topics(struct watcher *watcher, struct iso_error *error)
{
    struct run_stream *stream = &watcher->stream;
    double started = iso_clock_seconds();
    run_clock_init(&watcher->clock, iso_clock_ms());
    if (watcher->options->durable.state)
        catch_signals(watcher);
    if (open_consumer(watcher, error) != ISO_OK || open_status(watcher, error) != ISO_OK)
        return error->status;
    if (!watcher->stopped)
        catch_signals(watcher);
    start_run(watcher, error);
    while (error->status == ISO_OK && !is_finished(watcher) && !is_stopped(watcher))
        feed_step(watcher, error);
    run_display_end(&watcher->display);
    stream->complete = is_finished(watcher);
    if (error->status == ISO_OK && stream->complete)
        end_input(watcher, error);
    return conclude_run(watcher, iso_clock_seconds() - started, error);
}

enum iso_status run_watch_run(const struct run_watch_options *options, struct iso_output *standard,
                              struct iso_error *error)
{
    struct watcher watcher = {.options = options};
    /* At the ends all is judged: a record that seems to be late is judged there, too. */
    watcher.ends.ends_alone = options->until_eof && options->stream.grace == RUN_GRACE_NOT_GIVEN;
    enum iso_status status =
        run_stream_open(&watcher.stream, &options->stream, standard, true,
                        options->until_eof || options->messages || options->drain, error);
    if (status == ISO_OK)
        status = watch_topics(&watcher, error);
    run_status_close(&watcher.status);
    run_durable_close(&watcher.durable);
    iso_free(watcher.batch);
    run_ends_release(&watcher.ends);
    iso_kafka_consumer_free(watcher.consumer);
    return run_stream_close(&watcher.stream, error) == ISO_OK ? status : error->status;
}
