/* Cutting a record in the spill file to what the floor leaves of it: parts of its bytes are copied,
 * nothing is entered.
 *
 * What goes is what would go if the key were in memory: of versions those before the newest below
 * the floor (trim.c), of a list their elements stay, as part of its base; non-version writes below
 * it; segments (paging.c) behind which a version below it stands. Where that would not make the
 * record shorter, it stays as it is.
 */
#include <assert.h>

#include "aion/memory/record_private.h"

/* A run or a row of segments: what is left of it begins at `kept`. */
struct stretch {
    uint32_t count, gone;
    const uint8_t *first, *kept, *end;
};

/* A record of a key, taken apart. */
struct parts {
    struct cursor cursor;
    uint64_t floor, passed;
    bool list;
    uint64_t flags;
    const uint8_t *name_end, *span, *span_end,
        *elements; /* `elements`: of the base, to `base_end` */
    const uint8_t *base_end;
    const uint8_t *initial, *initial_end;
    uint32_t base_count;
    struct stretch nonversions, pages, versions;
    uint64_t aged;
};

/* Where an entry's parts begin. */
struct entry {
    uint64_t time;
    uint32_t count; /* a list's elements */
    const uint8_t *first, *value, *elements, *behind, *end;
};

static uint32_t pass_list(struct cursor *cursor, const uint8_t **elements)
{
    uint32_t count = take_count(cursor, 1);
    *elements = cursor->at;
    for (uint32_t i = 0; i < count; i++)
        pass_atom(cursor);
    return count;
}

static struct entry take_entry(struct cursor *cursor, bool list)
{
    struct entry entry = {.first = cursor->at};
    entry.time = take(cursor);
    for (int i = 0; i < 3; i++) /* start, detail, operation */
        take(cursor);
    entry.value = cursor->at;
    if (list)
        entry.count = pass_list(cursor, &entry.elements);
    else
        pass_atom(cursor);
    entry.behind = cursor->at;
    pass_atom(cursor); /* tid */
    for (int i = 0; i < 4; i++)
        take(cursor);
    entry.end = cursor->at;
    return entry;
}

/* ---- taking apart ---- */

static void take_nonversions(struct parts *parts, struct iso_spill_record *record)
{
    struct stretch *nonversions = &parts->nonversions;
    nonversions->count = take_count(&parts->cursor, ENTRY_LEAST);
    nonversions->first = nonversions->kept = parts->cursor.at;
    for (uint32_t i = 0; i < nonversions->count && parts->cursor.at; i++) {
        struct entry nonversion = take_entry(&parts->cursor, false);
        if (nonversion.time < parts->floor) {
            nonversions->gone = i + 1;
            nonversions->kept = nonversion.end;
        } else if (nonversion.time < parts->passed) {
            note_expiring(record, (size_t)(nonversion.end - nonversion.first), nonversion.time);
        }
    }
    nonversions->end = parts->cursor.at;
}

/* A segment goes if the next one begins below the floor; of the last, its key's first version
 * decides. */
static void take_pages(struct parts *parts)
{
    struct stretch *pages = &parts->pages;
    pages->count = take_count(&parts->cursor, 2);
    pages->first = pages->kept = parts->cursor.at;
    for (uint32_t i = 0; i < pages->count && parts->cursor.at; i++) {
        const uint8_t *first = parts->cursor.at;
        if (take(&parts->cursor) < parts->floor) {
            pages->gone = i;
            pages->kept = first;
        }
        take(&parts->cursor);
    }
    pages->end = parts->cursor.at;
}

static void end_pages(struct parts *parts, uint64_t behind, struct iso_spill_record *record)
{
    struct stretch *pages = &parts->pages;
    if (pages->count && behind < parts->floor) {
        pages->gone = pages->count;
        pages->kept = pages->end;
    } else if (pages->count && behind < parts->passed) {
        note_expiring(record, (size_t)(pages->end - pages->kept), behind);
    }
}

/* `gone`: the versions before the newest below the floor. */
static void take_versions(struct parts *parts, struct iso_spill_record *record)
{
    struct stretch *versions = &parts->versions;
    size_t expiring = 0; /* of the one before, unless its elements go to the base now */
    versions->count = take_count(&parts->cursor, ENTRY_LEAST);
    versions->first = versions->kept = parts->cursor.at;
    for (uint32_t i = 0; i < versions->count && parts->cursor.at; i++) {
        struct entry version = take_entry(&parts->cursor, parts->list);
        if (!i)
            end_pages(parts, version.time, record);
        if (version.time < parts->floor) {
            versions->gone = i;
            versions->kept = version.first;
        } else if (version.time < parts->passed && i) {
            note_expiring(record, expiring, version.time);
        }
        expiring = (size_t)(version.end - version.first);
        if (parts->list)
            expiring -= (size_t)(version.behind - version.value);
    }
    versions->end = parts->cursor.at;
}

static void take_cold(struct parts *parts, struct iso_spill_record *record)
{
    parts->initial = parts->cursor.at;
    pass_atom(&parts->cursor);
    parts->initial_end = parts->cursor.at;
    parts->base_count = pass_list(&parts->cursor, &parts->elements);
    parts->base_end = parts->cursor.at;
    take_nonversions(parts, record);
    take_pages(parts);
    parts->aged = take(&parts->cursor);
}

