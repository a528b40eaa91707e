#include "run/durable/catch_up.h"

#include <inttypes.h>
#include <string.h>

#include "base/fault.h"
#include "base/memory.h"
#include "connectors/kafka/buffer.h"
#include "run/input/intake.h"

/* At least what a poll of the consumer gives. */
enum { POLL_MS = 100, BUFFER_FULL = 8192, BUFFER_BLOCK = 16384, BATCH_LIMIT = 1 << 16 };

struct catcher {
    struct run_durable *durable;
    struct iso_pipeline *pipeline;
    struct iso_error *error;
    struct iso_kafka_consumer *consumer; /* NULL: nothing has to be read again */
    volatile sig_atomic_t *stopped;
    struct iso_kafka_buffer *buffers; /* by input: messages that came early */
    uint32_t buffer_count;
    uint64_t memory; /* bytes on them, with those that one step needs beside; 0: no bound */
    struct iso_message *polled, *batch; /* what a poll gave; the step at hand */
    struct iso_text again;              /* its record, made once more */
    bool ended;                         /* the end of the input was done again */
};

static enum iso_status journal_is_damaged(const struct catcher *catcher)
{
    return iso_error_set(catcher->error, ISO_FAILED,
                         "state %s: damaged: a record of the journal makes no sense",
                         catcher->durable->options.state);
}

static struct iso_kafka_buffer *buffer_of(struct catcher *catcher, uint32_t input)
{
    if (input >= catcher->buffer_count) {
        uint32_t count = (uint32_t)iso_column_capacity(catcher->buffer_count, (size_t)input + 1);
        catcher->buffers = iso_reallocate(catcher->buffers, count * sizeof *catcher->buffers);
        memset(catcher->buffers + catcher->buffer_count, 0,
               (count - catcher->buffer_count) * sizeof *catcher->buffers);
        catcher->buffer_count = count;
    }
    return &catcher->buffers[input];
}

static void release_catcher(struct catcher *catcher)
{
    for (uint32_t i = 0; i < catcher->buffer_count; i++)
        iso_kafka_buffer_release(&catcher->buffers[i]);
    ISO_FREE_ALL(catcher->buffers, catcher->polled, catcher->batch);
    iso_text_release(&catcher->again);
    iso_kafka_consumer_free(catcher->consumer);
}

/* ---- reading ---- */

static bool is_full(const struct iso_kafka_buffer *buffer, uint64_t share)
{
    return buffer->count >= BUFFER_FULL || (share && buffer->bytes >= share);
}

/* Reads on, since the next step needs a message of `input`; no other partition is read far ahead
 * of it. */
static enum iso_status read_more(struct catcher *catcher, uint32_t input)
{
    const struct iso_message *messages;
    const struct iso_kafka_partition *partitions;
    uint32_t count, partition_count = iso_kafka_consumer_partitions(catcher->consumer, &partitions);
    uint64_t share = catcher->memory / (partition_count ? partition_count : 1);
    for (uint32_t i = 0; i < partition_count; i++)
        iso_kafka_consumer_pause(catcher->consumer, i,
                                 partitions[i].input != input &&
                                     is_full(buffer_of(catcher, partitions[i].input), share));
    if (iso_kafka_consumer_poll(catcher->consumer, POLL_MS, &messages, &count, catcher->error) !=
        ISO_OK)
        return catcher->error->status;
    memcpy(catcher->polled, messages, count * sizeof *messages);
    if (run_durable_compare(catcher->durable, catcher->polled, &count, catcher->error) != ISO_OK)
        return catcher->error->status;
    for (uint32_t i = 0; i < count; i++)
        iso_kafka_buffer_put(buffer_of(catcher, catcher->polled[i].input), &catcher->polled[i],
                             BUFFER_BLOCK);
    return ISO_OK;
}

