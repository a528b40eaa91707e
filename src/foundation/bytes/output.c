#define _GNU_SOURCE
#include "bytes/output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/own.h"
#include "base/shown.h"

/* ---- opening ---- */

void iso_output_to(struct iso_output *output, int descriptor, const char *name)
{
    memset(output, 0, sizeof *output);
    output->descriptor = descriptor;
    output->folder = -1;
    output->buffer = iso_allocate(ISO_OUTPUT_BUFFER + ISO_OUTPUT_MARGIN);
    output->name = iso_copy_text(name, strlen(name));
}

void iso_output_to_text(struct iso_output *output, struct iso_text *text)
{
    iso_output_to(output, -1, "memory");
    output->text = text;
}

static bool ends_in_zst(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && !strcmp(path + length - 4, ".zst");
}

static void start_packing(struct iso_output *output)
{
    output->packer = ZSTD_createCCtx();
    if (!output->packer)
        iso_out_of_memory(sizeof(void *));
    ZSTD_CCtx_setParameter(output->packer, ZSTD_c_checksumFlag, 1);
    output->packed = iso_allocate(ZSTD_CStreamOutSize());
}

enum { LINK_NAME = 40, TRIES = 100 };

/* The name by which a file without a name is linked to its first one. */
static const char *link_of(int descriptor, char text[LINK_NAME])
{
    snprintf(text, LINK_NAME, "/proc/self/fd/%d", descriptor);
    return text;
}

/* A file without a name, which vanishes with the process; -1 where there is no such thing. */
static int open_unnamed(int folder)
{
    char link[LINK_NAME];
    int descriptor = openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (descriptor >= 0 &&
        access(link_of(descriptor, link), F_OK) < 0) { /* no /proc: it would stay without */
        close(descriptor);
        descriptor = -1;
    }
    return descriptor;
}

/* A name beside the file's that is likely to be free. */
static void draw_temporary(struct iso_output *output)
{
    size_t size = strlen(output->file) + sizeof "..0123456789abcdef";
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    iso_free(output->temporary);
    output->temporary = iso_allocate(size);
    snprintf(output->temporary, size, ".%s.%016" PRIx64, output->file,
             iso_hash_number((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec));
}

static bool link_unnamed(const struct iso_output *output)
{
    char link[LINK_NAME];
    return !linkat(AT_FDCWD, link_of(output->descriptor, link), output->folder, output->temporary,
                   AT_SYMLINK_FOLLOW);
}

static bool create_named(struct iso_output *output)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    output->descriptor = openat(output->folder, output->temporary, flags, 0600);
    return output->descriptor >= 0;
}

/* The file gets its temporary name, a new one is made where there is none yet; 0 or an errno. */
static int name_file(struct iso_output *output)
{
    for (int i = 0; i < TRIES; i++) {
        draw_temporary(output);
        if (output->descriptor >= 0 ? link_unnamed(output) : create_named(output))
            return 0;
        if (errno != EEXIST)
            break;
    }
    int reason = errno;
    iso_free(output->temporary);
    output->temporary = NULL;
    return reason;
}

/* 0 or an errno; what is refused is in `error`. */
static int open_file(struct iso_output *output, const char *path, struct iso_error *error)
{
    const char *name = iso_own_name_of(path);
    output->folder = iso_own_folder_for(path, error);
    if (output->folder < 0 || !iso_own_may_replace(output->folder, path, &output->mode, error))
        return errno;
    if (!*name)
        return EISDIR;
    output->file = iso_copy_text(name, strlen(name));
    output->descriptor = open_unnamed(output->folder);
    return output->descriptor >= 0 ? 0 : name_file(output);
}

static bool stands_in_place(const char *path)
{
    struct stat status;
    return iso_own_is_device_name(path) || (lstat(path, &status) == 0 && !S_ISREG(status.st_mode));
}

