#include "run/replay.h"

#include <inttypes.h>
#include <string.h>

#include "bytes/input.h"
#include "cli/log.h"

/* Every partition of the file counts for the watermark from the start, as it did when it was
 * live. */
static enum iso_status declare_partitions_of(struct run_stream *stream, const char *path,
                                             struct iso_error *error)
{
    struct iso_inputs *inputs = iso_pipeline_inputs(stream->pipeline);
    const struct run_sources *sources = &stream->sources;
    const struct iso_message *messages;
    uint32_t count;
    struct iso_capture_reader *reader = iso_capture_reader_new(path, inputs, error);
    while (reader && iso_capture_read(reader, &messages, &count, error) == ISO_OK && count)
        ;
    iso_capture_reader_free(reader);
    for (uint32_t i = 0; i < inputs->count; i++)
        if (run_sources_read(sources, inputs->list[i].topic))
            iso_pipeline_declare(stream->pipeline, i, 0);
    return error->status;
}

/* Takes the signs that a live run wrote between its batches. */
static void take_signs(struct run_stream *stream, const struct iso_capture_reader *reader,
                       struct iso_error *error)
{
    const struct iso_capture_sign *signs;
    uint32_t count = iso_capture_signs(reader, &signs);
    for (uint32_t i = 0; i < count && error->status == ISO_OK; i++)
        if (signs[i].type == ISO_CAPTURE_SIGN_END)
            iso_pipeline_at_end(stream->pipeline, signs[i].input, 0, error);
        else
            iso_pipeline_reached(stream->pipeline, signs[i].time, 0, error);
}

/* Notes where the file is cut: what waits there may have had its answer behind the cut. */
static void note_cut(struct run_stream *stream, const struct iso_capture_reader *reader,
                     const char *path)
{
    uint64_t lines;
    if (!iso_capture_is_cut(reader, &lines))
        return;
    stream->complete = false;
    cli_log(
        "%s: ends inside a line: it is still being written, or its writer was killed; read up to line %" PRIu64
        ", and what waits there stays undecided",
        iso_input_name(path), lines);
}

static enum iso_status feed_file(struct run_stream *stream, const char *path,
                                 struct iso_error *error)
{
    const struct iso_message *messages;
    uint32_t count;
    struct iso_capture_reader *reader =
        iso_capture_reader_new(path, iso_pipeline_inputs(stream->pipeline), error);
    for (bool more = reader;
         more && iso_capture_read(reader, &messages, &count, error) == ISO_OK;) {
        take_signs(stream, reader, error);
        if (error->status == ISO_OK)
            iso_pipeline_feed(stream->pipeline, messages, count, 0, error);
        more = count && error->status == ISO_OK;
    }
    if (reader && error->status == ISO_OK)
        note_cut(stream, reader, path);
    iso_capture_reader_free(reader);
    return error->status;
}

enum iso_status run_replay_files(struct run_stream *stream, const struct cli_texts *files,
                                 struct iso_error *error)
{
    stream->complete = true;
    for (uint32_t i = 0; i < files->count && error->status == ISO_OK; i++)
        if (strcmp(files->items[i], "-"))
            declare_partitions_of(stream, files->items[i], error);
    for (uint32_t i = 0; i < files->count && error->status == ISO_OK; i++)
        feed_file(stream, files->items[i], error);
    if (error->status == ISO_OK && stream->complete)
        iso_pipeline_end(stream->pipeline, 0, error);
    return error->status;
}

enum iso_status run_replay_history(struct run_stream_options *options, struct iso_output *standard,
                                   const struct cli_texts *files, struct iso_history *history,
                                   struct iso_error *error)
{
    struct run_stream stream;
    options->keep = options->silent = true;
    /* the verdict has said what it thinks of those */
    options->pipeline.on_bad_record = ISO_BAD_SKIP;
    enum iso_status status = run_stream_open(&stream, options, standard, false, true, error);
    if (status == ISO_OK)
        status = run_replay_files(&stream, files, error);
    if (status == ISO_OK)
        status =
            run_kept_finish(&stream.kept, options, iso_pipeline_inputs(stream.pipeline), error);
    if (status == ISO_OK) {
        struct iso_history kept = *stream.kept.history;
        *stream.kept.history = *history;
        *history = kept;
    }
    return run_stream_close(&stream, error) == ISO_OK ? status : error->status;
}
