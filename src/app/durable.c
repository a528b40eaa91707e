#define _GNU_SOURCE
#include "app/durable.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/durable_configuration.h"
#include "app/joined.h"
#include "app/rounds.h"
#include "base/memory.h"
#include "pipeline/archive.h"

/* LOOK: messages between two looks at the process's memory; GRAIN: a change below that share of it is none. */
enum { SNAPSHOTS_OF_INPUT = 4, SNAPSHOT_EVERY_MS = 3600000, LOOK = 4096, GRAIN = 256 };
#define LEAST_INPUT (UINT64_C(64) << 20)
#define MOST_JOURNAL (UINT64_C(64) << 20)

static uint64_t microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- what the snapshot holds ---- */

static void walk(void *context, struct iso_archive *archive)
{
    struct app_durable *durable = context;
    app_configuration_archive(archive, &durable->configuration);
    iso_progress_archive(archive, &durable->progress);
    ISO_ARCHIVE_VALUE(archive, durable->device);
    ISO_ARCHIVE_VALUE(archive, durable->inode);
    ISO_ARCHIVE_VALUE(archive, durable->begun);
    ISO_ARCHIVE_VALUE(archive, durable->records_given);
    app_captures_mark_archive(archive, &durable->captures);
    app_rounds_archive(archive, durable->stream->rounds);
    iso_pipeline_archive(archive, durable->stream->pipeline);
    if (!archive->restoring)
        app_captures_sync(durable->stream, archive->error);
    if (!archive->restoring && durable->inode && fsync(durable->stream->lines->descriptor))
        iso_error_set(archive->error, ISO_FAILED, "%s: cannot be synced: %s", durable->stream->lines->name,
                      strerror(errno));
}

/* ---- opening ---- */

/* ISOCHRON_CRASH=POINT or POINT:N has the process die when it comes there for the N-th time. */
void app_durable_at(struct app_durable *durable, const char *point)
{
    size_t length = durable->crash_point ? strcspn(durable->crash_point, ":") : 0;
    if (!length || strlen(point) != length || strncmp(durable->crash_point, point, length) || --durable->crash_left)
        return;
    kill(durable->process, SIGKILL); /* a snapshot's child dies of that too */
    for (;;)
        pause();
}

static void at_point(void *context, const char *point)
{
    app_durable_at(context, point);
}

static bool is_standard(const char *path)
{
    return path && !strcmp(path, "-");
}

/* What cannot be read or written again, or is written at a run's end alone. */
static enum iso_status refuse_others(const struct app_stream *stream, const char *record)
{
    const struct app_stream_options *options = stream->options;
    const char *other = options->to_history                 ? "--to-history"
                        : is_standard(options->history)     ? "--history -"
                        : is_standard(record)               ? "--record -"
                        : is_standard(options->dead_letter) ? "--dead-letter -"
                        : options->round && options->memory ? "--round and --memory"
                                                            : NULL;
    if (!other)
        return ISO_OK;
    return iso_error_set(&stream->app->error, ISO_BAD_INPUT,
                         "--state does again after a crash what was done before: it cannot be combined with %s", other);
}

enum iso_status app_durable_open(struct app_durable *durable, struct app_stream *stream,
                                 const struct app_durable_options *options)
{
    struct iso_error *error = &stream->app->error;
    struct iso_store_options settings = {.path = options->state};
    const char *crash = getenv("ISOCHRON_CRASH");
    *durable =
        (struct app_durable){.stream = stream, .options = *options, .process = getpid(), .opened = microseconds()};
    if (refuse_others(stream, options->record) != ISO_OK)
        return error->status;
    app_configuration_put(&durable->configuration, stream->options, options->record);
    if (crash) {
        const char *number = strchr(crash, ':');
        durable->crash_point = crash;
        durable->crash_left = number ? strtoull(number + 1, NULL, 10) : 1;
        settings.at = at_point;
        settings.context = durable;
    }
    durable->store = iso_store_open(&settings, error);
    stream->durable = durable;
    app_durable_at(durable, "before-restore");
    if (durable->store && !iso_store_is_new(durable->store))
        iso_store_restore(durable->store, walk, durable, error);
    app_durable_at(durable, "after-restore");
    return error->status;
}

