#include "aion/structures/sorted_chunks.h"
#include "base/sorted.h"

#include <assert.h>
#include <string.h>

/* Number of entries tried one by one from the end before a binary search. */
enum { NEAR_END = 2 };

/* A chunk up to this size stays when all its entries go. */
enum { KEPT_SIZE = 3 };

static struct aion_ref *refs_of(const struct aion_pool *pool,
                                const struct aion_sorted_chunks *sorted_chunks)
{
    return aion_pool_at(pool, sorted_chunks->at);
}

static void set_block(struct aion_sorted_chunks *sorted_chunks, uint32_t at, uint32_t chunks,
                      unsigned size)
{
    sorted_chunks->at = at;
    sorted_chunks->chunks = chunks | size << AION_CHUNKS_BITS;
}

struct aion_cursor aion_chunks_end(const struct aion_pool *pool,
                                   const struct aion_sorted_chunks *sorted_chunks)
{
    uint32_t chunks = aion_chunks_chunks(sorted_chunks);
    if (chunks <= 1)
        return (struct aion_cursor){0, sorted_chunks->count};
    return (struct aion_cursor){chunks - 1, refs_of(pool, sorted_chunks)[chunks - 1].count};
}

/* The last chunk that starts below `time`, or the first: the cursor is in it or at its end. */
static uint32_t find_chunk(const struct aion_ref *refs, uint32_t chunks, uint64_t time)
{
    uint32_t low = 0, high = chunks;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (refs[middle].first < time)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The first of `count` entries, with times from about `from` to about `to`, whose time is not below
 * `time`. Times mostly grow evenly: the search starts where `time` would stand then, and widens its
 * steps from there, so that it touches one or two cache lines. */
static uint32_t search(const struct aion_entry *entries, uint32_t count, uint64_t time,
                       uint64_t from, uint64_t to)
{
    uint32_t low = 0, high = count, step = 2, guess = 0;
    if (time > from && to > from)
        guess = (uint32_t)((double)(time - from) / (double)(to - from) * count);
    guess = guess < count ? guess : count - 1;
    if (entries[guess].time < time) {
        for (low = guess + 1; low + step < high && entries[low + step].time < time; step *= 2)
            low += step + 1;
        high = low + step < high ? low + step : high;
    } else {
        for (high = guess; high > step && entries[high - 1 - step].time >= time; step *= 2)
            high -= step + 1;
        low = high > step ? high - step : 0;
    }
    ISO_BISECT(low, high, middle, entries[middle].time < time);
    return low;
}

struct aion_cursor aion_chunks_lower(const struct aion_pool *pool,
                                     const struct aion_sorted_chunks *sorted_chunks, uint64_t time)
{
    uint32_t chunks = aion_chunks_chunks(sorted_chunks), chunk = chunks ? chunks - 1 : 0, count;
    if (!sorted_chunks->count)
        return (struct aion_cursor){0, 0};
    const struct aion_entry *entries = aion_chunks_chunk(pool, sorted_chunks, chunk, &count);
    for (uint32_t near = 0; near < NEAR_END && near < count; near++) {
        if (entries[count - 1 - near].time < time)
            return (struct aion_cursor){chunk, count - near};
    }
    uint64_t from = entries[0].time, to = entries[count - 1].time;
    if (chunks > 1 && from >= time) {
        const struct aion_ref *refs = refs_of(pool, sorted_chunks);
        chunk = find_chunk(refs, chunks, time);
        entries = aion_chunks_chunk(pool, sorted_chunks, chunk, &count);
        from = refs[chunk].first;
        to = chunk + 1 < chunks ? refs[chunk + 1].first : to;
    }
    uint32_t index = search(entries, count, time, from, to);
    if (index == count && chunk + 1 < chunks)
        return (struct aion_cursor){chunk + 1, 0};
    return (struct aion_cursor){chunk, index};
}

struct aion_cursor aion_chunks_among(
    const struct aion_pool *pool, const struct aion_sorted_chunks *sorted_chunks, uint64_t time,
    bool (*stands_before)(const void *context, const struct aion_entry *entry), const void *context)
{
    struct aion_cursor cursor = aion_chunks_lower(pool, sorted_chunks, time);
    const struct aion_entry *first = aion_chunks_get(pool, sorted_chunks, cursor);
    if (!first || first->time != time || !stands_before(context, first))
        return cursor;
    uint32_t low = cursor.chunk,
             high = aion_chunks_chunks(sorted_chunks) ? aion_chunks_chunks(sorted_chunks) : 1,
             count;
    while (high - low > 1) { /* the last chunk that begins with one of those before */
        uint32_t middle = low + (high - low) / 2;
        const struct aion_entry *entry = aion_chunks_chunk(pool, sorted_chunks, middle, &count);
        if (entry->time == time && stands_before(context, entry))
            low = middle;
        else
            high = middle;
    }
    const struct aion_entry *entries = aion_chunks_chunk(pool, sorted_chunks, low, &count);
    uint32_t from = low == cursor.chunk ? cursor.index : 0, end = count;
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (entries[middle].time == time && stands_before(context, &entries[middle]))
            from = middle + 1;
        else
            end = middle;
    }
    if (from == count && low + 1 < aion_chunks_chunks(sorted_chunks))
        return (struct aion_cursor){low + 1, 0};
    return (struct aion_cursor){low, from};
}

