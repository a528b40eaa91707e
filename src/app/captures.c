#include "app/captures.h"

#include <string.h>

enum { BOTH = 2 };

static struct iso_error *error_of(struct app_stream *stream)
{
    return &stream->app->error;
}

/* ---- the files ---- */

static struct iso_capture_writer *open_one(const char *path, bool resumable, struct iso_error *error)
{
    if (!resumable)
        return iso_capture_writer_new(path, error);
    struct iso_capture_writer *writer = iso_capture_writer_resume(path, 0, error);
    if (writer)
        iso_capture_writer_cut(writer, error);
    return writer;
}

/* The mark that says that there are marks. */
static enum iso_status begin_record(struct app_stream *stream)
{
    return stream->record ? iso_capture_mark(stream->record, error_of(stream)) : ISO_OK;
}

enum iso_status app_captures_open(struct app_stream *stream, const char *record, bool resumable)
{
    const char *dead_letter = stream->options->dead_letter;
    struct iso_error *error = error_of(stream);
    if (record)
        stream->record = open_one(record, resumable, error);
    if (dead_letter && error->status == ISO_OK)
        stream->dead_letter = open_one(dead_letter, resumable, error);
    return error->status == ISO_OK ? begin_record(stream) : error->status;
}

void app_captures_close(struct app_stream *stream)
{
    iso_capture_writer_close(stream->record, error_of(stream));
    iso_capture_writer_close(stream->dead_letter, error_of(stream));
    stream->record = stream->dead_letter = NULL;
}

/* ---- what goes into them ---- */

static void write_batch(struct app_stream *stream, const struct iso_message *messages, uint32_t count)
{
    struct iso_error *error = error_of(stream);
    for (uint32_t i = 0; i < count && error->status == ISO_OK; i++)
        iso_capture_write(stream->record, &messages[i], error);
    if (error->status == ISO_OK)
        iso_capture_mark(stream->record, error);
}

/* How late a transaction is depends on what is judged with it: a recording keeps the batches. */
enum iso_status app_captures_feed(struct app_stream *stream, const struct iso_message *messages, uint32_t count,
                                  uint64_t time)
{
    struct iso_error *error = error_of(stream);
    uint32_t batch = count;
    for (; count && error->status == ISO_OK; messages += batch, count -= batch) {
        batch = stream->record ? iso_capture_batch(messages, count) : count;
        if (stream->record)
            write_batch(stream, messages, batch);
        if (error->status == ISO_OK)
            iso_pipeline_feed(stream->pipeline, messages, batch, time, error);
    }
    return error->status;
}

enum iso_status app_captures_declare(struct app_stream *stream, const char *topic, int32_t partition)
{
    return stream->record ? iso_capture_declare(stream->record, topic, partition, error_of(stream)) : ISO_OK;
}

enum iso_status app_captures_flush(struct app_stream *stream)
{
    struct iso_capture_writer *writers[BOTH] = {stream->record, stream->dead_letter};
    for (int i = 0; i < BOTH && error_of(stream)->status == ISO_OK; i++)
        if (writers[i])
            iso_capture_flush(writers[i], error_of(stream));
    return error_of(stream)->status;
}

/* ---- with --state ---- */

void app_captures_mark_archive(struct iso_archive *archive, struct app_captures_mark *mark)
{
    struct iso_text *name = &mark->dead_letter_name;
    ISO_ARCHIVE_VALUE(archive, mark->record);
    ISO_ARCHIVE_VALUE(archive, mark->dead_letter);
    ISO_ARCHIVE_ANY(archive, "dead letter", ISO_ARCHIVE_HEAP, name->bytes, name->used, name->capacity);
}

void app_captures_mark_release(struct app_captures_mark *mark)
{
    iso_text_release(&mark->dead_letter_name);
}

enum iso_status app_captures_settle(struct app_stream *stream, struct app_captures_mark *mark)
{
    struct iso_error *error = error_of(stream);
    mark->dead_letter_name.used = 0;
    if (stream->record)
        iso_capture_writer_settle(stream->record, &mark->record, error);
    if (stream->dead_letter && error->status == ISO_OK) {
        iso_text_put(&mark->dead_letter_name, stream->options->dead_letter);
        iso_capture_writer_settle(stream->dead_letter, &mark->dead_letter, error);
    }
    return error->status;
}

void app_captures_sync(struct app_stream *stream, struct iso_error *error)
{
    struct iso_capture_writer *writers[BOTH] = {stream->record, stream->dead_letter};
    for (int i = 0; i < BOTH && error->status == ISO_OK; i++)
        if (writers[i])
            iso_capture_writer_sync(writers[i], error);
}

enum iso_status app_captures_resume(struct app_stream *stream, const char *record, const struct app_captures_mark *mark)
{
    const char *dead_letter = stream->options->dead_letter;
    const struct iso_text *name = &mark->dead_letter_name;
    struct iso_error *error = error_of(stream);
    bool same = dead_letter && name->used == strlen(dead_letter) && !memcmp(name->bytes, dead_letter, name->used);
    if (record)
        stream->record = iso_capture_writer_resume(record, mark->record, error);
    if (same && error->status == ISO_OK)
        stream->dead_letter = iso_capture_writer_resume(dead_letter, mark->dead_letter, error);
    else if (dead_letter && error->status == ISO_OK)
        stream->dead_letter = open_one(dead_letter, true, error);
    return error->status;
}

enum iso_status app_captures_cut(struct app_stream *stream)
{
    struct iso_capture_writer *writers[BOTH] = {stream->record, stream->dead_letter};
    for (int i = 0; i < BOTH && error_of(stream)->status == ISO_OK; i++)
        if (writers[i])
            iso_capture_writer_cut(writers[i], error_of(stream));
    return error_of(stream)->status;
}