void app_durable_close(struct app_durable *durable)
{
    iso_store_close(durable->store);
    iso_progress_release(&durable->progress);
    iso_text_release(&durable->record);
    iso_text_release(&durable->configuration);
    app_captures_mark_release(&durable->captures);
    if (durable->stream)
        durable->stream->durable = NULL;
    *durable = (struct app_durable){0};
}

/* ---- the output ---- */

size_t app_durable_line(struct app_durable *durable, const char *line, size_t length)
{
    uint64_t before = durable->progress.position;
    iso_progress_line(&durable->progress, line, length);
    if (durable->progress.position <= durable->told)
        return length;
    return before < durable->told ? (size_t)(durable->told - before) : 0;
}

/* The length of the output if it is a regular file; else false. */
static bool file_length(const struct app_durable *durable, struct stat *status)
{
    const struct iso_output *lines = durable->stream->lines;
    return !durable->stream->producer && !fstat(lines->descriptor, status) && S_ISREG(status->st_mode);
}

static void begin_output(struct app_durable *durable)
{
    struct stat status;
    if (!file_length(durable, &status))
        return;
    durable->device = status.st_dev;
    durable->inode = status.st_ino;
    durable->begun = (uint64_t)status.st_size;
}

enum iso_status app_durable_find_told(struct app_durable *durable)
{
    struct iso_store_record record;
    struct iso_error *error = &durable->stream->app->error;
    struct stat status;
    durable->told = durable->progress.position;
    while (iso_store_next(durable->store, &record, error)) {
        struct iso_progress_reader reader = {record.bytes, record.bytes + record.size};
        uint64_t told;
        if (record.type == ISO_PROGRESS_TOLD && iso_progress_get_number(&reader, &told) && told > durable->told)
            durable->told = told;
        durable->finished |= record.type == ISO_PROGRESS_FINISH;
    }
    iso_store_rewind(durable->store);
    durable->noted = durable->told;
    if (error->status != ISO_OK || !file_length(durable, &status))
        return error->status;
    bool same = durable->inode == status.st_ino && durable->device == status.st_dev;
    uint64_t length = (uint64_t)status.st_size, least = durable->begun + durable->progress.position;
    if (same && length >= least)
        durable->told = length - durable->begun;
    else if (durable->stream->lines != &durable->stream->app->out)
        return iso_error_set(error, ISO_FAILED,
                             "%s: holds %" PRIu64 " bytes%s, expected at least %" PRIu64
                             ": verdicts that were told are not there any more",
                             durable->stream->lines->name, length, same ? "" : " and is another file", least);
    else
        durable->begun = durable->inode = 0; /* another file: what its reader has is what was noted */
    return ISO_OK;
}

/* What was told of steps that the journal lost is told again by others: a file forgets it. */
static enum iso_status forget_lost(struct app_durable *durable)
{
    struct app_stream *stream = durable->stream;
    uint64_t position = durable->progress.position;
    if (durable->told > position && durable->inode &&
        ftruncate(stream->lines->descriptor, (off_t)(durable->begun + position)))
        return iso_error_set(&stream->app->error, ISO_FAILED, "%s: cannot be cut: %s", stream->lines->name,
                             strerror(errno));
    durable->told = durable->told < position ? durable->told : position;
    durable->noted = durable->noted < durable->told ? durable->noted : durable->told;
    return ISO_OK;
}

bool app_durable_knows(struct app_durable *durable, const struct iso_message *messages, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (messages[i].offset < iso_progress_place(&durable->progress, messages[i].input)->next)
            return true;
    return false;
}

/* A run begins where the last one read its last message, to see that it is still the same. */
enum iso_status app_durable_compare(struct app_durable *durable, struct iso_message *messages, uint32_t *count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        const struct iso_message *message = &messages[i];
        const struct iso_progress_place *place = iso_progress_place(&durable->progress, message->input);
        if (message->offset >= place->next) {
            messages[kept++] = *message;
            continue;
        }
        if (message->offset != place->last || iso_progress_digest(message) != place->digest)
            return app_durable_changed(durable, message->topic, message->partition, message->offset);
    }
    *count = kept;
    return ISO_OK;
}