uint32_t aion_chunks_skip(const struct aion_pool *pool,
                          const struct aion_sorted_chunks *sorted_chunks,
                          struct aion_cursor *cursor, uint64_t start)
{
    uint32_t chunks = aion_chunks_chunks(sorted_chunks), from = cursor->chunk;
    if (chunks <= 1)
        return 0;
    const struct aion_ref *refs = refs_of(pool, sorted_chunks);
    while (refs[cursor->chunk].low >= start && cursor->chunk + 1 < chunks)
        *cursor = (struct aion_cursor){cursor->chunk + 1, 0};
    if (refs[cursor->chunk].low >= start)
        cursor->index = refs[cursor->chunk].count;
    return cursor->chunk - from;
}

/* ---- inserting ---- */

static void put_entry(struct aion_entry *entries, uint32_t count, uint32_t index,
                      const struct aion_entry *entry)
{
    assert(index == count || entry->time <= entries[index].time);
    assert(!index || entries[index - 1].time <= entry->time);
    if (index < count)
        memmove(entries + index + 1, entries + index, (count - index) * sizeof *entries);
    entries[index] = *entry;
}

static void widen_chunk(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks)
{
    unsigned size = aion_chunks_size(sorted_chunks);
    uint32_t wider = aion_pool_take(pool, size + 1);
    memcpy(aion_pool_at(pool, wider), aion_pool_at(pool, sorted_chunks->at),
           sorted_chunks->count * sizeof(struct aion_entry));
    aion_pool_give(pool, sorted_chunks->at, size);
    set_block(sorted_chunks, wider, 1, size + 1);
}

void aion_chunks_make_room(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks)
{
    if (aion_chunks_chunks(sorted_chunks) == 1 &&
        aion_chunks_size(sorted_chunks) < AION_CHUNK_SIZE &&
        sorted_chunks->count > 1u << aion_chunks_size(sorted_chunks))
        widen_chunk(pool, sorted_chunks);
}

static uint64_t least_start(const struct aion_entry *entries, uint32_t count)
{
    uint64_t low = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++)
        low = entries[i].start < low ? entries[i].start : low;
    return low;
}

static void describe_chunk(const struct aion_pool *pool, struct aion_ref *ref)
{
    const struct aion_entry *entries = aion_pool_at(pool, ref->at);
    ref->first = entries[0].time;
    ref->low = least_start(entries, ref->count);
}

/* One full chunk becomes a directory with one ref. */
static void start_directory(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks)
{
    unsigned size = aion_pool_size(2 * sizeof(struct aion_ref));
    uint32_t directory = aion_pool_take(pool, size);
    struct aion_ref *ref = aion_pool_at(pool, directory);
    *ref = (struct aion_ref){.at = sorted_chunks->at, .count = sorted_chunks->count};
    describe_chunk(pool, ref);
    set_block(sorted_chunks, directory, 1, size);
}

/* Room for one more ref. */
static void widen_directory(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks,
                            uint32_t chunks)
{
    unsigned size = aion_chunks_size(sorted_chunks);
    if ((chunks + 1) * sizeof(struct aion_ref) <= (size_t)AION_UNIT << size)
        return;
    uint32_t wider = aion_pool_take(pool, size + 1);
    memcpy(aion_pool_at(pool, wider), aion_pool_at(pool, sorted_chunks->at),
           chunks * sizeof(struct aion_ref));
    aion_pool_give(pool, sorted_chunks->at, size);
    set_block(sorted_chunks, wider, chunks, size + 1);
}

/* Splits full chunk `chunk` of a directory; its upper half (nothing at the end of the run) goes to
 * a new one.
 */
