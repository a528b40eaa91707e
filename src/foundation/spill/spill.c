#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/memory.h"
#include "spill/spill_private.h"

enum { FIRST_READ = 512 }; /* as much as nearly every record has */

/* ---- opening ---- */

static void widen_stack(struct spill_stack *stack, uint32_t capacity)
{
    stack->list = iso_reallocate(stack->list, capacity * sizeof *stack->list);
}

void spill_widen_list(struct iso_spill *spill, uint32_t capacity)
{
    spill->segment_capacity = capacity;
    spill->list = iso_reallocate(spill->list, capacity * sizeof *spill->list);
    widen_stack(&spill->free, capacity);
    widen_stack(&spill->freed, capacity);
    widen_stack(&spill->waiting, capacity);
}

static void take_segment(struct iso_spill *spill)
{
    if (spill->free.count) {
        spill->active = spill->free.list[--spill->free.count];
    } else {
        if (spill->segments == spill->segment_capacity)
            spill_widen_list(spill, spill->segment_capacity ? spill->segment_capacity * 2 : 64);
        spill->active = spill->segments++;
    }
    spill->list[spill->active] =
        (struct spill_segment){.serial = spill->serial++, .order = spill->order++};
    spill->filled = 0;
}

void spill_allocate_buffers(struct iso_spill *spill)
{
    spill->buffer = iso_allocate(spill->segment);
    spill->found = iso_allocate(sizeof(struct spill_header) + ISO_SPILL_MOST);
}

/* Where the serial numbers of this process begin: two that go on from one archive must not count
 * alike. */
static uint64_t first_serial(void)
{
    uint64_t serial;
    struct timespec now;
    if (getrandom(&serial, sizeof serial, GRND_NONBLOCK) == sizeof serial)
        return serial;
    clock_gettime(CLOCK_REALTIME, &now); /* early in the machine's life */
    return ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec) * 0x9e3779b97f4a7c15u;
}

enum iso_status iso_spill_open(const struct iso_spill_options *options, struct iso_spill **opened,
                               struct iso_error *error)
{
    struct iso_spill *spill = iso_allocate_zeroed(1, sizeof *spill);
    assert(!options->segment_bits || spill_is_segment(1u << options->segment_bits));
    size_t length = strlen(options->folder),
           room = length + (options->name ? strlen(options->name) : 0) + 2;
    spill->options = *options;
    spill->file = -1;
    spill->serial = first_serial();
    spill_table_init(&spill->table);
    spill->segment = 1u << (options->segment_bits ? options->segment_bits : SPILL_BITS);
    spill->options.folder = iso_copy_text(options->folder, length);
    spill->options.name =
        options->name ? iso_copy_text(options->name, strlen(options->name)) : NULL;
    spill->path = iso_allocate(room);
    snprintf(spill->path, room, "%s%s%s", options->folder, options->name ? "/" : "",
             options->name ? options->name : "");
    if (!options->name && spill_make_unnamed(spill, error) != ISO_OK) {
        iso_spill_free(spill);
        return ISO_FAILED;
    }
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
    ISO_FREE_ALL(spill->list, spill->free.list, spill->freed.list, spill->waiting.list,
                 spill->buffer, spill->found, spill->victim, spill->path,
                 (char *)spill->options.folder, (char *)spill->options.name, spill);
}

/* ---- records ---- */

uint32_t spill_check_of(uint64_t serial, uint32_t within, uint64_t digest, const void *record,
                        uint32_t size)
{
    /* the first factor keeps apart a position further on and a later serial number */
    uint64_t seed = (serial * 0xbf58476d1ce4e5b9u + within) * 0x9e3779b97f4a7c15u ^ digest;
    return (uint32_t)XXH3_64bits_withSeed(record, size, seed + size);
}

bool spill_is_record(const uint8_t *segment, uint32_t bytes, uint32_t within, uint64_t serial,
                     struct spill_header *header)
{
    if (within + sizeof *header > bytes)
        return false;
    memcpy(header, segment + within, sizeof *header);
    return header->size <= ISO_SPILL_MOST && spill_space_of(header->size) <= bytes - within &&
           spill_check_of(serial, within, header->digest, segment + within + sizeof *header,
                          header->size) == header->check;
}