enum iso_status app_durable_changed(struct app_durable *durable, const char *topic, int32_t partition, int64_t offset)
{
    return iso_error_set(&durable->stream->app->error, ISO_FAILED,
                         "topic %s partition %" PRId32 " offset %" PRId64
                         ": is not the message that was read there before: the topic was created anew or altered",
                         topic, partition, offset);
}

struct iso_kafka_position *app_durable_positions(struct app_durable *durable, uint32_t *count)
{
    const struct iso_inputs *inputs = iso_pipeline_inputs(durable->stream->pipeline);
    struct iso_kafka_position *positions =
        iso_allocate(((size_t)durable->progress.place_count + 1) * sizeof *positions);
    *count = 0;
    for (uint32_t i = 0; i < durable->progress.place_count && i < inputs->count; i++) {
        const struct iso_progress_place *place = &durable->progress.places[i];
        if (place->next >= 0)
            positions[(*count)++] = (struct iso_kafka_position){inputs->list[i].topic, inputs->list[i].partition,
                                                                place->next, place->last == place->next - 1};
    }
    return positions;
}

enum iso_status app_durable_resume_captures(struct app_durable *durable)
{
    return app_captures_resume(durable->stream, durable->options.record, &durable->captures);
}

static enum iso_status append(struct app_durable *durable, enum iso_progress_record type)
{
    enum iso_status status = iso_store_append(durable->store, type, durable->record.bytes, durable->record.used,
                                              &durable->stream->app->error);
    durable->record.used = 0;
    return status;
}

/* Tells the pipeline how much memory there is, and the journal before. */
static enum iso_status tell_memory(struct app_durable *durable, bool anew)
{
    uint64_t limit = durable->stream->options->memory, in_use = limit ? app_memory_in_use() : 0;
    uint64_t change = in_use > durable->in_use ? in_use - durable->in_use : durable->in_use - in_use;
    durable->looked = durable->progress.messages;
    if (!anew && change < limit / GRAIN)
        return ISO_OK;
    durable->in_use = in_use;
    iso_progress_put_number(&durable->record, limit);
    iso_progress_put_number(&durable->record, in_use);
    iso_progress_put_number(&durable->record, anew);
    app_durable_at(durable, "before-memory");
    if (append(durable, ISO_PROGRESS_MEMORY) == ISO_OK)
        iso_pipeline_memory(durable->stream->pipeline, limit, in_use, anew);
    app_durable_at(durable, "after-memory");
    return durable->stream->app->error.status;
}

enum iso_status app_durable_begin(struct app_durable *durable, const struct iso_kafka_partition *partitions,
                                  uint32_t count, uint64_t time)
{
    durable->progress.time = time;
    for (uint32_t i = 0; i < count; i++)
        iso_progress_place(&durable->progress, partitions[i].input)->next = partitions[i].next;
    begin_output(durable);
    if (app_captures_open(durable->stream, durable->options.record, true) != ISO_OK ||
        app_captures_settle(durable->stream, &durable->captures) != ISO_OK)
        return durable->stream->app->error.status;
    iso_pipeline_fork(durable->stream->pipeline);
    if (iso_store_begin(durable->store, walk, durable, &durable->stream->app->error) != ISO_OK)
        return durable->stream->app->error.status;
    return durable->stream->options->memory ? tell_memory(durable, true) : ISO_OK;
}

enum iso_status app_durable_resume(struct app_durable *durable)
{
    struct iso_error *error = &durable->stream->app->error;
    uint64_t torn = 0;
    app_durable_at(durable, "after-catch-up");
    iso_output_flush(durable->stream->lines);
    app_durable_at(durable, "after-catch-up-output");
    if (app_captures_cut(durable->stream) != ISO_OK || forget_lost(durable) != ISO_OK ||
        iso_store_resume(durable->store, &torn, error) != ISO_OK)
        return error->status;
    if (torn)
        app_warn("state %s: the journal's last %" PRIu64 " bytes are no whole record and were left out",
                 durable->options.state, torn);
    if (durable->finished)
        app_warn("state %s: of a run that came to its end, where everything became final: nothing more is read",
                 durable->options.state);
    app_durable_at(durable, "after-resume");
    return durable->finished ? ISO_OK : tell_memory(durable, true);
}

