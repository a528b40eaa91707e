#define _GNU_SOURCE
#include "run/durable/durable.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/fault.h"
#include "base/memory.h"
#include "cli/log.h"
#include "cli/system.h"
#include "pipeline/archive.h"
#include "run/durable/durable_configuration.h"

/* LOOK: messages between two looks at the process's memory; GRAIN: a change below that share of it
 * is none. */
enum { LOOK = 4096, GRAIN = 256 };

/* ---- opening ---- */

/* The names of values are those of older snapshots. */
void run_durable_archive(void *context, struct iso_archive *archive)
{
    struct run_durable *durable = context;
    struct run_stream *stream = durable->stream;
    run_configuration_archive(archive, &durable->configuration);
    iso_progress_archive(archive, &durable->progress);
    run_delivery_archive(archive, &durable->delivery);
    ISO_ARCHIVE_VALUE(archive, durable->records_given);
    run_recording_mark_archive(archive, &durable->mark);
    run_rounds_archive(archive, &stream->rounds);
    run_order_archive(archive, &stream->order);
    iso_pipeline_archive(archive, stream->pipeline);
    if (archive->restoring)
        return;
    run_recording_sync(&stream->recording, archive->error);
    run_delivery_sync(&durable->delivery, &stream->output, archive->error);
}

/* Number of bytes of the line that its reader has already. */
static size_t emitted_of_line(void *context, const char *line, size_t length)
{
    struct run_durable *durable = context;
    uint64_t before = durable->progress.position;
    iso_progress_line(&durable->progress, line, length);
    return run_delivery_of_line(&durable->delivery, before, durable->progress.position);
}

static bool is_standard(const char *path)
{
    return path && !strcmp(path, "-");
}

/* Refuses outputs that cannot be read or written again, or are written at a run's end alone. */
static enum iso_status refuse_others(const struct run_stream_options *options, const char *record,
                                     struct iso_error *error)
{
    const char *other = options->to_history                 ? "--to-history"
                        : is_standard(options->history)     ? "--history -"
                        : is_standard(record)               ? "--record -"
                        : is_standard(options->dead_letter) ? "--dead-letter -"
                        : options->round && run_stream_bounds_memory(options)
                            ? "--round and --memory"
                            : NULL;
    if (!other)
        return ISO_OK;
    return iso_error_set(
        error, ISO_BAD_INPUT,
        "--state does again after a crash what was done before: it cannot be combined with %s",
        other);
}

enum iso_status run_durable_open(struct run_durable *durable, struct run_stream *stream,
                                 const struct run_durable_options *options, struct iso_error *error)
{
    assert(options->state && stream->pipeline);
    *durable =
        (struct run_durable){.stream = stream,
                             .options = *options,
                             .snapshots = {.opened = (uint64_t)iso_clock_nanoseconds() / 1000}};
    if (refuse_others(stream->options, options->record, error) != ISO_OK)
        return error->status;
    run_configuration_put(&durable->configuration, stream->options, options->record);
    durable->store = iso_store_open(&(struct iso_store_options){.path = options->state}, error);
    stream->output.emitted = emitted_of_line;
    stream->output.context = durable;
    ISO_FAULT(iso_fault_point("before-restore"));
    if (durable->store && !iso_store_is_new(durable->store))
        iso_store_restore(durable->store, run_durable_archive, durable, error);
    ISO_FAULT(iso_fault_point("after-restore"));
    return error->status;
}

void run_durable_close(struct run_durable *durable)
{
    iso_store_close(durable->store);
    iso_progress_release(&durable->progress);
    iso_text_release(&durable->record);
    iso_text_release(&durable->configuration);
    iso_text_release(&durable->mark.dead_letter_name);
    if (durable->stream)
        durable->stream->output.emitted = NULL;
    *durable = (struct run_durable){0};
}

/* ---- records ---- */

enum iso_status run_durable_append(struct run_durable *durable, enum iso_progress_record type,
                                   struct iso_error *error)
{
    enum iso_status status =
        iso_store_append(durable->store, type, durable->record.bytes, durable->record.used, error);
    durable->record.used = 0;
    return status;
}

enum iso_status run_durable_append_number(struct run_durable *durable,
                                          enum iso_progress_record type, uint64_t number,
                                          struct iso_error *error)
{
    assert(!durable->record.used);
    iso_progress_put_number(&durable->record, number);
    return run_durable_append(durable, type, error);
}

/* Tells the pipeline how much memory there is, and the journal before. */
static enum iso_status report_memory(struct run_durable *durable, bool anew,
                                     struct iso_error *error)
{
    uint64_t limit = run_stream_memory(durable->stream->options),
             in_use = limit ? cli_memory_in_use() : 0;
    uint64_t change =
        in_use > durable->in_use ? in_use - durable->in_use : durable->in_use - in_use;
    durable->looked = durable->progress.messages;
    if (!anew && change < limit / GRAIN)
        return ISO_OK;
    durable->in_use = in_use;
    iso_progress_put_number(&durable->record, limit);
    iso_progress_put_number(&durable->record, in_use);
    iso_progress_put_number(&durable->record, anew);
    ISO_FAULT(iso_fault_point("before-memory"));
    if (run_durable_append(durable, ISO_PROGRESS_MEMORY, error) == ISO_OK)
        iso_pipeline_memory(durable->stream->pipeline, limit, in_use, anew);
    ISO_FAULT(iso_fault_point("after-memory"));
    return error->status;
}