static void split_chunk(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks,
                        uint32_t chunk, uint32_t chunks, bool at_end)
{
    uint32_t kept = at_end ? AION_CHUNK : AION_CHUNK / 2, moved = AION_CHUNK - kept;
    uint32_t block = aion_pool_take(pool, AION_CHUNK_SIZE);
    widen_directory(pool, sorted_chunks, chunks);
    struct aion_ref *refs = refs_of(pool, sorted_chunks);
    memmove(refs + chunk + 2, refs + chunk + 1, (chunks - chunk - 1) * sizeof *refs);
    struct aion_entry *from = aion_pool_at(pool, refs[chunk].at);
    memcpy(aion_pool_at(pool, block), from + kept, moved * sizeof *from);
    refs[chunk].count = kept;
    refs[chunk + 1] = (struct aion_ref){.at = block, .count = moved, .low = UINT64_MAX};
    describe_chunk(pool, &refs[chunk]);
    if (moved)
        describe_chunk(pool, &refs[chunk + 1]);
    set_block(sorted_chunks, sorted_chunks->at, chunks + 1, aion_chunks_size(sorted_chunks));
}

static struct aion_cursor insert_in_directory(struct aion_pool *pool,
                                              struct aion_sorted_chunks *sorted_chunks,
                                              struct aion_cursor cursor,
                                              const struct aion_entry *entry)
{
    uint32_t chunks = aion_chunks_chunks(sorted_chunks);
    struct aion_ref *refs = refs_of(pool, sorted_chunks);
    assert(cursor.chunk < chunks && cursor.index <= refs[cursor.chunk].count);
    if (!cursor.index && cursor.chunk && refs[cursor.chunk].count == AION_CHUNK &&
        refs[cursor.chunk - 1].count < AION_CHUNK)
        cursor = (struct aion_cursor){cursor.chunk - 1, refs[cursor.chunk - 1].count};
    if (refs[cursor.chunk].count == AION_CHUNK) {
        bool at_end = cursor.chunk == chunks - 1 && cursor.index == AION_CHUNK;
        split_chunk(pool, sorted_chunks, cursor.chunk, chunks, at_end);
        refs = refs_of(pool, sorted_chunks);
        if (cursor.index > refs[cursor.chunk].count || at_end)
            cursor =
                (struct aion_cursor){cursor.chunk + 1, cursor.index - refs[cursor.chunk].count};
    }
    struct aion_ref *ref = &refs[cursor.chunk];
    struct aion_entry *entries = aion_pool_at(pool, ref->at);
    put_entry(entries, ref->count++, cursor.index, entry);
    ref->first = entries[0].time;
    ref->low = entry->start < ref->low ? entry->start : ref->low;
    sorted_chunks->count++;
    return cursor;
}

void aion_chunks_open(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks)
{
    assert(!sorted_chunks->at);
    set_block(sorted_chunks, aion_pool_take(pool, 0), 1, 0);
}

struct aion_cursor aion_chunks_insert(struct aion_pool *pool,
                                      struct aion_sorted_chunks *sorted_chunks,
                                      struct aion_cursor cursor, const struct aion_entry *entry)
{
    if (!sorted_chunks->at)
        aion_chunks_open(pool, sorted_chunks);
    if (aion_chunks_chunks(sorted_chunks) == 1) {
        unsigned size = aion_chunks_size(sorted_chunks);
        if (sorted_chunks->count == 2u << size && size == AION_CHUNK_SIZE) {
            start_directory(pool, sorted_chunks);
            return insert_in_directory(pool, sorted_chunks, cursor, entry);
        }
        if (sorted_chunks->count == 2u << size)
            widen_chunk(pool, sorted_chunks);
        put_entry(aion_pool_at(pool, sorted_chunks->at), sorted_chunks->count++, cursor.index,
                  entry);
        return cursor;
    }
    return insert_in_directory(pool, sorted_chunks, cursor, entry);
}

/* ---- dropping ---- */

/* A directory of one chunk becomes that chunk; one of none is given back. */
static void end_directory(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks)
{
    struct aion_ref ref = refs_of(pool, sorted_chunks)[0];
    aion_pool_give(pool, sorted_chunks->at, aion_chunks_size(sorted_chunks));
    set_block(sorted_chunks, ref.at, 1, AION_CHUNK_SIZE);
}

static void drop_chunks(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks,
                        uint32_t first, uint32_t count)
{
    struct aion_ref *refs = refs_of(pool, sorted_chunks);
    uint32_t chunks = aion_chunks_chunks(sorted_chunks);
    for (uint32_t i = first; i < first + count; i++)
        aion_pool_give(pool, refs[i].at, AION_CHUNK_SIZE);
    memmove(refs + first, refs + first + count, (chunks - first - count) * sizeof *refs);
    set_block(sorted_chunks, sorted_chunks->at, chunks - count, aion_chunks_size(sorted_chunks));
    if (chunks - count == 1)
        end_directory(pool, sorted_chunks);
}