/* ---- records ---- */

bool app_durable_has_declared(struct app_durable *durable, uint32_t input)
{
    return iso_progress_place(&durable->progress, input)->declared;
}

enum iso_status app_durable_declare(struct app_durable *durable, const struct iso_kafka_partition *partition,
                                    uint64_t time)
{
    struct iso_progress_partition record = {
        time, partition->input, partition->partition, partition->next, partition->topic, strlen(partition->topic)};
    struct iso_progress_place *place = iso_progress_place(&durable->progress, partition->input);
    place->next = place->next < 0 ? partition->next : place->next;
    place->declared = true;
    app_durable_at(durable, "before-declare");
    iso_progress_put_partition(&durable->progress, &record, &durable->record);
    return append(durable, ISO_PROGRESS_PARTITION);
}

void app_durable_count(struct app_durable *durable, const struct iso_message *messages, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        durable->fed += sizeof *messages + messages[i].key.size + messages[i].payload.size;
}

enum iso_status app_durable_step(struct app_durable *durable, const struct iso_message *messages, uint32_t count,
                                 uint64_t time)
{
    app_durable_count(durable, messages, count);
    if (durable->stream->options->memory && durable->progress.messages - durable->looked >= LOOK &&
        tell_memory(durable, false) != ISO_OK)
        return durable->stream->app->error.status;
    iso_progress_step(&durable->progress, messages, count, time, &durable->record);
    app_durable_at(durable, count ? "before-batch" : "before-idle-step");
    append(durable, ISO_PROGRESS_STEP);
    app_durable_at(durable, count ? "after-batch-recorded" : "after-idle-step-recorded");
    return durable->stream->app->error.status;
}

/* ---- the file of clients' records ---- */

enum iso_status app_durable_give_records(struct app_durable *durable)
{
    struct app_stream *stream = durable->stream;
    struct iso_error *error = &stream->app->error;
    uint64_t digest;
    if (!stream->options->history || durable->records_given)
        return ISO_OK;
    if (app_joined_read(stream) != ISO_OK ||
        iso_progress_digest_file(stream->options->history, &digest, error) != ISO_OK)
        return error->status;
    iso_text_put_bytes(&durable->record, &digest, sizeof digest);
    app_durable_at(durable, "before-records");
    durable->records_given = true;
    if (append(durable, ISO_PROGRESS_RECORDS) == ISO_OK)
        app_joined_give(stream);
    app_durable_at(durable, "after-records");
    return error->status;
}

enum iso_status app_durable_give_records_again(struct app_durable *durable, const struct iso_store_record *record)
{
    struct app_stream *stream = durable->stream;
    struct iso_error *error = &stream->app->error;
    uint64_t digest;
    if (app_joined_read(stream) != ISO_OK ||
        iso_progress_digest_file(stream->options->history, &digest, error) != ISO_OK)
        return error->status;
    if (record->size != sizeof digest || memcmp(record->bytes, &digest, sizeof digest))
        return iso_error_set(error, ISO_FAILED, "%s: is not what it was when its records were taken",
                             stream->options->history);
    durable->records_given = true;
    return app_joined_give(stream);
}

enum iso_status app_durable_finish(struct app_durable *durable, uint64_t time)
{
    app_durable_at(durable, "before-finish");
    iso_progress_step(&durable->progress, NULL, 0, time, &durable->record);
    if (append(durable, ISO_PROGRESS_FINISH) != ISO_OK)
        return durable->stream->app->error.status;
    app_durable_at(durable, "after-finish");
    return iso_store_sync(durable->store, true, &durable->stream->app->error);
}

/* ---- after a batch ---- */