enum iso_status run_durable_declare(struct run_durable *durable,
                                    const struct iso_kafka_partition *partition, uint64_t time,
                                    struct iso_error *error)
{
    struct iso_progress_partition record = {time,
                                            partition->input,
                                            partition->partition,
                                            partition->next,
                                            partition->topic,
                                            strlen(partition->topic)};
    struct iso_progress_position *position =
        iso_progress_position(&durable->progress, partition->input);
    position->next = position->next < 0 ? partition->next : position->next;
    position->declared = true;
    ISO_FAULT(iso_fault_point("before-declare"));
    iso_progress_put_partition(&durable->progress, &record, &durable->record);
    return run_durable_append(durable, ISO_PROGRESS_PARTITION, error);
}

void run_durable_count(struct run_durable *durable, const struct iso_message *messages,
                       uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        durable->snapshots.input +=
            sizeof *messages + messages[i].key.size + messages[i].payload.size;
}

enum iso_status run_durable_step(struct run_durable *durable, const struct iso_message *messages,
                                 uint32_t count, uint64_t time, struct iso_error *error)
{
    assert(!durable->catching_up && !durable->finished && !durable->record.used);
    run_durable_count(durable, messages, count);
    if (run_stream_memory(durable->stream->options) &&
        durable->progress.messages - durable->looked >= LOOK &&
        report_memory(durable, false, error) != ISO_OK)
        return error->status;
    iso_progress_step(&durable->progress, messages, count, time, &durable->record);
    ISO_FAULT(iso_fault_point(count ? "before-batch" : "before-idle-step"));
    run_durable_append(durable, ISO_PROGRESS_STEP, error);
    ISO_FAULT(iso_fault_point(count ? "after-batch-recorded" : "after-idle-step-recorded"));
    return error->status;
}

enum iso_status run_durable_ended(struct run_durable *durable, uint32_t input,
                                  struct iso_error *error)
{
    ISO_FAULT(iso_fault_point("before-end-of-input"));
    return run_durable_append_number(durable, ISO_PROGRESS_ENDED, input, error);
}

enum iso_status run_durable_reached(struct run_durable *durable, uint64_t reached,
                                    struct iso_error *error)
{
    ISO_FAULT(iso_fault_point("before-reached"));
    return run_durable_append_number(durable, ISO_PROGRESS_REACHED, reached, error);
}

enum iso_status run_durable_finish(struct run_durable *durable, uint64_t time,
                                   struct iso_error *error)
{
    ISO_FAULT(iso_fault_point("before-finish"));
    iso_progress_step(&durable->progress, NULL, 0, time, &durable->record);
    if (run_durable_append(durable, ISO_PROGRESS_FINISH, error) != ISO_OK)
        return error->status;
    ISO_FAULT(iso_fault_point("after-finish"));
    return iso_store_sync(durable->store, true, error);
}

/* ---- the file of clients' records ---- */

static enum iso_status read_records(struct run_durable *durable, uint64_t *digest,
                                    struct iso_error *error)
{
    struct run_records *records = &durable->stream->records;
    if (run_records_read(records, durable->stream->pipeline, error) != ISO_OK)
        return error->status;
    return iso_progress_digest_file(records->path, digest, error);
}

enum iso_status run_durable_give_records(struct run_durable *durable, struct iso_error *error)
{
    struct run_records *records = &durable->stream->records;
    uint64_t digest;
    if (!records->path || durable->records_given)
        return ISO_OK;
    if (read_records(durable, &digest, error) != ISO_OK)
        return error->status;
    iso_text_put_bytes(&durable->record, &digest, sizeof digest);
    ISO_FAULT(iso_fault_point("before-records"));
    durable->records_given = true;
    if (run_durable_append(durable, ISO_PROGRESS_RECORDS, error) == ISO_OK)
        run_records_give(records, durable->stream->pipeline, error);
    ISO_FAULT(iso_fault_point("after-records"));
    return error->status;
}

enum iso_status run_durable_give_records_again(struct run_durable *durable,
                                               const struct iso_store_record *record,
                                               struct iso_error *error)
{
    struct run_records *records = &durable->stream->records;
    uint64_t digest;
    if (read_records(durable, &digest, error) != ISO_OK)
        return error->status;
    if (record->size != sizeof digest || memcmp(record->bytes, &digest, sizeof digest))
        return iso_error_set(error, ISO_FAILED,
                             "%s: is not what it was when its records were taken", records->path);
    durable->records_given = true;
    return run_records_give(records, durable->stream->pipeline, error);
}