enum iso_status iso_spill_altered(const struct iso_spill *spill, struct iso_error *error)
{
    errno = EBADMSG;
    return spill_failed(spill, error, "does not contain what was written to it");
}

/* Reads the record of a slot into `found`, header and all, and checks it. */
static enum iso_status fetch_record(struct iso_spill *spill, const struct spill_slot *slot,
                                    struct iso_error *error)
{
    struct spill_header header;
    uint64_t offset = spill_offset_of(slot);
    uint32_t within = (uint32_t)(offset % spill->segment), most = spill->segment - within;
    uint32_t first = most < FIRST_READ ? most : FIRST_READ;
    bool buffered = offset / spill->segment == spill->active;
    if (buffered)
        memcpy(spill->found, spill->buffer + within, first);
    else if (spill_read(spill, spill->found, first, offset, error) != ISO_OK)
        return ISO_FAILED;
    memcpy(&header, spill->found, sizeof header);
    if (header.size > ISO_SPILL_MOST || spill_space_of(header.size) > most)
        return iso_spill_altered(spill, error);
    uint32_t all = (uint32_t)sizeof header + header.size;
    if (all > first && buffered)
        memcpy(spill->found + first, spill->buffer + within + first, all - first);
    else if (all > first &&
             spill_read(spill, spill->found + first, all - first, offset + first, error) != ISO_OK)
        return ISO_FAILED;
    uint64_t serial = spill->list[offset / spill->segment].serial;
    if (spill_check_of(serial, within, header.digest, spill->found + sizeof header, header.size) !=
        header.check)
        return iso_spill_altered(spill, error);
    return ISO_OK;
}

/* The slot of a digest, or NULL; its record is in `found` then. Where it is certain (`known`) that
 * there is one and only one fits, none is read. */
static enum iso_status find_record(struct iso_spill *spill, uint64_t digest, bool known,
                                   struct spill_slot **slot, struct iso_error *error)
{
    struct spill_header header;
    *slot = spill_table_next(&spill->table, digest, NULL);
    if (known && *slot && !spill_table_next(&spill->table, digest, *slot))
        return ISO_OK;
    for (; *slot; *slot = spill_table_next(&spill->table, digest, *slot)) {
        if (fetch_record(spill, *slot, error) != ISO_OK)
            return ISO_FAILED;
        memcpy(&header, spill->found, sizeof header);
        if (header.digest == digest)
            break;
    }
    return ISO_OK;
}

/* ---- the log ---- */

static enum iso_status clean_segments(struct iso_spill *spill, struct iso_error *error);

/* Room for `space` bytes at the end of the log. What cleaning moves there may fill a segment once
 * more. */
static enum iso_status make_room(struct iso_spill *spill, uint32_t space, struct iso_error *error)
{
    while (spill->filled + space > spill->segment) {
        if (spill_write_segment(spill, error) != ISO_OK)
            return ISO_FAILED;
        take_segment(spill);
        if ((uint64_t)(spill->active + 2) * (spill->segment / SPILL_UNIT) >
            UINT32_MAX) { /* positions number units */
            errno = EFBIG;
            return spill_failed(spill, error, "is full");
        }
        if (!spill->cleaning && clean_segments(spill, error) != ISO_OK)
            return ISO_FAILED;
    }
    return ISO_OK;
}

/* Counts expiring bytes of the record that is put. Bytes that have expired already would never
 * be cut: they count as needed. */
static void add_expiring(const struct iso_spill *spill, struct spill_segment *segment,
                         const struct iso_spill_record *record, uint32_t space)
{
    if (!record->expiring || record->until < spill->floor || !spill->options.cut)
        return;
    segment->expiring += record->expiring < record->size
                             ? space - spill_space_of(record->size - record->expiring)
                             : space;
    segment->until = record->until > segment->until ? record->until : segment->until;
}

