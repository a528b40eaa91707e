/* A shard's keys: found by name, numbered, and what few of them have. */
#include <assert.h>

#include "aion/memory/record.h"
#include "base/memory.h"
#include "verdict/unjudged.h"

static void grow_keys(struct iso_aion_shard *shard)
{
    /* in steps of 16,384 keys, so that the column is a mapping from the start and keys fall on
     * cache lines */
    size_t old = shard->keys.capacity, next = old ? old * 2 : 16384;
    ISO_COLUMN_RESIZE(shard->keys.list, old, next);
    shard->keys.capacity = (uint32_t)next;
    iso_column_huge(shard->keys.list, next * sizeof *shard->keys.list);
}

static uint32_t new_key(struct iso_aion_shard *shard)
{
    uint32_t number = shard->keys.free - 1;
    if (shard->keys.free) {
        shard->keys.free = shard->keys.list[number].atom;
    } else {
        if (shard->keys.count == shard->keys.capacity)
            grow_keys(shard);
        number = shard->keys.count++;
    }
    shard->keys.in_use++;
    return number;
}

static void note_cells(struct iso_aion_shard *shard, const struct iso_atoms *atoms, iso_atom name)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    struct iso_json_text row;
    if (!shard->keys.have_cells)
        shard->keys.have_cells = aion_is_cell(atoms, name, &row, buffer);
}

/* Not in memory: on disk, or new. */
static uint32_t add_key(struct iso_aion_shard *shard, const struct iso_atoms *atoms, iso_atom name,
                        uint64_t digest, uint32_t hash)
{
    const uint8_t *record = NULL;
    uint32_t number = new_key(shard), size;
    struct aion_key *key = &shard->keys.list[number];
    *key = (struct aion_key){.newest_value = shard->keys.initial,
                             .atom = aion_values_take(&shard->values, atoms, name)};
    iso_index_add(&shard->keys.index, hash, number);
    note_cells(shard, atoms, name);
    if (shard->paging.store)
        iso_spill_get(shard->paging.store, digest, &record, &size, &shard->paging.failure);
    if (!record || !aion_record_is_of(record, size, atoms, name)) {
        shard->keys.known++;
        return number;
    }
    if (!aion_record_read(shard, key, record, size))
        iso_spill_altered(shard->paging.store, &shard->paging.failure);
    key->flags |= AION_KEY_STORED;
    shard->stats.spilt.misses++;
    return number;
}

/* Asked for once more: it is not among the first to be evicted. */
static uint32_t known_key(struct iso_aion_shard *shard, uint32_t number)
{
    uint32_t *flags = &shard->keys.list[number].flags;
    *flags += (*flags & AION_KEY_QUERY) == AION_KEY_QUERY ? 0 : AION_KEY_QUERY_ONCE;
    shard->stats.spilt.hits += shard->paging.store != NULL;
    return number;
}

static uint32_t find_key(struct iso_aion_shard *shard, const struct iso_atoms *atoms, iso_atom key,
                         uint64_t digest, uint32_t hash)
{
    uint32_t number;
    for (uint32_t at = iso_index_home(hash); iso_index_next(&shard->keys.index, &at, hash, &number);
         at++) {
        shard->stats.steps++;
        if (aion_atoms_same(&shard->values.atoms, shard->keys.list[number].atom, atoms, key))
            return known_key(shard, number);
    }
    return add_key(shard, atoms, key, digest, hash);
}

uint32_t iso_aion_shard_key(struct iso_aion_shard *shard, const struct iso_atoms *atoms,
                            iso_atom key, uint64_t digest)
{
    return find_key(shard, atoms, key, digest, iso_atom_hash(atoms, key));
}

/* What is fetched for a key, one step after the other: each needs what the one before has
 * fetched. */
enum fetch { FETCH_SLOT, FETCH_KEY, FETCH_NAME, FETCH_TEXT, FETCHES };
enum { FETCH_STRIDE = 10 };

/* The first key with its hash is nearly always the one. */
static void guess_key(const struct iso_aion_shard *shard, struct aion_wanted *wanted)
{
    uint32_t at = iso_index_home(wanted->hash);
    if (iso_index_next(&shard->keys.index, &at, wanted->hash, &wanted->number)) {
        __builtin_prefetch(&shard->keys.list[wanted->number], 1);
        return;
    }
    wanted->number = ISO_NONE;
    if (!shard->paging.store)
        return;
    aion_values_fetch_slot(&shard->values, wanted->hash); /* of the name */
    iso_spill_fetch(shard->paging.store, wanted->digest);
}

static void fetch_wanted(const struct iso_aion_shard *shard, struct aion_wanted *wanted,
                         enum fetch what)
{
    if (what == FETCH_SLOT)
        iso_index_fetch(&shard->keys.index, wanted->hash);
    else if (what == FETCH_KEY)
        guess_key(shard, wanted);
    else if (wanted->number != ISO_NONE && what == FETCH_NAME)
        iso_atoms_fetch_entry(&shard->values.atoms, shard->keys.list[wanted->number].atom, 1);
    else if (wanted->number != ISO_NONE)
        aion_values_fetch_text(&shard->values, shard->keys.list[wanted->number].atom);
}

