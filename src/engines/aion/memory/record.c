#include "aion/memory/record_private.h"

#include <assert.h>

#include "base/memory.h"

/* ---- writing ---- */

void aion_bytes_widen(struct aion_bytes *record, size_t bytes)
{
    record->capacity = (record->size + bytes) * 2;
    record->bytes = iso_reallocate(record->bytes, record->capacity);
}

/* The difference of two numbers that are mostly near. */
static void put_near(struct aion_bytes *record, uint64_t number, uint64_t other)
{
    int64_t difference = (int64_t)(number - other);
    put(record, (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63));
}

/* The low bits of an atom's first number say how it is written. */
enum { SMALL, TEXT, UNSIGNED, NEGATIVE, ABSENT, KINDS = 8 };

void aion_put_atom(struct aion_bytes *record, const struct iso_atoms *atoms, iso_atom atom)
{
    uint32_t index = atom & ~ISO_ATOM_TABLE;
    if (atom == ISO_ABSENT) {
        put(record, ABSENT);
    } else if (!(atom & ISO_ATOM_TABLE)) {
        put(record, (uint64_t)atom * KINDS + SMALL);
    } else if (atoms->entries[index].form >= ISO_FORM_NEGATIVE) {
        put(record, atoms->entries[index].form == ISO_FORM_NEGATIVE ? NEGATIVE : UNSIGNED);
        put(record, atoms->entries[index].payload);
    } else {
        put(record, (uint64_t)atoms->entries[index].form * KINDS + TEXT);
        put_bytes(record, atoms->text + atoms->entries[index].payload, atoms->entries[index].form);
    }
}

static void put_list(const struct iso_aion_shard *shard, struct aion_bytes *record, uint32_t value)
{
    const struct aion_list *list = value == ISO_ABSENT ? NULL : aion_pool_at(&shard->pool, value);
    put(record, list ? list->count : 0);
    for (uint32_t i = 0; list && i < list->count; i++)
        aion_put_atom(record, &shard->values.atoms, list->elements[i]);
}

/* How many bytes of it stay when it expires: elements of a list. */
static size_t put_entry(const struct iso_aion_shard *shard, struct aion_bytes *record,
                        const struct aion_entry *entry, bool list)
{
    size_t stays = 0;
    const struct aion_transaction *transaction = &shard->transactions.list[entry->transaction];
    put(record, entry->time);
    put_near(record, entry->time, entry->start);
    put(record, entry->detail);
    put(record, entry->operation);
    if (list) {
        stays = record->size;
        put_list(shard, record, entry->value);
        stays = record->size - stays;
    } else {
        aion_put_atom(record, &shard->values.atoms, entry->value);
    }
    aion_put_atom(record, &shard->values.atoms, transaction->tid);
    put_near(record, entry->time, transaction->sts);
    put_near(record, entry->time, transaction->cts);
    put(record, transaction->origin);
    put(record, transaction->flags);
    return stays;
}

static void put_versions(const struct iso_aion_shard *shard, const struct aion_key *key,
                         struct aion_bytes *bytes, struct iso_spill_record *record)
{
    bool list = aion_key_is_list(key);
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *entry;
    put(bytes, key->versions.count);
    for (size_t last = bytes->size, stays = 0;
         (entry = aion_chunks_get(&shard->pool, &key->versions, cursor));
         aion_chunks_next(&shard->pool, &key->versions, &cursor)) {
        if (entry->time < shard->time.passed && bytes->size > last)
            note_expiring(record, bytes->size - last - stays, entry->time);
        last = bytes->size;
        stays = put_entry(shard, bytes, entry, list);
    }
}

