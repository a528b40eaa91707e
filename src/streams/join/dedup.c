/* What was finished, so that what a sender repeats after a restart is known for what it is.
 *
 * Two rings, which grow up to a fixed size: entries, one a transaction, and digests, one a row (32
 * bits of its identity within the transaction, 32 of its content). What is older than the rings is
 * forgotten; a repeat of it would count as delivered again. Dgraph's senders go back by three
 * minutes at most, Connect by its offset flush interval.
 */
#include <assert.h>

#include "base/memory.h"
#include "join/join_private.h"

enum { RING_SMALLEST = 64 };

static uint32_t digest_of(uint32_t key, uint64_t ordinal)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15u + ordinal) * 0xbf58476d1ce4e5b9u >> 32);
}

static struct join_dedup_entry *entry_at(const struct join_dedup *dedup, uint64_t number)
{
    return &dedup->entries[number % JOIN_DEDUP_ENTRIES];
}

static bool is_kept(const struct join_dedup *dedup, const struct join_dedup_entry *entry)
{
    return entry->identity.tag && entry->first + JOIN_DEDUP_DIGESTS >= dedup->next_digest;
}

/* Room for one more in a ring, which doubles up to its full size. Returns its place. */
static void *reserve(void *ring, uint64_t *capacity, uint64_t next, uint64_t most, size_t element)
{
    if (next < *capacity || *capacity == most)
        return ring;
    uint64_t old = *capacity, doubled = old ? 2 * old : RING_SMALLEST;
    *capacity = doubled < most ? doubled : most;
    return iso_column_grow(ring, old * element, *capacity * element);
}

/* A row of a source that gives rows no identity is known by its key alone: what is finished is not
 * added to, and a sender that starts over in the middle of what it repeats shifts all counts. So is
 * one of a binlog: after a failover it is repeated from another server's, where it stands
 * elsewhere. */
static uint32_t row_digest(const struct iso_join *join, struct join_identity of, uint32_t key,
                           uint64_t ordinal)
{
    bool by_key =
        join->capability->spans || (join->capability->positions && of.tag == JOIN_BY_TEXT);
    return digest_of(key, by_key ? 0 : ordinal);
}

/* The map has the number of an entry, cut to 32 bits: the ring is far smaller. */
static void index_entry(struct join_dedup *dedup, uint64_t number)
{
    join_map_put(&dedup->map, entry_at(dedup, number)->identity,
                 (uint32_t)(number % JOIN_DEDUP_ENTRIES));
}

void join_dedup_index(struct join_dedup *dedup)
{
    uint64_t count =
        dedup->next_entry < JOIN_DEDUP_ENTRIES ? dedup->next_entry : JOIN_DEDUP_ENTRIES;
    join_map_release(&dedup->map);
    for (uint64_t i = dedup->next_entry - count; i < dedup->next_entry; i++)
        index_entry(dedup, i);
}

static void evict(struct join_dedup *dedup, uint64_t number)
{
    if (number < JOIN_DEDUP_ENTRIES)
        return;
    struct join_dedup_entry *old = entry_at(dedup, number);
    if (join_map_get(&dedup->map, old->identity) == number % JOIN_DEDUP_ENTRIES)
        join_map_remove(&dedup->map, old->identity);
}

static bool is_text(iso_atom atom)
{
    return (atom & ISO_ATOM_TABLE) && atom != ISO_ABSENT;
}

static void add_digest(struct join_dedup *dedup, uint32_t of_row, uint32_t content)
{
    dedup->digests = reserve(dedup->digests, &dedup->digest_capacity, dedup->next_digest,
                             JOIN_DEDUP_DIGESTS, sizeof *dedup->digests);
    dedup->digests[dedup->next_digest++ % JOIN_DEDUP_DIGESTS] = (uint64_t)of_row << 32 | content;
}

