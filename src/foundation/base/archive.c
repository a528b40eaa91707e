#define _GNU_SOURCE
#include "base/archive.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { BUFFER = 1 << 16, SLACK = 1 << 16 };
#define END_NAME "end of state"

_Static_assert(sizeof(struct iso_archive_item) == 64, "heads are part of the format");

static void open_archive(struct iso_archive *archive, int descriptor, const char *name,
                         struct iso_error *error)
{
    *archive = (struct iso_archive){.descriptor = descriptor, .name = name, .error = error};
    archive->buffer = iso_allocate(BUFFER);
}

void iso_archive_save(struct iso_archive *archive, int descriptor, const char *name,
                      struct iso_error *error)
{
    open_archive(archive, descriptor, name, error);
}

void iso_archive_restore(struct iso_archive *archive, int descriptor, const char *name,
                         struct iso_error *error)
{
    struct stat status;
    open_archive(archive, descriptor, name, error);
    archive->restoring = true;
    off_t here = lseek(descriptor, 0, SEEK_CUR);
    if (here < 0 || fstat(descriptor, &status) || status.st_size < here)
        iso_error_set(error, ISO_FAILED, "%s: cannot be read: %s", name, strerror(errno));
    else
        archive->size = (uint64_t)(status.st_size - here);
}

static bool is_over(const struct iso_archive *archive)
{
    return archive->error->status != ISO_OK;
}

/* ---- bytes ---- */

static void write_all(struct iso_archive *archive, const uint8_t *bytes, size_t size)
{
    while (size && !is_over(archive)) {
        ssize_t wrote = write(archive->descriptor, bytes, size);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            iso_error_set(archive->error, ISO_FAILED, "%s: cannot be written: %s", archive->name,
                          strerror(errno));
            return;
        }
        bytes += wrote;
        size -= (size_t)wrote;
    }
}

static void flush(struct iso_archive *archive)
{
    write_all(archive, archive->buffer, archive->used);
    archive->used = 0;
}

static void write_bytes(struct iso_archive *archive, const void *bytes, size_t size)
{
    archive->bytes += size;
    if (archive->used + size > BUFFER)
        flush(archive);
    if (size > BUFFER / 2) {
        flush(archive);
        write_all(archive, bytes, size);
    } else if (size) {
        memcpy(archive->buffer + archive->used, bytes, size);
        archive->used += size;
    }
}

static void damaged(struct iso_archive *archive, const char *what)
{
    iso_error_set(archive->error, ISO_FAILED, "%s: damaged at byte %llu: %s", archive->name,
                  (unsigned long long)archive->bytes, what);
}

/* Up to `size` bytes; 0 after an error. */
static size_t read_some(struct iso_archive *archive, uint8_t *bytes, size_t size)
{
    ssize_t got;
    while ((got = read(archive->descriptor, bytes, size)) < 0 && errno == EINTR)
        ;
    if (got < 0)
        iso_error_set(archive->error, ISO_FAILED, "%s: cannot be read: %s", archive->name,
                      strerror(errno));
    else if (!got)
        damaged(archive, "it ends here");
    return got > 0 ? (size_t)got : 0;
}

static bool read_bytes(struct iso_archive *archive, void *into, size_t size)
{
    uint8_t *bytes = into;
    while (size && !is_over(archive)) {
        size_t part = archive->used - archive->at;
        if (!part && size >= BUFFER) {
            part = read_some(archive, bytes, size);
        } else if (!part) {
            archive->at = 0;
            archive->used = read_some(archive, archive->buffer, BUFFER);
            continue;
        } else {
            part = part < size ? part : size;
            memcpy(bytes, archive->buffer + archive->at, part);
            archive->at += part;
        }
        bytes += part;
        size -= part;
        archive->bytes += part;
    }
    return !is_over(archive);
}

/* ---- items ---- */

/* Seeded with the head before: so no item of another archive passes, be it of the same name and
 * number. */
static uint64_t head_checksum(const struct iso_archive *archive,
                              const struct iso_archive_item *item)
{
    return XXH3_64bits_withSeed(item, offsetof(struct iso_archive_item, head), archive->chain);
}

static void put_item(struct iso_archive *archive, const char *name, const void *bytes,
                     uint64_t count, uint64_t capacity, size_t element)
{
    struct iso_archive_item item = {.element = (uint32_t)element,
                                    .number = archive->number++,
                                    .count = count,
                                    .capacity = capacity};
    size_t length = strlen(name);
    memcpy(item.name, name, length < sizeof item.name ? length : sizeof item.name);
    item.content = XXH3_64bits(bytes, count * element);
    item.head = archive->chain = head_checksum(archive, &item);
    write_bytes(archive, &item, sizeof item);
    write_bytes(archive, bytes, count * element);
}

static bool get_head(struct iso_archive *archive, struct iso_archive_item *item)
{
    if (!read_bytes(archive, item, sizeof *item))
        return false;
    bool follows = item->head == head_checksum(archive, item);
    archive->chain = item->head;
    if (!follows && !archive->unchecked)
        damaged(archive, "a head's checksum does not fit");
    else if (item->number != archive->number++)
        damaged(archive, "an item is missing");
    else if (item->element && item->count > (archive->size - archive->bytes) / item->element)
        damaged(archive, "it ends before its contents do");
    return !is_over(archive);
}

static void check_content(struct iso_archive *archive, const struct iso_archive_item *item,
                          uint64_t checksum)
{
    if (!is_over(archive) && item->content != checksum && !archive->unchecked)
        damaged(archive, "a checksum does not fit");
}

static bool has_name(const struct iso_archive_item *item, const char *name)
{
    return !strncmp(item->name, name, sizeof item->name);
}

