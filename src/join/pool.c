/* Where rows, transactions and records live, and the texts that they refer to.
 *
 * Columns with free lists: nothing is allocated once the most that ever waited was reached. Texts of values, ids and
 * tids have a table that is built anew from what is referred to when most of it is not.
 */
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/memory.h"
#include "history/index.h"
#include "join/join_private.h"

enum { REBUILD_FROM = 1 << 16 };

/* ---- texts and keys ---- */

static void reserve_caches(struct iso_join *join, const struct iso_history *block)
{
    uint32_t count = block->atoms.count;
    if (join->block != block) {
        join->block = block;
        join->cache_count = 0;
    }
    if (count > join->cache_capacity) {
        join->cache_capacity = (uint32_t)iso_column_capacity(join->cache_capacity, count);
        join->text_cache = iso_reallocate(join->text_cache, join->cache_capacity * sizeof *join->text_cache);
        join->key_cache = iso_reallocate(join->key_cache, join->cache_capacity * sizeof *join->key_cache);
    }
    if (count > join->cache_count) {
        memset(join->text_cache + join->cache_count, 0, (count - join->cache_count) * sizeof *join->text_cache);
        memset(join->key_cache + join->cache_count, 0, (count - join->cache_count) * sizeof *join->key_cache);
        join->cache_count = count;
    }
}

static void reserve_keys(struct iso_join *join)
{
    if (join->keys.key_count < join->key_capacity)
        return;
    uint32_t capacity = (uint32_t)iso_column_capacity(join->key_capacity, join->keys.key_count + 1);
    join->key_states = iso_column_grow(join->key_states, join->key_capacity * sizeof *join->key_states,
                                       capacity * sizeof *join->key_states);
    for (uint32_t i = join->key_capacity; i < capacity; i++)
        join->key_states[i] = (struct join_key){.table = ISO_ABSENT, .value = ISO_ABSENT};
    join->key_capacity = capacity;
}

uint32_t join_key_number(struct iso_join *join, const struct iso_history *block, iso_atom key)
{
    uint32_t entry = key & ~ISO_ATOM_TABLE;
    bool cached = (key & ISO_ATOM_TABLE) != 0;
    if (cached) {
        reserve_caches(join, block);
        if (join->key_cache[entry])
            return join->key_cache[entry] - 1;
    }
    uint32_t number = iso_history_key(&join->keys, iso_atoms_copy(&join->keys.atoms, &block->atoms, key));
    reserve_keys(join);
    if (cached)
        join->key_cache[entry] = number + 1;
    return number;
}

iso_atom join_text(struct iso_join *join, const struct iso_history *block, iso_atom text)
{
    uint32_t entry = text & ~ISO_ATOM_TABLE;
    if (!(text & ISO_ATOM_TABLE) || text == ISO_ABSENT)
        return text;
    reserve_caches(join, block);
    if (!join->text_cache[entry])
        join->text_cache[entry] = iso_atoms_copy(&join->texts, &block->atoms, text);
    return join->text_cache[entry];
}

/* Of its text: the same for ever. */
uint32_t join_digest(const struct iso_atoms *atoms, iso_atom atom)
{
    char buffer[ISO_ATOM_TEXT_MAX];
    size_t length;
    if (!(atom & ISO_ATOM_TABLE) || atom == ISO_ABSENT)
        return (uint32_t)(((uint64_t)atom + 1) * 0x9e3779b97f4a7c15u >> 32);
    const char *text = iso_atom_text(atoms, atom, buffer, &length);
    return (uint32_t)XXH3_64bits(text, length);
}

/* ---- rows ---- */

uint32_t join_new_row(struct iso_join *join, struct join_chain *chain)
{
    uint32_t row = join->free_row;
    if (row != ISO_NONE) {
        join->free_row = join->rows[row].next;
    } else {
        if (join->row_count == join->row_capacity) {
            uint32_t capacity = (uint32_t)iso_column_capacity(join->row_capacity, join->row_count + 1);
            join->rows =
                iso_column_grow(join->rows, join->row_capacity * sizeof *join->rows, capacity * sizeof *join->rows);
            join->row_capacity = capacity;
        }
        row = join->row_count++;
    }
    join->rows[row] = (struct join_row){.next = ISO_NONE, .before = ISO_ABSENT, .after = ISO_ABSENT};
    if (chain->count++)
        join->rows[chain->last].next = row;
    else
        chain->first = row;
    chain->last = row;
    join->rows_in_use++;
    return row;
}

void join_free_rows(struct iso_join *join, struct join_chain *chain)
{
    if (chain->count) {
        join->rows[chain->last].next = join->free_row;
        join->free_row = chain->first;
        join->rows_in_use -= chain->count;
    }
    *chain = (struct join_chain){ISO_NONE, ISO_NONE, 0};
}

/* ---- transactions ---- */

