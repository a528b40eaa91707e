#define _GNU_SOURCE
#include "spill/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "spill/spill_private.h"

uint32_t spill_segments_needed(const struct spill_segment *list, uint32_t count, uint32_t active)
{
    while (count && (!list[count - 1].records || count - 1 == active))
        count--;
    return count;
}

enum iso_status spill_is_short(const char *path, uint64_t length, uint64_t needed,
                               struct iso_error *error)
{
    return iso_error_set(error, ISO_FAILED,
                         "%s: the store of what does not fit into memory has %" PRIu64
                         " bytes, expected %" PRIu64 " at least: it was cut, or is another state's",
                         path, length, needed);
}

void iso_spill_inspection_release(struct iso_spill_inspection *inspection)
{
    iso_text_release(&inspection->name);
    iso_text_release(&inspection->segments);
}

static bool is_item(const struct iso_archive_item *item, const char *name)
{
    return !strncmp(item->name, name, sizeof item->name);
}

bool iso_spill_inspects(const struct iso_archive_item *item)
{
    return is_item(item, SPILL_ITEM_SEGMENTS);
}

/* ---- the file ---- */

struct spill_reader {
    struct iso_spill file; /* its path and descriptor */
    uint8_t *segment;
    const struct spill_segment *list;
};

static enum iso_status read_segment(struct spill_reader *reader, uint32_t number, uint64_t *checked,
                                    struct iso_error *error)
{
    const struct spill_segment *segment = &reader->list[number];
    struct spill_header header;
    uint32_t at = 0;
    if (spill_read(&reader->file, reader->segment, reader->file.segment,
                   (uint64_t)number * reader->file.segment, error) != ISO_OK)
        return error->status;
    for (uint32_t left = segment->records; left; left--, at += spill_space_of(header.size)) {
        if (!spill_is_record(reader->segment, reader->file.segment, at, segment->serial, &header))
            return iso_error_set(error, ISO_FAILED,
                                 "%s: damaged at byte %" PRIu64
                                 ": does not contain what was written to it",
                                 reader->file.path, (uint64_t)number * reader->file.segment + at);
        ++*checked;
    }
    return ISO_OK;
}

static enum iso_status read_file(struct iso_spill_inspection *inspection,
                                 struct spill_reader *reader, uint32_t count, uint32_t active,
                                 struct iso_error *error)
{
    struct stat status;
    if (spill_open_named(&reader->file, O_RDONLY, error) != ISO_OK)
        return error->status;
    if (fstat(reader->file.file, &status))
        return spill_failed(&reader->file, error, "cannot be examined");
    inspection->length = (uint64_t)status.st_size;
    if (inspection->length < inspection->needed)
        return spill_is_short(reader->file.path, inspection->length, inspection->needed, error);
    posix_fadvise(reader->file.file, 0, 0, POSIX_FADV_SEQUENTIAL);
    for (uint32_t i = 0; i < count && error->status == ISO_OK; i++) {
        if (reader->list[i].records && i != active)
            read_segment(reader, i, &inspection->checked, error);
    }
    return error->status;
}

static void put_path(struct iso_text *path, const char *folder, const struct iso_text *name)
{
    iso_text_put(path, folder);
    iso_text_put(path, "/");
    iso_text_put_bytes(path, name->bytes, name->used);
    iso_text_put_bytes(path, "", 1);
}

static void inspect_store(struct iso_spill_inspection *inspection, const struct spill_state *state,
                          struct iso_error *error)
{
    struct iso_text path = {0};
    uint32_t count = (uint32_t)(inspection->segments.used / sizeof(struct spill_segment));
    struct spill_reader reader = {
        .file = {.file = -1, .segment = state->segment},
        .list = (const struct spill_segment *)(const void *)inspection->segments.bytes};
    put_path(&path, inspection->folder, &inspection->name);
    reader.file.path = path.bytes;
    inspection->needed =
        (uint64_t)spill_segments_needed(reader.list, count, state->active) * state->segment;
    for (uint32_t i = 0; i < count; i++)
        inspection->live += reader.list[i].live;
    inspection->living = state->living;
    reader.segment = iso_allocate(reader.file.segment);
    if (inspection->needed)
        read_file(inspection, &reader, count, state->active, error);
    if (reader.file.file >= 0)
        close(reader.file.file);
    iso_free(reader.segment);
    iso_text_release(&path);
}

bool iso_spill_inspect(struct iso_spill_inspection *inspection, const struct iso_archive_item *item,
                       const struct iso_text *content, struct iso_error *error)
{
    struct spill_state state = {0};
    if (is_item(item, SPILL_ITEM_NAME)) {
        inspection->needed = inspection->live = inspection->living = inspection->checked =
            inspection->length = 0;
        inspection->name.used = inspection->segments.used = 0;
        iso_text_put_bytes(&inspection->name, content->bytes, content->used);
    }
    if (is_item(item, SPILL_ITEM_SEGMENTS)) {
        inspection->segments.used = 0;
        iso_text_put_bytes(&inspection->segments, content->bytes, content->used);
    }
    if (!is_item(item, SPILL_ITEM_STATE) || content->used != sizeof state)
        return false;
    memcpy(&state, content->bytes, sizeof state);
    if (!spill_is_segment(state.segment)) {
        iso_error_set(error, ISO_FAILED, "%s/%.*s: damaged: segments of %" PRIu32 " bytes",
                      inspection->folder, (int)inspection->name.used, inspection->name.bytes,
                      state.segment);
        return false;
    }
    inspect_store(inspection, &state, error);
    return true;
}

enum iso_status iso_spill_cut(const char *folder, const char *name, uint64_t needed,
                              uint64_t *freed, struct iso_error *error)
{
    struct iso_text path = {0};
    struct stat status;
    *freed = 0;
    put_path(&path, folder, &(struct iso_text){.bytes = (char *)name, .used = strlen(name)});
    if (stat(path.bytes, &status)) {
        if (errno != ENOENT)
            iso_error_set(error, ISO_FAILED, "%s: cannot be examined: %s", path.bytes,
                          strerror(errno));
    } else if ((uint64_t)status.st_size > needed) {
        *freed = (uint64_t)status.st_size - needed;
        if (needed ? truncate(path.bytes, (off_t)needed) : unlink(path.bytes))
            iso_error_set(error, ISO_FAILED, "%s: cannot be cut: %s", path.bytes, strerror(errno));
    }
    iso_text_release(&path);
    return error->status;
}
