/* Letting go: reads that no version to come can change, versions that no read to come may need. */
#include <assert.h>

#include "aion/shard/shard_private.h"

/* How many entries stand before a cursor. */
static uint32_t position(const struct iso_aion_shard *shard,
                         const struct aion_sorted_chunks *sorted_chunks, struct aion_cursor cursor)
{
    uint32_t before = cursor.index, count;
    for (uint32_t i = 0; i < cursor.chunk; i++) {
        aion_chunks_chunk(&shard->pool, sorted_chunks, i, &count);
        before += count;
    }
    return before;
}

/* Dropping moves what stays: below a quarter of the run it is not worth that, unless memory is
 * short. Looked up without a search: in the directory, or in the only chunk. */
static bool is_too_little(const struct iso_aion_shard *shard,
                          const struct aion_sorted_chunks *sorted_chunks, uint64_t first_kept)
{
    uint32_t chunks = aion_chunks_chunks(sorted_chunks);
    if (shard->time.thorough)
        return false;
    if (chunks > 1)
        return ((const struct aion_ref *)aion_pool_at(&shard->pool,
                                                      sorted_chunks->at))[(chunks + 2) / 4]
                   .first >= first_kept;
    return ((const struct aion_entry *)aion_pool_at(&shard->pool,
                                                    sorted_chunks->at))[sorted_chunks->count / 4]
               .time >= first_kept;
}

void aion_drop_read_values(struct iso_aion_shard *shard, struct aion_key *key, uint32_t count)
{
    struct aion_cursor cursor = aion_chunks_begin();
    for (; count; count--, aion_chunks_next(&shard->pool, &key->reads, &cursor))
        aion_value_drop(shard, key, aion_chunks_get(&shard->pool, &key->reads, cursor)->value);
}

void aion_trim_reads(struct iso_aion_shard *shard, struct aion_key *key)
{
    uint64_t first_kept = shard->options.level == ISO_SER || shard->time.passed == UINT64_MAX
                              ? shard->time.passed
                              : shard->time.passed + 1;
    aion_trim_idle(shard, key);
    if (!key->reads.count || is_too_little(shard, &key->reads, first_kept))
        return;
    uint32_t count =
        position(shard, &key->reads, aion_chunks_lower(&shard->pool, &key->reads, first_kept));
    if (!count)
        return;
    if (key->flags & AION_KEY_ENTRIES)
        aion_drop_read_values(shard, key, count);
    aion_chunks_drop(&shard->pool, &key->reads, count);
    shard->stats.open_reads -= count;
    if (!key->reads.count) {
        key->flags &= ~(AION_KEY_OWN | AION_KEY_ENTRIES);
        key->last_read = 0;
    }
}

/* Each is looked at a few times: only once they have doubled they are all gone through. Numbers of
 * keys that went may be others' by now. */
void aion_trim_reading(struct iso_aion_shard *shard)
{
    enum { SPARE = 64, AHEAD = 8 };
    const uint32_t *list = shard->keys.reading.list;
    uint32_t count = shard->keys.reading.count, left = 0;
    if (count < 2 * shard->keys.reading_left + SPARE)
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = list[i];
        __builtin_prefetch(&shard->keys.list[list[i + AHEAD < count ? i + AHEAD : i]], 1);
        if (number >= shard->keys.count || !shard->keys.list[number].reads.at ||
            aion_chunks_size(&shard->keys.list[number].reads))
            continue;
        struct aion_key *key = &shard->keys.list[number];
        aion_drop_reads(shard, key);
        if (key->reads.count)
            shard->keys.reading.list[left++] = number;
        else
            aion_chunks_release(&shard->pool, &key->reads);
    }
    shard->keys.reading.count = shard->keys.reading_left = left;
}

/* The elements of the first `count` versions of a list become part of its base. */
static void fold_versions(struct iso_aion_shard *shard, struct aion_key *key, uint32_t count)
{
    struct aion_cursor cursor = aion_chunks_begin();
    for (; count; count--, aion_chunks_next(&shard->pool, &key->versions, &cursor)) {
        aion_list_fold(shard, key, aion_chunks_get(&shard->pool, &key->versions, cursor));
        aion_chunks_get(&shard->pool, &key->versions, cursor)->value = ISO_ABSENT;
    }
}