/* The broker has no more of an input whose messages were read before. */
static bool has_ended(const struct catcher *catcher, uint32_t input)
{
    const struct iso_kafka_partition *partitions;
    uint32_t count = iso_kafka_consumer_partitions(catcher->consumer, &partitions);
    for (uint32_t i = 0; i < count; i++)
        if (partitions[i].input == input)
            return partitions[i].at_end;
    return true;
}

static enum iso_status await_messages(struct catcher *catcher, uint32_t input, uint64_t need)
{
    const struct iso_inputs_entry *entry = &iso_pipeline_inputs(catcher->pipeline)->list[input];
    while (buffer_of(catcher, input)->count < need && !*catcher->stopped) {
        bool ended = has_ended(catcher, input);
        if (read_more(catcher, input) != ISO_OK)
            return catcher->error->status;
        if (ended && buffer_of(catcher, input)->count < need && has_ended(catcher, input))
            return iso_error_set(catcher->error, ISO_FAILED,
                                 "topic %s partition %" PRId32
                                 ": ends before what was read of it: it was truncated or "
                                 "created anew",
                                 entry->topic, entry->partition);
    }
    return ISO_OK;
}

/* ---- records ---- */

static enum iso_status take_run(struct catcher *catcher, uint64_t input, uint64_t need,
                                uint32_t *count)
{
    if (input >= iso_pipeline_inputs(catcher->pipeline)->count || !catcher->consumer ||
        need > BATCH_LIMIT - *count)
        return journal_is_damaged(catcher);
    if (await_messages(catcher, (uint32_t)input, need) != ISO_OK || *catcher->stopped)
        return catcher->error->status;
    struct iso_kafka_buffer *buffer = buffer_of(catcher, (uint32_t)input);
    for (; need; need--)
        iso_kafka_buffer_take(buffer, &catcher->batch[(*count)++]);
    return ISO_OK;
}

static enum iso_status feed_again(struct catcher *catcher, const struct iso_store_record *record,
                                  uint32_t count, uint64_t time)
{
    struct iso_progress *progress = &catcher->durable->progress;
    run_durable_count(catcher->durable, catcher->batch, count);
    catcher->again.used = 0;
    iso_progress_step(progress, catcher->batch, count, time, &catcher->again);
    if (catcher->again.used != record->size ||
        memcmp(catcher->again.bytes, record->bytes, record->size))
        return count ? run_durable_changed(catcher->batch[0].topic, catcher->batch[0].partition,
                                           catcher->batch[0].offset, catcher->error)
                     : journal_is_damaged(catcher);
    if (count)
        run_intake_feed(catcher->durable->stream, catcher->batch, count, time, catcher->error);
    if (catcher->error->status == ISO_OK)
        iso_pipeline_tick(catcher->pipeline, time, catcher->error);
    return catcher->error->status;
}

static enum iso_status do_step(struct catcher *catcher, const struct iso_store_record *record)
{
    struct iso_progress_reader reader = {record->bytes, record->bytes + record->size};
    uint64_t time, runs, input, need;
    uint32_t count = 0;
    if (!iso_progress_get_step(&catcher->durable->progress, &reader, &time, &runs))
        return journal_is_damaged(catcher);
    for (; runs && catcher->error->status == ISO_OK && !*catcher->stopped; runs--) {
        if (!iso_progress_get_run(&reader, &input, &need))
            return journal_is_damaged(catcher);
        take_run(catcher, input, need, &count);
    }
    if (catcher->error->status == ISO_OK && !*catcher->stopped)
        feed_again(catcher, record, count, time);
    for (uint32_t i = 0; i < catcher->buffer_count; i++)
        iso_kafka_buffer_free_taken(&catcher->buffers[i]);
    return catcher->error->status;
}

