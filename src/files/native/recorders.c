#include "native/recorders.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "bytes/whole_file.h"
#include "native/counted.h"

struct recorders {
    struct iso_history *history;
    uint32_t input;
    bool is_open;        /* one has begun, whose end is not known */
    uint64_t first_line; /* of its records */
    uint64_t at;         /* the line beside the file that says so */
};

/* The file's transactions on lines from `from` on, below `to`. */
static uint64_t came(const struct recorders *recorders, uint64_t from, uint64_t to)
{
    const struct iso_history *history = recorders->history;
    uint64_t count = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        uint64_t origin = history->txns.origin[t], line = iso_origin_offset(origin);
        count += iso_origin_input(origin) == recorders->input && line >= from && line < to;
    }
    return count;
}

static void add_lost(struct recorders *recorders, uint64_t records, bool has_ended)
{
    struct iso_history_lost *lost = &recorders->history->lost;
    if (!records && has_ended)
        return;
    if (!lost->records && !lost->recorders)
        lost->origin = iso_origin(recorders->input, recorders->first_line);
    lost->records += records;
    lost->recorders += !has_ended;
}

/* Another one begins at line `to`, or there is none. */
static void close_open(struct recorders *recorders)
{
    if (recorders->is_open)
        add_lost(recorders, 0, false);
    recorders->is_open = false;
}

/* Where the records of the next recorder begin, whose line is the next that begins behind `at`. */
static uint64_t next_line(struct iso_native *native, const char *at, const char *end,
                          struct recorders *recorders)
{
    for (; at && at < end; at = memchr(at, '\n', (size_t)(end - at)), at += at != NULL) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        struct iso_counted counted;
        struct iso_error ignored = {.status = ISO_OK};
        size_t size = (size_t)((stop ? stop : end) - at);
        if (size &&
            iso_counted_read(native, at, size, recorders->history, &counted, &ignored) == ISO_OK &&
            counted.line)
            return counted.line;
    }
    return UINT64_MAX;
}

static void take(struct recorders *recorders, const struct iso_counted *counted, uint64_t next)
{
    recorders->history->streamed.is_needed |= counted->of_stream;
    if (!counted->has_ended) {
        close_open(recorders);
        recorders->is_open = true;
        recorders->first_line = counted->line ? counted->line : 1;
    } else if (recorders->is_open) {
        uint64_t count = came(recorders, recorders->first_line, next);
        add_lost(recorders, counted->records > count ? counted->records - count : 0, true);
        recorders->is_open = false;
    }
}

/* A line that cannot be read is what a killed recorder left of its own. */
static void take_lines(struct recorders *recorders, const struct iso_whole_file *file)
{
    struct iso_native native;
    iso_native_init(&native);
    const char *end = file->bytes + file->length;
    for (const char *at = file->bytes; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        struct iso_counted counted;
        struct iso_error ignored = {.status = ISO_OK};
        if (stop > at && iso_counted_read(&native, at, (size_t)(stop - at), recorders->history,
                                          &counted, &ignored) == ISO_OK)
            take(recorders, &counted, next_line(&native, stop + 1, end, recorders));
        at = stop + 1;
    }
    close_open(recorders);
    iso_native_release(&native);
}

enum iso_status iso_recorders_read(const char *path, uint32_t input, struct iso_history *history,
                                   struct iso_error *error)
{
    struct recorders recorders = {.history = history, .input = input};
    struct iso_whole_file file;
    struct stat status;
    size_t size = strlen(path) + sizeof ".recorders";
    char *beside = iso_allocate(size);
    snprintf(beside, size, "%s.recorders", path);
    if (stat(beside, &status) == 0 && iso_whole_file_read(&file, beside, error) == ISO_OK) {
        take_lines(&recorders, &file);
        iso_whole_file_release(&file);
    }
    iso_free(beside);
    return error->status;
}
