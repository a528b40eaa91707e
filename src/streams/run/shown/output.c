#define _GNU_SOURCE
#include "run/shown/output.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "explain/brief.h"
#include "run/input/source.h"

enum { FLUSH_SECONDS = 10 };

/* ---- opening ---- */

/* Lines go to the file's end; what it holds already stays. */
static enum iso_status open_file(struct run_output *output, const char *path,
                                 struct iso_error *error)
{
    int descriptor = iso_own_open(path, O_WRONLY | O_CREAT | O_APPEND, error);
    if (descriptor < 0)
        return error->status;
    iso_output_to(&output->file, descriptor, path);
    output->file.owned = true;
    output->lines = &output->file;
    return ISO_OK;
}

enum iso_status run_output_open(struct run_output *output, const struct run_stream_options *options,
                                struct iso_output *standard,
                                const struct iso_kafka_properties *properties,
                                struct iso_error *error)
{
    const char *out = options->out;
    bool to_file = out && !strncmp(out, "file:", 5) && out[5];
    bool to_topic = out && !strncmp(out, "kafka:", 6) && out[6];
    *output = (struct run_output){.standard = standard,
                                  .lines = standard,
                                  .in_words = options->brief,
                                  .only_in_words = options->brief && !out};
    if (out && !to_file && !to_topic)
        return iso_error_set(error, ISO_BAD_INPUT, "--out %s: expected kafka:TOPIC or file:PATH",
                             out);
    if (to_topic &&
        run_source_reads(&options->sources, options->sources.count, out + 6, strlen(out + 6)))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "--out %s: a --source reads this topic; verdicts need another", out);
    if (to_file)
        open_file(output, out + 5, error);
    else if (to_topic)
        output->producer = iso_kafka_producer_new(properties, out + 6, 1, error);
    return error->status;
}

/* Also after an error: what had been judged until then has been emitted. */
enum iso_status run_output_close(struct run_output *output, struct iso_error *error)
{
    struct iso_error flushing = {0};
    if (output->producer && !output->gave_up &&
        iso_kafka_producer_flush(output->producer, FLUSH_SECONDS, &flushing) != ISO_OK &&
        error->status == ISO_OK)
        iso_error_set(error, flushing.status, "%s", flushing.text);
    iso_kafka_producer_free(output->producer);
    output->producer = NULL;
    if (output->lines && output->lines == &output->file)
        iso_output_close(&output->file, error);
    output->lines = output->standard;
    return error->status;
}

/* ---- lines ---- */

static enum iso_status check_written(const struct iso_output *output, struct iso_error *error)
{
    if (output->error)
        return iso_error_set(error, ISO_FAILED, "%s: %s", output->name, strerror(output->error));
    return ISO_OK;
}

/* The key is the verdict's id, so that all lines of one verdict come in order and a compacted topic
 * keeps the last. */
static enum iso_status send_to_topic(struct run_output *output, const char *line, size_t length,
                                     struct iso_error *error)
{
    static const size_t id_location = sizeof "{\"id\":\"" - 1, id_length = 16;
    assert(length > id_location + id_length && line[length - 1] == '\n');
    struct iso_message message = {
        .partition = ISO_KAFKA_ANY_PARTITION,
        .key = {(const uint8_t *)line + id_location, (uint32_t)id_length},
        .payload = {(const uint8_t *)line, (uint32_t)length - 1},
    };
    return iso_kafka_producer_send(output->producer, &message, error);
}

/* A verdict line in words, to standard output; one of polygraph's, which lists what it found, as it
 * is. */
static enum iso_status print_in_words(struct run_output *output, const char *line, size_t length,
                                      struct iso_error *error)
{
    struct iso_brief brief;
    struct iso_text text = {0};
    if (iso_brief_init(&brief, line, length))
        iso_brief_text(&brief, &text);
    else if (!iso_brief_unlisted(line, length, &text))
        iso_text_put_bytes(&text, line, length);
    iso_output_bytes(output->standard, text.bytes, text.used);
    iso_text_release(&text);
    iso_brief_release(&brief);
    check_written(output->standard, error);
    return error->status;
}

/* How many more there are of a key: the page says by its counts how many are not on it. */
static bool is_unlisted(const char *line, size_t length)
{
    static const char state[] = "\"state\":\"unlisted\"";
    size_t location = sizeof "{\"id\":\"0123456789abcdef\"," - 1;
    return length > location + sizeof state && !memcmp(line + location, state, sizeof state - 1);
}

enum iso_status run_output_serve(void *context, const char *line, size_t length,
                                 struct iso_error *error)
{
    struct run_output *output = context;
    if (output->web && !is_unlisted(line, length))
        iso_web_add(output->web, line, length);
    return error->status;
}

enum iso_status run_output_emit(void *context, const char *line, size_t length,
                                struct iso_error *error)
{
    struct run_output *output = context;
    size_t emitted = output->emitted ? output->emitted(output->context, line, length) : 0;
    assert(emitted <= length);
    run_output_serve(output, line, length, error);
    if (emitted == length ||
        (output->in_words && print_in_words(output, line, length, error) != ISO_OK))
        return error->status;
    if (output->only_in_words)
        return error->status;
    if (output->producer)
        return send_to_topic(output, line, length, error);
    iso_output_bytes(output->lines, line + emitted, length - emitted);
    return check_written(output->lines, error);
}

void run_output_flush(struct run_output *output)
{
    iso_output_flush(output->lines);
    if (output->in_words)
        iso_output_flush(output->standard);
}
