/* A stream: the pipeline that `watch` has, fed with sets of transactions in place of messages.
 *
 * Each push and each watermark is one message to the pipeline, and the decoder of all sources looks
 * up here what it brought.
 */
#include <string.h>

#include "base/memory.h"
#include "base/team.h"
#include "library/library_private.h"

/* Events of the message at hand. */
struct brought {
    struct iso_decoder decoder;             /* first: it is what the pipeline knows of it */
    const struct iso_history *transactions; /* NULL: a watermark */
    uint64_t watermark;
};

struct iso_stream {
    struct iso_pipeline *pipeline;
    struct iso_team *team;
    struct brought *brought; /* the pipeline's, which frees it */
    uint64_t *taken;         /* transactions so far, by source */
    uint32_t capacity;       /* of `taken` */
    char *spill;             /* owned; or NULL */
    bool allow_unjudged, skips;
    struct iso_error failure; /* what stopped it */
    struct iso_text json;
    struct library_report report;
    iso_on_report on_report;
    void *context;
};

/* ---- from sets to events ---- */

static void destroy(struct iso_decoder *decoder)
{
    iso_free(decoder);
}

static enum iso_status decode(struct iso_decoder *decoder, const struct iso_message *message,
                              struct iso_events *events, struct iso_error *error)
{
    const struct brought *brought = (const struct brought *)decoder;
    struct iso_history *block = &events->block;
    const struct iso_history *set = brought->transactions;
    if (!set) {
        struct iso_event *event = iso_events_start(events, message, ISO_EVENT_WATERMARK);
        event->flags = ISO_EVENT_HAS_CTS;
        event->cts.physical = brought->watermark;
        return ISO_OK;
    }
    if (block->clock != ISO_CLOCK_NONE && set->clock != ISO_CLOCK_NONE &&
        block->clock != set->clock)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "timestamps are of another kind than before, expected one kind");
    uint32_t first = block->txns.count;
    iso_history_append(block, set, message->input, 0);
    for (uint32_t i = 0; i < set->txns.count; i++)
        block->txns.origin[first + i] =
            iso_origin(message->input, (uint64_t)message->offset + i + 1);
    struct iso_event *event = iso_events_start(events, message, ISO_EVENT_TRANSACTIONS);
    event->first = first;
    event->count = set->txns.count;
    event->origin = block->txns.origin[first];
    return ISO_OK;
}

static const struct iso_decoder_class sets = {
    .kind = "history", .decode = decode, .destroy = destroy};

static enum iso_status take_line(void *context, const char *line, size_t length,
                                 struct iso_error *error)
{
    struct iso_stream *stream = context;
    (void)error;
    library_report_read(&stream->report, line, length - 1, NULL);
    stream->on_report(stream->context, &stream->report.report);
    return ISO_OK;
}

/* ---- life ---- */

static enum iso_status check_options(const struct iso_options *options, struct iso_error *error)
{
    if (iso_level_check((enum iso_level)options->level, ISO_BY_AION, "a stream", "option level",
                        error) != ISO_OK)
        return error->status;
    if (options->engine)
        return iso_error_set(error, ISO_BAD_INPUT, "option engine: a stream has its own");
    if (options->evidence)
        return iso_error_set(error, ISO_BAD_INPUT, "option evidence: a stream has none");
    return ISO_OK;
}

static struct iso_stream *new_stream(const struct iso_options *options,
                                     const struct iso_transactions *initial,
                                     iso_on_report on_report, void *context)
{
    struct iso_stream *stream = iso_allocate_zeroed(1, sizeof *stream);
    struct iso_pipeline_options settings = library_stream_options(options);
    stream->on_report = on_report;
    stream->context = context;
    stream->allow_unjudged = options->judge.allow_unjudged;
    stream->skips = settings.on_bad_record == ISO_BAD_SKIP;
    if (options->spill)
        stream->spill = iso_copy_text(options->spill, strlen(options->spill));
    stream->team = iso_team_new(settings.engine.shards);
    settings.engine.host.run_shards = iso_team_run;
    settings.engine.host.runner = stream->team;
    settings.engine.spill = stream->spill;
    settings.sink = on_report ? take_line : NULL;
    settings.sink_context = stream;
    settings.join.initial_known = !options->midway;
    stream->pipeline = iso_pipeline_new(&settings);
    stream->brought = iso_allocate_zeroed(1, sizeof *stream->brought);
    stream->brought->decoder.class = &sets;
    stream->brought->decoder.ranges = options->ranges;
    iso_pipeline_route(stream->pipeline, "", &stream->brought->decoder, false);
    iso_pipeline_begins(stream->pipeline, ISO_NONE, options->midway);
    if (initial)
        iso_pipeline_initial(stream->pipeline, &initial->history);
    return stream;
}

struct iso_stream *iso_stream_new(const struct iso_options *options,
                                  const struct iso_transactions *initial, iso_on_report on_report,
                                  void *context, struct iso_error *error)
{
    struct iso_options defaults;
    library_options_init(&defaults);
    options = options ? options : &defaults;
    if (library_options_need_all(options, error) != ISO_OK ||
        check_options(options, error) != ISO_OK ||
        (initial && library_need_all(initial, error) != ISO_OK))
        return NULL;
    return new_stream(options, initial, on_report, context);
}

