/* Older versions of a key: they go to the spill file in segments, and come back when they matter.
 * The key's own record, if it goes too, says which segments there are.
 *
 *   in the spill file   [ segment | segment | segment ]   three or more versions each, a chunk at
 *                                                         most: a record of its own
 *   rare.cuts        t1        t4        t9          first time of each, and the number it was
 *                                                    stored under
 *   in memory                                [ versions: at least the two newest that the watermark
 *                                            has passed ]
 *
 * So what is still to come by the watermark's word finds all it looks at in memory. A right read of
 * a transaction that started long ago is answered out of its segment. Whatever else looks below the
 * first version in memory, a wrong read, a writer that is open for so long, a verdict that is to be
 * explained, has all of them brought back before. Below the floor segments go for good. Registers
 * only: a list is all of its versions.
 */
#include <assert.h>

#include "aion/memory/record.h"

static uint64_t digest_of(const struct iso_aion_shard *shard, const struct aion_key *key,
                          uint32_t serial)
{
    return aion_mix(aion_key_digest(shard, key) + (serial + 1) * 0x9e3779b97f4a7c15u);
}

/* ---- going ---- */

/* A number for the next segment, which begins at `time`, for which there is no record; false: the
 * spill file fails. The first one's is any: below it may stand those of segments that expire. */
static bool next_serial(struct iso_aion_shard *shard, const struct aion_key *key, uint64_t time,
                        uint32_t *serial)
{
    const struct aion_sorted_chunks *pages = &shard->cold.list[key->cold].pages;
    const uint8_t *record = NULL;
    uint32_t size;
    *serial = pages->count ? aion_chunks_last(&shard->pool, pages)->detail
                           : (uint32_t)(aion_mix(time) >> 43);
    do {
        ++*serial;
        if (iso_spill_get(shard->paging.store, digest_of(shard, key, *serial), &record, &size,
                          &shard->paging.failure) != ISO_OK)
            return false;
    } while (record);
    return true;
}

/* A segment of fewer versions would leave more behind in memory than it takes out. */
enum { LEAST = 3 };

/* How many of the oldest versions may be paged out: a chunk, if two versions behind it are below
 * `passed`; of the only chunk all but two. */
static uint32_t count_old(const struct iso_aion_shard *shard, const struct aion_key *key)
{
    uint32_t chunks = aion_chunks_chunks(&key->versions),
             least = shard->paging.eager ? 3 : LEAST + 2, count, old = 0;
    const struct aion_cold *cold = key->cold ? &shard->cold.list[key->cold] : NULL;
    /* reads of it look for who wrote a value */
    bool asked = cold && (cold->aged || cold->value_writers.at);
    if (aion_key_is_list(key) || asked || aion_keeps_overlap_count(shard, key) ||
        key->versions.count < least)
        return 0;
    const struct aion_entry *versions =
        aion_chunks_chunk(&shard->pool, &key->versions, chunks < 2 ? 0 : 1, &count);
    if (chunks >= 2 && (count < 2 || versions[1].time >= shard->time.passed))
        return 0;
    if (chunks >= 2) {
        aion_chunks_chunk(&shard->pool, &key->versions, 0, &count);
        return count;
    }
    while (old < count && versions[old].time < shard->time.passed)
        old++;
    return old >= least ? old - 2 : 0;
}

/* Stores the versions of the first chunk. */
static bool store_versions(struct iso_aion_shard *shard, struct aion_key *key, uint32_t count)
{
    assert(count && count < key->versions.count);
    uint32_t all, serial;
    aion_cold_of(shard, key);
    const struct aion_entry *versions = aion_chunks_chunk(&shard->pool, &key->versions, 0, &all);
    if (!next_serial(shard, key, versions->time, &serial))
        return false;
    aion_fetch_versions(shard, versions, count, false);
    aion_fetch_versions(shard, versions, count, true);
    struct aion_entry cut = {.time = versions->time, .start = versions->time, .detail = serial};
    uint64_t behind = count < all ? versions[count].time
                                  : aion_chunks_chunk(&shard->pool, &key->versions, 1, &all)->time;
    assert(behind >= versions[count - 1].time); /* they are sorted, and one stays */
    struct iso_spill_record record =
        aion_segment_write(shard, key, serial, versions, count, behind, &shard->paging.record);
    if (shard->paging.record.size > iso_spill_most(shard->paging.store) ||
        iso_spill_put(shard->paging.store, digest_of(shard, key, serial), false, &record,
                      &shard->paging.failure) != ISO_OK)
        return false;
    for (uint32_t i = 0; i < count; i++)
        aion_entry_forget(shard, key, &versions[i]);
    aion_chunks_drop(&shard->pool, &key->versions, count);
    shard->stats.versions -= count;
    struct aion_sorted_chunks *pages = &shard->cold.list[key->cold].pages;
    aion_chunks_insert(&shard->pool, pages, aion_chunks_end(&shard->pool, pages), &cut);
    key->flags |= AION_KEY_PAGED | AION_KEY_CHANGED;
    shard->stats.spilt.paged_out++;
    return true;
}

