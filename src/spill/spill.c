#define _GNU_SOURCE
#include "spill/spill.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/memory.h"
#include "spill/table.h"

/* FIRST_READ: as much as nearly every record has. SLACK: so many records of garbage are never worth cleaning. */
enum { SEGMENT = 1 << 20, UNIT = 16, FIRST_READ = 512, SLACK = 1 << 16 };

struct header {
    uint32_t size, check; /* of what follows; of all of it */
    uint64_t digest;
};

struct iso_spill {
    int file;
    char *folder;
    struct spill_table table;
    struct segment {
        uint32_t records, live; /* all; those that are not garbage. No records: the segment is free */
    } * list;
    uint32_t *free; /* segments, a stack */
    uint32_t segments, segment_capacity, free_count;
    uint32_t active, filled; /* the segment that is in `buffer`, and its bytes */
    uint8_t *buffer;
    uint8_t *found;  /* the record that was asked for last */
    uint8_t *victim; /* the segment that is being cleaned */
    bool cleaning;
    uint64_t records; /* in all segments */
    uint64_t read, written, moved;
};

/* ---- opening ---- */

static enum iso_status failed(const struct iso_spill *spill, struct iso_error *error, const char *what)
{
    return iso_error_set(error, ISO_FAILED, "%s: the store of what does not fit into memory %s: %s", spill->folder,
                         what, strerror(errno));
}

static void take_segment(struct iso_spill *spill)
{
    if (spill->free_count) {
        spill->active = spill->free[--spill->free_count];
    } else {
        if (spill->segments == spill->segment_capacity) {
            spill->segment_capacity = spill->segment_capacity ? spill->segment_capacity * 2 : 64;
            spill->list = iso_reallocate(spill->list, spill->segment_capacity * sizeof *spill->list);
            spill->free = iso_reallocate(spill->free, spill->segment_capacity * sizeof *spill->free);
        }
        spill->active = spill->segments++;
    }
    spill->list[spill->active] = (struct segment){0};
    spill->filled = 0;
}

enum iso_status iso_spill_open(const char *folder, struct iso_spill **opened, struct iso_error *error)
{
    struct iso_spill *spill = iso_allocate_zeroed(1, sizeof *spill);
    size_t length = strlen(folder);
    char *path = iso_allocate(length + 32);
    spill->folder = iso_copy_text(folder, length);
    snprintf(path, length + 32, "%s/isochron-spill-XXXXXX", folder);
    spill->file = mkostemp(path, O_CLOEXEC);
    if (spill->file < 0 || unlink(path)) {
        failed(spill, error, "cannot be made (--spill or TMPDIR names another folder)");
        iso_free(path);
        iso_spill_free(spill);
        return ISO_FAILED;
    }
    iso_free(path);
    posix_fadvise(spill->file, 0, 0, POSIX_FADV_RANDOM);
    spill->buffer = iso_allocate(SEGMENT);
    spill->found = iso_allocate(sizeof(struct header) + ISO_SPILL_MOST);
    take_segment(spill);
    *opened = spill;
    return ISO_OK;
}

void iso_spill_free(struct iso_spill *spill)
{
    if (!spill)
        return;
    if (spill->file >= 0)
        close(spill->file);
    spill_table_release(&spill->table);
    iso_free(spill->list);
    iso_free(spill->free);
    iso_free(spill->buffer);
    iso_free(spill->found);
    iso_free(spill->victim);
    iso_free(spill->folder);
    iso_free(spill);
}

/* ---- the file ---- */

static enum iso_status read_at(struct iso_spill *spill, void *bytes, size_t size, uint64_t offset,
                               struct iso_error *error)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(spill->file, (uint8_t *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got ? errno : EIO; /* shorter than what was written */
            return failed(spill, error, "cannot be read");
        }
        done += (size_t)got;
        spill->read += (uint64_t)got;
    }
    return ISO_OK;
}

