/* `isochron watch`: live topics. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/calm.h"
#include "app/captures.h"
#include "app/catch_up.h"
#include "app/consume.h"
#include "app/durable.h"
#include "app/joined.h"
#include "app/progress.h"
#include "app/status.h"
#include "app/stream.h"
#include "base/memory.h"

/* STEP_MOST_MS: the pipeline's time that may pass between two looks at the clock; JUMP_MS: more is not work but a jump.
 */
enum { STEP_MOST_MS = 1000, JUMP_MS = 10000 };
enum { POLL_MS = 50, STATUS_MS = 250, FLUSH_MS = 1000, DEAF_MS = 3000, DEAF_AT_FIRST_MS = 10000 };
#define CHECKPOINT_NS UINT64_C(10000000000)

/* Verdict lines that a topic has not taken yet. The engine itself keeps nothing waiting: it has judged a batch before
 * the next is asked for; and the producer's queue, of 100,000 messages, never fills up. */
enum { WAITING_HIGH = 10000, WAITING_LOW = 1000 };

/* By how many percent the process may be above --memory before that is told. */
enum { ABOVE_PERCENT = 5 };

/* The part of --memory that messages may take which were read and wait for their turn. */
enum { WAITING_PART = 6 };

/* While catching up, a partition gets no further ahead of the slowest than so many messages: what lies above the
 * watermark has to be kept, and looked at again for whatever comes below it. A partition that lags by fewer messages
 * than BEHIND_FEW lags because it has nothing to say, and nobody waits for it. */
enum { AHEAD_MANY = 4096, BEHIND_FEW = 1024 };

struct watch {
    struct app_stream_options stream;
    struct app_durable_options durable;
    const char *from, *listen, *listen_token;
    uint64_t messages;         /* 0: no end */
    uint64_t shutdown_timeout; /* seconds */
    bool until_eof, wait_for_topics;
};

#define PLACE(member) offsetof(struct watch, member)

