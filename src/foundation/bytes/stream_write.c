/* Writing plain and compressed files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/memory.h"
#include "base/own.h"
#include "bytes/stream.h"

enum { BUFFER_BYTES = 1 << 17, COMPRESSION_LEVEL = 3 };

struct iso_stream_writer {
    char *path;
    int file;
    ZSTD_CStream *zstd; /* NULL: plain */
    bool begun;         /* its frame at hand */
    char *buffer;       /* bytes that the file has not got yet */
    size_t used;
    uint64_t written; /* bytes of the file before this place */
};

static bool is_compressed(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && !strcmp(path + length - 4, ".zst");
}

static struct iso_stream_writer *writer_of(int file, const char *path, const char *name)
{
    struct iso_stream_writer *writer = iso_allocate_zeroed(1, sizeof *writer);
    writer->path = iso_copy_text(name, strlen(name));
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

struct iso_stream_writer *iso_stream_writer_new(const char *path, struct iso_error *error)
{
    bool standard = !strcmp(path, "-");
    int file = standard ? STDOUT_FILENO : iso_own_open(path, O_WRONLY | O_CREAT | O_TRUNC, error);
    if (file >= 0 && !standard && !iso_own_hide(file)) {
        iso_error_set(error, ISO_FAILED, "%s: %s", path, strerror(errno));
        close(file);
        return NULL;
    }
    return file < 0 ? NULL : writer_of(file, path, standard ? "<stdout>" : path);
}

static enum iso_status failed(const struct iso_stream_writer *writer, struct iso_error *error)
{
    return iso_error_set(error, ISO_FAILED, "%s: %s", writer->path, strerror(errno));
}

struct iso_stream_writer *iso_stream_writer_resume(const char *path, uint64_t length,
                                                   struct iso_error *error)
{
    struct stat status;
    int file = iso_own_open(path, O_WRONLY | (length ? 0 : O_CREAT), error);
    if (file < 0)
        return NULL;
    if (fstat(file, &status) || !iso_own_hide(file))
        iso_error_set(error, ISO_FAILED, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        iso_error_set(error, ISO_FAILED, "%s: expected a regular file, which can be continued",
                      path);
    else if ((uint64_t)status.st_size < length)
        iso_error_set(error, ISO_FAILED,
                      "%s: has %llu bytes, expected at least the %llu that were written there",
                      path, (unsigned long long)status.st_size, (unsigned long long)length);
    else if ((is_compressed(path) && ftruncate(file, (off_t)length)) ||
             lseek(file, (off_t)length, SEEK_SET) < 0)
        iso_error_set(error, ISO_FAILED, "%s: %s", path, strerror(errno));
    if (error->status == ISO_OK) {
        struct iso_stream_writer *writer = writer_of(file, path, path);
        writer->written = length;
        return writer;
    }
    close(file);
    return NULL;
}

static enum iso_status write_out(struct iso_stream_writer *writer, const char *bytes, size_t length,
                                 struct iso_error *error)
{
    while (length > 0) {
        ssize_t written = write(writer->file, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return failed(writer, error);
        bytes += written;
        length -= (size_t)written;
        writer->written += (uint64_t)written;
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
            return iso_error_set(error, ISO_FAILED, "%s: %s", writer->path,
                                 ZSTD_getErrorName(rest));
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
    if (writer->zstd) {
        writer->begun = true;
        return compress(writer, bytes, length, ZSTD_e_continue, error);
    }
    if (length > BUFFER_BYTES - writer->used && write_buffer(writer, error) != ISO_OK)
        return error->status;
    if (length > BUFFER_BYTES)
        return write_out(writer, bytes, length, error);
    memcpy(writer->buffer + writer->used, bytes, length);
    writer->used += length;
    return ISO_OK;
}

/* Nothing is said by a frame without content, but that a file with no other is packed. */
static enum iso_status end_frame(struct iso_stream_writer *writer, struct iso_error *error)
{
    writer->begun = false;
    return compress(writer, NULL, 0, ZSTD_e_end, error);
}

enum iso_status iso_stream_flush(struct iso_stream_writer *writer, struct iso_error *error)
{
    if (!writer->zstd)
        return write_buffer(writer, error);
    return writer->begun ? compress(writer, NULL, 0, ZSTD_e_flush, error) : error->status;
}

uint64_t iso_stream_written(const struct iso_stream_writer *writer)
{
    return writer->written + writer->used;
}

enum iso_status iso_stream_writer_mark(struct iso_stream_writer *writer, uint64_t *length,
                                       struct iso_error *error)
{
    if (writer->zstd ? writer->begun : writer->used)
        writer->zstd ? end_frame(writer, error) : write_buffer(writer, error);
    *length = writer->written;
    return error->status;
}

enum iso_status iso_stream_writer_cut(struct iso_stream_writer *writer, struct iso_error *error)
{
    if (iso_stream_flush(writer, error) == ISO_OK &&
        ftruncate(writer->file, (off_t)writer->written))
        failed(writer, error);
    return error->status;
}

enum iso_status iso_stream_writer_sync(struct iso_stream_writer *writer, struct iso_error *error)
{
    return fsync(writer->file) ? failed(writer, error) : ISO_OK;
}

enum iso_status iso_stream_writer_close(struct iso_stream_writer *writer, struct iso_error *error)
{
    if (!writer)
        return error->status;
    if (!writer->zstd)
        write_buffer(writer, error);
    else if (writer->begun || !writer->written)
        end_frame(writer, error);
    if (writer->file != STDOUT_FILENO && close(writer->file) < 0)
        failed(writer, error);
    ZSTD_freeCStream(writer->zstd);
    ISO_FREE_ALL(writer->buffer, writer->path, writer);
    return error->status;
}
