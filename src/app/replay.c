/* `isochron replay`: the watch pipeline on captured topics. */
#include <string.h>

#include "app/load.h"
#include "app/stream.h"

struct replay {
    struct app_stream_options stream;
};

static const struct app_option options[] = {
    APP_STREAM_ROWS(struct replay),
    {.type = APP_END},
};

/* Every partition of the files counts for the watermark from the start, as it did when they were live. */
static enum iso_status declare(struct app_stream *stream, const char *path)
{
    struct iso_inputs *inputs = iso_pipeline_inputs(stream->pipeline);
    struct iso_error *error = &stream->app->error;
    const struct iso_message *messages;
    uint32_t count;
    struct iso_capture_reader *reader = iso_capture_reader_new(path, inputs, error);
    while (reader && iso_capture_read(reader, &messages, &count, error) == ISO_OK && count)
        ;
    iso_capture_reader_free(reader);
    for (uint32_t i = 0; i < inputs->count; i++)
        for (uint32_t topic = 0; topic < stream->topic_count; topic++)
            if (!strcmp(stream->topics[topic], inputs->list[i].topic))
                iso_pipeline_declare(stream->pipeline, i, 0);
    return error->status;
}

static enum iso_status feed(struct app_stream *stream, const char *path)
{
    struct iso_error *error = &stream->app->error;
    const struct iso_message *messages;
    uint32_t count;
    struct iso_capture_reader *reader = iso_capture_reader_new(path, iso_pipeline_inputs(stream->pipeline), error);
    while (reader && iso_capture_read(reader, &messages, &count, error) == ISO_OK && count)
        if (iso_pipeline_feed(stream->pipeline, messages, count, 0, error) != ISO_OK)
            break;
    iso_capture_reader_free(reader);
    return error->status;
}

static enum iso_status replay_files(struct app_stream *stream, const struct app_texts *files)
{
    double started = app_seconds();
    struct iso_error *error = &stream->app->error;
    for (uint32_t i = 0; i < files->count && error->status == ISO_OK; i++)
        if (strcmp(files->items[i], "-"))
            declare(stream, files->items[i]);
    for (uint32_t i = 0; i < files->count && error->status == ISO_OK; i++)
        feed(stream, files->items[i]);
    if (error->status == ISO_OK)
        iso_pipeline_end(stream->pipeline, 0, error);
    stream->complete = true;
    return error->status == ISO_OK ? app_stream_conclude(stream, app_seconds() - started) : error->status;
}

static enum iso_status run(struct app *app, int count, char **arguments)
{
    struct replay replay;
    struct app_texts files = {0};
    struct app_stream stream = {.app = app};
    bool done;
    app_stream_options_init(&replay.stream);
    enum iso_status status = app_parse(app, count, arguments, &replay, &files, &done);
    if (status == ISO_OK && !done)
        status = app_need_files(app, &files);
    if (status == ISO_OK && !done) {
        status = app_stream_open(&stream, app, &replay.stream, false, true);
        if (status == ISO_OK)
            status = replay_files(&stream, &files);
        if (app_stream_close(&stream) != ISO_OK)
            status = app->error.status;
    }
    app_stream_options_release(&replay.stream);
    app_texts_release(&files);
    return status;
}

const struct app_command app_replay = {
    .name = "replay",
    .summary = "check captured topics as if they were live",
    .usage = "--source KIND:TOPIC [OPTIONS] FILE...",
    .intro = "Reads captures (of `isochron capture`, or of `kcat -J`), in the order given, and\n"
             "checks them as `watch` checks the live topics. Verdicts become final by the\n"
             "watermarks in the topics, the rest at the end of the last file; nothing ages.",
    .examples = "  isochron replay --source history:txns run.capture.jsonl.zst\n"
                "      One line of JSON for each step of each verdict.\n"
                "  kcat -b localhost:9092 -C -e -J -t txns | isochron replay --source history:txns --json -\n"
                "      What kcat reads, and one object at the end. From standard input a\n"
                "      partition counts for watermarks from its first message on.\n",
    .options = options,
    .run = run,
};