static const struct app_option options[] = {
    APP_STREAM_ROWS(struct watch),
    {.type = APP_GROUP, .help = "Which messages"},
    {.type = APP_TEXT,
     .name = "from",
     .argument = "PLACE",
     .offset = PLACE(from),
     .help =
         "beginning (the default), end, a time in milliseconds since 1970, or\nstored: where the group of -X group.id=GROUP "
         "has committed to."},
    {.type = APP_FLAG,
     .name = "until-eof",
     .offset = PLACE(until_eof),
     .help = "Stop where the partitions end now; everything is final then."},
    {.type = APP_NUMBER,
     .name = "messages",
     .argument = "N",
     .offset = PLACE(messages),
     .least = 1,
     .most = UINT64_MAX,
     .help = "Stop after so many messages; everything is final then."},
    {.type = APP_FLAG,
     .name = "wait-for-topics",
     .offset = PLACE(wait_for_topics),
     .help = "A topic that does not exist may appear later; until then no deadline\npasses."},
    {.type = APP_TEXT,
     .name = "record",
     .argument = "FILE",
     .offset = PLACE(durable.record),
     .help =
         "A capture of all that was read, in the order of its arrival and with\nempty lines where it was judged: replay with "
         "the same options finds the\nsame in it, byte for byte, but for deadlines."},
    {.type = APP_NUMBER,
     .name = "finality-timeout",
     .argument = "SECONDS",
     .offset = APP_STREAM_PLACE(struct watch, finality_timeout),
     .most = 86400,
     .help = "Without watermarks a verdict is final so long after its transaction\n(5); while a broker is away, that "
             "waits. 0: only watermarks make verdicts\nfinal."},
    {.type = APP_NUMBER,
     .name = "idle-timeout",
     .argument = "SECONDS",
     .offset = APP_STREAM_PLACE(struct watch, idle_timeout),
     .most = 86400,
     .help = "A partition without messages for so long is not waited for by the\nwatermark. 0, the default: "
             "all are."},
    {.type = APP_FLAG,
     .name = "explain",
     .offset = APP_STREAM_PLACE(struct watch, brief),
     .help =
         "Each final verdict in words on standard output, in place of its line;\nlines go to --out, if it is given. "
         "What a recording (--record) knows\nbeyond them, explain tells."},
    {.type = APP_GROUP, .help = "How it survives"},
    {.type = APP_TEXT,
     .name = "state",
     .argument = "DIR",
     .offset = PLACE(durable.state),
     .help = "Remember there what a restart needs: after a crash at any moment the\nsame command goes on, and tells no "
             "final verdict twice and none too\nfew. Its offsets come from there, not from --from."},
    {.type = APP_DURATION,
     .name = "checkpoint-interval",
     .argument = "DURATION",
     .offset = PLACE(durable.checkpoint_interval),
     .help = "What is remembered is safe from the machine's death too, after so long\n(10 s)."},
    {.type = APP_NUMBER,
     .name = "snapshot-after",
     .argument = "BYTES",
     .offset = PLACE(durable.snapshot_after),
     .most = UINT64_MAX,
     .help = "Write the whole state anew after so much input: a restart reads no more\nthan that again. 0, the "
             "default: four times the state's size, at least\n64 MiB; and every hour."},
    {.type = APP_NUMBER,
     .name = "shutdown-timeout",
     .argument = "SECONDS",
     .offset = PLACE(shutdown_timeout),
     .least = 1,
     .most = 3600,
     .help = "SIGTERM and Ctrl-C finish the batch at hand, then end the run within so\nlong (10). A second one ends it "
             "at once."},
    {.type = APP_GROUP, .help = "How it is seen from outside"},
    {.type = APP_TEXT,
     .name = "listen",
     .argument = "HOST:PORT",
     .offset = PLACE(listen),
     .help = "Serve a live page, /metrics, /status, /violations, /livez and /readyz\nover HTTP there; PORT alone is on "
             "127.0.0.1."},
    {.type = APP_TEXT,
     .name = "listen-token",
     .argument = "FILE",
     .offset = PLACE(listen_token),
     .help =
         "Requests must carry the token that FILE holds (Authorization: Bearer\nTOKEN). Beyond loopback there must be "
         "one."},
    {.type = APP_END},
};

struct watcher {
    struct app_stream stream;
    struct app_durable durable; /* stream.durable: it, or NULL */
    struct iso_kafka_consumer *consumer;
    struct iso_message *batch; /* of a restart: what is left of one that holds messages of before */
    struct app_status status;
    volatile sig_atomic_t *stopped;
    uint64_t left;        /* messages to read */
    uint32_t declared;    /* partitions that the pipeline knows of */
    bool shown;           /* stderr is a terminal */
    struct app_calm calm; /* else */
    int64_t started, updated, flushed;
    int64_t looked, skew;  /* when it last looked whether time passes; what the pipeline's has beyond the clock's */
    int64_t deaf;          /* since when it is not known what the topics hold; 0: it is */
    bool told_deaf, heard; /* it was known, once */
    bool told_memory;      /* that --memory is not enough */
};

static void declare_partitions(struct watcher *watcher, uint64_t now, struct iso_error *error)
{
    const struct iso_kafka_partition *partitions;
    uint32_t count = iso_kafka_consumer_partitions(watcher->consumer, &partitions);
    for (; watcher->declared < count && error->status == ISO_OK; watcher->declared++) {
        const struct iso_kafka_partition *partition = &partitions[watcher->declared];
        if (watcher->stream.durable && app_durable_has_declared(&watcher->durable, partition->input))
            continue;
        if (watcher->stream.durable && app_durable_declare(&watcher->durable, partition, now) != ISO_OK)
            return;
        iso_pipeline_declare(watcher->stream.pipeline, partition->input, now);
        app_captures_declare(&watcher->stream, partition->topic, partition->partition);
    }
}