/* Adds a record for which there is room; says where it is. */
static uint32_t append_record(struct iso_spill *spill, uint64_t digest,
                              const struct iso_spill_record *record)
{
    assert(spill->filled + spill_space_of(record->size) <= spill->segment);
    struct spill_segment *segment = &spill->list[spill->active];
    uint32_t size = record->size;
    struct spill_header header = {.size = size, .digest = digest};
    uint8_t *at = spill->buffer + spill->filled;
    uint32_t space = spill_space_of(size),
             position = (uint32_t)((uint64_t)spill->active * (spill->segment / SPILL_UNIT));
    position += spill->filled / SPILL_UNIT + 1;
    header.check = spill_check_of(segment->serial, spill->filled, digest, record->bytes, size);
    memcpy(at, &header, sizeof header);
    memcpy(at + sizeof header, record->bytes, size);
    memset(at + sizeof header + size, 0, space - sizeof header - size);
    spill->filled += space;
    segment->used = spill->filled;
    add_expiring(spill, segment, record, space);
    segment->records++;
    segment->live++;
    return position;
}

static struct spill_slot *slot_at(struct iso_spill *spill, uint64_t digest, uint32_t position)
{
    struct spill_slot *slot = spill_table_next(&spill->table, digest, NULL);
    while (slot && slot->position != position)
        slot = spill_table_next(&spill->table, digest, slot);
    return slot;
}

/* Moves what is left of a living record to the end of the log. */
static enum iso_status move_record(struct iso_spill *spill, struct spill_slot *slot,
                                   uint64_t digest, struct iso_spill_record *record,
                                   struct iso_error *error)
{
    uint32_t size = record->size, number = (uint32_t)(spill_offset_of(slot) / spill->segment);
    if (spill->list[number].expiring && spill->options.cut)
        spill->options.cut(spill->options.owner, record);
    assert(record->size <= size);
    spill->cut += record->size < size;
    if (make_room(spill, spill_space_of(record->size), error) != ISO_OK)
        return ISO_FAILED;
    spill->list[number].live--;
    if (size && !record->size) {
        spill_table_remove(&spill->table, digest, slot);
        return ISO_OK;
    }
    slot->position = append_record(spill, digest, record);
    spill->moved += spill_space_of(record->size);
    return ISO_OK;
}

/* Moves all living records of a segment to the end of the log. */
static enum iso_status move_living(struct iso_spill *spill, uint32_t number,
                                   struct iso_error *error)
{
    struct spill_header header;
    uint32_t first = (uint32_t)((uint64_t)number * (spill->segment / SPILL_UNIT)) + 1, space;
    for (uint32_t at = 0; spill->list[number].live && at + sizeof header <= spill->segment;
         at += space) {
        if (!spill_is_record(spill->victim, spill->segment, at, spill->list[number].serial,
                             &header))
            return iso_spill_altered(spill, error);
        space = spill_space_of(header.size);
        struct spill_slot *slot = slot_at(spill, header.digest, first + at / SPILL_UNIT);
        if (!slot)
            continue;
        struct iso_spill_record record = {.bytes = spill->victim + at + sizeof header,
                                          .size = header.size};
        if (move_record(spill, slot, header.digest, &record, error) != ISO_OK)
            return ISO_FAILED;
    }
    return spill->list[number].live ? iso_spill_altered(spill, error) : ISO_OK;
}

/* Counts over all segments. */
struct survey {
    uint64_t used, living; /* bytes */
    uint32_t emptiest; /* the segment with the least share of living bytes, the oldest of such; or
                          none */
    uint64_t emptiest_living; /* its own */
};

static struct survey survey_segments(const struct iso_spill *spill)
{
    struct survey survey = {.emptiest = UINT32_MAX};
    const struct spill_segment *best = NULL;
    for (uint32_t i = 0; i < spill->segments; i++) {
        const struct spill_segment *segment = &spill->list[i];
        if (!segment->records)
            continue;
        uint64_t living = spill_living_of(segment, spill->floor);
        survey.used += segment->used;
        survey.living += living;
        uint64_t own = best ? living * best->used : 0,
                 others = best ? survey.emptiest_living * segment->used : 0;
        if (i == spill->active ||
            (best && (own > others || (own == others && segment->order > best->order))))
            continue;
        best = segment;
        survey.emptiest = i;
        survey.emptiest_living = living;
    }
    return survey;
}