static void put_nonversions(const struct iso_aion_shard *shard, struct aion_bytes *bytes,
                            const struct aion_sorted_chunks *nonversions,
                            struct iso_spill_record *record)
{
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *entry;
    put(bytes, nonversions->count);
    for (; (entry = aion_chunks_get(&shard->pool, nonversions, cursor));
         aion_chunks_next(&shard->pool, nonversions, &cursor)) {
        size_t first = bytes->size;
        put_entry(shard, bytes, entry, false);
        if (entry->time < shard->time.passed)
            note_expiring(record, bytes->size - first, entry->time);
    }
}

/* The segments in the spill file: not the versions in them. */
static void put_pages(const struct iso_aion_shard *shard, const struct aion_key *key,
                      struct aion_bytes *bytes, struct iso_spill_record *record)
{
    const struct aion_sorted_chunks *pages = &shard->cold.list[key->cold].pages;
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *cut, *behind = aion_chunks_get(&shard->pool, &key->versions, cursor);
    size_t first = bytes->size;
    put(bytes, pages->count);
    for (; (cut = aion_chunks_get(&shard->pool, pages, cursor));
         aion_chunks_next(&shard->pool, pages, &cursor)) {
        put(bytes, cut->time);
        put(bytes, cut->detail);
    }
    if (pages->count && behind->time < shard->time.passed)
        note_expiring(record, bytes->size - first, behind->time);
}

struct iso_spill_record aion_record_write(const struct iso_aion_shard *shard,
                                          const struct aion_key *key, struct aion_bytes *bytes)
{
    assert(!key->reads.count);
    const struct aion_cold *cold = key->cold ? &shard->cold.list[key->cold] : NULL;
    struct iso_spill_record record = {0};
    bytes->size = 0;
    aion_put_atom(bytes, &shard->values.atoms, key->atom);
    put(bytes, (key->flags & KEPT) | (cold ? COLD | (uint64_t)cold->listed << LISTED : 0));
    put(bytes, key->span);
    if (cold) {
        aion_put_atom(bytes, &shard->values.atoms, cold->initial);
        put_list(shard, bytes, cold->base);
        put_nonversions(shard, bytes, &cold->nonversions, &record);
        put_pages(shard, key, bytes, &record);
        put(bytes, cold->aged);
    }
    put_versions(shard, key, bytes, &record);
    record.bytes = bytes->bytes;
    record.size = (uint32_t)bytes->size;
    return record;
}

struct iso_spill_record aion_segment_write(const struct iso_aion_shard *shard,
                                           const struct aion_key *key, uint32_t serial,
                                           const struct aion_entry *versions, uint32_t count,
                                           uint64_t behind, struct aion_bytes *bytes)
{
    assert(count && versions[count - 1].time <= behind);
    bytes->size = 0;
    aion_put_atom(bytes, &shard->values.atoms, key->atom);
    put(bytes, SEGMENT);
    put(bytes, serial);
    put(bytes, behind);
    put(bytes, count);
    for (uint32_t i = 0; i < count; i++)
        put_entry(shard, bytes, &versions[i], false);
    return (struct iso_spill_record){bytes->bytes, (uint32_t)bytes->size, (uint32_t)bytes->size,
                                     behind};
}

/* ---- reading ---- */

static uint64_t take_near(struct cursor *cursor, uint64_t other)
{
    return other - (uint64_t)iso_varint_signed(take(cursor));
}

/* The parts of an atom, as struct iso_atoms has them; false: it is a small number or absent,
 * `*atom`. */
static bool take_parts(struct cursor *cursor, iso_atom *atom, uint32_t *form, uint64_t *payload,
                       const char **text)
{
    uint64_t first = take(cursor), rest = first / KINDS;
    *atom = first % KINDS == SMALL ? (iso_atom)rest : ISO_ABSENT;
    *form = first % KINDS == NEGATIVE ? ISO_FORM_NEGATIVE : ISO_FORM_UNSIGNED;
    *text = NULL;
    if (first % KINDS == UNSIGNED || first % KINDS == NEGATIVE) {
        *payload = take(cursor);
        return cursor->at;
    }
    if (first % KINDS == TEXT && cursor->at && rest <= (uint64_t)(cursor->end - cursor->at)) {
        *text = (const char *)cursor->at;
        *form = (uint32_t)rest;
        *payload = 0;
        cursor->at += rest;
        return true;
    }
    if (first % KINDS == TEXT || first % KINDS > ABSENT ||
        (first % KINDS == SMALL && rest >= ISO_ATOM_TABLE))
        cursor->at = NULL;
    return false;
}

