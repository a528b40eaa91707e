/* A shard's keys: found by name, numbered, and what few of them have. */
#include <assert.h>

#include "aion/record.h"
#include "base/memory.h"

#define GROW(column, old, next)                                                                                        \
    ((column) = iso_column_grow((column), (size_t)(old) * sizeof *(column), (size_t)(next) * sizeof *(column)))

static void grow_keys(struct iso_aion_shard *shard)
{
    /* in steps of 16,384 keys, so that the column is a mapping from the start and keys fall on cache lines */
    size_t old = shard->key_capacity, next = old ? old * 2 : 16384;
    GROW(shard->keys, old, next);
    shard->key_capacity = (uint32_t)next;
    aion_advise_huge(shard->keys, next * sizeof *shard->keys);
}

static uint32_t new_key(struct iso_aion_shard *shard)
{
    uint32_t number = shard->free_key - 1;
    if (shard->free_key) {
        shard->free_key = shard->keys[number].atom;
    } else {
        if (shard->key_count == shard->key_capacity)
            grow_keys(shard);
        number = shard->key_count++;
    }
    shard->keys_in_use++;
    return number;
}

/* Not in memory: on disk, or new. */
static uint32_t add_key(struct iso_aion_shard *shard, const struct iso_atoms *atoms, iso_atom name, uint64_t digest)
{
    const uint8_t *record = NULL;
    uint32_t number = new_key(shard), size;
    struct aion_key *key = &shard->keys[number];
    *key = (struct aion_key){.newest_value = shard->initial, .atom = aion_values_take(&shard->values, atoms, name)};
    aion_index_add(&shard->key_index, digest, number);
    if (shard->store)
        iso_spill_get(shard->store, digest, &record, &size, &shard->failure);
    if (!record || !aion_record_is_of(record, size, atoms, name)) {
        shard->known_keys++;
        return number;
    }
    if (!aion_record_read(shard, key, record, size))
        iso_spill_altered(shard->store, &shard->failure);
    key->flags |= AION_KEY_STORED;
    shard->stats.spilt.misses++;
    return number;
}

uint32_t iso_aion_shard_key(struct iso_aion_shard *shard, const struct iso_atoms *atoms, iso_atom key, uint64_t digest)
{
    uint32_t number;
    for (uint32_t at = aion_index_first(&shard->key_index, digest);
         aion_index_at(&shard->key_index, at, digest, &number); at++) {
        if (number == UINT32_MAX || !aion_atoms_same(&shard->values.atoms, shard->keys[number].atom, atoms, key))
            continue;
        uint32_t *flags = &shard->keys[number].flags;
        *flags += (*flags & AION_KEY_ASKED) == AION_KEY_ASKED ? 0 : AION_KEY_ASKED_ONCE;
        shard->stats.spilt.hits += shard->store != NULL;
        return number;
    }
    return add_key(shard, atoms, key, digest);
}

void iso_aion_shard_fetch(const struct iso_aion_shard *shard, uint64_t digest, enum aion_fetch what)
{
    uint32_t number;
    if (what == AION_FETCH_SLOT) {
        aion_index_fetch(&shard->key_index, digest);
        return;
    }
    for (uint32_t at = aion_index_first(&shard->key_index, digest);
         aion_index_at(&shard->key_index, at, digest, &number); at++) {
        if (number == UINT32_MAX)
            continue;
        if (what == AION_FETCH_KEY)
            __builtin_prefetch(&shard->keys[number], 1);
        else if (what == AION_FETCH_ENTRY)
            aion_values_fetch_entry(&shard->values, shard->keys[number].atom);
        else
            aion_values_fetch_text(&shard->values, shard->keys[number].atom);
        return;
    }
    if (what != AION_FETCH_KEY || !shard->store)
        return;
    aion_values_fetch_slot(&shard->values, digest); /* of the name */
    iso_spill_fetch(shard->store, digest);
}

enum { FETCH_STRIDE = 4 };

void iso_aion_shard_keys(struct iso_aion_shard *shard, const struct iso_atoms *atoms, struct aion_wanted *wanted,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t what = 0; what < AION_FETCHES; what++) {
            uint32_t ahead = i + (AION_FETCHES - what) * FETCH_STRIDE;
            if (ahead < count)
                iso_aion_shard_fetch(shard, wanted[ahead].digest, (enum aion_fetch)what);
        }
        wanted[i].number = iso_aion_shard_key(shard, atoms, wanted[i].name, wanted[i].digest);
        wanted[i].use = iso_aion_shard_use(shard, wanted[i].number);
    }
}

