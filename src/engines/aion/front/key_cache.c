/* The keys and sessions of a block, looked up once each. */
#include <assert.h>
#include <string.h>

#include "aion/state_private.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "history/snapshot.h"

/* Keys have other numbers now, or none. */
void aion_key_cache_forget(struct aion_key_cache *cache)
{
    if (cache->key_count)
        memset(cache->keys, 0, cache->key_count * sizeof *cache->keys);
    cache->found = cache->ready = 0;
}

static void forget_entries(struct aion_key_cache *cache)
{
    aion_key_cache_forget(cache);
    if (cache->session_count)
        memset(cache->sessions, 0, cache->session_count * sizeof *cache->sessions);
    iso_free(cache->snapshot_violation);
    cache->snapshot_violation = NULL;
    cache->snapshot_violation_count = 0;
}

void aion_key_cache_set(struct aion_key_cache *cache, const struct iso_history *history)
{
    forget_entries(cache);
    cache->history = history;
    if (!history || !history->snapshots.violation_count)
        return;
    cache->snapshot_violation_count = history->txns.count;
    cache->snapshot_violation = iso_numbers(cache->snapshot_violation_count);
    memset(cache->snapshot_violation, 0xff,
           cache->snapshot_violation_count * sizeof *cache->snapshot_violation); /* ISO_NONE */
    for (uint32_t i = history->snapshots.violation_count; i-- > 0;)
        cache->snapshot_violation[history->snapshots.violations[i].transaction] = i;
}

void aion_key_cache_release(struct aion_key_cache *cache)
{
    ISO_FREE_COLUMN(cache->keys, cache->key_count);
    ISO_FREE_COLUMN(cache->sessions, cache->session_count);
    iso_free(cache->snapshot_violation);
    memset(cache, 0, sizeof *cache);
}

uint16_t aion_key_cache_stamp(struct aion_key_cache *cache)
{
    if (!++cache->stamp) {
        for (uint32_t i = 0; i < cache->key_count; i++)
            cache->keys[i].stamp = 0;
        cache->stamp = 1;
    }
    return cache->stamp;
}

/* The shard takes the key's digest from its high bits; tables use the low ones. A row and its cells
 * are in one shard. */
static uint8_t shard_of(const struct iso_aion *engine, uint64_t digest)
{
    return (uint8_t)((digest >> 32) * engine->shards.count >> 32);
}

static void set_digest(const struct iso_aion *engine, const struct aion_key_cache *cache,
                       uint32_t key)
{
    const struct iso_history *history = cache->history;
    struct aion_cached_key *entry = &cache->keys[key];
    if (entry->digest)
        return;
    entry->digest = aion_atom_digest(&history->atoms, history->keys.atom[key]);
    entry->shard = engine->shards.count > 1
                       ? shard_of(engine, aion_row_digest(&history->atoms, history->keys.atom[key],
                                                          entry->digest))
                       : 0;
}

static void widen_keys(struct aion_key_cache *cache)
{
    size_t old = cache->key_count, next = iso_column_capacity(old, cache->history->keys.count);
    cache->keys =
        iso_column_grow(cache->keys, old * sizeof *cache->keys, next * sizeof *cache->keys);
    memset(cache->keys + old, 0, (next - old) * sizeof *cache->keys);
    cache->key_count = (uint32_t)next;
}

/* ---- many keys at once ---- */

static void want_key(struct iso_aion *engine, struct aion_key_cache *cache, uint32_t key)
{
    struct aion_cached_key *entry = &cache->keys[key];
    set_digest(engine, cache, key);
    struct aion_wanted_keys *wanted = &engine->shards.wanted[entry->shard];
    ISO_APPEND(*wanted, (struct aion_wanted){.digest = entry->digest,
                                             .hash = iso_atom_hash(&cache->history->atoms,
                                                                   cache->history->keys.atom[key]),
                                             .name = cache->history->keys.atom[key],
                                             .key = key});
    entry->number = UINT32_MAX; /* wanted once only */
}

void aion_key_cache_want(struct iso_aion *engine, struct aion_key_cache *cache, uint32_t first,
                         uint32_t end)
{
    assert(first <= end && end <= cache->history->txns.count);
    const struct iso_history *history = cache->history;
    if (history->keys.count > cache->key_count)
        widen_keys(cache);
    cache->ready = end;
    if (cache->found == history->keys.count)
        return;
    for (uint32_t o = history->txns.first_op[first]; o < history->txns.first_op[end]; o++) {
        if (!cache->keys[history->ops.key[o]].number)
            want_key(engine, cache, history->ops.key[o]);
    }
}

void aion_key_cache_take(struct iso_aion *engine, struct aion_key_cache *cache)
{
    for (uint32_t s = 0; s < engine->shards.count; s++) {
        struct aion_wanted_keys *wanted = &engine->shards.wanted[s];
        for (uint32_t i = 0; i < wanted->count; i++) {
            struct aion_cached_key *entry = &cache->keys[wanted->list[i].key];
            assert(entry->number == UINT32_MAX);
            entry->number = wanted->list[i].number + 1;
            entry->use = wanted->list[i].use;
        }
        cache->found += wanted->count;
        wanted->count = 0;
        aion_note_failure(engine, s);
    }
}

struct aion_cached_key *aion_key_cache_find(struct iso_aion *engine, struct aion_key_cache *cache,
                                            uint32_t key)
{
    assert(key < cache->history->keys.count);
    const struct iso_history *history = cache->history;
    if (key >= cache->key_count)
        widen_keys(cache);
    struct aion_cached_key *entry = &cache->keys[key];
    assert(!entry->number);
    set_digest(engine, cache, key);
    cache->found++;
    struct iso_aion_shard *shard = engine->shards.list[entry->shard];
    uint32_t number =
        iso_aion_shard_key(shard, &history->atoms, history->keys.atom[key], entry->digest);
    aion_note_failure(engine, entry->shard);
    entry->number = number + 1;
    entry->use = iso_aion_shard_use(shard, number);
    return entry;
}

struct aion_cached_session *aion_key_cache_find_session(struct aion_key_cache *cache,
                                                        uint32_t session)
{
    assert(session < cache->history->sessions.count);
    const struct iso_history *history = cache->history;
    if (session >= cache->session_count) {
        size_t old = cache->session_count, next = iso_column_capacity(old, history->sessions.count);
        cache->sessions = iso_column_grow(cache->sessions, old * sizeof *cache->sessions,
                                          next * sizeof *cache->sessions);
        memset(cache->sessions + old, 0, (next - old) * sizeof *cache->sessions);
        cache->session_count = (uint32_t)next;
    }
    struct aion_cached_session *entry = &cache->sessions[session];
    uint64_t digest = aion_atom_digest(&history->atoms, history->sessions.atom[session]);
    entry->digest = digest ? digest : 1;
    return entry;
}