enum iso_status iso_output_open(struct iso_output *output, const char *path,
                                struct iso_error *error)
{
    int reason = 0;
    if (!strcmp(path, "-")) {
        iso_output_to(output, STDOUT_FILENO, "standard output");
        return ISO_OK;
    }
    iso_output_to(output, -1, path);
    output->owned = true;
    if (stands_in_place(path))
        output->descriptor = iso_own_open(path, O_WRONLY | O_APPEND, error);
    else
        reason = open_file(output, path, error);
    if (reason)
        iso_error_set(error, ISO_FAILED, "%s: cannot be written: %s", path, strerror(reason));
    if (error->status != ISO_OK)
        iso_output_discard(output);
    else if (ends_in_zst(path))
        start_packing(output);
    return error->status;
}

/* ---- writing ---- */

static void write_all(struct iso_output *output, const char *bytes, size_t count)
{
    if (output->text) {
        iso_text_put_bytes(output->text, bytes, count);
        return;
    }
    while (count && !output->error) {
        ssize_t done = write(output->descriptor, bytes, count);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            output->error = errno;
            return;
        }
        bytes += done;
        count -= (size_t)done;
    }
}

static void pack(struct iso_output *output, const char *bytes, size_t count, ZSTD_EndDirective end)
{
    ZSTD_inBuffer in = {bytes, count, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {output->packed, ZSTD_CStreamOutSize(), 0};
        left = ZSTD_compressStream2(output->packer, &out, &in, end);
        if (ZSTD_isError(left)) {
            output->error = EIO;
            return;
        }
        write_all(output, output->packed, out.pos);
    } while (!output->error && (end == ZSTD_e_end ? left != 0 : in.pos < in.size));
}

/* A character may come in two pieces: its beginning waits, unless it is the `last` piece. */
static void show(struct iso_output *output, const char *bytes, size_t count, bool last)
{
    struct iso_text all = {0}, shown = {0};
    iso_text_put_bytes(&all, output->rest, output->rest_size);
    iso_text_put_bytes(&all, bytes, count);
    output->rest_size = last ? 0 : iso_shown_rest(all.bytes, all.used);
    iso_text_put_shown(&shown, all.bytes, all.used - output->rest_size);
    if (output->rest_size)
        memcpy(output->rest, all.bytes + all.used - output->rest_size, output->rest_size);
    write_all(output, shown.bytes, shown.used);
    iso_text_release(&all);
    iso_text_release(&shown);
}

static void hand_over(struct iso_output *output, const char *bytes, size_t count)
{
    output->written += count;
    if (output->error)
        return;
    if (output->shown)
        show(output, bytes, count, false);
    else if (output->packer)
        pack(output, bytes, count, ZSTD_e_continue);
    else
        write_all(output, bytes, count);
}

void iso_output_flush(struct iso_output *output)
{
    hand_over(output, output->buffer, output->used);
    output->used = 0;
}

void iso_output_bytes(struct iso_output *output, const char *bytes, size_t count)
{
    if (output->used + count > ISO_OUTPUT_BUFFER)
        iso_output_flush(output);
    if (count > ISO_OUTPUT_BUFFER) {
        hand_over(output, bytes, count);
        return;
    }
    memcpy(output->buffer + output->used, bytes, count);
    output->used += count;
}

void iso_output_text(struct iso_output *output, const char *text)
{
    iso_output_bytes(output, text, strlen(text));
}

void iso_output_format(struct iso_output *output, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if ((size_t)length < sizeof text) {
        iso_output_bytes(output, text, (size_t)length);
        return;
    }
    char *longer = iso_allocate((size_t)length + 1);
    va_start(arguments, format);
    vsnprintf(longer, (size_t)length + 1, format, arguments);
    va_end(arguments);
    iso_output_bytes(output, longer, (size_t)length);
    iso_free(longer);
}

/* ---- closing ---- */

static void release(struct iso_output *output)
{
    if (output->folder >= 0)
        close(output->folder);
    ZSTD_freeCCtx(output->packer);
    ISO_FREE_ALL(output->packed, output->buffer, output->name, output->file, output->temporary);
    memset(output, 0, sizeof *output);
}

void iso_output_discard(struct iso_output *output)
{
    if (!output->buffer)
        return;
    if (output->owned && output->descriptor >= 0)
        close(output->descriptor);
    if (output->temporary)
        unlinkat(output->folder, output->temporary, 0);
    release(output);
}