static enum iso_status do_partition(struct catcher *catcher, const struct iso_store_record *record)
{
    struct iso_progress_partition partition;
    struct iso_progress_reader reader = {record->bytes, record->bytes + record->size};
    if (!iso_progress_get_partition(&catcher->durable->progress, reader, &partition))
        return journal_is_damaged(catcher);
    iso_progress_position(&catcher->durable->progress, partition.input)->declared = true;
    iso_pipeline_declare(catcher->pipeline, partition.input, partition.time);
    return run_intake_declare(catcher->durable->stream,
                              iso_pipeline_inputs(catcher->pipeline)->list[partition.input].topic,
                              partition.partition, catcher->error);
}

/* Equal verdicts, or this is not the program that made the others. Behind the end of the input the
 * last verdict, which is emitted once all is done, may stand among those that were checked. */
static enum iso_status do_check(struct catcher *catcher, const struct iso_store_record *record)
{
    const struct iso_progress *progress = &catcher->durable->progress;
    uint64_t position, digest;
    if (!iso_progress_get_check(
            (struct iso_progress_reader){record->bytes, record->bytes + record->size}, &position,
            &digest))
        return journal_is_damaged(catcher);
    if (catcher->ended || (position == progress->position && digest == progress->digest))
        return ISO_OK;
    return iso_error_set(catcher->error, ISO_FAILED,
                         "state %s: the same messages gave other verdicts: %" PRIu64
                         " bytes of them, expected %" PRIu64,
                         catcher->durable->options.state, progress->position, position);
}

/* Repeats a step of memory management: which versions were spilled or dropped follows from the
 * limit as it stood then. */
static enum iso_status do_memory(struct catcher *catcher, const struct iso_store_record *record)
{
    struct iso_progress_reader reader = {record->bytes, record->bytes + record->size};
    uint64_t limit, in_use, anew;
    if (!iso_progress_get_number(&reader, &limit) || !iso_progress_get_number(&reader, &in_use) ||
        !iso_progress_get_number(&reader, &anew))
        return journal_is_damaged(catcher);
    iso_pipeline_memory(catcher->pipeline, limit, in_use, anew);
    return ISO_OK;
}

/* Repeats the reports between two steps, at the time of the first. */
static enum iso_status do_sign(struct catcher *catcher, const struct iso_store_record *record)
{
    struct iso_progress_reader reader = {record->bytes, record->bytes + record->size};
    struct run_stream *stream = catcher->durable->stream;
    uint64_t number, time = catcher->durable->progress.time;
    bool is_end = record->type == ISO_PROGRESS_ENDED;
    if (!iso_progress_get_number(&reader, &number) ||
        (is_end && number >= iso_pipeline_inputs(catcher->pipeline)->count))
        return journal_is_damaged(catcher);
    return is_end ? run_intake_end(stream, (uint32_t)number, time, catcher->error)
                  : run_intake_reached(stream, number, time, catcher->error);
}

static enum iso_status do_record(struct catcher *catcher, const struct iso_store_record *record)
{
    struct iso_progress_reader reader = {record->bytes, record->bytes + record->size};
    uint64_t time, runs;
    switch (record->type) {
    case ISO_PROGRESS_STEP:
        return do_step(catcher, record);
    case ISO_PROGRESS_PARTITION:
        return do_partition(catcher, record);
    case ISO_PROGRESS_TOLD:
        return ISO_OK;
    case ISO_PROGRESS_CHECK:
        return do_check(catcher, record);
    case ISO_PROGRESS_RECORDS:
        return run_durable_give_records_again(catcher->durable, record, catcher->error);
    case ISO_PROGRESS_MEMORY:
        return do_memory(catcher, record);
    case ISO_PROGRESS_ENDED:
    case ISO_PROGRESS_REACHED:
        return do_sign(catcher, record);
    case ISO_PROGRESS_FINISH:
        if (!iso_progress_get_step(&catcher->durable->progress, &reader, &time, &runs))
            return journal_is_damaged(catcher);
        catcher->durable->progress.time = time;
        catcher->ended = true;
        return iso_pipeline_end(catcher->pipeline, time, catcher->error);
    default:
        return journal_is_damaged(catcher);
    }
}

/* ---- the whole ---- */