/* ---- putting together ---- */

static void copy_bytes(struct aion_bytes *bytes, const uint8_t *from, const uint8_t *to)
{
    if (to > from)
        put_bytes(bytes, from, (size_t)(to - from));
}

static void put_stretch(struct aion_bytes *bytes, const struct stretch *stretch)
{
    assert(stretch->gone <= stretch->count && stretch->kept <= stretch->end);
    put(bytes, stretch->count - stretch->gone);
    copy_bytes(bytes, stretch->kept, stretch->end);
}

/* The versions that go, and the one after them, whose elements go to the base too. */
static uint32_t folded(const struct parts *parts)
{
    return parts->list && parts->versions.gone ? parts->versions.gone + 1 : 0;
}

/* The base with the elements of the first versions. */
static void put_base(struct aion_bytes *bytes, const struct parts *parts, uint32_t more)
{
    struct cursor cursor = {NULL, parts->versions.first, parts->versions.end};
    put(bytes, parts->base_count + more);
    copy_bytes(bytes, parts->elements, parts->base_end);
    for (uint32_t left = folded(parts); left; left--) {
        struct entry version = take_entry(&cursor, true);
        copy_bytes(bytes, version.elements, version.behind);
    }
}

static uint32_t folded_elements(const struct parts *parts)
{
    struct cursor cursor = {NULL, parts->versions.first, parts->versions.end};
    uint32_t count = 0;
    for (uint32_t left = folded(parts); left; left--)
        count += take_entry(&cursor, true).count;
    return count;
}

static void put_versions(struct aion_bytes *bytes, const struct parts *parts)
{
    struct cursor cursor = {NULL, parts->versions.kept, parts->versions.end};
    if (!folded(parts)) {
        put_stretch(bytes, &parts->versions);
        return;
    }
    struct entry first = take_entry(&cursor, true);
    put(bytes, parts->versions.count - parts->versions.gone);
    copy_bytes(bytes, first.first, first.value);
    put(bytes, 0); /* elements */
    copy_bytes(bytes, first.behind, parts->versions.end);
}

static void put_parts(const struct iso_aion_shard *shard, const struct parts *parts,
                      const uint8_t *record, struct aion_bytes *bytes)
{
    uint64_t flags = parts->flags;
    uint32_t more = folded_elements(parts);
    bytes->size = 0;
    copy_bytes(bytes, record, parts->name_end);
    if (parts->versions.gone || parts->pages.gone)
        flags |= AION_KEY_DROPPED;
    if (parts->pages.gone == parts->pages.count)
        flags &= ~(uint64_t)AION_KEY_PAGED;
    put(bytes, more ? flags | COLD : flags);
    copy_bytes(bytes, parts->span, parts->span_end);
    if (flags & COLD)
        copy_bytes(bytes, parts->initial, parts->initial_end);
    else if (more)
        aion_put_atom(bytes, &shard->values.atoms, shard->keys.initial);
    if (flags & COLD || more) {
        put_base(bytes, parts, more);
        put_stretch(bytes, &parts->nonversions);
        put_stretch(bytes, &parts->pages);
        put(bytes, parts->aged);
    }
    put_versions(bytes, parts);
}

/* ---- a record ---- */

static bool page_out_segment(const struct iso_aion_shard *shard, struct cursor *cursor,
                             struct iso_spill_record *record)
{
    take(cursor); /* serial number */
    uint64_t behind = take(cursor);
    if (cursor->at && behind < shard->time.floor)
        record->size = 0;
    else if (cursor->at)
        note_expiring(record, record->size, behind);
    return !record->size;
}

bool aion_record_compact(const struct iso_aion_shard *shard, struct iso_spill_record *record,
                         struct aion_bytes *bytes)
{
    const uint8_t *first = record->bytes;
    struct parts parts = {{NULL, first, first + record->size},
                          .floor = shard->time.floor,
                          .passed = shard->time.passed};
    record->expiring = 0;
    record->until = 0;
    pass_atom(&parts.cursor);
    parts.name_end = parts.cursor.at;
    parts.flags = take(&parts.cursor);
    if (parts.flags & SEGMENT)
        return page_out_segment(shard, &parts.cursor, record);
    parts.list = parts.flags & ISO_KEY_LIST;
    parts.span = parts.cursor.at;
    take(&parts.cursor);
    parts.span_end = parts.cursor.at;
    if (parts.flags & COLD)
        take_cold(&parts, record);
    take_versions(&parts, record);
    if (parts.cursor.at !=
        parts.cursor.end) { /* what was put is whole: whoever reads it will report */
        record->expiring = 0;
        return false;
    }
    if (!parts.nonversions.gone && !parts.pages.gone && !parts.versions.gone)
        return false;
    put_parts(shard, &parts, first, bytes);
    if (bytes->size >= record->size) /* the first base of a short list needs more than what goes */
        return false;
    record->bytes = bytes->bytes;
    record->size = (uint32_t)bytes->size;
    return true;
}