static enum iso_status write_segment(struct iso_spill *spill, struct iso_error *error)
{
    memset(spill->buffer + spill->filled, 0, SEGMENT - spill->filled);
    for (size_t done = 0; done < SEGMENT;) {
        off_t offset = (off_t)spill->active * SEGMENT + (off_t)done;
        ssize_t put = pwrite(spill->file, spill->buffer + done, SEGMENT - done, offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return failed(spill, error, "cannot be written");
        done += (size_t)put;
        spill->written += (uint64_t)put;
    }
    return ISO_OK;
}

/* ---- records ---- */

static uint32_t space_of(uint32_t size)
{
    return ((uint32_t)sizeof(struct header) + size + UNIT - 1) / UNIT * UNIT;
}

static uint32_t check_of(uint64_t digest, const void *record, uint32_t size)
{
    return (uint32_t)XXH3_64bits_withSeed(record, size, digest + size);
}

static uint64_t offset_of(const struct spill_slot *slot)
{
    return ((uint64_t)slot->place - 1) * UNIT;
}

enum iso_status iso_spill_altered(const struct iso_spill *spill, struct iso_error *error)
{
    errno = EBADMSG;
    return failed(spill, error, "does not hold what was written to it");
}

/* Reads the record of a slot into `found`, header and all, and checks it. */
static enum iso_status fetch(struct iso_spill *spill, const struct spill_slot *slot, struct iso_error *error)
{
    struct header header;
    uint64_t offset = offset_of(slot);
    uint32_t within = (uint32_t)(offset % SEGMENT), most = SEGMENT - within;
    uint32_t first = most < FIRST_READ ? most : FIRST_READ;
    bool buffered = offset / SEGMENT == spill->active;
    if (buffered)
        memcpy(spill->found, spill->buffer + within, first);
    else if (read_at(spill, spill->found, first, offset, error) != ISO_OK)
        return ISO_FAILED;
    memcpy(&header, spill->found, sizeof header);
    if (header.size > ISO_SPILL_MOST || space_of(header.size) > most)
        return iso_spill_altered(spill, error);
    uint32_t all = (uint32_t)sizeof header + header.size;
    if (all > first && buffered)
        memcpy(spill->found + first, spill->buffer + within + first, all - first);
    else if (all > first && read_at(spill, spill->found + first, all - first, offset + first, error) != ISO_OK)
        return ISO_FAILED;
    if (check_of(header.digest, spill->found + sizeof header, header.size) != header.check)
        return iso_spill_altered(spill, error);
    return ISO_OK;
}

/* The slot of a digest, or NULL; its record is in `found` then. Where it is certain (`known`) that there is one and
 * only one fits, none is read. */
static enum iso_status find(struct iso_spill *spill, uint64_t digest, bool known, struct spill_slot **slot,
                            struct iso_error *error)
{
    struct header header;
    *slot = spill_table_next(&spill->table, digest, NULL);
    if (known && *slot && !spill_table_next(&spill->table, digest, *slot))
        return ISO_OK;
    for (; *slot; *slot = spill_table_next(&spill->table, digest, *slot)) {
        if (fetch(spill, *slot, error) != ISO_OK)
            return ISO_FAILED;
        memcpy(&header, spill->found, sizeof header);
        if (header.digest == digest)
            break;
    }
    return ISO_OK;
}

/* ---- the log ---- */

static enum iso_status clean(struct iso_spill *spill, struct iso_error *error);

/* Room for `space` bytes at the end of the log. */
static enum iso_status make_room(struct iso_spill *spill, uint32_t space, struct iso_error *error)
{
    if (spill->filled + space <= SEGMENT)
        return ISO_OK;
    if (write_segment(spill, error) != ISO_OK)
        return ISO_FAILED;
    take_segment(spill);
    if ((uint64_t)spill->active * SEGMENT / UNIT > UINT32_MAX - 2 * SEGMENT) {
        errno = EFBIG;
        return failed(spill, error, "cannot hold more");
    }
    return spill->cleaning ? ISO_OK : clean(spill, error);
}

/* Adds a record for which there is room; says where it is. */
static uint32_t append(struct iso_spill *spill, const struct header *header, const void *record)
{
    uint8_t *at = spill->buffer + spill->filled;
    uint32_t space = space_of(header->size), place = (uint32_t)((uint64_t)spill->active * (SEGMENT / UNIT));
    place += spill->filled / UNIT + 1;
    memcpy(at, header, sizeof *header);
    memcpy(at + sizeof *header, record, header->size);
    memset(at + sizeof *header + header->size, 0, space - sizeof *header - header->size);
    spill->filled += space;
    spill->list[spill->active].records++;
    spill->list[spill->active].live++;
    spill->records++;
    return place;
}

static struct spill_slot *slot_at(struct iso_spill *spill, uint64_t digest, uint32_t place)
{
    struct spill_slot *slot = spill_table_next(&spill->table, digest, NULL);
    while (slot && slot->place != place)
        slot = spill_table_next(&spill->table, digest, slot);
    return slot;
}

/* What lives in a segment goes to the end of the log. */
static enum iso_status move_living(struct iso_spill *spill, uint32_t number, struct iso_error *error)
{
    struct header header;
    uint32_t first = (uint32_t)((uint64_t)number * (SEGMENT / UNIT)) + 1, space;
    for (uint32_t at = 0; spill->list[number].live && at + sizeof header <= SEGMENT; at += space) {
        memcpy(&header, spill->victim + at, sizeof header);
        space = space_of(header.size);
        if (header.size > ISO_SPILL_MOST || space > SEGMENT - at ||
            check_of(header.digest, spill->victim + at + sizeof header, header.size) != header.check)
            return iso_spill_altered(spill, error);
        struct spill_slot *slot = slot_at(spill, header.digest, first + at / UNIT);
        if (!slot)
            continue;
        if (make_room(spill, space, error) != ISO_OK)
            return ISO_FAILED;
        slot->place = append(spill, &header, spill->victim + at + sizeof header);
        spill->list[number].live--;
        spill->moved += space;
    }
    return spill->list[number].live ? iso_spill_altered(spill, error) : ISO_OK;
}

/* The segment with the least share of living records. */
static uint32_t emptiest(const struct iso_spill *spill)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < spill->segments; i++) {
        const struct segment *segment = &spill->list[i], *best = &spill->list[found == UINT32_MAX ? i : found];
        bool better = (uint64_t)segment->live * best->records <= (uint64_t)best->live * segment->records;
        if (i != spill->active && segment->records && better)
            found = i;
    }
    return found;
}