uint32_t join_new_transaction(struct iso_join *join, struct join_identity identity)
{
    uint32_t number = join->free_transaction;
    if (number != ISO_NONE) {
        join->free_transaction = join->transactions[number].newer;
    } else {
        if (join->transaction_count == join->transaction_capacity) {
            uint32_t capacity = (uint32_t)iso_column_capacity(join->transaction_capacity, join->transaction_count + 1);
            join->transactions =
                iso_column_grow(join->transactions, join->transaction_capacity * sizeof *join->transactions,
                                capacity * sizeof *join->transactions);
            join->transaction_capacity = capacity;
        }
        number = join->transaction_count++;
    }
    join->transactions[number] = (struct join_transaction){.identity = identity,
                                                           .rows = {ISO_NONE, ISO_NONE, 0},
                                                           .markers = {ISO_NONE, ISO_NONE, 0},
                                                           .others_seen = {ISO_NONE, ISO_NONE, 0},
                                                           .older = join->newest,
                                                           .newer = ISO_NONE,
                                                           .stamp = ++join->stamps,
                                                           .cursor = ISO_NONE,
                                                           .origin = UINT64_MAX,
                                                           .arrived = join->now};
    if (join->newest != ISO_NONE)
        join->transactions[join->newest].newer = number;
    else
        join->oldest = number;
    join->newest = number;
    join->open_count++;
    join_map_put(&join->by_identity, identity, number);
    return number;
}

void join_leave_open(struct iso_join *join, uint32_t number)
{
    struct join_transaction *transaction = &join->transactions[number];
    if (transaction->flags & JOIN_PLACING)
        return;
    if (transaction->older != ISO_NONE)
        join->transactions[transaction->older].newer = transaction->newer;
    else
        join->oldest = transaction->newer;
    if (transaction->newer != ISO_NONE)
        join->transactions[transaction->newer].older = transaction->older;
    else
        join->newest = transaction->older;
    join->open_count--;
    join_map_remove(&join->by_identity, transaction->identity);
    join_forget_markers(join, transaction);
}

void join_forget_transaction(struct iso_join *join, uint32_t number)
{
    struct join_transaction *transaction = &join->transactions[number];
    join_free_rows(join, &transaction->rows);
    join_free_rows(join, &transaction->markers);
    join_free_rows(join, &transaction->others_seen);
    transaction->identity.tag = 0;
    transaction->newer = join->free_transaction;
    join->free_transaction = number;
}

/* ---- records ---- */

uint32_t join_new_record(struct iso_join *join)
{
    uint32_t number = join->free_record;
    if (number != ISO_NONE) {
        join->free_record = join->records[number].newer;
    } else {
        if (join->record_count == join->record_capacity) {
            uint32_t capacity = (uint32_t)iso_column_capacity(join->record_capacity, join->record_count + 1);
            join->records = iso_column_grow(join->records, join->record_capacity * sizeof *join->records,
                                            capacity * sizeof *join->records);
            join->record_capacity = capacity;
        }
        number = join->record_count++;
    }
    join->records[number] = (struct join_record){.tid = ISO_ABSENT,
                                                 .writes = {ISO_NONE, ISO_NONE, 0},
                                                 .same = ISO_NONE,
                                                 .older = join->newest_record,
                                                 .newer = ISO_NONE,
                                                 .held = ISO_NONE,
                                                 .arrived = join->now};
    if (join->newest_record != ISO_NONE)
        join->records[join->newest_record].newer = number;
    else
        join->oldest_record = number;
    join->newest_record = number;
    join->waiting_records++;
    return number;
}

/* Several records may have one commit timestamp, or one identity that markers told. */
static bool is_chained(const struct join_record *record, uint32_t i)
{
    return record->identity[i].tag == JOIN_BY_CTS || (!i && (record->flags & JOIN_RECORD_BOUND));
}

/* Rows of its identities will find it. */
void join_enter_claim(struct iso_join *join, uint32_t number)
{
    struct join_record *record = &join->records[number];
    for (uint32_t i = 0; i < record->identity_count; i++) {
        uint32_t first = join_map_get(&join->by_claim, record->identity[i]);
        if (first != ISO_NONE && is_chained(record, i))
            record->same = first;
        join_map_put(&join->by_claim, record->identity[i], number);
    }
}

void join_leave_claim(struct iso_join *join, uint32_t number)
{
    const struct join_record *record = &join->records[number];
    for (uint32_t i = 0; i < record->identity_count; i++) {
        uint32_t first = join_map_get(&join->by_claim, record->identity[i]);
        if (first == number && record->same != ISO_NONE && is_chained(record, i)) {
            join_map_put(&join->by_claim, record->identity[i], record->same);
        } else if (first == number) {
            join_map_remove(&join->by_claim, record->identity[i]);
        } else if (is_chained(record, i)) {
            while (first != ISO_NONE && join->records[first].same != number)
                first = join->records[first].same;
            if (first != ISO_NONE)
                join->records[first].same = record->same;
        }
    }
}

