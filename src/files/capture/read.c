/* Reading captures: lines to batches of messages. */
#include <string.h>

#include "base/memory.h"
#include "capture/capture.h"
#include "capture/parse.h"

/* Batches of captures without marks. */
enum { BATCH_MESSAGES = 1024, BATCH_BYTES = 1 << 18 };

/* The newest version of recordings (capture/capture.h) that is understood. */
enum { RECORDING = 2 };

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
    struct iso_capture_sign *signs; /* before the batch */
    uint32_t sign_count, sign_capacity;
    bool is_torn;             /* the last line ends too early, and the file with it */
    struct iso_error pending; /* met behind messages that were handed out first */
};

struct iso_capture_reader *iso_capture_reader_new(const char *path, struct iso_inputs *inputs,
                                                  struct iso_error *error)
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
    ISO_FREE_ALL(reader->path, reader->messages, reader->storage, reader->parsed.headers);
    iso_json_release(&reader->parsed.json);
    ISO_FREE_ALL(reader->signs, reader);
}

static bool has_place(const struct iso_capture_line *parsed)
{
    return parsed->kind == ISO_CAPTURE_MESSAGE || parsed->kind == ISO_CAPTURE_DECLARES ||
           parsed->kind == ISO_CAPTURE_ENDS;
}

/* Takes a file that ends inside a line: all is well up to its end, but for an escape or a
 * character that is cut in two. A file without one whole line is refused. */
static bool take_torn(struct iso_capture_reader *reader)
{
    enum { PART_MOST = 12 };
    if (reader->line_number == 1 || !iso_stream_line_is_partial(reader->stream) ||
        reader->parsed.json.position + PART_MOST < reader->line_length)
        return false;
    reader->line = NULL;
    reader->line_number--;
    reader->is_torn = true;
    return true;
}

bool iso_capture_is_cut(const struct iso_capture_reader *reader, uint64_t *lines)
{
    *lines = reader->line_number;
    return reader->is_torn || iso_stream_reader_is_cut(reader->stream);
}

/* Parses the line at hand into `message`. Its headers are still an index. */
static enum iso_status parse(struct iso_capture_reader *reader, char *storage,
                             struct iso_message *message, struct iso_error *error)
{
    struct iso_capture_line *parsed = &reader->parsed;
    parsed->first_header = parsed->header_count;
    char fault[128];
    bool is_whole = iso_capture_parse(reader->line, reader->line_length, storage, parsed);
    if (!is_whole && take_torn(reader))
        return ISO_BAD_INPUT;
    if (!is_whole) {
        iso_json_describe(&parsed->json, fault, sizeof fault);
        return iso_error_set(error, ISO_BAD_INPUT, "%s:%llu: byte %zu: %s", reader->path,
                             (unsigned long long)reader->line_number, parsed->json.position + 1,
                             fault);
    }
    if (parsed->kind == ISO_CAPTURE_RECORDING && parsed->number > RECORDING)
        return iso_error_set(error, ISO_BAD_INPUT,
                             "%s:%llu: a recording of version %llu, expected at most %d",
                             reader->path, (unsigned long long)reader->line_number,
                             (unsigned long long)parsed->number, RECORDING);
    *message = parsed->message;
    if (!has_place(parsed))
        return ISO_OK;
    message->input = iso_inputs_number(reader->inputs, (const char *)parsed->topic.data,
                                       parsed->topic.size, message->partition);
    if (message->input == ISO_INPUTS_MAX)
        return iso_error_set(error, ISO_BAD_INPUT, "%s:%llu: more than %d partitions", reader->path,
                             (unsigned long long)reader->line_number, ISO_INPUTS_MAX);
    message->topic = reader->inputs->list[message->input].topic;
    return ISO_OK;
}

/* An empty line: the batch ends here. The first line says by being empty that batches are
 * marked. */
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
        reader->messages[i].headers =
            reader->messages[i].header_count ? reader->parsed.headers + first : NULL;
        first += reader->messages[i].header_count;
    }
}

static bool is_sign(const struct iso_capture_line *parsed)
{
    return parsed->kind == ISO_CAPTURE_ENDS || parsed->kind == ISO_CAPTURE_REACHES;
}

static void add_sign(struct iso_capture_reader *reader, uint32_t input)
{
    bool is_end = reader->parsed.kind == ISO_CAPTURE_ENDS;
    ISO_PUSH(reader->signs, reader->sign_count, reader->sign_capacity,
             is_end ? (struct iso_capture_sign){.type = ISO_CAPTURE_SIGN_END, .input = input}
                    : (struct iso_capture_sign){.type = ISO_CAPTURE_SIGN_REACHED,
                                                .time = reader->parsed.number});
}

uint32_t iso_capture_signs(const struct iso_capture_reader *reader,
                           const struct iso_capture_sign **signs)
{
    *signs = reader->signs;
    return reader->sign_count;
}

enum iso_status iso_capture_read(struct iso_capture_reader *reader,
                                 const struct iso_message **messages, uint32_t *count,
                                 struct iso_error *error)
{
    size_t used = 0;
    uint32_t filled = 0;
    struct iso_error *pending = &reader->pending;
    reader->parsed.header_count = 0;
    reader->sign_count = 0;
    while (pending->status == ISO_OK &&
           filled < (reader->marked ? ISO_CAPTURE_BATCH : BATCH_MESSAGES) &&
           next_line(reader, filled, pending)) {
        if (reader->line_length > reader->storage_size - used) {
            if (filled > 0)
                break;
            reader->storage_size = reader->line_length;
            reader->storage = iso_reallocate(reader->storage, reader->storage_size);
        }
        if (parse(reader, reader->storage + used, &reader->messages[filled], pending) != ISO_OK)
            break;
        bool is_message = reader->parsed.kind == ISO_CAPTURE_MESSAGE;
        if (is_sign(&reader->parsed) && filled > 0) /* it stands before the next batch */
            break;
        if (is_sign(&reader->parsed))
            add_sign(reader, reader->messages[filled].input);
        used += is_message ? reader->parsed.used : 0;
        filled += is_message;
        reader->line = NULL;
    }
    resolve_headers(reader, filled);
    *messages = reader->messages;
    *count = filled;
    return filled || pending->status == ISO_OK
               ? ISO_OK
               : iso_error_set(error, pending->status, "%s", pending->text);
}