static enum iso_status clean_segment(struct iso_spill *spill, uint32_t number, struct iso_error *error)
{
    if (spill->list[number].live && (read_at(spill, spill->victim, SEGMENT, (uint64_t)number * SEGMENT, error) ||
                                     move_living(spill, number, error)))
        return ISO_FAILED;
    spill->records -= spill->list[number].records;
    spill->list[number].records = 0;
    spill->free[spill->free_count++] = number;
    return ISO_OK;
}

/* Frees segments while there is more garbage than what lives. */
static enum iso_status clean(struct iso_spill *spill, struct iso_error *error)
{
    enum iso_status status = ISO_OK;
    spill->cleaning = true;
    if (!spill->victim)
        spill->victim = iso_allocate(SEGMENT);
    while (status == ISO_OK && spill->records > 2 * spill->table.used + SLACK)
        status = clean_segment(spill, emptiest(spill), error);
    spill->cleaning = false;
    return status;
}

/* ---- what callers see ---- */

enum iso_status iso_spill_put(struct iso_spill *spill, uint64_t digest, bool replaces, const void *record,
                              uint32_t size, struct iso_error *error)
{
    struct header header = {.size = size, .check = check_of(digest, record, size), .digest = digest};
    struct spill_slot *slot = NULL;
    assert(size <= ISO_SPILL_MOST);
    if (make_room(spill, space_of(size), error) != ISO_OK ||
        (replaces && find(spill, digest, true, &slot, error) != ISO_OK))
        return ISO_FAILED;
    assert(!replaces || slot);
    uint32_t place = append(spill, &header, record);
    if (slot) {
        spill->list[offset_of(slot) / SEGMENT].live--;
        slot->place = place;
    } else {
        spill_table_add(&spill->table, digest, place);
    }
    return ISO_OK;
}

enum iso_status iso_spill_get(struct iso_spill *spill, uint64_t digest, const uint8_t **record, uint32_t *size,
                              struct iso_error *error)
{
    struct spill_slot *slot;
    struct header header;
    *record = NULL;
    if (find(spill, digest, false, &slot, error) != ISO_OK)
        return ISO_FAILED;
    if (!slot)
        return ISO_OK;
    memcpy(&header, spill->found, sizeof header);
    *record = spill->found + sizeof header;
    *size = header.size;
    return ISO_OK;
}

void iso_spill_fetch(const struct iso_spill *spill, uint64_t digest)
{
    __builtin_prefetch(spill_table_home(&spill->table, digest), 1);
}

enum iso_status iso_spill_remove(struct iso_spill *spill, uint64_t digest, struct iso_error *error)
{
    struct spill_slot *slot;
    if (find(spill, digest, true, &slot, error) != ISO_OK)
        return ISO_FAILED;
    assert(slot);
    spill->list[offset_of(slot) / SEGMENT].live--;
    spill_table_remove(&spill->table, digest, slot);
    return ISO_OK;
}

void iso_spill_stats(const struct iso_spill *spill, struct iso_spill_stats *stats)
{
    stats->records += spill->table.used;
    stats->disk += (uint64_t)spill->segments * SEGMENT;
    stats->read += spill->read;
    stats->written += spill->written;
    stats->moved += spill->moved;
    stats->memory += spill_table_bytes(&spill->table) + 2 * SEGMENT + ISO_SPILL_MOST +
                     (uint64_t)spill->segments * (sizeof *spill->list + sizeof *spill->free);
}