/* The next item must be this one. */
static bool get_expected(struct iso_archive *archive, const char *name, size_t element,
                         struct iso_archive_item *item)
{
    if (!get_head(archive, item))
        return false;
    if (!has_name(item, name) || item->element != element)
        iso_error_set(archive->error, ISO_FAILED,
                      "%s: written by another version: found %.*s of %u bytes, expected %s of %zu",
                      archive->name, ISO_ARCHIVE_NAME, item->name, item->element, name, element);
    return !is_over(archive);
}

void iso_archive_value(struct iso_archive *archive, const char *name, void *value, size_t size)
{
    struct iso_archive_item item;
    if (is_over(archive))
        return;
    if (!archive->restoring) {
        put_item(archive, name, value, 1, 1, size);
        return;
    }
    if (!get_expected(archive, name, size, &item))
        return;
    if (item.count != 1) {
        damaged(archive, "expected one value");
        return;
    }
    uint8_t *bytes = iso_allocate(size);
    if (read_bytes(archive, bytes, size))
        check_content(archive, &item, XXH3_64bits(bytes, size));
    if (!is_over(archive))
        memcpy(value, bytes, size);
    iso_free(bytes);
}

/* Capacities above the need are allowed up to this: columns at least double, and some start
 * large. */
static uint64_t most_capacity(uint64_t count)
{
    return count * 4 + SLACK;
}

static void *read_column(struct iso_archive *archive, const struct iso_archive_item *item,
                         bool heap)
{
    size_t size = item->count * item->element, room = item->capacity * item->element;
    if (!room)
        return NULL;
    void *column = heap ? iso_allocate(room) : iso_column_grow(NULL, 0, room);
    if (read_bytes(archive, column, size))
        check_content(archive, item, XXH3_64bits(column, size));
    if (!is_over(archive))
        return column;
    if (heap)
        iso_free(column);
    else
        iso_column_free(column, room);
    return NULL;
}

static bool is_twin(enum iso_archive_kind kind)
{
    return kind == ISO_ARCHIVE_TWIN || kind == ISO_ARCHIVE_HEAP_TWIN;
}

/* A twin is as long as its fellow, or not there. */
static bool fits(const struct iso_archive_item *item, enum iso_archive_kind kind, uint64_t count,
                 uint64_t capacity)
{
    if (is_twin(kind))
        return (item->count == count && item->capacity == capacity) ||
               (!item->count && !item->capacity);
    return item->capacity >= item->count && item->capacity <= most_capacity(item->count);
}

void *iso_archive_column(struct iso_archive *archive, const char *name, enum iso_archive_kind kind,
                         void *column, uint64_t *count, uint64_t *capacity, size_t element)
{
    struct iso_archive_item item;
    if (!archive->restoring) {
        uint64_t most = most_capacity(*count), room = *capacity < most ? *capacity : most;
        if (!is_over(archive))
            put_item(archive, name, column ? column : "", column ? *count : 0, column ? room : 0,
                     element);
        return column;
    }
    void *restored = NULL;
    if (!is_over(archive) && get_expected(archive, name, element, &item)) {
        if (fits(&item, kind, *count, *capacity))
            restored = read_column(archive, &item,
                                   kind == ISO_ARCHIVE_HEAP || kind == ISO_ARCHIVE_HEAP_TWIN);
        else
            damaged(archive, "a column's length cannot be right");
    }
    if (!is_twin(kind)) {
        *count = is_over(archive) ? 0 : item.count;
        *capacity = is_over(archive) ? 0 : item.capacity;
    }
    return restored;
}

void iso_archive_index(struct iso_archive *archive, const char *name, struct iso_index *table)
{
    uint64_t count = table->slots ? (uint64_t)table->mask + 1 : 0, capacity = count;
    table->slots = iso_archive_column(archive, name, ISO_ARCHIVE_COLUMN, table->slots, &count,
                                      &capacity, sizeof *table->slots);
    iso_archive_expect(archive, count == capacity && !(count & (count - 1)));
    table->mask = capacity ? (uint32_t)capacity - 1 : 0;
}

void iso_archive_expect(struct iso_archive *archive, bool condition)
{
    if (!condition && !is_over(archive))
        damaged(archive, "its parts do not fit each other");
}

bool iso_archive_next(struct iso_archive *archive, struct iso_archive_item *item,
                      void (*take)(void *context, const void *bytes, size_t size), void *context)
{
    uint8_t piece[4096];
    XXH3_state_t *state = NULL;
    if (is_over(archive) || !get_head(archive, item))
        return false;
    if (has_name(item, END_NAME)) {
        iso_archive_expect(archive, archive->bytes == archive->size && !item->count);
        return false;
    }
    state = XXH3_createState();
    if (!state)
        iso_out_of_memory(sizeof *state);
    XXH3_64bits_reset(state);
    for (uint64_t left = item->count * item->element; left && !is_over(archive);) {
        size_t part = left < sizeof piece ? left : sizeof piece;
        if (read_bytes(archive, piece, part)) {
            XXH3_64bits_update(state, piece, part);
            if (take)
                take(context, piece, part);
        }
        left -= part;
    }
    check_content(archive, item, XXH3_64bits_digest(state));
    XXH3_freeState(state);
    return !is_over(archive);
}

enum iso_status iso_archive_close(struct iso_archive *archive)
{
    struct iso_archive_item item;
    if (!archive->restoring) {
        put_item(archive, END_NAME, "", 0, 0, 1);
        flush(archive);
    } else if (!is_over(archive) && get_expected(archive, END_NAME, 1, &item)) {
        iso_archive_expect(archive, archive->bytes == archive->size && !item.count);
    }
    iso_archive_release(archive);
    return archive->error->status;
}

void iso_archive_release(struct iso_archive *archive)
{
    iso_free(archive->buffer);
    archive->buffer = NULL;
}
