#include "run/input/recording.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "cli/log.h"

/* ---- the files ---- */

static struct iso_capture_writer *open_one(const char *path, bool resumable,
                                           struct iso_error *error)
{
    if (!resumable)
        return iso_capture_writer_new(path, error);
    struct iso_capture_writer *writer = iso_capture_writer_resume(path, 0, error);
    if (writer)
        iso_stream_writer_cut(iso_capture_stream(writer), error);
    return writer;
}

enum iso_status run_recording_open(struct run_recording *recording, const char *path,
                                   bool resumable, struct iso_error *error)
{
    assert(!recording->messages && !recording->dead_letter);
    if (path)
        recording->messages = open_one(path, resumable, error);
    if (recording->dead_letter_path && error->status == ISO_OK)
        recording->dead_letter = open_one(recording->dead_letter_path, resumable, error);
    if (recording->messages && error->status == ISO_OK)
        iso_capture_begin(recording->messages, error);
    return error->status;
}

void run_recording_close(struct run_recording *recording, struct iso_error *error)
{
    iso_capture_writer_close(recording->messages, error);
    iso_capture_writer_close(recording->dead_letter, error);
    recording->messages = recording->dead_letter = NULL;
}

/* ---- what goes into them ---- */

enum iso_status run_recording_batch(struct run_recording *recording,
                                    const struct iso_message *messages, uint32_t count,
                                    struct iso_error *error)
{
    assert(recording->messages);
    for (uint32_t i = 0; i < count && error->status == ISO_OK; i++)
        iso_capture_write(recording->messages, &messages[i], error);
    return error->status == ISO_OK ? iso_capture_mark(recording->messages, error) : error->status;
}

/* Its senders do not decide how long the file becomes. */
static bool has_room(struct run_recording *recording)
{
    uint64_t limit = recording->dead_letter_limit;
    if (!limit || iso_stream_written(iso_capture_stream(recording->dead_letter)) < limit)
        return true;
    if (!recording->unkept++)
        cli_log_warning("%s: has reached --dead-letter-limit, %" PRIu64
                        " bytes: from here on bad records are counted and not kept",
                        recording->dead_letter_path, limit);
    return false;
}

bool run_recording_keep(struct run_recording *recording, const struct iso_message *message,
                        struct iso_error *error)
{
    assert(recording->dead_letter);
    if (!has_room(recording))
        return false;
    if (iso_capture_write(recording->dead_letter, message, error) == ISO_OK)
        return true;
    recording->unkept++;
    return false;
}

static enum iso_status do_both(const struct run_recording *recording,
                               enum iso_status (*work)(struct iso_stream_writer *,
                                                       struct iso_error *),
                               struct iso_error *error)
{
    struct iso_capture_writer *writers[] = {recording->messages, recording->dead_letter};
    for (int i = 0; i < 2 && error->status == ISO_OK; i++)
        if (writers[i])
            work(iso_capture_stream(writers[i]), error);
    return error->status;
}

enum iso_status run_recording_flush(struct run_recording *recording, struct iso_error *error)
{
    return do_both(recording, iso_stream_flush, error);
}

/* ---- with --state ---- */

void run_recording_mark_archive(struct iso_archive *archive, struct run_recording_mark *mark)
{
    struct iso_text *name = &mark->dead_letter_name;
    ISO_ARCHIVE_VALUE(archive, mark->record);
    ISO_ARCHIVE_VALUE(archive, mark->dead_letter);
    ISO_ARCHIVE_ANY(archive, "dead letter", ISO_ARCHIVE_HEAP, name->bytes, name->used,
                    name->capacity);
}

enum iso_status run_recording_settle(struct run_recording *recording,
                                     struct run_recording_mark *mark, struct iso_error *error)
{
    mark->dead_letter_name.used = 0;
    if (recording->messages)
        iso_stream_writer_mark(iso_capture_stream(recording->messages), &mark->record, error);
    if (recording->dead_letter && error->status == ISO_OK) {
        iso_text_put(&mark->dead_letter_name, recording->dead_letter_path);
        iso_stream_writer_mark(iso_capture_stream(recording->dead_letter), &mark->dead_letter,
                               error);
    }
    return error->status;
}

void run_recording_sync(struct run_recording *recording, struct iso_error *error)
{
    do_both(recording, iso_stream_writer_sync, error);
}

/* Whether the mark is one of the file that dead letters go to now. */
static bool is_marked(const struct run_recording_mark *mark, const char *dead_letter)
{
    const struct iso_text *name = &mark->dead_letter_name;
    return dead_letter && name->used == strlen(dead_letter) &&
           !memcmp(name->bytes, dead_letter, name->used);
}

enum iso_status run_recording_resume(struct run_recording *recording, const char *path,
                                     const struct run_recording_mark *mark, struct iso_error *error)
{
    const char *dead_letter = recording->dead_letter_path;
    if (path)
        recording->messages = iso_capture_writer_resume(path, mark->record, error);
    if (is_marked(mark, dead_letter) && error->status == ISO_OK)
        recording->dead_letter = iso_capture_writer_resume(dead_letter, mark->dead_letter, error);
    else if (dead_letter && error->status == ISO_OK)
        recording->dead_letter = open_one(dead_letter, true, error);
    return error->status;
}

enum iso_status run_recording_cut(struct run_recording *recording, struct iso_error *error)
{
    return do_both(recording, iso_stream_writer_cut, error);
}