/* Where partitions are not read from their beginning, or no longer can be. */
static void note_beginnings(struct watcher *watcher)
{
    const struct iso_kafka_partition *partitions;
    uint32_t count = iso_kafka_consumer_partitions(watcher->consumer, &partitions);
    for (uint32_t i = 0; i < count; i++)
        iso_pipeline_begins(watcher->stream.pipeline, partitions[i].next);
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
        iso_kafka_consumer_hold(watcher->consumer, i,
                                lagging && iso_pipeline_ahead(pipeline, partitions[i].input) > AHEAD_MANY);
}

/* Tells when deadlines begin to wait for a broker, if it takes a while, and when they go on. */
static void tell_deaf(struct watcher *watcher, bool deaf, int64_t now)
{
    char trouble[200];
    int64_t patience = watcher->heard ? DEAF_MS : DEAF_AT_FIRST_MS;
    watcher->heard |= !deaf;
    if (deaf && !watcher->deaf) {
        watcher->deaf = now;
        watcher->told_deaf = false;
    } else if (deaf && !watcher->told_deaf && now - watcher->deaf >= patience) {
        bool known = iso_kafka_consumer_trouble(watcher->consumer, trouble, sizeof trouble);
        app_say("a broker does not answer: no deadline passes until it does%s%.100s", known ? ": " : "",
                known ? trouble : "");
        watcher->told_deaf = true;
    } else if (!deaf) {
        if (watcher->deaf && watcher->told_deaf)
            app_say("the brokers answer again, after %.0f s: deadlines go on", (double)(now - watcher->deaf) / 1000);
        watcher->deaf = 0;
    }
}

/* A clock that jumped, or a process that was stopped (or its machine): nobody listened meanwhile, and what was written
 * is still to be read. */
static bool has_jumped(struct watcher *watcher, int64_t now)
{
    int64_t passed = now - watcher->looked;
    if (passed >= 0 && passed < JUMP_MS)
        return false;
    app_say("the clock went %s by %.0f s at once, or this process stood still: no deadline passes for that",
            passed < 0 ? "back" : "on", (double)(passed < 0 ? -passed : passed) / 1000);
    iso_kafka_consumer_doubt(watcher->consumer);
    if (watcher->deaf)
        watcher->deaf += passed;
    return true;
}

/* The pipeline's time. It stands still while a topic has not appeared or a broker is away: what waits for their records
 * is not to be judged without them, by a deadline that none of them could meet. Nor does it pass between a run and its
 * restart, or when the clock jumps. */
static uint64_t pipeline_time(struct watcher *watcher, int64_t now)
{
    bool jumped = has_jumped(watcher, now), deaf = !iso_kafka_consumer_hears(watcher->consumer);
    tell_deaf(watcher, deaf, now);
    int64_t passed = now - watcher->looked, counted = passed < STEP_MOST_MS ? passed : STEP_MOST_MS;
    if (jumped || deaf || iso_kafka_consumer_awaits_topic(watcher->consumer))
        counted = 0;
    watcher->skew -= passed - counted;
    watcher->looked = now;
    return (uint64_t)(now + watcher->skew);
}

static void draw(struct watcher *watcher, int64_t now)
{
    struct iso_pipeline_stats stats;
    uint64_t violations = 0;
    char trouble[200], text[400];
    if (!watcher->shown || now - watcher->updated < STATUS_MS)
        return;
    watcher->updated = now;
    iso_pipeline_stats(watcher->stream.pipeline, &stats);
    for (int axiom = 0; axiom < ISO_AXIOMS; axiom++)
        violations += stats.engine.counts[axiom];
    double seconds = (double)(now - watcher->started) / 1000;
    int used =
        snprintf(text, sizeof text, "%" PRIu64 " transactions  %.0f/s  %" PRIu64 " violations  %" PRIu64 " open reads",
                 stats.engine.transactions, seconds > 0 ? (double)stats.engine.transactions / seconds : 0, violations,
                 stats.engine.open_reads);
    if (stats.has_watermark)
        used += snprintf(text + used, sizeof text - (size_t)used, "  watermark %" PRIu64, stats.watermark);
    if (iso_kafka_consumer_trouble(watcher->consumer, trouble, sizeof trouble))
        snprintf(text + used, sizeof text - (size_t)used, "  %.60s", trouble);
    app_progress_line(text);
}