static uint32_t take_atom(struct cursor *cursor)
{
    iso_atom atom;
    uint32_t form;
    uint64_t payload;
    const char *text;
    if (take_parts(cursor, &atom, &form, &payload, &text))
        return aion_values_enter_text(&cursor->shard->values, form, payload, text);
    return cursor->at ? atom : ISO_ABSENT;
}

static uint32_t take_list(struct cursor *cursor)
{
    uint32_t count = take_count(cursor, 1), value = ISO_ABSENT;
    uint32_t *elements = count ? iso_allocate(count * sizeof *elements) : NULL;
    for (uint32_t i = 0; i < count; i++)
        elements[i] = take_atom(cursor);
    if (count)
        value = aion_list_new(cursor->shard, &cursor->shard->values.atoms, elements, count, 0);
    iso_free(elements);
    return value;
}

static struct aion_entry take_entry(struct cursor *cursor, bool list)
{
    struct aion_transaction transaction = {.references = 1};
    struct aion_entry entry = {.time = take(cursor)};
    entry.start = take_near(cursor, entry.time);
    entry.detail = (uint32_t)take(cursor);
    entry.operation = (uint32_t)take(cursor);
    entry.value = list ? take_list(cursor) : take_atom(cursor);
    transaction.tid = take_atom(cursor);
    transaction.sts = take_near(cursor, entry.time);
    transaction.cts = take_near(cursor, entry.time);
    transaction.origin = take(cursor);
    transaction.flags = (uint32_t)take(cursor);
    entry.transaction = aion_transaction_add(cursor->shard, &transaction);
    return entry;
}

/* The record is refused where `entry` is earlier than the last one: they were written in order. */
static void append(struct cursor *cursor, struct aion_sorted_chunks *sorted_chunks,
                   const struct aion_entry *entry)
{
    struct aion_pool *pool = &cursor->shard->pool;
    if (sorted_chunks->count && aion_chunks_last(pool, sorted_chunks)->time > entry->time)
        cursor->at = NULL;
    else
        aion_chunks_insert(pool, sorted_chunks, aion_chunks_end(pool, sorted_chunks), entry);
}

static void take_sorted_chunks(struct cursor *cursor, struct aion_sorted_chunks *sorted_chunks,
                               bool list)
{
    for (uint32_t left = take_count(cursor, ENTRY_LEAST); left && cursor->at; left--) {
        struct aion_entry entry = take_entry(cursor, list);
        append(cursor, sorted_chunks, &entry);
    }
}

static void take_pages(struct cursor *cursor, struct aion_sorted_chunks *pages)
{
    for (uint32_t left = take_count(cursor, 2); left && cursor->at; left--) {
        struct aion_entry cut = {.time = take(cursor)};
        cut.start = cut.time;
        cut.detail = (uint32_t)take(cursor);
        append(cursor, pages, &cut);
    }
}

static void take_cold(struct cursor *cursor, struct aion_key *key, uint32_t listed)
{
    struct iso_aion_shard *shard = cursor->shard;
    struct aion_sorted_chunks nonversions = {0}, pages = {0};
    uint32_t initial = take_atom(cursor), base = take_list(cursor);
    take_sorted_chunks(cursor, &nonversions, false);
    take_pages(cursor, &pages);
    uint64_t aged = take(cursor);
    struct aion_cold *cold = aion_cold_of(shard, key);
    cold->initial = initial;
    cold->base = base;
    cold->nonversions = nonversions;
    cold->pages = pages;
    cold->listed = listed;
    cold->aged = aged;
    if (initial == shard->keys.initial)
        aion_values_drop(&shard->values, initial); /* not the key's own */
}