static enum iso_status clean_segment(struct iso_spill *spill, uint32_t number,
                                     struct iso_error *error)
{
    if (spill->list[number].live && (spill_read(spill, spill->victim, spill->segment,
                                                (uint64_t)number * spill->segment, error) ||
                                     move_living(spill, number, error)))
        return ISO_FAILED;
    spill->list[number].records = 0;
    struct spill_stack *stack = spill->options.name ? &spill->freed : &spill->free;
    assert(stack->count < spill->segments);
    stack->list[stack->count++] = number;
    return ISO_OK;
}

/* Frees segments while there is more garbage than what lives, and than some segments hold. What is
 * moved has its own sums then, so that this ends even if more lives in a segment than its share
 * said. */
static enum iso_status clean_segments(struct iso_spill *spill, struct iso_error *error)
{
    enum iso_status status = ISO_OK;
    struct survey seen = survey_segments(spill);
    spill->cleaning = true;
    if (!spill->victim)
        spill->victim = iso_allocate(spill->segment);
    while (status == ISO_OK && seen.emptiest != UINT32_MAX &&
           seen.used > 2 * seen.living + (uint64_t)SPILL_SLACK * spill->segment) {
        status = clean_segment(spill, seen.emptiest, error);
        seen = survey_segments(spill);
    }
    spill->used = seen.used;
    spill->living = seen.living;
    spill->cleaning = false;
    return status;
}

/* ---- what callers see ---- */

uint32_t iso_spill_most(const struct iso_spill *spill)
{
    return spill->segment / 4;
}

enum iso_status iso_spill_put(struct iso_spill *spill, uint64_t digest, bool replaces,
                              const struct iso_spill_record *record, struct iso_error *error)
{
    struct spill_slot *slot = NULL;
    assert(record->size <= iso_spill_most(spill) && record->expiring <= record->size);
    if (!spill->buffer) {
        spill_allocate_buffers(spill);
        take_segment(spill);
    }
    if (make_room(spill, spill_space_of(record->size), error) != ISO_OK ||
        (replaces && find_record(spill, digest, true, &slot, error) != ISO_OK))
        return ISO_FAILED;
    assert(!replaces || slot);
    uint32_t position = append_record(spill, digest, record);
    if (slot) {
        spill->list[spill_offset_of(slot) / spill->segment].live--;
        slot->position = position;
    } else {
        spill_table_add(&spill->table, digest, position);
    }
    spill_validate(spill);
    return ISO_OK;
}

enum iso_status iso_spill_get(struct iso_spill *spill, uint64_t digest, const uint8_t **record,
                              uint32_t *size, struct iso_error *error)
{
    struct spill_slot *slot;
    struct spill_header header;
    *record = NULL;
    if (find_record(spill, digest, false, &slot, error) != ISO_OK)
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
    if (find_record(spill, digest, true, &slot, error) != ISO_OK)
        return ISO_FAILED;
    assert(slot);
    assert(spill->list[spill_offset_of(slot) / spill->segment].live);
    spill->list[spill_offset_of(slot) / spill->segment].live--;
    spill_table_remove(&spill->table, digest, slot);
    spill_validate(spill);
    return ISO_OK;
}

void iso_spill_advance(struct iso_spill *spill, uint64_t floor)
{
    spill->floor = floor > spill->floor ? floor : spill->floor;
}

void iso_spill_stats(const struct iso_spill *spill, struct iso_spill_stats *stats)
{
    stats->used += spill->used;
    stats->living += spill->living;
    stats->cut += spill->cut;
    stats->records += spill->table.used;
    stats->disk += (uint64_t)spill->segments * spill->segment;
    stats->archived += (uint64_t)(spill->freed.count + spill->waiting.count) * spill->segment;
    stats->read += spill->read;
    stats->written += spill->written;
    stats->moved += spill->moved;
    stats->memory += spill_table_bytes(&spill->table);
}
