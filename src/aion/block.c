/* The keys and sessions of a block, looked up once each. */
#include <string.h>

#include "aion/engine_private.h"
#include "base/memory.h"
#include "history/index.h"
#include "history/snapshot.h"

/* Keys have other numbers now, or none. */
void aion_block_forget_keys(struct aion_block *block)
{
    if (block->key_count)
        memset(block->keys, 0, block->key_count * sizeof *block->keys);
    block->found = block->ready = 0;
}

static void forget(struct aion_block *block)
{
    aion_block_forget_keys(block);
    if (block->session_count)
        memset(block->sessions, 0, block->session_count * sizeof *block->sessions);
    iso_free(block->breach);
    block->breach = NULL;
    block->breach_count = 0;
}

void aion_block_set(struct aion_block *block, const struct iso_history *history)
{
    forget(block);
    block->history = history;
    if (!history || !history->breach_count)
        return;
    block->breach_count = history->transaction_count;
    block->breach = iso_allocate(((size_t)block->breach_count + 1) * sizeof *block->breach);
    memset(block->breach, 0xff, block->breach_count * sizeof *block->breach); /* ISO_NONE */
    for (uint32_t i = history->breach_count; i-- > 0;)
        block->breach[history->breaches[i].transaction] = i;
}

void aion_block_release(struct aion_block *block)
{
    iso_column_free(block->keys, block->key_count * sizeof *block->keys);
    iso_column_free(block->sessions, block->session_count * sizeof *block->sessions);
    iso_free(block->breach);
    memset(block, 0, sizeof *block);
}

uint16_t aion_block_stamp(struct aion_block *block)
{
    if (!++block->stamp) {
        for (uint32_t i = 0; i < block->key_count; i++)
            block->keys[i].stamp = 0;
        block->stamp = 1;
    }
    return block->stamp;
}

/* The shard takes the key's digest from its high bits; tables use the low ones. */
static uint8_t shard_of(const struct iso_aion *engine, uint64_t digest)
{
    return (uint8_t)((digest >> 32) * engine->shards >> 32);
}

static void set_digest(const struct iso_aion *engine, const struct aion_block *block, uint32_t key)
{
    const struct iso_history *history = block->history;
    struct aion_block_key *entry = &block->keys[key];
    if (entry->digest)
        return;
    entry->digest = aion_atom_digest(&history->atoms, history->key_atom[key]);
    entry->shard = shard_of(engine, entry->digest);
}

void aion_block_fetch_keys(struct iso_aion *engine, struct aion_block *block, uint32_t transaction,
                           enum aion_fetch what)
{
    const struct iso_history *history = block->history;
    uint32_t end = history->first_operation[transaction + 1];
    for (uint32_t o = history->first_operation[transaction]; o < end; o++) {
        uint32_t key = history->key[o];
        if (key >= block->key_count || block->keys[key].number)
            continue;
        set_digest(engine, block, key);
        iso_aion_shard_fetch(engine->shard[block->keys[key].shard], block->keys[key].digest, what);
    }
}

static void widen_keys(struct aion_block *block)
{
    size_t old = block->key_count, next = iso_column_capacity(old, block->history->key_count);
    block->keys = iso_column_grow(block->keys, old * sizeof *block->keys, next * sizeof *block->keys);
    memset(block->keys + old, 0, (next - old) * sizeof *block->keys);
    block->key_count = (uint32_t)next;
}

/* ---- many keys at once ---- */

static void want_key(struct iso_aion *engine, struct aion_block *block, uint32_t key)
{
    struct aion_block_key *entry = &block->keys[key];
    set_digest(engine, block, key);
    struct aion_wanted_keys *wanted = &engine->wanted[entry->shard];
    if (wanted->count == wanted->capacity) {
        wanted->capacity = wanted->capacity ? wanted->capacity * 2 : 1024;
        wanted->list = iso_reallocate(wanted->list, wanted->capacity * sizeof *wanted->list);
    }
    wanted->list[wanted->count++] =
        (struct aion_wanted){.digest = entry->digest, .name = block->history->key_atom[key], .key = key};
    entry->number = UINT32_MAX; /* wanted once only */
}

void aion_block_want_keys(struct iso_aion *engine, struct aion_block *block, uint32_t first, uint32_t end)
{
    const struct iso_history *history = block->history;
    if (history->key_count > block->key_count)
        widen_keys(block);
    block->ready = end;
    if (block->found == history->key_count)
        return;
    for (uint32_t o = history->first_operation[first]; o < history->first_operation[end]; o++) {
        if (!block->keys[history->key[o]].number)
            want_key(engine, block, history->key[o]);
    }
}

void aion_block_take_keys(struct iso_aion *engine, struct aion_block *block)
{
    for (uint32_t s = 0; s < engine->shards; s++) {
        struct aion_wanted_keys *wanted = &engine->wanted[s];
        for (uint32_t i = 0; i < wanted->count; i++) {
            struct aion_block_key *entry = &block->keys[wanted->list[i].key];
            entry->number = wanted->list[i].number + 1;
            entry->use = wanted->list[i].use;
        }
        block->found += wanted->count;
        wanted->count = 0;
        aion_note_failure(engine, s);
    }
}

struct aion_block_key *aion_block_find_key(struct iso_aion *engine, struct aion_block *block, uint32_t key)
{
    const struct iso_history *history = block->history;
    if (key >= block->key_count)
        widen_keys(block);
    struct aion_block_key *entry = &block->keys[key];
    set_digest(engine, block, key);
    block->found++;
    struct iso_aion_shard *shard = engine->shard[entry->shard];
    uint32_t number = iso_aion_shard_key(shard, &history->atoms, history->key_atom[key], entry->digest);
    aion_note_failure(engine, entry->shard);
    entry->number = number + 1;
    entry->use = iso_aion_shard_use(shard, number);
    return entry;
}

static void new_session(struct iso_aion *engine)
{
    if (engine->session_count == engine->session_capacity) {
        size_t old = engine->session_capacity, next = iso_column_capacity(old, old + 1);
        engine->sessions =
            iso_column_grow(engine->sessions, old * sizeof *engine->sessions, next * sizeof *engine->sessions);
        engine->session_capacity = (uint32_t)next;
    }
    memset(&engine->sessions[engine->session_count++], 0, sizeof *engine->sessions);
}

uint32_t aion_block_find_session(struct iso_aion *engine, struct aion_block *block, uint32_t session)
{
    const struct iso_history *history = block->history;
    if (session >= block->session_count) {
        size_t old = block->session_count, next = iso_column_capacity(old, history->session_count);
        block->sessions =
            iso_column_grow(block->sessions, old * sizeof *block->sessions, next * sizeof *block->sessions);
        memset(block->sessions + old, 0, (next - old) * sizeof *block->sessions);
        block->session_count = (uint32_t)next;
    }
    iso_atom atom = iso_atoms_copy(&engine->session_atoms, &history->atoms, history->session_atom[session]);
    uint32_t number = iso_atom_index_get(engine->session_index, atom, engine->session_count);
    if (number == engine->session_count)
        new_session(engine);
    block->sessions[session] = number + 1;
    return number;
}