void aion_page_out(struct iso_aion_shard *shard, struct aion_key *key)
{
    assert(!(key->flags & AION_KEY_FREE));
    uint32_t count;
    while ((count = count_old(shard, key)) && store_versions(shard, key, count))
        continue;
}

/* ---- coming back ---- */

/* Segments that no read to come may need: what stands behind them is below the floor. Each is in
 * the spill file until that drops it by itself (compact.c); a record of the key that has them still
 * is good, too. */
void aion_pages_trim(struct iso_aion_shard *shard, struct aion_key *key)
{
    assert(key->versions.count);
    assert(key->flags & AION_KEY_PAGED);
    struct aion_sorted_chunks *pages = &shard->cold.list[key->cold].pages;
    while (pages->count) {
        struct aion_cursor cursor = aion_chunks_begin();
        const struct aion_entry *next = aion_chunks_get(&shard->pool, &key->versions, cursor);
        aion_chunks_next(&shard->pool, pages, &cursor);
        if (pages->count > 1)
            next = aion_chunks_get(&shard->pool, pages, cursor);
        if (next->time >= shard->time.floor)
            return;
        aion_chunks_drop(&shard->pool, pages, 1);
        key->flags |= AION_KEY_DROPPED;
    }
    key->flags &= ~AION_KEY_PAGED;
}

/* The versions of all segments; false: the spill file fails. */
static bool read_segments(struct iso_aion_shard *shard, const struct aion_key *key,
                          struct aion_sorted_chunks *sorted_chunks)
{
    const struct aion_sorted_chunks *pages = &shard->cold.list[key->cold].pages;
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *cut;
    for (; (cut = aion_chunks_get(&shard->pool, pages, cursor));
         aion_chunks_next(&shard->pool, pages, &cursor)) {
        const uint8_t *record = NULL;
        uint32_t size = 0, serial = cut->detail;
        uint64_t digest = digest_of(shard, key, serial);
        if (iso_spill_get(shard->paging.store, digest, &record, &size, &shard->paging.failure) !=
            ISO_OK)
            return false;
        if (!record || !aion_segment_read(shard, key, serial, record, size, sorted_chunks)) {
            iso_spill_altered(shard->paging.store, &shard->paging.failure);
            return false;
        }
        if (iso_spill_remove(shard->paging.store, digest, &shard->paging.failure) != ISO_OK)
            return false;
    }
    return true;
}

/* If the spill file fails, what was in it counts as dropped: nothing is reported that needs it. */
void aion_page_in_all(struct iso_aion_shard *shard, struct aion_key *key)
{
    struct aion_sorted_chunks whole = {0};
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *version;
    aion_pages_trim(shard, key); /* of what is left then all is there */
    if (!(key->flags & AION_KEY_PAGED))
        return;
    if (!read_segments(shard, key, &whole)) {
        while ((version = aion_chunks_get(&shard->pool, &whole, cursor))) {
            aion_entry_forget(shard, key, version);
            aion_chunks_drop(&shard->pool, &whole, 1);
        }
        key->flags |= AION_KEY_DROPPED;
    }
    shard->stats.versions += whole.count;
    for (; (version = aion_chunks_get(&shard->pool, &key->versions, cursor));
         aion_chunks_next(&shard->pool, &key->versions, &cursor)) {
        struct aion_entry copy = *version;
        aion_chunks_insert(&shard->pool, &whole, aion_chunks_end(&shard->pool, &whole), &copy);
    }
    aion_chunks_release(&shard->pool, &key->versions);
    aion_chunks_release(&shard->pool, &shard->cold.list[key->cold].pages);
    key->versions = whole;
    key->flags = (key->flags & ~AION_KEY_PAGED) | AION_KEY_CHANGED;
    shard->stats.spilt.paged_in++;
}

/* Is the newest version below `bound` in the spill file, and has it this value? */
bool aion_reads_paged(struct iso_aion_shard *shard, const struct aion_key *key,
                      uint64_t visible_below, const struct iso_atoms *atoms, iso_atom value)
{
    assert(key->flags & AION_KEY_PAGED);
    const struct aion_sorted_chunks *pages = &shard->cold.list[key->cold].pages;
    struct aion_cursor cursor = aion_chunks_lower(&shard->pool, pages, visible_below);
    const uint8_t *record = NULL;
    uint32_t size = 0;
    if (aion_chunks_get(&shard->pool, &key->versions, aion_chunks_begin())->time < visible_below ||
        !aion_chunks_before(&shard->pool, pages, &cursor))
        return false;
    uint32_t serial = aion_chunks_get(&shard->pool, pages, cursor)->detail;
    if (iso_spill_get(shard->paging.store, digest_of(shard, key, serial), &record, &size,
                      &shard->paging.failure) != ISO_OK ||
        !record || !aion_segment_agrees(record, size, visible_below, atoms, value))
        return false;
    shard->stats.spilt.old_reads++;
    return true;
}