static void trim_versions(struct iso_aion_shard *shard, struct aion_key *key)
{
    if (key->versions.count < 2 || is_too_little(shard, &key->versions, shard->time.floor))
        return;
    uint32_t old = position(shard, &key->versions,
                            aion_chunks_lower(&shard->pool, &key->versions, shard->time.floor));
    if (old < 2)
        return;
    if (key->flags & AION_KEY_PAGED)
        aion_pages_trim(shard, key);
    assert(!(key->flags & AION_KEY_PAGED)); /* they are older than the versions that go */
    if (aion_key_is_list(key))
        fold_versions(shard, key, old);
    uint32_t left = old - 1, count;
    for (uint32_t chunk = 0; left; chunk++) {
        const struct aion_entry *version =
            aion_chunks_chunk(&shard->pool, &key->versions, chunk, &count);
        if (!aion_key_is_list(key) && aion_value_is_entry(version->value)) {
            aion_fetch_versions(shard, version, count < left ? count : left, false);
            aion_fetch_versions(shard, version, count < left ? count : left, true);
        }
        for (; count && left; version++, count--, left--) {
            if (key->cold)
                aion_value_writers_drop(shard, key, version, true);
            if (aion_value_is_entry(version->value))
                aion_value_drop(shard, key, version->value);
            aion_transaction_drop_later(shard, version->transaction);
        }
    }
    aion_chunks_drop(&shard->pool, &key->versions, old - 1);
    shard->stats.versions -= old - 1;
    key->flags |= AION_KEY_DROPPED;
}

static void trim_nonversions(struct iso_aion_shard *shard, const struct aion_key *key)
{
    struct aion_sorted_chunks *nonversions = &shard->cold.list[key->cold].nonversions;
    struct aion_cursor cursor = aion_chunks_begin();
    uint32_t count = 0;
    for (;; aion_chunks_next(&shard->pool, nonversions, &cursor), count++) {
        const struct aion_entry *nonversion = aion_chunks_get(&shard->pool, nonversions, cursor);
        if (!nonversion || nonversion->time >= shard->time.floor || aion_is_unknown(nonversion))
            break;
        aion_value_writers_drop(shard, key, nonversion, false);
        aion_values_drop(&shard->values, nonversion->value);
        aion_transaction_drop_later(shard, nonversion->transaction);
    }
    if (count)
        aion_chunks_drop(&shard->pool, nonversions, count);
}

void aion_trim(struct iso_aion_shard *shard, struct aion_key *key)
{
    aion_trim_reads(shard, key);
    trim_versions(shard, key);
    if (key->cold)
        trim_nonversions(shard, key);
}

/* A run of reads that was already empty when the hand came by last gives its chunk back. */
static void sweep_key(struct iso_aion_shard *shard, struct aion_key *key)
{
    if (!key->reads.count && key->reads.at)
        aion_chunks_release(&shard->pool, &key->reads);
    aion_trim(shard, key);
}

/* A hand goes round the keys, one for 64 steps, so that a key which nobody touches any more lets go
 * too. */
void aion_sweep_some(struct iso_aion_shard *shard)
{
    uint64_t count = shard->keys.work / 64;
    if (!shard->time.passed || count < 64)
        return;
    shard->keys.work = 0;
    if (count > shard->keys.count)
        count = shard->keys.count;
    for (; count; count--) {
        shard->keys.clock_hand =
            shard->keys.clock_hand + 1 < shard->keys.count ? shard->keys.clock_hand + 1 : 0;
        __builtin_prefetch(&shard->keys.list[shard->keys.clock_hand + 8 < shard->keys.count
                                                 ? shard->keys.clock_hand + 8
                                                 : 0]);
        sweep_key(shard, &shard->keys.list[shard->keys.clock_hand]);
    }
}

void iso_aion_shard_sweep(struct iso_aion_shard *shard)
{
    shard->time.thorough = true;
    aion_readers_advance(shard);
    for (uint32_t i = 0; i < shard->keys.count; i++)
        sweep_key(shard, &shard->keys.list[i]);
    shard->time.thorough = false;
}