/* Stands for all rows of a key, where what is finished may have had more of them. */
static uint32_t key_digest(uint32_t key)
{
    return digest_of(key, UINT64_MAX);
}

void join_dedup_add(struct iso_join *join, const struct join_transaction *transaction, iso_atom tid,
                    uint64_t cts)
{
    assert(transaction->identity.tag);
    struct join_dedup *dedup = &join->dedup;
    uint64_t number = dedup->next_entry;
    dedup->entries = reserve(dedup->entries, &dedup->entry_capacity, number, JOIN_DEDUP_ENTRIES,
                             sizeof *dedup->entries);
    evict(dedup, number);
    struct join_dedup_entry *entry = entry_at(dedup, number);
    *entry = (struct join_dedup_entry){
        .identity = transaction->identity, .tid = tid, .first = dedup->next_digest, .cts = cts};
    for (uint32_t i = 0, row = transaction->rows.first; i < transaction->rows.count;
         i++, row = join->rows.list[row].next) {
        const struct join_row *it = &join->rows.list[row];
        if (join->keys.list[it->key].part == JOIN_PART_CELL) /* its row says all */
            continue;
        add_digest(dedup, row_digest(join, transaction->identity, it->key, it->ordinal),
                   it->content);
        if (join->capability->closing == JOIN_CLOSES_WITH_RECORD)
            add_digest(dedup, key_digest(it->key), 0);
    }
    entry->count = (uint32_t)(dedup->next_digest - entry->first);
    dedup->has_texts |= is_text(tid) || transaction->identity.tag == JOIN_BY_TEXT ||
                        transaction->identity.tag == JOIN_BY_MARKER;
    dedup->next_entry++;
    index_entry(dedup, number);
}

void join_dedup_note(struct iso_join *join, struct join_identity identity, iso_atom tid,
                     uint64_t cts)
{
    join_dedup_add(join, &(struct join_transaction){.identity = identity}, tid, cts);
}

struct join_dedup_entry *join_dedup_find(struct iso_join *join, struct join_identity identity)
{
    struct join_dedup *dedup = &join->dedup;
    uint32_t number = join_map_get(&dedup->map, identity);
    if (number == ISO_NONE)
        return NULL;
    struct join_dedup_entry *entry = &dedup->entries[number];
    return is_kept(dedup, entry) ? entry : NULL;
}

enum join_repeat join_dedup_check(struct iso_join *join, struct join_dedup_entry *entry,
                                  uint32_t key, uint64_t ordinal, uint32_t content)
{
    const struct join_dedup *dedup = &join->dedup;
    uint32_t digest = row_digest(join, entry->identity, key, ordinal);
    enum join_repeat sight = JOIN_NEW;
    uint32_t first = entry->cursor;
    for (uint32_t i = 0; i < entry->count; i++) {
        uint32_t at = (first + i) % entry->count;
        uint64_t known = dedup->digests[(entry->first + at) % JOIN_DEDUP_DIGESTS];
        if (known >> 32 != digest)
            continue;
        entry->cursor = at + 1;
        if ((uint32_t)known == content)
            return JOIN_REPEAT;
        sight = JOIN_OTHER_CONTENT;
    }
    return sight;
}

bool join_dedup_has_key(const struct iso_join *join, const struct join_dedup_entry *entry,
                        uint32_t key)
{
    const struct join_dedup *dedup = &join->dedup;
    for (uint32_t i = 0; i < entry->count; i++)
        if (dedup->digests[(entry->first + i) % JOIN_DEDUP_DIGESTS] == (uint64_t)key_digest(key)
                                                                           << 32)
            return true;
    return false;
}

void join_dedup_release(struct join_dedup *dedup)
{
    iso_column_free(dedup->entries, dedup->entry_capacity * sizeof *dedup->entries);
    iso_column_free(dedup->digests, dedup->digest_capacity * sizeof *dedup->digests);
    join_map_release(&dedup->map);
}