/* ---- a new run ---- */

enum iso_status run_durable_begin(struct run_durable *durable,
                                  const struct iso_kafka_partition *partitions, uint32_t count,
                                  uint64_t time, struct iso_error *error)
{
    struct run_stream *stream = durable->stream;
    assert(iso_store_is_new(durable->store) && !durable->catching_up);
    durable->progress.time = time;
    for (uint32_t i = 0; i < count; i++)
        iso_progress_position(&durable->progress, partitions[i].input)->next = partitions[i].next;
    run_delivery_begin(&durable->delivery, &stream->output);
    if (run_recording_open(&stream->recording, durable->options.record, true, error) != ISO_OK ||
        run_recording_settle(&stream->recording, &durable->mark, error) != ISO_OK)
        return error->status;
    iso_pipeline_fork(stream->pipeline);
    if (iso_store_begin(durable->store, run_durable_archive, durable, error) != ISO_OK)
        return error->status;
    return run_stream_memory(stream->options) ? report_memory(durable, true, error) : ISO_OK;
}

/* ---- a restart ---- */

enum iso_status run_durable_find_delivered(struct run_durable *durable, struct iso_error *error)
{
    struct iso_store_record record;
    uint64_t delivered = durable->progress.position;
    while (iso_store_next(durable->store, &record, error)) {
        struct iso_progress_reader reader = {record.bytes, record.bytes + record.size};
        uint64_t noted;
        if (record.type == ISO_PROGRESS_TOLD && iso_progress_get_number(&reader, &noted) &&
            noted > delivered)
            delivered = noted;
        durable->finished |= record.type == ISO_PROGRESS_FINISH;
    }
    iso_store_rewind(durable->store);
    if (error->status != ISO_OK)
        return error->status;
    return run_delivery_resume(&durable->delivery, &durable->stream->output, delivered,
                               durable->progress.position, error);
}

struct iso_kafka_position *run_durable_positions(const struct run_durable *durable, uint32_t *count)
{
    const struct iso_inputs *inputs = iso_pipeline_inputs(durable->stream->pipeline);
    const struct iso_progress *progress = &durable->progress;
    struct iso_kafka_position *positions =
        iso_allocate(((size_t)progress->position_count + 1) * sizeof *positions);
    *count = 0;
    for (uint32_t i = 0; i < progress->position_count && i < inputs->count; i++) {
        const struct iso_progress_position *position = &progress->positions[i];
        if (position->next >= 0)
            positions[(*count)++] =
                (struct iso_kafka_position){inputs->list[i].topic, inputs->list[i].partition,
                                            position->next, position->last == position->next - 1};
    }
    return positions;
}

bool run_durable_knows(struct run_durable *durable, const struct iso_message *messages,
                       uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (messages[i].offset < iso_progress_position(&durable->progress, messages[i].input)->next)
            return true;
    return false;
}

/* A run begins where the last one read its last message, to see that it is still the same. */
enum iso_status run_durable_compare(struct run_durable *durable, struct iso_message *messages,
                                    uint32_t *count, struct iso_error *error)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        const struct iso_message *message = &messages[i];
        const struct iso_progress_position *position =
            iso_progress_position(&durable->progress, message->input);
        if (message->offset >= position->next) {
            messages[kept++] = *message;
            continue;
        }
        if (message->offset != position->last || iso_progress_digest(message) != position->digest)
            return run_durable_changed(message->topic, message->partition, message->offset, error);
    }
    *count = kept;
    return ISO_OK;
}

enum iso_status run_durable_changed(const char *topic, int32_t partition, int64_t offset,
                                    struct iso_error *error)
{
    return iso_error_set(
        error, ISO_FAILED,
        "topic %s partition %" PRId32 " offset %" PRId64
        ": is not the message that was read there before: the topic was created anew or altered",
        topic, partition, offset);
}

enum iso_status run_durable_resume(struct run_durable *durable, struct iso_error *error)
{
    struct run_stream *stream = durable->stream;
    uint64_t torn = 0;
    assert(!durable->catching_up);
    ISO_FAULT(iso_fault_point("after-catch-up"));
    iso_output_flush(stream->output.lines);
    ISO_FAULT(iso_fault_point("after-catch-up-output"));
    if (run_recording_cut(&stream->recording, error) != ISO_OK ||
        run_delivery_cut(&durable->delivery, &stream->output, durable->progress.position, error) !=
            ISO_OK ||
        iso_store_resume(durable->store, &torn, error) != ISO_OK)
        return error->status;
    if (torn)
        cli_log_warning("state %s: the journal's last %" PRIu64
                        " bytes are no whole record and were left out",
                        durable->options.state, torn);
    if (durable->finished)
        cli_log_warning(
            "state %s: this run has ended, and everything became final: nothing more is read",
            durable->options.state);
    ISO_FAULT(iso_fault_point("after-resume"));
    return durable->finished ? ISO_OK : report_memory(durable, true, error);
}
