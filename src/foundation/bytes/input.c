#define _GNU_SOURCE
#include "bytes/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/memory.h"

enum { MAGIC_BYTES = 4 };

struct iso_input {
    char *name;
    int file;
    uint64_t consumed;
    char head[MAGIC_BYTES]; /* read to tell what it is, not yet given out */
    size_t head_size, head_given;
    ZSTD_DCtx *zstd; /* NULL: not compressed */
    char *packed;    /* compressed bytes: [packed_at, packed_size) are still to be used */
    size_t packed_capacity, packed_at, packed_size;
    bool inside_frame;
    bool may_be_cut, is_cut;
};

const char *iso_input_name(const char *path)
{
    return strcmp(path, "-") ? path : "<stdin>";
}

uint64_t iso_input_size(const char *path)
{
    struct stat status;
    if (strcmp(path, "-") ? stat(path, &status) : fstat(STDIN_FILENO, &status))
        return 0;
    return S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
}

/* ---- plain bytes ---- */

static enum iso_status read_file(struct iso_input *input, char *buffer, size_t capacity,
                                 size_t *length, struct iso_error *error)
{
    *length = 0;
    while (*length < capacity) {
        ssize_t got = read(input->file, buffer + *length, capacity - *length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EISDIR)
            return iso_error_set(error, ISO_BAD_INPUT, "%s: is a directory, expected a file",
                                 input->name);
        if (got < 0)
            return iso_error_set(error, ISO_FAILED, "%s: cannot be read: %s", input->name,
                                 strerror(errno));
        if (got == 0)
            break;
        *length += (size_t)got;
        input->consumed += (uint64_t)got;
    }
    return ISO_OK;
}

/* The file's bytes, first those that were read early. */
static enum iso_status read_plain(struct iso_input *input, char *buffer, size_t capacity,
                                  size_t *length, struct iso_error *error)
{
    size_t early = input->head_size - input->head_given;
    early = early < capacity ? early : capacity;
    memcpy(buffer, input->head + input->head_given, early);
    input->head_given += early;
    enum iso_status status = read_file(input, buffer + early, capacity - early, length, error);
    *length += early;
    return status;
}

/* ---- zstd ---- */

static enum iso_status read_zstd(struct iso_input *input, char *buffer, size_t capacity,
                                 size_t *length, struct iso_error *error)
{
    ZSTD_outBuffer out = {buffer, capacity, 0};
    while (out.pos < capacity) {
        if (input->packed_at == input->packed_size) {
            enum iso_status status = read_plain(input, input->packed, input->packed_capacity,
                                                &input->packed_size, error);
            input->packed_at = 0;
            if (status != ISO_OK)
                return status;
        }
        ZSTD_inBuffer in = {input->packed, input->packed_size, input->packed_at};
        size_t before = out.pos;
        if (in.size == 0 && !input->inside_frame)
            break;
        size_t result = ZSTD_decompressStream(input->zstd, &out, &in);
        if (ZSTD_isError(result))
            return iso_error_set(error, ISO_BAD_INPUT, "%s: not valid zstd data: %s", input->name,
                                 ZSTD_getErrorName(result));
        input->is_cut = in.size == 0 && out.pos == before;
        if (input->is_cut && input->may_be_cut)
            break;
        if (input->is_cut)
            return iso_error_set(error, ISO_BAD_INPUT,
                                 "%s: cut off: the zstd data end inside a frame", input->name);
        input->packed_at = in.pos;
        input->inside_frame = result != 0;
    }
    *length = out.pos;
    return ISO_OK;
}

static bool is_zstd(const char *head, size_t size)
{
    const unsigned char *byte = (const unsigned char *)head;
    if (size < MAGIC_BYTES)
        return false;
    bool frame = byte[0] == 0x28 && byte[1] == 0xb5 && byte[2] == 0x2f && byte[3] == 0xfd;
    bool skippable =
        (byte[0] & 0xf0) == 0x50 && byte[1] == 0x2a && byte[2] == 0x4d && byte[3] == 0x18;
    return frame || skippable;
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return length >= tail && !strcmp(name + length - tail, end);
}

static enum iso_status recognise(struct iso_input *input, struct iso_error *error)
{
    enum iso_status status =
        read_file(input, input->head, sizeof input->head, &input->head_size, error);
    if (status != ISO_OK)
        return status;
    if (!is_zstd(input->head, input->head_size)) {
        if (ends_with(input->name, ".zst"))
            return iso_error_set(error, ISO_BAD_INPUT,
                                 "%s: not zstd data, expected them by its name", input->name);
        return ISO_OK;
    }
    input->zstd = ZSTD_createDCtx();
    if (!input->zstd)
        iso_out_of_memory(ZSTD_DStreamOutSize());
    input->packed_capacity = ZSTD_DStreamInSize();
    input->packed = iso_allocate(input->packed_capacity);
    return ISO_OK;
}

/* ---- both ---- */

enum iso_status iso_input_open(struct iso_input **input, const char *path, struct iso_error *error)
{
    struct iso_input *opened = iso_allocate_zeroed(1, sizeof *opened);
    const char *name = iso_input_name(path);
    opened->name = iso_copy_text(name, strlen(name));
    opened->file = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    *input = NULL;
    enum iso_status status;
    if (opened->file < 0)
        status = iso_error_set(error, iso_error_of_open(errno), "%s: cannot be opened: %s", name,
                               strerror(errno));
    else
        status = recognise(opened, error);
    if (status == ISO_OK)
        *input = opened;
    else
        iso_input_free(opened);
    return status;
}

void iso_input_free(struct iso_input *input)
{
    if (!input)
        return;
    if (input->file > STDIN_FILENO)
        close(input->file);
    ZSTD_freeDCtx(input->zstd);
    ISO_FREE_ALL(input->packed, input->name, input);
}

enum iso_status iso_input_read(struct iso_input *input, char *buffer, size_t capacity,
                               size_t *length, struct iso_error *error)
{
    return input->zstd ? read_zstd(input, buffer, capacity, length, error)
                       : read_plain(input, buffer, capacity, length, error);
}

void iso_input_may_be_cut(struct iso_input *input)
{
    input->may_be_cut = true;
}

bool iso_input_is_cut(const struct iso_input *input)
{
    return input->is_cut;
}

uint64_t iso_input_consumed(const struct iso_input *input)
{
    return input->consumed;
}