/* Hands over what was made, and sees how far its reader has it. */
static enum iso_status tell(struct app_durable *durable)
{
    struct app_stream *stream = durable->stream;
    struct iso_error *error = &stream->app->error;
    uint64_t position = durable->progress.position;
    if (stream->producer) {
        if (!iso_kafka_producer_settled(stream->producer))
            return ISO_OK;
        durable->told = durable->marked > durable->told ? durable->marked : durable->told;
        if (position > durable->marked)
            iso_kafka_producer_mark(stream->producer);
        durable->marked = position;
        return ISO_OK;
    }
    app_durable_at(durable, "before-output");
    iso_output_flush(stream->lines);
    app_durable_at(durable, "after-output");
    if (stream->lines->error)
        return iso_error_set(error, ISO_FAILED, "%s: %s", stream->lines->name, strerror(stream->lines->error));
    if (position > durable->told)
        durable->told = position;
    return ISO_OK;
}

static enum iso_status note(struct app_durable *durable)
{
    if (durable->told <= durable->noted)
        return ISO_OK;
    durable->noted = durable->told;
    app_durable_at(durable, "before-note");
    iso_progress_put_number(&durable->record, durable->told);
    append(durable, ISO_PROGRESS_TOLD);
    app_durable_at(durable, "after-note");
    return durable->stream->app->error.status;
}

static enum iso_status checkpoint(struct app_durable *durable, bool wait)
{
    app_durable_at(durable, wait ? "before-last-checkpoint" : "before-checkpoint");
    iso_progress_put_check(&durable->progress, &durable->record);
    if (append(durable, ISO_PROGRESS_CHECK) != ISO_OK)
        return durable->stream->app->error.status;
    iso_store_sync(durable->store, wait, &durable->stream->app->error);
    app_durable_at(durable, wait ? "after-last-checkpoint" : "after-checkpoint");
    return durable->stream->app->error.status;
}

/* The store's file grows while cleaned segments wait for a snapshot. */
static bool is_much_held(const struct app_durable *durable)
{
    struct iso_pipeline_stats stats;
    if (durable->fed < LEAST_INPUT / 4)
        return false;
    iso_pipeline_stats(durable->stream->pipeline, &stats);
    return stats.engine.spilt.held >= LEAST_INPUT && stats.engine.spilt.held > stats.engine.spilt.disk / 2;
}

/* Bytes of input after which a snapshot is worth its price: so many times what it writes. */
static uint64_t input_worth_a_snapshot(const struct app_durable *durable)
{
    struct iso_pipeline_stats stats;
    if (durable->options.snapshot_after)
        return durable->options.snapshot_after;
    if (durable->fed < LEAST_INPUT)
        return LEAST_INPUT;
    iso_pipeline_stats(durable->stream->pipeline, &stats);
    uint64_t worth = SNAPSHOTS_OF_INPUT * stats.engine.bytes;
    return worth > LEAST_INPUT ? worth : LEAST_INPUT;
}

static bool is_snapshot_due(const struct app_durable *durable, uint64_t now)
{
    return durable->fed >= input_worth_a_snapshot(durable) || iso_store_journal_bytes(durable->store) >= MOST_JOURNAL ||
           (durable->fed && now - durable->fed_at >= SNAPSHOT_EVERY_MS) || is_much_held(durable);
}

static enum iso_status take_snapshot(struct app_durable *durable, uint64_t now)
{
    durable->pending = durable->progress.position;
    durable->fed = 0;
    durable->fed_at = now;
    durable->snapshots++;
    durable->forked = microseconds();
    app_durable_at(durable, "before-snapshot");
    if (app_captures_settle(durable->stream, &durable->captures) != ISO_OK)
        return durable->stream->app->error.status;
    app_durable_at(durable, "after-captures-settled");
    iso_pipeline_fork(durable->stream->pipeline);
    iso_store_snapshot(durable->store, walk, durable, &durable->stream->app->error);
    app_durable_at(durable, "after-snapshot");
    return durable->stream->app->error.status;
}

static void commit(struct app_durable *durable)
{
    app_durable_at(durable, "before-commit");
    iso_store_commit(durable->store, &durable->stream->app->error);
    durable->committing = true;
    durable->snapped = durable->forked;
    durable->snap_took = microseconds() - durable->forked;
    app_durable_at(durable, "after-commit");
}