/* The held transactions that are still needed move to a new history once most are not. */
static void rebuild_held(struct iso_join *join)
{
    struct iso_history kept;
    if (join->held.transaction_count < REBUILD_FROM / 16 || join->held_open > join->held.transaction_count / 4)
        return;
    iso_history_init(&kept);
    kept.places_known = true;
    for (uint32_t i = 0; i < join->record_count; i++) {
        struct join_record *record = &join->records[i];
        if (!(record->flags & JOIN_RECORD_FREE) && record->held != ISO_NONE)
            record->held = join_copy_transaction(&kept, &join->held, record->held);
    }
    iso_history_release(&join->held);
    join->held = kept;
    join->held.clock = ISO_CLOCK_SCALAR;
}

void join_forget_record(struct iso_join *join, uint32_t number)
{
    struct join_record *record = &join->records[number];
    join_leave_claim(join, number);
    join_free_rows(join, &record->writes);
    if (record->held != ISO_NONE)
        join->held_open--;
    if (record->older != ISO_NONE)
        join->records[record->older].newer = record->newer;
    else
        join->oldest_record = record->newer;
    if (record->newer != ISO_NONE)
        join->records[record->newer].older = record->older;
    else
        join->newest_record = record->older;
    record->flags = JOIN_RECORD_FREE;
    record->held = ISO_NONE;
    record->newer = join->free_record;
    join->free_record = number;
    join->waiting_records--;
}

/* ---- texts that nothing refers to any more ---- */

static void keep(struct iso_atoms *kept, const struct iso_atoms *all, iso_atom *atom)
{
    if ((*atom & ISO_ATOM_TABLE) && *atom != ISO_ABSENT)
        *atom = iso_atoms_copy(kept, all, *atom);
}

static void keep_rows(struct iso_join *join, struct iso_atoms *kept, const struct join_chain *chain)
{
    for (uint32_t i = 0, row = chain->first; i < chain->count; i++, row = join->rows[row].next) {
        keep(kept, &join->texts, &join->rows[row].before);
        keep(kept, &join->texts, &join->rows[row].after);
    }
}

static void keep_identity(struct iso_atoms *kept, const struct iso_atoms *all, struct join_identity *identity)
{
    iso_atom atom = (iso_atom)identity->number;
    if (identity->tag != JOIN_BY_TEXT && identity->tag != JOIN_BY_MARKER)
        return;
    keep(kept, all, &atom);
    identity->number = atom;
}

static void keep_transactions(struct iso_join *join, struct iso_atoms *kept)
{
    join_map_release(&join->by_identity);
    for (uint32_t i = 0; i < join->transaction_count; i++) {
        struct join_transaction *transaction = &join->transactions[i];
        if (!transaction->identity.tag)
            continue;
        keep_rows(join, kept, &transaction->rows);
        keep_rows(join, kept, &transaction->markers);
        keep_identity(kept, &join->texts, &transaction->identity);
        if (transaction->flags & JOIN_PLACING)
            continue;
        join_map_put(&join->by_identity, transaction->identity, i);
        join_enter_markers(join, i);
    }
}

static void keep_records(struct iso_join *join, struct iso_atoms *kept)
{
    join_map_release(&join->by_claim);
    for (uint32_t i = join->oldest_record; i != ISO_NONE; i = join->records[i].newer) {
        struct join_record *record = &join->records[i];
        keep(kept, &join->texts, &record->tid);
        keep_rows(join, kept, &record->writes);
        for (uint32_t j = 0; j < record->identity_count; j++)
            keep_identity(kept, &join->texts, &record->identity[j]);
        record->same = ISO_NONE;
        join_enter_claim(join, i);
    }
}

static void keep_settled(struct iso_join *join, struct iso_atoms *kept)
{
    struct join_settled *settled = &join->settled;
    uint64_t count = settled->next_entry < JOIN_SETTLED_ENTRIES ? settled->next_entry : JOIN_SETTLED_ENTRIES;
    if (!settled->has_texts) /* a million entries to go through */
        return;
    for (uint64_t i = 0; i < count; i++) {
        struct join_settled_entry *entry = &settled->entries[i];
        keep(kept, &join->texts, &entry->tid);
        keep_identity(kept, &join->texts, &entry->identity);
    }
    join_settled_index(settled);
}

void join_rebuild_texts(struct iso_join *join)
{
    struct iso_atoms kept;
    rebuild_held(join);
    if (join->texts.count < REBUILD_FROM || join->texts.count / 4 < join->texts_kept)
        return;
    iso_atoms_init(&kept);
    keep_transactions(join, &kept);
    keep_records(join, &kept);
    keep_settled(join, &kept);
    for (uint32_t i = 0; i < join->keys.key_count; i++)
        keep(&kept, &join->texts, &join->key_states[i].value);
    for (uint32_t i = 0; i < join->lane_count; i++)
        keep_identity(&kept, &join->texts, &join->lanes[i].current);
    iso_atoms_release(&join->texts);
    join->texts = kept;
    join->texts_kept = kept.count;
}