void iso_aion_shard_keys(struct iso_aion_shard *shard, const struct iso_atoms *atoms,
                         struct aion_wanted *wanted, uint32_t count)
{
    for (uint32_t i = 0; i < count + FETCHES * FETCH_STRIDE; i++) {
        for (uint32_t what = 0; what < FETCHES; what++)
            if (i >= what * FETCH_STRIDE && i - what * FETCH_STRIDE < count)
                fetch_wanted(shard, &wanted[i - what * FETCH_STRIDE], (enum fetch)what);
        if (i < FETCHES * FETCH_STRIDE)
            continue;
        struct aion_wanted *next = &wanted[i - FETCHES * FETCH_STRIDE];
        next->number = find_key(shard, atoms, next->name, next->digest, next->hash);
        next->use = iso_aion_shard_use(shard, next->number);
    }
}

void aion_key_free(struct iso_aion_shard *shard, uint32_t number)
{
    struct aion_key *key = &shard->keys.list[number];
    assert(!key->versions.count && !key->reads.count);
    aion_chunks_release(&shard->pool, &key->versions);
    aion_chunks_release(&shard->pool, &key->reads);
    if (key->cold) {
        struct aion_cold *cold = &shard->cold.list[key->cold];
        assert(!cold->first_pending && !cold->nonversions.count);
        aion_chunks_release(&shard->pool, &cold->nonversions);
        aion_chunks_release(&shard->pool, &cold->idle);
        aion_overlap_count_free(cold->overlap_count);
        cold->overlap_count = NULL;
        aion_chunks_release(&shard->pool, &cold->value_writers);
        cold->first_pending = shard->cold.free;
        shard->cold.free = key->cold;
        shard->cold.in_use--;
    }
    iso_index_remove(&shard->keys.index, iso_atom_hash(&shard->values.atoms, key->atom), number);
    aion_values_drop(&shard->values, key->atom);
    *key = (struct aion_key){.atom = shard->keys.free, .flags = AION_KEY_FREE};
    shard->keys.free = number + 1;
    shard->keys.in_use--;
}

/* ---- making the table smaller ---- */

enum { SHRINK_FROM = 16384 };

/* Its number changes: for the index, and for its pending verdicts. Who else knows it has it
 * pinned. */
static void move_key(struct iso_aion_shard *shard, uint32_t from, uint32_t to)
{
    struct aion_key *key = &shard->keys.list[to];
    *key = shard->keys.list[from];
    shard->keys.list[from] = (struct aion_key){.flags = AION_KEY_FREE};
    uint32_t hash = iso_atom_hash(&shard->values.atoms, key->atom);
    iso_index_remove(&shard->keys.index, hash, from);
    iso_index_add(&shard->keys.index, hash, to);
    for (uint32_t at = key->cold ? shard->cold.list[key->cold].first_pending : 0; at;
         at = shard->pending.list[at - 1].next)
        shard->pending.list[at - 1].key = to;
}

/* Keys from the end of the table take the place of those that went, as far as none is pinned. */
void aion_keys_shrink(struct iso_aion_shard *shard)
{
    uint32_t to = 0;
    iso_index_shrink(&shard->keys.index);
    bool few = shard->keys.count - shard->keys.in_use < SHRINK_FROM ||
               shard->keys.in_use > shard->keys.count / 8 * 7;
    if (few && !shard->paging.eager)
        return;
    for (; shard->keys.count; shard->keys.count--) {
        const struct aion_key *last = &shard->keys.list[shard->keys.count - 1];
        if (last->flags & AION_KEY_FREE)
            continue;
        while (to < shard->keys.count && !(shard->keys.list[to].flags & AION_KEY_FREE))
            to++;
        if (to >= shard->keys.count || last->flags & AION_KEY_PINNED)
            break;
        move_key(shard, shard->keys.count - 1, to);
    }
    shard->keys.free = 0;
    for (uint32_t i = shard->keys.count; i-- > 0;) {
        if (!(shard->keys.list[i].flags & AION_KEY_FREE))
            continue;
        shard->keys.list[i].atom = shard->keys.free;
        shard->keys.free = i + 1;
    }
    shard->keys.clock_hand = shard->paging.evict_clock_hand = 0;
    iso_column_trim(shard->keys.list, shard->keys.capacity * sizeof *shard->keys.list,
                    shard->keys.count * sizeof *shard->keys.list);
}

/* ---- what is known of a key ---- */

uint8_t iso_aion_shard_use(const struct iso_aion_shard *shard, uint32_t key)
{
    assert(key < shard->keys.count);
    return shard->keys.list[key].flags & AION_KEY_USE;
}

