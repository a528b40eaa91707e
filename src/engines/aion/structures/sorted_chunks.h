/* A run: entries in the order of their time, most of which arrive near the end.
 *
 *   one chunk:      run -> [e e e e . . . .] 2 to 64 entries of 32 bytes, doubled when full
 *   more:           run -> [ref ref ref .] directory a ref: first time, least `start`, chunk, count
 *                            |   |   |
 *                          chunks of up to 64 entries
 *
 * Looking up: at the end first (one line), else binary search in the directory and in a chunk.
 * Inserting moves at most 63 entries; a full chunk splits in two, at the end of the run it starts a
 * new one, so that chunks filled in order stay full. The directory moves by memmove, one ref for 32
 * inserts at least: with a million entries in random order that is half a microsecond an insert.
 * Dropping from the front frees whole chunks.
 *
 * `time` orders; equal times stand in the order in which the caller puts them. All else is the
 * caller's, but the directory keeps the least `start` of a chunk (an underestimate after removals),
 * so that a search for entries with a small one can pass chunks by.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>

#include "aion/structures/pool.h"

struct aion_entry {
    uint64_t time;
    uint64_t start;
    uint32_t value;
    uint32_t transaction;
    uint32_t detail;
    uint32_t operation;
};

struct aion_sorted_chunks {
    uint32_t at;     /* the chunk, or the directory; 0: empty */
    uint32_t count;  /* entries */
    uint32_t chunks; /* low 27 bits; the 5 high ones: size of the block `at` */
};

/* A position among sorted chunks: the gap before an entry, or the entry. Good until they change. */
struct aion_cursor {
    uint32_t chunk, index;
};

enum { AION_CHUNK = 64, AION_CHUNK_SIZE = 5, AION_CHUNKS_BITS = 27 };

struct aion_ref {
    uint64_t first, low;
    uint32_t at, count;
};

static inline uint32_t aion_chunks_chunks(const struct aion_sorted_chunks *sorted_chunks)
{
    return sorted_chunks->chunks & ((1u << AION_CHUNKS_BITS) - 1);
}

static inline unsigned aion_chunks_size(const struct aion_sorted_chunks *sorted_chunks)
{
    return sorted_chunks->chunks >> AION_CHUNKS_BITS;
}

/* Chunk `chunk` and how many entries it has. */
static inline struct aion_entry *aion_chunks_chunk(const struct aion_pool *pool,
                                                   const struct aion_sorted_chunks *sorted_chunks,
                                                   uint32_t chunk, uint32_t *count)
{
    if (aion_chunks_chunks(sorted_chunks) <= 1) {
        *count = sorted_chunks->count;
        return aion_pool_at(pool, sorted_chunks->at);
    }
    const struct aion_ref *ref =
        (const struct aion_ref *)aion_pool_at(pool, sorted_chunks->at) + chunk;
    *count = ref->count;
    return aion_pool_at(pool, ref->at);
}

void aion_chunks_validate(const struct aion_pool *pool,
                          const struct aion_sorted_chunks *sorted_chunks); /* shard_validate.c */

/* The entry at a cursor, or NULL at the end. */
static inline struct aion_entry *aion_chunks_get(const struct aion_pool *pool,
                                                 const struct aion_sorted_chunks *sorted_chunks,
                                                 struct aion_cursor cursor)
{
    uint32_t count;
    if (!sorted_chunks->count)
        return NULL;
    struct aion_entry *chunk = aion_chunks_chunk(pool, sorted_chunks, cursor.chunk, &count);
    return cursor.index < count ? chunk + cursor.index : NULL;
}

static inline struct aion_cursor aion_chunks_begin(void)
{
    return (struct aion_cursor){0, 0};
}
/* sorted_chunks.c */
struct aion_cursor aion_chunks_end(const struct aion_pool *pool,
                                   const struct aion_sorted_chunks *sorted_chunks);

/* Steps to the next entry (or the end), and to the one before; false if there is none before. */
static inline void aion_chunks_next(const struct aion_pool *pool,
                                    const struct aion_sorted_chunks *sorted_chunks,
                                    struct aion_cursor *cursor)
{
    uint32_t count;
    aion_chunks_chunk(pool, sorted_chunks, cursor->chunk, &count);
    if (++cursor->index >= count && cursor->chunk + 1 < aion_chunks_chunks(sorted_chunks))
        *cursor = (struct aion_cursor){cursor->chunk + 1, 0};
}

static inline bool aion_chunks_before(const struct aion_pool *pool,
                                      const struct aion_sorted_chunks *sorted_chunks,
                                      struct aion_cursor *cursor)
{
    if (cursor->index) {
        cursor->index--;
        return true;
    }
    if (!cursor->chunk)
        return false;
    uint32_t count;
    aion_chunks_chunk(pool, sorted_chunks, cursor->chunk - 1, &count);
    *cursor = (struct aion_cursor){cursor->chunk - 1, count - 1};
    return true;
}

/* The last entry. */
static inline struct aion_entry *aion_chunks_last(const struct aion_pool *pool,
                                                  const struct aion_sorted_chunks *sorted_chunks)
{
    assert(sorted_chunks->count);
    uint32_t count, chunks = aion_chunks_chunks(sorted_chunks);
    struct aion_entry *chunk =
        aion_chunks_chunk(pool, sorted_chunks, chunks ? chunks - 1 : 0, &count);
    return chunk + count - 1;
}

/* The first entry whose time is not below `time`. */
struct aion_cursor aion_chunks_lower(const struct aion_pool *pool,
                                     const struct aion_sorted_chunks *sorted_chunks, uint64_t time);

