/* A store with a name as part of an archive. */
#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "spill/inspect.h"
#include "spill/spill_private.h"

static void move_all(struct spill_stack *from, struct spill_stack *to)
{
    if (from->count)
        memcpy(to->list + to->count, from->list, from->count * sizeof *from->list);
    to->count += from->count;
    from->count = 0;
}

void iso_spill_fork(struct iso_spill *spill)
{
    move_all(&spill->freed, &spill->waiting);
}

void iso_spill_commit(struct iso_spill *spill)
{
    move_all(&spill->waiting, &spill->free);
}

static void archive_name(struct iso_archive *archive, const struct iso_spill *spill)
{
    uint64_t length = strlen(spill->options.name), expected = length;
    char *name = (char *)spill->options.name;
    name =
        iso_archive_column(archive, SPILL_ITEM_NAME, ISO_ARCHIVE_HEAP, name, &length, &length, 1);
    iso_archive_expect(archive,
                       length == expected && name && !memcmp(name, spill->options.name, length));
    if (archive->restoring)
        iso_free(name);
}

static void archive_list(struct iso_archive *archive, struct iso_spill *spill)
{
    struct spill_state state = {.active = spill->active,
                                .filled = spill->filled,
                                .segment = spill->segment,
                                .order = spill->order,
                                .floor = spill->floor,
                                .used = spill->used,
                                .living = spill->living};
    uint64_t count = spill->segments, capacity = count;
    spill->list = iso_archive_column(archive, SPILL_ITEM_SEGMENTS, ISO_ARCHIVE_HEAP, spill->list,
                                     &count, &capacity, sizeof *spill->list);
    iso_archive_value(archive, SPILL_ITEM_STATE, &state, sizeof state);
    if (!archive->restoring)
        return;
    iso_archive_expect(archive, spill_is_segment(state.segment));
    if (archive->error->status == ISO_OK)
        spill->segment = state.segment;
    iso_archive_expect(archive,
                       count <= UINT32_MAX / (spill->segment / SPILL_UNIT) && count == capacity);
    iso_archive_expect(archive, count ? state.active < count : !state.filled);
    iso_archive_expect(archive, state.filled <= spill->segment && state.filled % SPILL_UNIT == 0);
    if (archive->error->status != ISO_OK)
        return;
    spill->segments = (uint32_t)count;
    spill->active = state.active;
    spill->filled = state.filled;
    spill->order = state.order;
    spill->floor = state.floor;
    spill->used = state.used;
    spill->living = state.living;
    if (count) {
        spill_widen_list(spill, (uint32_t)count);
        spill_allocate_buffers(spill);
    }
}

static void archive_buffer(struct iso_archive *archive, struct iso_spill *spill)
{
    uint64_t count = spill->filled, capacity = count;
    uint8_t *buffer = iso_archive_column(archive, "spill buffer", ISO_ARCHIVE_HEAP, spill->buffer,
                                         &count, &capacity, 1);
    if (!archive->restoring)
        return;
    iso_archive_expect(archive, count == spill->filled);
    if (archive->error->status == ISO_OK && count)
        memcpy(spill->buffer, buffer, count);
    iso_free(buffer);
}

/* Opens the file where the archive refers to something in it, and sees that it is long enough. */
static void find_file(struct iso_archive *archive, struct iso_spill *spill)
{
    struct stat status;
    uint64_t needed = (uint64_t)spill_segments_needed(spill->list, spill->segments, spill->active) *
                      spill->segment;
    if (archive->error->status != ISO_OK || !needed ||
        spill_open_named(spill, O_RDWR, archive->error) != ISO_OK)
        return;
    if (fstat(spill->file, &status))
        spill_failed(spill, archive->error, "cannot be examined");
    else if ((uint64_t)status.st_size < needed)
        spill_is_short(spill->path, (uint64_t)status.st_size, needed, archive->error);
}

void iso_spill_archive(struct iso_archive *archive, struct iso_spill *spill)
{
    assert(spill->options.name && !(archive->restoring && spill->buffer));
    if (!archive->restoring && archive->error->status == ISO_OK)
        spill_sync(spill, archive->error);
    archive_name(archive, spill);
    archive_list(archive, spill);
    archive_buffer(archive, spill);
    spill_table_archive(archive, &spill->table);
    if (!archive->restoring || archive->error->status != ISO_OK)
        return;
    iso_archive_expect(archive, spill_agrees(spill));
    for (uint32_t i = 0; i < spill->segments; i++) {
        if (!spill->list[i].records && i != spill->active)
            spill->free.list[spill->free.count++] = i;
    }
    find_file(archive, spill);
    spill->unchecked = archive->unchecked;
    if (archive->error->status == ISO_OK)
        spill_validate(spill);
}