void iso_stream_free(struct iso_stream *stream)
{
    if (!stream)
        return;
    iso_pipeline_free(stream->pipeline);
    iso_team_free(stream->team);
    iso_text_release(&stream->json);
    library_report_release(&stream->report);
    ISO_FREE_ALL(stream->taken, stream->spill, stream);
}

/* ---- what arrives ---- */

uint32_t iso_stream_source(struct iso_stream *stream, const char *name, uint64_t now)
{
    struct iso_inputs *inputs = iso_pipeline_inputs(stream->pipeline);
    uint32_t known = inputs->count,
             source = iso_inputs_number(inputs, name, strlen(name), ISO_PIPELINE_FILE);
    if (source == ISO_INPUTS_MAX || source < known)
        return source;
    if (source >= stream->capacity) {
        stream->capacity = (uint32_t)iso_column_capacity(stream->capacity, source + 1);
        stream->taken = iso_reallocate(stream->taken, stream->capacity * sizeof *stream->taken);
    }
    stream->taken[source] = 0;
    iso_pipeline_declare(stream->pipeline, source, now);
    return source;
}

/* The first error stays, and is the answer to every later call. */
static enum iso_status answer(struct iso_stream *stream, struct iso_error *error)
{
    if (stream->failure.status == ISO_OK)
        return ISO_OK;
    iso_pipeline_stop(stream->pipeline);
    return iso_error_set(error, stream->failure.status, "%s", stream->failure.text);
}

/* A record that could not be taken is missing from then on. */
static enum iso_status check_source(struct iso_stream *stream, uint32_t source)
{
    if (stream->failure.status == ISO_OK && source >= iso_pipeline_inputs(stream->pipeline)->count)
        iso_error_set(&stream->failure, ISO_BAD_INPUT, "source %u: there is none of that number",
                      (unsigned)source);
    return stream->failure.status;
}

static enum iso_status check_set(struct iso_stream *stream, uint32_t source,
                                 struct iso_transactions *transactions)
{
    static const char expected[] = "the option ranges, which keeps all keys from the start";
    struct iso_error *failure = &stream->failure;
    if (stream->skips && transactions->refusals) {
        iso_pipeline_left_out_before(stream->pipeline, source, transactions->refusals);
        iso_transactions_forgive(transactions);
    }
    if (library_need_all(transactions, failure) == ISO_OK &&
        library_need_building(transactions, failure) == ISO_OK && !stream->brought->decoder.ranges)
        iso_history_refuse_ranges(&transactions->history, expected, failure);
    return failure->status;
}

static void feed(struct iso_stream *stream, uint32_t source, uint64_t now)
{
    struct iso_message message = {.topic = "",
                                  .partition = ISO_PIPELINE_FILE,
                                  .broker = -1,
                                  .offset = (int64_t)stream->taken[source],
                                  .input = source};
    iso_pipeline_feed(stream->pipeline, &message, 1, now, &stream->failure);
}

enum iso_status iso_stream_push(struct iso_stream *stream, uint32_t source,
                                struct iso_transactions *transactions, uint64_t now,
                                struct iso_error *error)
{
    uint32_t count = iso_transactions_count(transactions);
    if (check_source(stream, source) != ISO_OK || check_set(stream, source, transactions) != ISO_OK)
        return answer(stream, error);
    if (count) {
        stream->brought->transactions = &transactions->history;
        feed(stream, source, now);
        stream->brought->transactions = NULL;
        stream->taken[source] += count;
    }
    iso_transactions_clear(transactions);
    return answer(stream, error);
}

enum iso_status iso_stream_watermark(struct iso_stream *stream, uint32_t source, uint64_t timestamp,
                                     uint64_t now, struct iso_error *error)
{
    if (check_source(stream, source) != ISO_OK)
        return answer(stream, error);
    stream->brought->watermark = timestamp;
    feed(stream, source, now);
    return answer(stream, error);
}

enum iso_status iso_stream_tick(struct iso_stream *stream, uint64_t now, struct iso_error *error)
{
    if (answer(stream, error) != ISO_OK)
        return error->status;
    iso_pipeline_tick(stream->pipeline, now, &stream->failure);
    return answer(stream, error);
}

enum iso_status iso_stream_end(struct iso_stream *stream, uint64_t now, struct iso_error *error)
{
    if (answer(stream, error) != ISO_OK)
        return error->status;
    iso_pipeline_end(stream->pipeline, now, &stream->failure);
    return answer(stream, error);
}

/* ---- what is known ---- */

enum iso_outcome iso_stream_outcome(const struct iso_stream *stream, const char **reason)
{
    const char *why;
    enum iso_status status = iso_pipeline_outcome(stream->pipeline, stream->allow_unjudged, &why);
    if (reason)
        *reason = status == ISO_UNDECIDED ? why : NULL;
    return status == ISO_OK         ? ISO_HOLDS
           : status == ISO_VIOLATED ? ISO_IS_VIOLATED
                                    : ISO_IS_UNDECIDED;
}

const char *iso_stream_json(struct iso_stream *stream, size_t *length)
{
    struct iso_text *json = &stream->json;
    struct iso_accounting books;
    json->used = 0;
    iso_pipeline_accounting(stream->pipeline, &books);
    iso_pipeline_summary(stream->pipeline, &books, stream->allow_unjudged, NULL, json);
    json->bytes[--json->used] = 0; /* in place of the newline */
    if (length)
        *length = json->used;
    return json->bytes;
}
