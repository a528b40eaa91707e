/* Reading captures: lines to batches of messages. */
#include <string.h>

#include "base/memory.h"
#include "io/capture.h"
#include "io/capture_parse.h"
#include "io/stream.h"

/* Of captures without marks. */
enum { BATCH_MESSAGES = 1024, BATCH_BYTES = 1 << 18 };

struct iso_capture_reader {
    char *path;
    struct iso_stream_reader *stream;
    struct iso_inputs *inputs; /* borrowed */
    uint64_t line_number;
    bool marked;      /* batches end at empty lines */
    const char *line; /* read but not parsed yet: it did not fit into the last batch */
    size_t line_length;
    struct iso_message *messages;
    char *storage; /* what the batch's messages point into */
    size_t storage_size;
    struct iso_capture_line parsed; /* its headers are the batch's */
    struct iso_error pending;       /* met behind messages that were handed out first */
};

struct iso_capture_reader *iso_capture_reader_new(const char *path, struct iso_inputs *inputs, struct iso_error *error)
{
    struct iso_stream_reader *stream = iso_stream_reader_new(path, error);
    if (!stream)
        return NULL;
    struct iso_capture_reader *reader = iso_allocate_zeroed(1, sizeof *reader);
    const char *name = strcmp(path, "-") ? path : "<stdin>";
    reader->path = iso_copy_text(name, strlen(name));
    reader->stream = stream;
    reader->inputs = inputs;
    reader->messages = iso_allocate(ISO_CAPTURE_BATCH * sizeof *reader->messages);
    reader->storage_size = BATCH_BYTES;
    reader->storage = iso_allocate(reader->storage_size);
    return reader;
}

void iso_capture_reader_free(struct iso_capture_reader *reader)
{
    if (!reader)
        return;
    iso_stream_reader_free(reader->stream);
    iso_free(reader->path);
    iso_free(reader->messages);
    iso_free(reader->storage);
    iso_free(reader->parsed.headers);
    iso_free(reader);
}

/* Parses the line at hand into `message`. Its headers are still an index. */
static enum iso_status parse(struct iso_capture_reader *reader, char *storage, struct iso_message *message,
                             struct iso_error *error)
{
    struct iso_capture_line *parsed = &reader->parsed;
    parsed->first_header = parsed->header_count;
    if (!iso_capture_parse(reader->line, reader->line_length, storage, parsed))
        return iso_error_set(error, ISO_BAD_INPUT, "%s:%llu: byte %zu: expected %s", reader->path,
                             (unsigned long long)reader->line_number, parsed->fault_at + 1, parsed->fault);
    *message = parsed->message;
    message->input =
        iso_inputs_number(reader->inputs, (const char *)parsed->topic.data, parsed->topic.size, message->partition);
    if (message->input == ISO_INPUTS_MAX)
        return iso_error_set(error, ISO_BAD_INPUT, "%s:%llu: more than %d partitions", reader->path,
                             (unsigned long long)reader->line_number, ISO_INPUTS_MAX);
    message->topic = reader->inputs->list[message->input].topic;
    return ISO_OK;
}

/* An empty line: the batch ends here. The first line says by being empty that batches are marked. */
static void take_mark(struct iso_capture_reader *reader)
{
    if (reader->line_number != 1)
        return;
    reader->marked = true;
    reader->storage_size = ISO_CAPTURE_BATCH_BYTES;
    reader->storage = iso_reallocate(reader->storage, reader->storage_size);
}

/* False: the input ends, or the batch does: it has messages, and a mark follows. */
static bool next_line(struct iso_capture_reader *reader, uint32_t filled, struct iso_error *error)
{
    while (!reader->line) {
        if (!iso_stream_read_line(reader->stream, &reader->line, &reader->line_length, error))
            return false;
        reader->line_number++;
        if (reader->line_length)
            continue;
        reader->line = NULL;
        take_mark(reader);
        if (reader->marked && filled)
            return false;
    }
    return true;
}

static void resolve_headers(struct iso_capture_reader *reader, uint32_t count)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < count; i++) {
        reader->messages[i].headers = reader->messages[i].header_count ? reader->parsed.headers + first : NULL;
        first += reader->messages[i].header_count;
    }
}

enum iso_status iso_capture_read(struct iso_capture_reader *reader, const struct iso_message **messages,
                                 uint32_t *count, struct iso_error *error)
{
    size_t used = 0;
    uint32_t filled = 0;
    struct iso_error *pending = &reader->pending;
    reader->parsed.header_count = 0;
    while (pending->status == ISO_OK && filled < (reader->marked ? ISO_CAPTURE_BATCH : BATCH_MESSAGES) &&
           next_line(reader, filled, pending)) {
        if (reader->line_length > reader->storage_size - used) {
            if (filled > 0)
                break;
            reader->storage_size = reader->line_length;
            reader->storage = iso_reallocate(reader->storage, reader->storage_size);
        }
        if (parse(reader, reader->storage + used, &reader->messages[filled], pending) != ISO_OK)
            break;
        used += reader->parsed.declares ? 0 : reader->parsed.used;
        filled += !reader->parsed.declares;
        reader->line = NULL;
    }
    resolve_headers(reader, filled);
    *messages = reader->messages;
    *count = filled;
    return filled || pending->status == ISO_OK ? ISO_OK : iso_error_set(error, pending->status, "%s", pending->text);
}