/* Where stderr is no terminal. That nothing has come is told only where it is known that nothing is there. */
static void tell_calmly(struct watcher *watcher, int64_t now)
{
    const struct iso_kafka_partition *partitions;
    struct iso_pipeline_stats stats;
    char text[400];
    uint64_t behind = 0;
    if (watcher->shown || watcher->deaf || now - watcher->updated < STATUS_MS)
        return;
    watcher->updated = now;
    iso_pipeline_stats(watcher->stream.pipeline, &stats);
    enum app_calm_line line = app_calm_due(&watcher->calm, stats.messages, now);
    if (line == APP_CALM_NOTHING)
        return;
    uint32_t count = iso_kafka_consumer_partitions(watcher->consumer, &partitions);
    for (uint32_t i = 0; i < count; i++)
        behind += iso_kafka_consumer_behind(watcher->consumer, i);
    if (line == APP_CALM_PROGRESS) {
        app_calm_progress(&watcher->calm, &stats, behind, now, text, sizeof text);
        app_calm_note(&watcher->calm, stats.messages, now);
        app_say("%s", text);
        return;
    }
    app_calm_topics((const char *const *)watcher->stream.topics, watcher->stream.topic_count, count, text, sizeof text);
    if (iso_kafka_consumer_awaits_topic(watcher->consumer))
        app_say("%s: not all topics exist yet; waiting for them, 0 messages so far", text);
    else
        app_say("%s: nothing to read yet; waiting for messages, %" PRIu64 " so far, %" PRIu64 " on their way", text,
                stats.messages, behind);
}

/* What was read and what was left out is on its way to the disk within a second, should this process be killed. */
static void flush_captures(struct watcher *watcher, int64_t now, struct iso_error *error)
{
    if (now - watcher->flushed < FLUSH_MS || error->status != ISO_OK)
        return;
    watcher->flushed = now;
    app_captures_flush(&watcher->stream);
}

/* A batch's messages, without those that were read before a restart. */
static enum iso_status leave_out_known(struct watcher *watcher, const struct iso_message **messages, uint32_t *count)
{
    if (!watcher->batch || !app_durable_knows(&watcher->durable, *messages, *count))
        return ISO_OK;
    watcher->batch = iso_reallocate(watcher->batch, *count * sizeof *watcher->batch);
    memcpy(watcher->batch, *messages, *count * sizeof *watcher->batch);
    *messages = watcher->batch;
    return app_durable_compare(&watcher->durable, watcher->batch, count);
}

/* A batch that is in the journal, if there is one. */
static enum iso_status take_batch(struct watcher *watcher, const struct iso_message *messages, uint32_t count,
                                  uint64_t time, struct iso_error *error)
{
    count = count < watcher->left ? count : (uint32_t)watcher->left;
    watcher->left -= count;
    if (watcher->stream.durable && error->status == ISO_OK)
        app_durable_step(&watcher->durable, messages, count, time);
    if (count && error->status == ISO_OK)
        app_captures_feed(&watcher->stream, messages, count, time);
    if (watcher->stream.durable)
        app_durable_at(&watcher->durable, count ? "after-feed" : "after-idle-step");
    return error->status;
}

