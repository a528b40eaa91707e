#include "app/joined.h"

#include <string.h>

#include "base/memory.h"
#include "io/read.h"

/* Origins name inputs of the pipeline's table. */
static void rename_inputs(struct iso_inputs *inputs, struct iso_history *history)
{
    uint32_t numbers[ISO_INPUTS_LIMIT];
    for (uint32_t i = 0; i < history->input_count; i++)
        numbers[i] = iso_inputs_number(inputs, history->inputs[i], strlen(history->inputs[i]), ISO_PIPELINE_FILE);
    for (uint32_t t = 0; t < history->transaction_count; t++)
        history->origin[t] =
            iso_origin(numbers[iso_origin_input(history->origin[t])], iso_origin_place(history->origin[t]));
}

enum iso_status app_joined_read(struct app_stream *stream)
{
    const struct iso_read_options how = {.threads = app_processors()};
    struct iso_error *error = &stream->app->error;
    if (!stream->options->history || stream->records)
        return ISO_OK;
    stream->records = iso_allocate(sizeof *stream->records);
    iso_history_init(stream->records);
    if (iso_read_history(&stream->options->history, 1, &how, stream->records, error) == ISO_OK)
        rename_inputs(iso_pipeline_inputs(stream->pipeline), stream->records);
    return error->status;
}

static void forget_records(struct app_stream *stream)
{
    if (stream->records)
        iso_history_release(stream->records);
    iso_free(stream->records);
    stream->records = NULL;
}

enum iso_status app_joined_give(struct app_stream *stream)
{
    struct iso_error *error = &stream->app->error;
    if (stream->records)
        iso_pipeline_records(stream->pipeline, stream->records, 0, error);
    forget_records(stream);
    return error->status;
}

enum iso_status app_joined_open(struct app_stream *stream)
{
    if (!stream->options->to_history)
        return ISO_OK;
    if (iso_output_open(&stream->joined, stream->options->to_history, &stream->app->error) != ISO_OK)
        return stream->app->error.status;
    iso_history_writer_init(&stream->joined_writer, &stream->joined, ISO_FORMAT_NATIVE);
    stream->writes_joined = true;
    return ISO_OK;
}

void app_joined_write(void *context, const struct iso_history *block)
{
    struct app_stream *stream = context;
    iso_history_writer_add(&stream->joined_writer, block, &stream->joined_error);
}

enum iso_status app_joined_close(struct app_stream *stream)
{
    struct iso_error *error = &stream->app->error;
    forget_records(stream);
    if (!stream->writes_joined)
        return error->status;
    stream->writes_joined = false;
    if (stream->joined_error.status != ISO_OK)
        iso_error_set(error, stream->joined_error.status, "%s", stream->joined_error.text);
    if (error->status != ISO_OK || !stream->concluded) {
        iso_output_discard(&stream->joined);
        return error->status;
    }
    iso_history_writer_end(&stream->joined_writer);
    return iso_output_close(&stream->joined, error);
}
