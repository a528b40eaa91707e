#include "app/replayed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/source.h"
#include "base/memory.h"
#include "history/copy.h"
#include "io/read.h"

void app_replayed_keep(struct iso_history *kept, const struct iso_history *block, uint32_t first, uint32_t count)
{
    for (uint32_t t = first; t < first + count; t++)
        iso_history_copy_timed(kept, block, t);
}

/* Those that no block has named: joined blocks name none. */
static void name_inputs(const struct iso_inputs *inputs, struct iso_history *kept)
{
    for (uint32_t i = kept->input_count; i < inputs->count; i++) {
        char name[320];
        if (inputs->list[i].partition == ISO_PIPELINE_FILE)
            snprintf(name, sizeof name, "%s", inputs->list[i].topic);
        else
            snprintf(name, sizeof name, "%s[%" PRId32 "]", inputs->list[i].topic, inputs->list[i].partition);
        iso_history_input(kept, name);
    }
}

enum iso_status app_replayed_finish(struct app_stream *stream)
{
    const struct app_stream_options *options = stream->options;
    struct iso_history *kept = stream->kept;
    struct iso_error *error = &stream->app->error;
    if (options->initial_file && iso_read_initial(options->initial_file, kept, error) != ISO_OK)
        return error->status;
    if (options->initial && strcmp(options->initial, "null"))
        kept->initial_value = iso_atoms_text(&kept->atoms, options->initial, strlen(options->initial));
    name_inputs(iso_pipeline_inputs(stream->pipeline), kept);
    iso_history_drop_repeats(kept);
    return iso_history_finish(kept, error);
}

enum iso_wall app_replayed_wall(const struct app_stream_options *options)
{
    struct app_source_survey survey;
    struct iso_error error = {.status = ISO_OK};
    if (app_source_survey(&options->sources, &survey, &error) != ISO_OK)
        return ISO_WALL_UNKNOWN;
    return iso_wall_of_source(survey.changes ? survey.changes : "history");
}

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

enum iso_status app_replay_files(struct app_stream *stream, const struct app_texts *files)
{
    struct iso_error *error = &stream->app->error;
    for (uint32_t i = 0; i < files->count && error->status == ISO_OK; i++)
        if (strcmp(files->items[i], "-"))
            declare(stream, files->items[i]);
    for (uint32_t i = 0; i < files->count && error->status == ISO_OK; i++)
        feed(stream, files->items[i]);
    if (error->status == ISO_OK)
        iso_pipeline_end(stream->pipeline, 0, error);
    stream->complete = true;
    return error->status;
}

enum iso_status app_replayed_history(struct app *app, struct app_stream_options *options, const struct app_texts *files,
                                     struct iso_history *history, enum iso_wall *wall)
{
    struct app_stream stream;
    options->keep = true;
    options->on_bad_record = ISO_BAD_SKIP; /* the verdict has said what it thinks of those */
    *wall = app_replayed_wall(options);
    enum iso_status status = app_stream_open(&stream, app, options, false, true);
    if (status == ISO_OK)
        status = app_replay_files(&stream, files);
    if (status == ISO_OK)
        status = app_replayed_finish(&stream);
    if (status == ISO_OK) {
        struct iso_history kept = *stream.kept;
        *stream.kept = *history;
        *history = kept;
    }
    return app_stream_close(&stream) == ISO_OK ? status : app->error.status;
}