/* Once, when the process is above --memory and nothing is left that could go to the store. */
static void tell_memory(struct watcher *watcher)
{
    uint64_t limit = watcher->stream.options->memory, needed = iso_pipeline_memory_needed(watcher->stream.pipeline);
    if (watcher->told_memory || needed <= limit)
        return;
    uint64_t in_use = app_memory_in_use();
    if (in_use <= limit + limit / 100 * ABOVE_PERCENT)
        return;
    needed = needed > in_use ? needed : in_use; /* it has grown since the engine looked */
    watcher->told_memory = true;
    app_warn("--memory %" PRIu64 " is not enough: the process has %" PRIu64
             " bytes, and all went to the store that can. "
             "What comes at this rate and with this retention needs %" PRIu64 " at least, or a smaller --retention",
             limit, in_use, needed);
}

static enum iso_status step(struct watcher *watcher, struct iso_error *error)
{
    const struct iso_message *messages;
    uint32_t count;
    struct app_stream *stream = &watcher->stream;
    struct iso_error polling = {0};
    iso_kafka_consumer_poll(watcher->consumer, POLL_MS, &messages, &count, &polling);
    int64_t now = iso_kafka_now();
    uint64_t time = pipeline_time(watcher, now);
    declare_partitions(watcher, time, error);
    leave_out_known(watcher, &messages, &count);
    take_batch(watcher, messages, count, time, error);
    align_partitions(watcher);
    flush_captures(watcher, now, error);
    /* What came before the consumer failed has been judged. */
    if (polling.status != ISO_OK && error->status == ISO_OK)
        iso_error_set(error, polling.status, "%s", polling.text);
    if (error->status == ISO_OK)
        iso_pipeline_tick(stream->pipeline, time, error);
    if (stream->producer && error->status == ISO_OK) {
        iso_kafka_producer_poll(stream->producer, error);
        iso_kafka_consumer_backlog(watcher->consumer, iso_kafka_producer_waiting(stream->producer));
    }
    if (stream->durable && error->status == ISO_OK)
        app_durable_after(&watcher->durable, (uint64_t)now);
    if (!count)
        app_stream_flush(stream); /* caught up: whoever reads the verdicts is to see them */
    draw(watcher, now);
    tell_calmly(watcher, now);
    tell_memory(watcher);
    app_status_update(&watcher->status, stream, watcher->consumer, (uint64_t)now);
    return error->status;
}

/* All that was asked for has come. */
static bool is_finished(const struct watcher *watcher)
{
    if (watcher->stream.durable && watcher->durable.finished)
        return true;
    return watcher->consumer && (!watcher->left || iso_kafka_consumer_finished(watcher->consumer));
}

/* There is nothing more to read: it has ended before, or is to stop while it catches up. */
static bool is_over(const struct watcher *watcher)
{
    return watcher->stream.durable && (watcher->durable.finished || watcher->durable.catching_up);
}

/* A restart: does again what the journal says, and goes on reading behind it. */
static enum iso_status go_on(struct watcher *watcher, struct iso_kafka_consumer_options *settings,
                             struct iso_kafka_position **positions)
{
    struct app_durable *durable = &watcher->durable;
    if (app_durable_find_told(durable) != ISO_OK || app_durable_resume_captures(durable) != ISO_OK ||
        app_catch_up(durable, settings, watcher->stopped) != ISO_OK || durable->catching_up ||
        app_durable_resume(durable) != ISO_OK || durable->finished)
        return watcher->stream.app->error.status;
    settings->positions = *positions = app_durable_positions(durable, &settings->position_count);
    settings->start = ISO_KAFKA_POSITIONS;
    watcher->looked = iso_kafka_now(); /* catching up takes none of the pipeline's time either */
    watcher->skew = (int64_t)durable->progress.time - watcher->looked;
    watcher->batch = iso_allocate(1);
    return ISO_OK;
}

