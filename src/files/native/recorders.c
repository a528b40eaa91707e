#include "native/recorders.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "native/counted.h"

struct recorders {
    struct iso_history *history;
    uint32_t input;
    iso_atom open;       /* the one that has begun, whose end is not known; or ISO_ABSENT */
    uint64_t first_line; /* of its records */
};

/* The file's transactions on lines from `from` to `last`. */
static uint64_t came(const struct recorders *recorders, uint64_t from, uint64_t last)
{
    const struct iso_history *history = recorders->history;
    uint64_t count = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        uint64_t origin = history->txns.origin[t], line = iso_origin_offset(origin);
        count += iso_origin_input(origin) == recorders->input && line >= from && line <= last;
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

/* Another one begins or ends, or there is none: this one was killed, or still writes. */
static void close_open(struct recorders *recorders)
{
    if (recorders->open != ISO_ABSENT)
        add_lost(recorders, 0, false);
    recorders->open = ISO_ABSENT;
}

static void take(struct recorders *recorders, const struct iso_counted *counted)
{
    recorders->history->streamed.is_needed |= counted->of_stream;
    if (!counted->has_ended) {
        close_open(recorders);
        recorders->open = counted->recorder;
        recorders->first_line = counted->line;
        return;
    }
    if (recorders->open != counted->recorder) { /* its begin was torn */
        close_open(recorders);
        recorders->first_line = counted->line;
        add_lost(recorders, 0, false);
        return;
    }
    uint64_t count = came(recorders, recorders->first_line, counted->line);
    add_lost(recorders, counted->records > count ? counted->records - count : 0, true);
    recorders->open = ISO_ABSENT;
}

void iso_recorders_compare(const struct iso_whole_file *beside, uint32_t input,
                           struct iso_history *history)
{
    struct recorders recorders = {.history = history, .input = input, .open = ISO_ABSENT};
    struct iso_native native;
    if (!beside->length)
        return;
    iso_native_init(&native);
    const char *end = beside->bytes + beside->length;
    for (const char *at = beside->bytes; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        struct iso_counted counted;
        struct iso_error ignored = {.status = ISO_OK};
        if (stop > at && iso_counted_read(&native, at, (size_t)(stop - at), history, &counted,
                                          &ignored) == ISO_OK)
            take(&recorders, &counted);
        at = stop + 1;
    }
    close_open(&recorders);
    iso_native_release(&native);
}

enum iso_status iso_recorders_read(const char *path, struct iso_whole_file *beside,
                                   struct iso_error *error)
{
    struct stat status;
    size_t size = strlen(path) + sizeof ".recorders";
    char *name = iso_allocate(size);
    snprintf(name, size, "%s.recorders", path);
    *beside = (struct iso_whole_file){0};
    if (stat(name, &status) == 0)
        iso_whole_file_read(beside, name, error);
    iso_free(name);
    return error->status;
}
