/* Writing plain and compressed files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/memory.h"
#include "io/stream.h"

enum { BUFFER_BYTES = 1 << 17, COMPRESSION_LEVEL = 3 };

struct iso_stream_writer {
    char *path;
    int file;
    ZSTD_CStream *zstd; /* NULL: plain */
    char *buffer;       /* bytes that the file has not got yet */
    size_t used;
};

static bool is_compressed(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && !strcmp(path + length - 4, ".zst");
}

struct iso_stream_writer *iso_stream_writer_new(const char *path, struct iso_error *error)
{
    bool standard = !strcmp(path, "-");
    int file = standard ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        iso_error_set(error, ISO_FAILED, "%s: %s", path, strerror(errno));
        return NULL;
    }
    struct iso_stream_writer *writer = iso_allocate_zeroed(1, sizeof *writer);
    writer->path = iso_copy_text(standard ? "<stdout>" : path, strlen(standard ? "<stdout>" : path));
    writer->file = file;
    writer->buffer = iso_allocate(BUFFER_BYTES);
    if (is_compressed(path)) {
        writer->zstd = ZSTD_createCStream();
        if (!writer->zstd)
            iso_out_of_memory(0);
        ZSTD_initCStream(writer->zstd, COMPRESSION_LEVEL);
    }
    return writer;
}

static enum iso_status write_out(struct iso_stream_writer *writer, const char *bytes, size_t length,
                                 struct iso_error *error)
{
    while (length > 0) {
        ssize_t written = write(writer->file, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return iso_error_set(error, ISO_FAILED, "%s: %s", writer->path, strerror(errno));
        bytes += written;
        length -= (size_t)written;
    }
    return ISO_OK;
}

static enum iso_status compress(struct iso_stream_writer *writer, const char *bytes, size_t length,
                                ZSTD_EndDirective directive, struct iso_error *error)
{
    ZSTD_inBuffer input = {bytes, length, 0};
    size_t rest;
    do {
        ZSTD_outBuffer output = {writer->buffer, BUFFER_BYTES, 0};
        rest = ZSTD_compressStream2(writer->zstd, &output, &input, directive);
        if (ZSTD_isError(rest))
            return iso_error_set(error, ISO_FAILED, "%s: %s", writer->path, ZSTD_getErrorName(rest));
        if (write_out(writer, writer->buffer, output.pos, error) != ISO_OK)
            return error->status;
    } while (input.pos < input.size || (directive != ZSTD_e_continue && rest > 0));
    return ISO_OK;
}

static enum iso_status write_buffer(struct iso_stream_writer *writer, struct iso_error *error)
{
    size_t used = writer->used;
    writer->used = 0;
    return write_out(writer, writer->buffer, used, error);
}

enum iso_status iso_stream_write(struct iso_stream_writer *writer, const char *bytes, size_t length,
                                 struct iso_error *error)
{
    if (writer->zstd)
        return compress(writer, bytes, length, ZSTD_e_continue, error);
    if (length > BUFFER_BYTES - writer->used && write_buffer(writer, error) != ISO_OK)
        return error->status;
    if (length > BUFFER_BYTES)
        return write_out(writer, bytes, length, error);
    memcpy(writer->buffer + writer->used, bytes, length);
    writer->used += length;
    return ISO_OK;
}

enum iso_status iso_stream_flush(struct iso_stream_writer *writer, struct iso_error *error)
{
    return writer->zstd ? compress(writer, NULL, 0, ZSTD_e_flush, error) : write_buffer(writer, error);
}

enum iso_status iso_stream_writer_close(struct iso_stream_writer *writer, struct iso_error *error)
{
    if (!writer)
        return error->status;
    if (writer->zstd)
        compress(writer, NULL, 0, ZSTD_e_end, error);
    else
        write_buffer(writer, error);
    if (writer->file != STDOUT_FILENO && close(writer->file) < 0)
        iso_error_set(error, ISO_FAILED, "%s: %s", writer->path, strerror(errno));
    ZSTD_freeCStream(writer->zstd);
    iso_free(writer->buffer);
    iso_free(writer->path);
    iso_free(writer);
    return error->status;
}