void aion_key_free(struct iso_aion_shard *shard, uint32_t number, uint64_t digest)
{
    struct aion_key *key = &shard->keys[number];
    assert(!key->versions.count && !key->reads.count);
    aion_run_release(&shard->pool, &key->versions);
    aion_run_release(&shard->pool, &key->reads);
    if (key->rare) {
        struct aion_rare *rare = &shard->rares[key->rare];
        assert(!rare->first_case && !rare->spares.count);
        aion_run_release(&shard->pool, &rare->spares);
        rare->first_case = shard->free_rare;
        shard->free_rare = key->rare;
        shard->rares_in_use--;
    }
    aion_index_remove(&shard->key_index, digest, number);
    aion_values_drop(&shard->values, key->atom);
    *key = (struct aion_key){.atom = shard->free_key, .flags = AION_KEY_FREE};
    shard->free_key = number + 1;
    shard->keys_in_use--;
}

/* ---- making the table smaller ---- */

enum { SHRINK_FROM = 16384 };

/* Its number changes: for the index, and for its cases. Who else knows it has it pinned. */
static void move_key(struct iso_aion_shard *shard, uint32_t from, uint32_t to)
{
    struct aion_key *key = &shard->keys[to];
    *key = shard->keys[from];
    shard->keys[from] = (struct aion_key){.flags = AION_KEY_FREE};
    uint64_t digest = aion_key_digest(shard, key);
    aion_index_remove(&shard->key_index, digest, from);
    aion_index_add(&shard->key_index, digest, to);
    for (uint32_t at = key->rare ? shard->rares[key->rare].first_case : 0; at; at = shard->cases[at - 1].next)
        shard->cases[at - 1].key = to;
}

/* Keys from the end of the table take the place of those that went, as far as none is pinned. */
void aion_keys_shrink(struct iso_aion_shard *shard)
{
    uint32_t to = 0;
    aion_index_shrink(&shard->key_index);
    bool few = shard->key_count - shard->keys_in_use < SHRINK_FROM || shard->keys_in_use > shard->key_count / 8 * 7;
    if (few && !shard->eager)
        return;
    for (; shard->key_count; shard->key_count--) {
        const struct aion_key *last = &shard->keys[shard->key_count - 1];
        if (last->flags & AION_KEY_FREE)
            continue;
        while (to < shard->key_count && !(shard->keys[to].flags & AION_KEY_FREE))
            to++;
        if (to >= shard->key_count || last->flags & AION_KEY_PINNED)
            break;
        move_key(shard, shard->key_count - 1, to);
    }
    shard->free_key = 0;
    for (uint32_t i = shard->key_count; i-- > 0;) {
        if (!(shard->keys[i].flags & AION_KEY_FREE))
            continue;
        shard->keys[i].atom = shard->free_key;
        shard->free_key = i + 1;
    }
    shard->hand = shard->evict_hand = 0;
    iso_column_trim(shard->keys, shard->key_capacity * sizeof *shard->keys, shard->key_count * sizeof *shard->keys);
}

/* ---- what is known of a key ---- */

uint8_t iso_aion_shard_use(const struct iso_aion_shard *shard, uint32_t key)
{
    return shard->keys[key].flags & AION_KEY_USE;
}

void iso_aion_shard_set_use(struct iso_aion_shard *shard, uint32_t key, uint8_t use)
{
    struct aion_key *entry = &shard->keys[key];
    if ((use & ISO_KEY_LIST) && !aion_key_is_list(entry) && !entry->versions.count)
        entry->newest_value = ISO_ABSENT; /* `initial` is for registers */
    if (use & ~entry->flags)
        entry->flags |= AION_KEY_CHANGED;
    entry->flags |= use & AION_KEY_USE;
}

struct aion_rare *aion_rare_of(struct iso_aion_shard *shard, struct aion_key *key)
{
    if (key->rare)
        return &shard->rares[key->rare];
    if (shard->free_rare) {
        key->rare = shard->free_rare;
        shard->free_rare = shard->rares[key->rare].first_case;
    } else {
        if (shard->rare_count >= shard->rare_capacity) {
            size_t old = shard->rare_capacity, next = iso_column_capacity(old, old + 1);
            GROW(shard->rares, old, next);
            shard->rare_capacity = (uint32_t)next;
        }
        key->rare = shard->rare_count++;
    }
    shard->rares_in_use++;
    shard->rares[key->rare] = (struct aion_rare){.initial = shard->initial, .base = ISO_ABSENT};
    return &shard->rares[key->rare];
}
void iso_aion_shard_initial(struct iso_aion_shard *shard, const struct iso_atoms *atoms, iso_atom value)
{
    assert(!shard->key_count);
    shard->initial = aion_values_take(&shard->values, atoms, value);
}

void iso_aion_shard_initial_key(struct iso_aion_shard *shard, uint32_t number, const struct iso_atoms *atoms,
                                iso_atom value, bool is_append)
{
    struct aion_key *key = &shard->keys[number];
    if (is_append) {
        struct aion_entry entry = {.value = aion_list_new(shard, atoms, &value, 1, 0)};
        aion_list_fold(shard, key, &entry);
    } else {
        aion_rare_of(shard, key)->initial = key->newest_value = aion_values_take(&shard->values, atoms, value);
    }
}