static enum iso_status open_consumer(struct watcher *watcher, const struct watch *watch)
{
    struct app_stream *stream = &watcher->stream;
    struct iso_error *error = &stream->app->error;
    struct iso_kafka_position *positions = NULL;
    struct iso_kafka_consumer_options settings = {
        .properties = &stream->properties,
        .topics = (const char *const *)stream->topics,
        .topic_count = stream->topic_count,
        .until_eof = watch->until_eof,
        .wait_for_topics = watch->wait_for_topics,
        .high_water = WAITING_HIGH,
        .low_water = WAITING_LOW,
        .memory = watch->stream.memory / WAITING_PART,
    };
    if (app_consume_from(watch->from, &settings, error) != ISO_OK)
        return error->status;
    if (watch->durable.state && app_durable_open(&watcher->durable, stream, &watch->durable) != ISO_OK)
        return error->status;
    bool is_new = stream->durable && iso_store_is_new(watcher->durable.store);
    if (is_new && app_joined_read(stream) != ISO_OK) /* its file is the first input */
        return error->status;
    if (stream->durable && !is_new && go_on(watcher, &settings, &positions) != ISO_OK)
        goto out;
    if (is_over(watcher))
        goto out;
    watcher->consumer = iso_kafka_consumer_new(&settings, iso_pipeline_inputs(stream->pipeline), error);
    if (watcher->consumer && (is_new || !stream->durable))
        note_beginnings(watcher); /* a restart knows what came before */
    if (watcher->consumer && is_new) {
        const struct iso_kafka_partition *partitions;
        uint32_t count = iso_kafka_consumer_partitions(watcher->consumer, &partitions);
        app_durable_begin(&watcher->durable, partitions, count, (uint64_t)watcher->started);
    }
    if (watcher->consumer && stream->durable && error->status == ISO_OK)
        app_durable_give_records(&watcher->durable);
    if (watcher->consumer && !stream->durable && error->status == ISO_OK)
        app_captures_open(stream, watch->durable.record, false);
out:
    iso_free(positions);
    return error->status;
}

/* The end of the input, if it did not come before a restart. */
static void finish(struct watcher *watcher, struct iso_error *error)
{
    struct app_stream *stream = &watcher->stream;
    if (is_over(watcher))
        return;
    uint64_t time = pipeline_time(watcher, iso_kafka_now());
    if (!stream->durable || app_durable_finish(&watcher->durable, time) == ISO_OK)
        iso_pipeline_end(stream->pipeline, time, error);
    if (stream->durable)
        app_durable_at(&watcher->durable, "after-end");
}

/* What a run that is stopped remembers comes before what it says of itself: there is little time. A run that comes to
 * its end may tell something more. */
static enum iso_status conclude(struct watcher *watcher, const struct watch *watch, double seconds)
{
    struct app_stream *stream = &watcher->stream;
    const struct iso_error *error = &stream->app->error;
    bool remembers = stream->durable && !watcher->durable.catching_up;
    enum iso_status outcome = ISO_OK;
    if (error->status == ISO_OK && remembers && !stream->complete)
        app_durable_stop(&watcher->durable, watch->shutdown_timeout);
    if (error->status == ISO_OK)
        outcome = app_stream_conclude(stream, seconds);
    if (error->status == ISO_OK && remembers && stream->complete)
        app_durable_stop(&watcher->durable, watch->shutdown_timeout);
    return error->status == ISO_OK ? outcome : error->status;
}