/* Among entries of one time, which the caller has put into an order of its own: the first that does
 * not stand before what `context` is. However many share the time, it looks at few. */
struct aion_cursor aion_chunks_among(const struct aion_pool *pool,
                                     const struct aion_sorted_chunks *sorted_chunks, uint64_t time,
                                     bool (*stands_before)(const void *context,
                                                           const struct aion_entry *entry),
                                     const void *context);

/* Steps over chunks in which no entry starts below `start`, and says over how many; stays where it
 * is if that chunk may have one. */
uint32_t aion_chunks_skip(const struct aion_pool *pool,
                          const struct aion_sorted_chunks *sorted_chunks,
                          struct aion_cursor *cursor, uint64_t start);

/* True if the next insert at the end needs memory: the time to drop what is no longer needed. */
static inline bool aion_chunks_full(const struct aion_pool *pool,
                                    const struct aion_sorted_chunks *sorted_chunks)
{
    uint32_t chunks = aion_chunks_chunks(sorted_chunks);
    if (chunks <= 1)
        return sorted_chunks->count == (2u << aion_chunks_size(sorted_chunks)) ||
               !sorted_chunks->at;
    return ((const struct aion_ref *)aion_pool_at(pool, sorted_chunks->at))[chunks - 1].count ==
           AION_CHUNK;
}

/* An entry more at the end where the last chunk has room for it, or NULL: then it takes
 * aion_chunks_insert. The caller fills it in. */
static inline struct aion_entry *aion_chunks_append(const struct aion_pool *pool,
                                                    struct aion_sorted_chunks *sorted_chunks,
                                                    uint64_t start)
{
    uint32_t chunks = aion_chunks_chunks(sorted_chunks);
    if (chunks <= 1) {
        if (!sorted_chunks->at || sorted_chunks->count == 2u << aion_chunks_size(sorted_chunks))
            return NULL;
        return (struct aion_entry *)aion_pool_at(pool, sorted_chunks->at) + sorted_chunks->count++;
    }
    struct aion_ref *ref = (struct aion_ref *)aion_pool_at(pool, sorted_chunks->at) + chunks - 1;
    if (ref->count == AION_CHUNK)
        return NULL;
    ref->low = start < ref->low ? start : ref->low;
    sorted_chunks->count++;
    return (struct aion_entry *)aion_pool_at(pool, ref->at) + ref->count++;
}

/* A cursor among the last few entries of the last chunk, where nearly all that is late belongs. */
struct aion_near {
    struct aion_entry *entries; /* the chunk */
    uint32_t index,
        count;     /* the first entry whose time is not below the one asked for, or the end */
    bool has_room; /* one more fits into the chunk */
};
enum { AION_NEAR = 8 };

/* False if the place is not there: then it takes aion_chunks_lower. */
static inline bool aion_chunks_near(const struct aion_pool *pool,
                                    const struct aion_sorted_chunks *sorted_chunks, uint64_t time,
                                    struct aion_near *near)
{
    assert(sorted_chunks->count);
    uint32_t chunks = aion_chunks_chunks(sorted_chunks), count;
    const struct aion_entry *entries =
        aion_chunks_chunk(pool, sorted_chunks, chunks ? chunks - 1 : 0, &count);
    uint32_t index = count, least = count > AION_NEAR ? count - AION_NEAR : 0;
    while (index > least && entries[index - 1].time >= time)
        index--;
    *near = (struct aion_near){
        (struct aion_entry *)entries, index, count,
        count < (chunks > 1 ? (uint32_t)AION_CHUNK : 2u << aion_chunks_size(sorted_chunks))};
    return index > least || (!index && chunks <= 1);
}

/* Puts an entry at a cursor that has room, before all or before others in the same chunk. */
static inline void aion_chunks_put_near(const struct aion_pool *pool,
                                        struct aion_sorted_chunks *sorted_chunks,
                                        const struct aion_near *near,
                                        const struct aion_entry *entry)
{
    assert(near->has_room);
    uint32_t chunks = aion_chunks_chunks(sorted_chunks);
    for (uint32_t i = near->count; i > near->index; i--)
        near->entries[i] = near->entries[i - 1];
    near->entries[near->index] = *entry;
    sorted_chunks->count++;
    if (chunks > 1) {
        struct aion_ref *ref =
            (struct aion_ref *)aion_pool_at(pool, sorted_chunks->at) + chunks - 1;
        ref->low = entry->start < ref->low ? entry->start : ref->low;
        ref->count++;
    }
}

/* An empty run that has nothing gets its first chunk, of the smallest size. */
void aion_chunks_open(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks);

/* Puts an entry before `cursor`; says where it is now. */
struct aion_cursor aion_chunks_insert(struct aion_pool *pool,
                                      struct aion_sorted_chunks *sorted_chunks,
                                      struct aion_cursor cursor, const struct aion_entry *entry);

/* Widens the only chunk of a run if it is more than half full: it would have to be trimmed again
 * soon. */
void aion_chunks_make_room(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks);

/* Takes out the entry at `cursor`, which is then that of the one behind. */
void aion_chunks_take(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks,
                      struct aion_cursor *cursor);

/* Takes out the entry at `cursor`; and the first `count` entries. A small run that has become empty
 * keeps its chunk for those to come: aion_chunks_release gives it back. */
void aion_chunks_remove(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks,
                        struct aion_cursor cursor);
void aion_chunks_drop(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks,
                      uint32_t count);
void aion_chunks_release(struct aion_pool *pool, struct aion_sorted_chunks *sorted_chunks);
