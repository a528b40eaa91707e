/* Reading lines from plain and compressed files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/memory.h"
#include "io/stream.h"
#include "io/stream_private.h"

/* A Kafka message is at most 1 GiB (message.max.bytes), six times that as JSON escapes; far less is honest. */
#define LINE_MAX_BYTES ((size_t)1 << 30)

struct iso_stream_reader {
    char *path;
    int file;
    bool file_ended, frame_open;
    ZSTD_DStream *zstd;  /* NULL: plain */
    char *raw;           /* compressed bytes */
    ZSTD_inBuffer input; /* over `raw` */
    char *text;          /* text[start..end) is not handed out yet, of which text[start..scanned) has no newline */
    size_t start, scanned, end, capacity;
};

bool iso_stream_is_compressed(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && !strcmp(path + length - 4, ".zst");
}

struct iso_stream_reader *iso_stream_reader_new(const char *path, struct iso_error *error)
{
    bool standard = !strcmp(path, "-");
    int file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        iso_error_set(error, errno == ENOENT ? ISO_BAD_INPUT : ISO_FAILED, "%s: %s", path, strerror(errno));
        return NULL;
    }
    struct iso_stream_reader *reader = iso_allocate_zeroed(1, sizeof *reader);
    reader->path = iso_copy_text(standard ? "<stdin>" : path, strlen(standard ? "<stdin>" : path));
    reader->file = file;
    reader->capacity = 1 << 18;
    reader->text = iso_allocate(reader->capacity);
    if (iso_stream_is_compressed(path)) {
        reader->zstd = ZSTD_createDStream();
        if (!reader->zstd)
            iso_out_of_memory(0);
        reader->raw = iso_allocate(ZSTD_DStreamInSize());
        reader->input.src = reader->raw;
    }
    return reader;
}

void iso_stream_reader_free(struct iso_stream_reader *reader)
{
    if (!reader)
        return;
    if (reader->file != STDIN_FILENO)
        close(reader->file);
    ZSTD_freeDStream(reader->zstd);
    iso_free(reader->raw);
    iso_free(reader->text);
    iso_free(reader->path);
    iso_free(reader);
}

/* Up to `size` bytes of the file; 0 at its end or on error. */
static size_t read_file(struct iso_stream_reader *reader, char *into, size_t size, struct iso_error *error)
{
    ssize_t got;
    do
        got = read(reader->file, into, size);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        iso_error_set(error, ISO_FAILED, "%s: %s", reader->path, strerror(errno));
    reader->file_ended = got <= 0;
    return got < 0 ? 0 : (size_t)got;
}

static size_t decompress(struct iso_stream_reader *reader, char *into, size_t size, struct iso_error *error)
{
    ZSTD_outBuffer output = {into, size, 0};
    while (output.pos == 0) {
        if (reader->input.pos == reader->input.size) {
            reader->input.size = read_file(reader, reader->raw, ZSTD_DStreamInSize(), error);
            reader->input.pos = 0;
            if (reader->input.size == 0 && reader->frame_open && error->status == ISO_OK)
                iso_error_set(error, ISO_BAD_INPUT, "%s: the compressed file ends in the middle of a frame",
                              reader->path);
            if (reader->input.size == 0)
                return 0;
        }
        size_t rest = ZSTD_decompressStream(reader->zstd, &output, &reader->input);
        if (ZSTD_isError(rest)) {
            iso_error_set(error, ISO_BAD_INPUT, "%s: not zstd data: %s", reader->path, ZSTD_getErrorName(rest));
            return 0;
        }
        reader->frame_open = rest != 0;
    }
    return output.pos;
}

/* More text behind what is there; false at the end or on error. */
static bool fill(struct iso_stream_reader *reader, struct iso_error *error)
{
    if (reader->start > 0) {
        memmove(reader->text, reader->text + reader->start, reader->end - reader->start);
        reader->end -= reader->start;
        reader->scanned -= reader->start;
        reader->start = 0;
    }
    if (reader->end == reader->capacity) {
        if (reader->capacity >= LINE_MAX_BYTES) {
            iso_error_set(error, ISO_BAD_INPUT, "%s: a line of more than %zu bytes", reader->path, LINE_MAX_BYTES);
            return false;
        }
        reader->capacity *= 2;
        reader->text = iso_reallocate(reader->text, reader->capacity);
    }
    char *into = reader->text + reader->end;
    size_t room = reader->capacity - reader->end;
    size_t got = reader->zstd ? decompress(reader, into, room, error) : read_file(reader, into, room, error);
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
    *line = reader->text + reader->start;
    *length = reader->end - reader->start;
    reader->start = reader->scanned = reader->end;
    return true;
}