void iso_aion_shard_set_use(struct iso_aion_shard *shard, uint32_t key, uint8_t use)
{
    assert(key < shard->keys.count);
    struct aion_key *entry = &shard->keys.list[key];
    bool turns = (use & ISO_KEY_LIST) && !aion_key_is_list(entry);
    if (turns && !entry->versions.count)
        entry->newest_value = ISO_ABSENT; /* `initial` is for registers */
    if (use & ~entry->flags)
        entry->flags |= AION_KEY_CHANGED;
    entry->flags |= use & AION_KEY_USE;
    if (turns && shard->keys.initial != ISO_ABSENT)
        aion_recheck_initial(shard, entry); /* reads of nothing were taken for wrong */
}

struct aion_cold *aion_cold_of(struct iso_aion_shard *shard, struct aion_key *key)
{
    if (key->cold)
        return &shard->cold.list[key->cold];
    if (shard->cold.free) {
        key->cold = shard->cold.free;
        shard->cold.free = shard->cold.list[key->cold].first_pending;
    } else {
        ISO_GROW_COLUMN(shard->cold.list, shard->cold.count, shard->cold.capacity);
        key->cold = shard->cold.count++;
    }
    shard->cold.in_use++;
    shard->cold.list[key->cold] =
        (struct aion_cold){.initial = shard->keys.initial, .base = ISO_ABSENT};
    return &shard->cold.list[key->cold];
}
void iso_aion_shard_initial(struct iso_aion_shard *shard, const struct iso_atoms *atoms,
                            iso_atom value)
{
    assert(!shard->keys.count);
    shard->keys.initial = aion_values_take(&shard->values, atoms, value);
}

void iso_aion_shard_initial_key(struct iso_aion_shard *shard, uint32_t number,
                                const struct iso_atoms *atoms, iso_atom value, bool is_append)
{
    struct aion_key *key = &shard->keys.list[number];
    if (is_append) {
        struct aion_entry entry = {.value = aion_list_new(shard, atoms, &value, 1, 0)};
        aion_list_fold(shard, key, &entry);
    } else {
        aion_cold_of(shard, key)->initial = key->newest_value =
            aion_values_take(&shard->values, atoms, value);
    }
}

void aion_set_initial(struct iso_aion_shard *shard, uint32_t number, const struct iso_atoms *atoms,
                      iso_atom value, bool assumed)
{
    struct aion_key *key = &shard->keys.list[number];
    if (aion_key_is_list(key) || (key->flags & AION_KEY_DROPPED))
        return;
    struct aion_cold *cold = aion_cold_of(shard, key);
    uint32_t old = cold->initial;
    bool known = !iso_value_is_unknown(atoms, value);
    cold->initial = aion_values_take(&shard->values, atoms, value);
    shard->stats.disagreeing += key->flags & AION_KEY_ASSUMED && known && cold->initial != old;
    key->flags =
        (key->flags & ~AION_KEY_ASSUMED) | AION_KEY_CHANGED | (assumed ? AION_KEY_ASSUMED : 0);
    if (!key->versions.count)
        key->newest_value = cold->initial;
    if (old != shard->keys.initial)
        aion_values_drop(&shard->values, old);
    if (cold->initial == shard->keys.initial)
        aion_values_drop(&shard->values, cold->initial); /* not the key's own */
    aion_recheck_initial(shard, key);
}

void iso_aion_shard_set_initial(struct iso_aion_shard *shard, uint32_t number,
                                const struct iso_atoms *atoms, iso_atom value)
{
    aion_set_initial(shard, number, atoms, value, false);
}

static uint64_t reads_above(const struct iso_aion_shard *shard, const struct aion_key *key,
                            uint64_t visible_below)
{
    uint64_t count = 0;
    struct aion_cursor cursor =
        aion_chunks_lower(&shard->pool, &key->reads, aion_above(visible_below));
    for (; aion_chunks_get(&shard->pool, &key->reads, cursor);
         aion_chunks_next(&shard->pool, &key->reads, &cursor))
        count++;
    return count;
}

void iso_aion_shard_count_waiting(const struct iso_aion_shard *shard, uint64_t visible_below,
                                  struct iso_aion_waiting *waiting)
{
    for (uint32_t i = 0; i < shard->keys.count; i++) {
        const struct aion_key *key = &shard->keys.list[i];
        if (!(key->flags & AION_KEY_FREE) && key->reads.count && key->last_read > visible_below)
            waiting->reads += reads_above(shard, key, visible_below);
    }
    for (uint32_t i = 0; i < shard->readers.count; i++) {
        if (shard->readers.list[i].visible_below <= visible_below)
            continue;
        aion_note_oldest(&waiting->read,
                         &shard->transactions.list[shard->readers.list[i].transaction]);
        break; /* they stand as they arrived */
    }
    aion_pending_count_waiting(shard, visible_below, waiting);
    aion_reorder_count_waiting(shard, waiting);
}