static enum iso_status watch_topics(struct watcher *watcher, const struct watch *watch)
{
    struct app_stream *stream = &watcher->stream;
    struct iso_error *error = &stream->app->error;
    double started = app_seconds();
    watcher->started = watcher->looked = iso_kafka_now();
    if (watch->durable.state)
        watcher->stopped = app_catch_signals(watch->shutdown_timeout);
    if (open_consumer(watcher, watch) != ISO_OK)
        return error->status;
    if (watcher->consumer)
        app_status_open(&watcher->status, watch->listen, watch->listen_token, error);
    stream->web = watcher->status.web;
    if (error->status != ISO_OK)
        return error->status;
    if (!watcher->stopped)
        watcher->stopped = app_catch_signals(watch->shutdown_timeout);
    watcher->left = watch->messages ? watch->messages : UINT64_MAX;
    if (stream->durable) {
        uint64_t read = watcher->durable.progress.messages;
        watcher->left -= read < watcher->left ? read : watcher->left;
    }
    watcher->shown = app_say_draws() && !watch->stream.quiet;
    watcher->started = iso_kafka_now();
    watcher->skew -= watcher->started - watcher->looked; /* opening takes none of the pipeline's time */
    watcher->looked = watcher->started;
    app_calm_init(&watcher->calm, watcher->started);
    if (watcher->consumer)
        declare_partitions(watcher, pipeline_time(watcher, watcher->started), error);
    while (error->status == ISO_OK && !*watcher->stopped && !is_finished(watcher))
        if (step(watcher, error) != ISO_OK)
            break;
    if (watcher->shown)
        fputs("\r\033[K", stderr);
    stream->complete = is_finished(watcher);
    if (error->status == ISO_OK && stream->complete)
        finish(watcher, error);
    return conclude(watcher, watch, app_seconds() - started);
}

static enum iso_status run(struct app *app, int count, char **arguments)
{
    struct watch watch = {.durable.checkpoint_interval = CHECKPOINT_NS, .shutdown_timeout = 10};
    struct app_texts files = {0};
    struct watcher watcher = {.stream.app = app};
    bool done;
    app_stream_options_init(&watch.stream);
    enum iso_status status = app_parse(app, count, arguments, &watch, &files, &done);
    if (status == ISO_OK && files.count)
        status =
            iso_error_set(&app->error, ISO_BAD_INPUT, "%s: watch reads topics; replay reads files", files.items[0]);
    if (status == ISO_OK && watch.stream.brief && watch.stream.json)
        status = iso_error_set(&app->error, ISO_BAD_INPUT, "--json and --explain: standard output is for one of them");
    if (status == ISO_OK && watch.stream.brief && watch.durable.state && !watch.stream.out)
        status = iso_error_set(&app->error, ISO_BAD_INPUT,
                               "--state and --explain: what was told is known by its lines: expected --out too");
    watch.stream.served = watch.listen != NULL;
    watch.stream.state = watch.durable.state;
    if (status == ISO_OK && !done) {
        status = app_stream_open(&watcher.stream, app, &watch.stream, true, watch.until_eof || watch.messages);
        if (status == ISO_OK)
            status = watch_topics(&watcher, &watch);
        app_status_close(&watcher.status);
        app_durable_close(&watcher.durable);
        iso_free(watcher.batch);
        iso_kafka_consumer_free(watcher.consumer);
        if (app_stream_close(&watcher.stream) != ISO_OK)
            status = app->error.status;
    }
    app_stream_options_release(&watch.stream);
    app_texts_release(&files);
    return status;
}

const struct app_command app_watch = {
    .name = "watch",
    .summary = "check live Kafka topics",
    .usage = "--source KIND:TOPIC -X bootstrap.servers=HOST:PORT [OPTIONS]",
    .intro = "Reads all partitions of the sources' topics and prints each step of each verdict\n"
             "as a line of JSON: tentative, final, retracted. It belongs to no consumer group\n"
             "and commits nothing. Ctrl-C ends it with what is known so far.",
    .examples =
        "  isochron watch --source history:txns -X bootstrap.servers=localhost:9092\n"
        "      Whole transactions that clients publish as JSON.\n"
        "  isochron watch --source history:txns,format=avro,registry=http://localhost:8081 -X kafka.properties\n"
        "      Avro with a schema registry; broker and credentials from a file.\n"
        "  isochron watch --source history:txns --until-eof --json -X bootstrap.servers=localhost:9092\n"
        "      What is there now, and one object at the end.\n"
        "  isochron watch --source history:txns --state /var/lib/isochron --out file:verdicts.jsonl -X kafka.properties\n"
        "      For months: started again after a crash it goes on where it was.\n",
    .options = options,
    .run = run,
};