/* How far the snapshot under way is. Once it is the one to restore, what its forerunner needed of the store is free. */
static enum iso_store_progress look_at_snapshot(struct app_durable *durable)
{
    struct iso_error *error = &durable->stream->app->error;
    enum iso_store_progress progress = iso_store_look(durable->store, false, error);
    if (error->status == ISO_OK && progress == ISO_STORE_IDLE && durable->committing) {
        durable->committing = false;
        iso_pipeline_commit(durable->stream->pipeline);
        app_durable_at(durable, "after-spill-freed");
    }
    return progress;
}

static enum iso_status look_after(struct app_durable *durable, uint64_t now)
{
    struct iso_error *error = &durable->stream->app->error;
    enum iso_store_progress progress = look_at_snapshot(durable);
    if (error->status == ISO_OK && progress == ISO_STORE_WRITTEN && durable->told >= durable->pending)
        commit(durable);
    if (error->status == ISO_OK && progress == ISO_STORE_IDLE && is_snapshot_due(durable, now))
        take_snapshot(durable, now);
    if (error->status == ISO_OK && now - durable->checked >= durable->options.checkpoint_interval / 1000000) {
        durable->checked = now;
        checkpoint(durable, false);
    }
    return error->status;
}

enum iso_status app_durable_after(struct app_durable *durable, uint64_t now)
{
    if (!durable->checked)
        durable->checked = durable->fed_at = now;
    if (tell(durable) != ISO_OK || note(durable) != ISO_OK)
        return durable->stream->app->error.status;
    uint64_t started = microseconds();
    look_after(durable, now);
    uint64_t took = microseconds() - started;
    durable->longest_pause = took > durable->longest_pause ? took : durable->longest_pause;
    return durable->stream->app->error.status;
}

/* A snapshot that is nearly done spares the next run much reading. */
static void end_snapshot(struct app_durable *durable, uint64_t seconds)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    const struct iso_error *error = &durable->stream->app->error;
    uint64_t end = microseconds() + seconds * 500000;
    enum iso_store_progress progress;
    while ((progress = look_at_snapshot(durable)) != ISO_STORE_IDLE && error->status == ISO_OK &&
           microseconds() < end) {
        if (progress == ISO_STORE_WRITTEN && durable->told >= durable->pending)
            commit(durable);
        nanosleep(&moment, NULL);
    }
}

enum iso_status app_durable_stop(struct app_durable *durable, uint64_t seconds)
{
    struct app_stream *stream = durable->stream;
    struct iso_error *error = &stream->app->error;
    if (stream->producer)
        iso_kafka_producer_flush(stream->producer, (unsigned)seconds, error);
    for (int i = 0; i < 2 && error->status == ISO_OK; i++) /* a topic: the mark before, then all */
        tell(durable);
    if (error->status == ISO_OK && note(durable) == ISO_OK && checkpoint(durable, true) == ISO_OK)
        end_snapshot(durable, seconds);
    if (durable->snapshots && !stream->options->quiet)
        app_say("state %s: %" PRIu64 " snapshots, for which the stream stood still for %" PRIu64 ".%03" PRIu64
                " ms at most; the last has %" PRIu64 " bytes",
                durable->options.state, durable->snapshots, durable->longest_pause / 1000,
                durable->longest_pause % 1000, iso_store_snapshot_bytes(durable->store));
    return error->status;
}

void app_durable_figures(const struct app_durable *durable, struct app_durable_figures *figures)
{
    uint64_t now = microseconds(), began, took;
    bool synced = iso_store_synced(durable->store, &began, &took);
    *figures = (struct app_durable_figures){
        .checkpoint_interval = (double)durable->options.checkpoint_interval / 1e9,
        .snapshot_interval = SNAPSHOT_EVERY_MS / 1e3,
        .checkpoint_age = (double)(now - (synced ? began : durable->opened)) / 1e6,
        .checkpoint_took = synced ? (double)took / 1e6 : -1,
        .snapshot_age = durable->snapped ? (double)(now - durable->snapped) / 1e6 : -1,
        .snapshot_took = durable->snapped ? (double)durable->snap_took / 1e6 : -1,
        .longest_pause = (double)durable->longest_pause / 1e6,
        .journal_bytes = iso_store_journal_bytes(durable->store),
        .snapshot_bytes = iso_store_snapshot_bytes(durable->store),
        .snapshots = durable->snapshots,
    };
}