bool aion_record_read(struct iso_aion_shard *shard, struct aion_key *key, const uint8_t *record,
                      uint32_t size)
{
    assert(!key->versions.count && !key->reads.count);
    struct cursor cursor = {shard, record, record + size};
    iso_atom name;
    uint32_t form;
    uint64_t payload;
    const char *text;
    take_parts(&cursor, &name, &form, &payload, &text);
    uint64_t flags = take(&cursor);
    if (flags & SEGMENT)
        return false;
    key->flags |= flags & KEPT;
    key->span = take(&cursor);
    if (flags & COLD)
        take_cold(&cursor, key, (uint32_t)(flags >> LISTED));
    bool list = aion_key_is_list(key);
    take_sorted_chunks(&cursor, &key->versions, list);
    shard->stats.versions += key->versions.count;
    key->newest_value = list        ? ISO_ABSENT
                        : key->cold ? shard->cold.list[key->cold].initial
                                    : shard->keys.initial;
    if (key->versions.count) {
        const struct aion_entry *newest = aion_chunks_last(&shard->pool, &key->versions);
        key->newest_time = newest->time;
        key->newest_value = newest->value;
    } else if (key->cold && shard->cold.list[key->cold].pages.count) {
        return false; /* versions behind the segments are never stored with them */
    }
    return cursor.at == cursor.end;
}

bool aion_take_same(struct cursor *cursor, const struct iso_atoms *atoms, iso_atom other)
{
    iso_atom atom;
    uint32_t form, index = other & ~ISO_ATOM_TABLE;
    uint64_t payload;
    const char *text;
    if (!take_parts(cursor, &atom, &form, &payload, &text))
        return cursor->at && atom == other;
    if (!aion_value_is_entry(other) || atoms->entries[index].form != form)
        return false;
    return text ? memcmp(text, atoms->text + atoms->entries[index].payload, form) == 0
                : atoms->entries[index].payload == payload;
}

bool aion_record_is_of(const uint8_t *record, uint32_t size, const struct iso_atoms *atoms,
                       iso_atom name)
{
    struct cursor cursor = {NULL, record, record + size};
    return aion_take_same(&cursor, atoms, name);
}

/* ---- segments ---- */

bool aion_segment_read(struct iso_aion_shard *shard, const struct aion_key *key, uint32_t serial,
                       const uint8_t *record, uint32_t size,
                       struct aion_sorted_chunks *sorted_chunks)
{
    struct cursor cursor = {shard, record, record + size};
    if (!aion_take_same(&cursor, &shard->values.atoms, key->atom) || take(&cursor) != SEGMENT ||
        take(&cursor) != serial)
        return false;
    take(&cursor); /* the time behind */
    take_sorted_chunks(&cursor, sorted_chunks, false);
    return cursor.at == cursor.end;
}

bool aion_segment_agrees(const uint8_t *record, uint32_t size, uint64_t visible_below,
                         const struct iso_atoms *atoms, iso_atom value)
{
    struct cursor cursor = {NULL, record, record + size};
    bool agrees = false;
    pass_atom(&cursor);         /* the name */
    for (int i = 0; i < 3; i++) /* the flag, the serial number, the time behind */
        take(&cursor);
    for (uint64_t left = take(&cursor); left && cursor.at; left--) {
        if (take(&cursor) >= visible_below)
            break;
        for (int i = 0; i < 3; i++) /* start, detail, operation */
            take(&cursor);
        agrees = aion_take_same(&cursor, atoms, value);
        pass_atom(&cursor); /* tid */
        for (int i = 0; i < 4; i++)
            take(&cursor);
    }
    return agrees && cursor.at;
}