void aion_chunks_remove(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks,
                        struct aion_cursor cursor)
{
    uint32_t count;
    struct aion_entry *entries = aion_chunks_chunk(pool, sorted_chunks, cursor.chunk, &count);
    assert(cursor.index < count);
    memmove(entries + cursor.index, entries + cursor.index + 1,
            (count - cursor.index - 1) * sizeof *entries);
    sorted_chunks->count--;
    if (!sorted_chunks->count) {
        aion_chunks_release(pool, sorted_chunks);
    } else if (aion_chunks_chunks(sorted_chunks) > 1) {
        struct aion_ref *ref = &refs_of(pool, sorted_chunks)[cursor.chunk];
        if (--ref->count)
            ref->first = entries[0].time;
        else
            drop_chunks(pool, sorted_chunks, cursor.chunk, 1);
    }
}

void aion_chunks_take(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks,
                      struct aion_cursor *cursor)
{
    uint32_t chunks = aion_chunks_chunks(sorted_chunks), count;
    aion_chunks_remove(pool, sorted_chunks, *cursor);
    if (!sorted_chunks->count) {
        *cursor = aion_chunks_begin();
    } else if (aion_chunks_chunks(sorted_chunks) < chunks) { /* the chunk went, too */
        *cursor = cursor->chunk < chunks - 1 ? (struct aion_cursor){cursor->chunk, 0}
                                             : aion_chunks_end(pool, sorted_chunks);
    } else {
        aion_chunks_chunk(pool, sorted_chunks, cursor->chunk, &count);
        if (chunks > 1)
            describe_chunk(pool, &refs_of(pool, sorted_chunks)[cursor->chunk]);
        if (cursor->index >= count && cursor->chunk + 1 < chunks)
            *cursor = (struct aion_cursor){cursor->chunk + 1, 0};
    }
}

/* Drops `left` entries from the only chunk; one that is then at most a quarter full becomes a
 * smaller one. Else one that was widened for a moment stayed wide for good, and in time all of them
 * did. */
static void narrow_sorted_chunks(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks,
                                 uint32_t left)
{
    unsigned size = aion_chunks_size(sorted_chunks),
             smaller = aion_pool_size(2 * sorted_chunks->count * sizeof(struct aion_entry));
    struct aion_entry *entries = aion_pool_at(pool, sorted_chunks->at);
    if (smaller + 1 > size) {
        memmove(entries, entries + left, sorted_chunks->count * sizeof *entries);
        return;
    }
    uint32_t block = aion_pool_take(pool, smaller);
    entries = aion_pool_at(pool, sorted_chunks->at);
    memcpy(aion_pool_at(pool, block), entries + left, sorted_chunks->count * sizeof *entries);
    aion_pool_give(pool, sorted_chunks->at, size);
    set_block(sorted_chunks, block, 1, smaller);
}

void aion_chunks_drop(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks,
                      uint32_t count)
{
    assert(count <= sorted_chunks->count);
    if (count == sorted_chunks->count && aion_chunks_chunks(sorted_chunks) == 1 &&
        aion_chunks_size(sorted_chunks) <= KEPT_SIZE) {
        sorted_chunks->count = 0;
        return;
    }
    if (count == sorted_chunks->count) {
        aion_chunks_release(pool, sorted_chunks);
        return;
    }
    sorted_chunks->count -= count;
    uint32_t whole = 0, left = count;
    if (aion_chunks_chunks(sorted_chunks) > 1) {
        struct aion_ref *refs = refs_of(pool, sorted_chunks);
        while (left >= refs[whole].count)
            left -= refs[whole++].count;
        refs[whole].count -= left;
        struct aion_entry *entries = aion_pool_at(pool, refs[whole].at);
        memmove(entries, entries + left, refs[whole].count * sizeof *entries);
        refs[whole].first = entries[0].time;
        if (whole)
            drop_chunks(pool, sorted_chunks, 0, whole);
        left = 0;
    }
    if (aion_chunks_chunks(sorted_chunks) == 1)
        narrow_sorted_chunks(pool, sorted_chunks, left);
}

void aion_chunks_release(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks)
{
    if (sorted_chunks->at && aion_chunks_chunks(sorted_chunks) > 1) {
        for (uint32_t i = 0; i < aion_chunks_chunks(sorted_chunks); i++)
            aion_pool_give(pool, refs_of(pool, sorted_chunks)[i].at, AION_CHUNK_SIZE);
    }
    if (sorted_chunks->at)
        aion_pool_give(pool, sorted_chunks->at, aion_chunks_size(sorted_chunks));
    memset(sorted_chunks, 0, sizeof *sorted_chunks);
}