/* Inputs are numbered in the order of then, before a consumer finds their partitions in an order of
 * its own. */
static bool number_inputs(struct catcher *catcher)
{
    struct iso_progress *progress = &catcher->durable->progress;
    struct iso_store_record record;
    struct iso_progress_partition partition;
    bool reads = false;
    while (iso_store_next(catcher->durable->store, &record, catcher->error)) {
        struct iso_progress_reader reader = {record.bytes, record.bytes + record.size};
        uint64_t time, runs;
        if (record.type == ISO_PROGRESS_STEP &&
            iso_progress_get_step(progress, &reader, &time, &runs))
            reads |= runs != 0;
        if (record.type == ISO_PROGRESS_RECORDS)
            run_records_read(&catcher->durable->stream->records, catcher->pipeline, catcher->error);
        if (record.type != ISO_PROGRESS_PARTITION)
            continue;
        if (!iso_progress_get_partition(progress, reader, &partition) ||
            iso_inputs_number(iso_pipeline_inputs(catcher->pipeline), partition.topic,
                              partition.length, partition.partition) != partition.input)
            journal_is_damaged(catcher);
        else
            iso_progress_position(progress, partition.input)->next = partition.start;
    }
    iso_store_rewind(catcher->durable->store);
    return reads;
}

static bool has_topic(const char *const *topics, uint32_t count, const char *topic)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(topics[i], topic))
            return true;
    return false;
}

/* The topics of which something was read; the list is the caller's. */
static const char **known_topics(const struct catcher *catcher, uint32_t *count)
{
    const struct iso_inputs *inputs = iso_pipeline_inputs(catcher->pipeline);
    const char **topics = iso_allocate((inputs->count + 1) * sizeof *topics);
    *count = 0;
    for (uint32_t i = 0; i < inputs->count; i++)
        if (run_sources_read(&catcher->durable->stream->sources, inputs->list[i].topic) &&
            !has_topic(topics, *count, inputs->list[i].topic))
            topics[(*count)++] = inputs->list[i].topic;
    return topics;
}

static void open_consumer(struct catcher *catcher,
                          const struct iso_kafka_consumer_options *settings)
{
    struct iso_kafka_consumer_options again = *settings;
    struct iso_kafka_position *positions =
        run_durable_positions(catcher->durable, &again.position_count);
    const char **topics = known_topics(catcher, &again.topic_count);
    again.topics = topics;
    again.prefix_count = 0;
    again.positions = positions;
    again.start = ISO_KAFKA_POSITIONS;
    again.until_eof = again.wait_for_topics = false;
    catcher->consumer =
        iso_kafka_consumer_new(&again, iso_pipeline_inputs(catcher->pipeline), catcher->error);
    ISO_FREE_ALL(positions, topics);
}

enum iso_status run_catch_up(struct run_durable *durable,
                             const struct iso_kafka_consumer_options *settings,
                             volatile sig_atomic_t *stopped, struct iso_error *error)
{
    struct run_remarks *remarks = &durable->stream->remarks;
    struct catcher catcher = {.durable = durable,
                              .pipeline = durable->stream->pipeline,
                              .error = error,
                              .stopped = stopped,
                              .memory = settings->memory};
    struct iso_store_record record;
    catcher.polled = iso_allocate(BUFFER_FULL * sizeof *catcher.polled);
    catcher.batch = iso_allocate(BATCH_LIMIT * sizeof *catcher.batch);
    durable->catching_up = remarks->muted = true;
    if (number_inputs(&catcher) && catcher.error->status == ISO_OK)
        open_consumer(&catcher, settings);
    while (catcher.error->status == ISO_OK && !*stopped &&
           iso_store_next(durable->store, &record, catcher.error)) {
        do_record(&catcher, &record);
        ISO_FAULT(iso_fault_point("after-record-again"));
    }
    if (catcher.error->status == ISO_OK && !*stopped)
        durable->catching_up = remarks->muted = false;
    release_catcher(&catcher);
    return error->status;
}
