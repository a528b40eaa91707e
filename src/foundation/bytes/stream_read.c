/* Reading lines from an input. */
#include <string.h>

#include "base/memory.h"
#include "bytes/input.h"
#include "bytes/stream.h"

/* A Kafka message is at most 1 GiB (message.max.bytes), six times that as JSON escapes; far less is
 * honest. */
#define LINE_MAX_BYTES ((size_t)1 << 30)

struct iso_stream_reader {
    const char *name;
    struct iso_input *input;
    bool ended, is_partial;
    char *text; /* text[start..end) is not handed out yet, of which text[start..scanned) has no
                   newline */
    size_t start, scanned, end, capacity;
};

struct iso_stream_reader *iso_stream_reader_new(const char *path, struct iso_error *error)
{
    struct iso_input *input;
    if (iso_input_open(&input, path, error) != ISO_OK)
        return NULL;
    struct iso_stream_reader *reader = iso_allocate_zeroed(1, sizeof *reader);
    const char *name = iso_input_name(path);
    reader->name = iso_copy_text(name, strlen(name));
    reader->input = input;
    iso_input_may_be_cut(input);
    reader->capacity = 1 << 18;
    reader->text = iso_allocate(reader->capacity + ISO_STREAM_PADDING);
    return reader;
}

void iso_stream_reader_free(struct iso_stream_reader *reader)
{
    if (!reader)
        return;
    iso_input_free(reader->input);
    ISO_FREE_ALL(reader->text, (char *)reader->name, reader);
}

bool iso_stream_reader_is_cut(const struct iso_stream_reader *reader)
{
    return iso_input_is_cut(reader->input);
}

bool iso_stream_line_is_partial(const struct iso_stream_reader *reader)
{
    return reader->is_partial;
}

/* More text behind what is there; false at the end or on error. */
static bool fill(struct iso_stream_reader *reader, struct iso_error *error)
{
    size_t got = 0;
    if (reader->ended)
        return false;
    if (reader->start > 0) {
        memmove(reader->text, reader->text + reader->start, reader->end - reader->start);
        reader->end -= reader->start;
        reader->scanned -= reader->start;
        reader->start = 0;
    }
    if (reader->end == reader->capacity) {
        if (reader->capacity >= LINE_MAX_BYTES) {
            iso_error_set(error, ISO_BAD_INPUT, "%s: a line of more than %zu bytes", reader->name,
                          LINE_MAX_BYTES);
            return false;
        }
        reader->capacity *= 2;
        reader->text = iso_reallocate(reader->text, reader->capacity + ISO_STREAM_PADDING);
    }
    size_t room = reader->capacity - reader->end;
    if (iso_input_read(reader->input, reader->text + reader->end, room, &got, error) != ISO_OK)
        return false;
    reader->ended = got < room;
    reader->end += got;
    return got > 0;
}

bool iso_stream_read_line(struct iso_stream_reader *reader, const char **line, size_t *length,
                          struct iso_error *error)
{
    for (;;) {
        char *newline = memchr(reader->text + reader->scanned, '\n', reader->end - reader->scanned);
        if (newline) {
            *line = reader->text + reader->start;
            *length = (size_t)(newline - *line);
            reader->start = reader->scanned = (size_t)(newline - reader->text) + 1;
            return true;
        }
        reader->scanned = reader->end;
        if (!fill(reader, error))
            break;
    }
    if (error->status != ISO_OK || reader->start == reader->end)
        return false;
    reader->is_partial = true;
    *line = reader->text + reader->start;
    *length = reader->end - reader->start;
    reader->start = reader->scanned = reader->end;
    return true;
}