/* The whole file takes its place; 0 or an errno. */
static int put_in_place(struct iso_output *output)
{
    if (fchmod(output->descriptor, output->mode) < 0)
        return errno;
    int reason = output->temporary ? 0 : name_file(output);
    if (!reason && renameat(output->folder, output->temporary, output->folder, output->file) < 0)
        reason = errno;
    if (!reason) {
        iso_free(output->temporary);
        output->temporary = NULL;
    }
    return reason;
}

enum iso_status iso_output_close(struct iso_output *output, struct iso_error *error)
{
    enum iso_status status = ISO_OK;
    assert(output->buffer);
    iso_output_flush(output);
    if (output->shown && !output->error)
        show(output, NULL, 0, true);
    if (output->packer && !output->error)
        pack(output, NULL, 0, ZSTD_e_end);
    if (output->file && !output->error)
        output->error = put_in_place(output);
    if (output->owned && close(output->descriptor) < 0 && !output->error)
        output->error = errno;
    output->owned = false;
    if (output->error) {
        status = iso_error_set(error, ISO_FAILED, "%s: cannot be written: %s", output->name,
                               strerror(output->error));
        iso_output_discard(output);
    } else {
        release(output);
    }
    return status;
}

/* ---- numbers, strings, atoms ---- */

void iso_output_number(struct iso_output *output, uint64_t number)
{
    char digits[20], *at = digits + sizeof digits;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    size_t count = (size_t)(digits + sizeof digits - at);
    memcpy(iso_output_room(output), at, count);
    output->used += count;
}

/* JSON readers that go through doubles are exact up to here. */
#define EXACT_NUMBERS ((uint64_t)1 << 53)

void iso_output_exact(struct iso_output *output, uint64_t number)
{
    bool quoted = number > EXACT_NUMBERS;
    if (quoted)
        iso_output_char(output, '"');
    iso_output_number(output, number);
    if (quoted)
        iso_output_char(output, '"');
}

static void escape(struct iso_output *output, unsigned char byte)
{
    static const char shorthand[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    const char *found = byte ? strchr(shorthand, byte) : NULL;
    if (found) {
        iso_output_char(output, '\\');
        iso_output_char(output, letters[found - shorthand]);
    } else {
        iso_output_format(output, "\\u%04x", byte);
    }
}

void iso_output_string(struct iso_output *output, const char *text, size_t length)
{
    size_t plain = 0;
    iso_output_char(output, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte >= 0x20 && byte != '"' && byte != '\\')
            continue;
        iso_output_bytes(output, text + plain, i - plain);
        escape(output, byte);
        plain = i + 1;
    }
    iso_output_bytes(output, text + plain, length - plain);
    iso_output_char(output, '"');
}

void iso_output_atom_string(struct iso_output *output, const struct iso_atoms *atoms, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (atom == ISO_ABSENT) {
        iso_output_bytes(output, "null", 4);
        return;
    }
    const char *text = iso_atom_text(atoms, atom, buffer, &length);
    iso_output_string(output, text, length);
}

/* A number of the table that JSON readers keep exact. */
static bool is_exact(const struct iso_atoms *atoms, iso_atom atom)
{
    uint32_t index = atom & ~ISO_ATOM_TABLE;
    uint64_t size = atoms->entries[index].form == ISO_FORM_NEGATIVE
                        ? 0 - atoms->entries[index].payload
                        : atoms->entries[index].payload;
    return size <= EXACT_NUMBERS;
}

void iso_output_atom(struct iso_output *output, const struct iso_atoms *atoms, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (!(atom & ISO_ATOM_TABLE)) {
        iso_output_number(output, atom);
    } else if (atom == ISO_ABSENT || iso_atom_is_string(atoms, atom) || !is_exact(atoms, atom)) {
        iso_output_atom_string(output, atoms, atom);
    } else {
        const char *text = iso_atom_text(atoms, atom, buffer, &length);
        iso_output_bytes(output, text, length);
    }
}
