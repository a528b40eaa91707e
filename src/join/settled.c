/* What was settled, so that what a sender repeats after a restart is known for what it is.
 *
 * Two rings of fixed size: entries, one a transaction, and digests, one a row (32 bits of its identity within the
 * transaction, 32 of its content). What is older than the rings is forgotten; a repeat of it would count as delivered
 * again. Dgraph's senders go back by three minutes at most, Connect by its offset flush interval.
 */
#include "base/memory.h"
#include "join/join_private.h"

static uint32_t digest_of(uint32_t key, uint64_t ordinal)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15u + ordinal) * 0xbf58476d1ce4e5b9u >> 32);
}

static struct join_settled_entry *entry_at(const struct join_settled *settled, uint64_t number)
{
    return &settled->entries[number % JOIN_SETTLED_ENTRIES];
}

static bool is_kept(const struct join_settled *settled, const struct join_settled_entry *entry)
{
    return entry->identity.tag && entry->first + JOIN_SETTLED_DIGESTS >= settled->next_digest;
}

static void reserve(struct join_settled *settled)
{
    if (settled->entries)
        return;
    settled->entries = iso_column_grow(NULL, 0, JOIN_SETTLED_ENTRIES * sizeof *settled->entries);
    settled->digests = iso_column_grow(NULL, 0, JOIN_SETTLED_DIGESTS * sizeof *settled->digests);
}

/* A row of a source that gives rows no identity is known by its key alone: what is settled is not added to, and a
 * sender that starts over in the middle of what it repeats shifts all counts. So is one of a binlog: after a failover
 * it is told again from another server's, where it stands elsewhere. */
static uint32_t row_digest(const struct iso_join *join, struct join_identity of, uint32_t key, uint64_t ordinal)
{
    bool by_key = join->capability->runs || (join->capability->positions && of.tag == JOIN_BY_TEXT);
    return digest_of(key, by_key ? 0 : ordinal);
}

/* The map holds the number of an entry, cut to 32 bits: the ring is far smaller. */
static void index_entry(struct join_settled *settled, uint64_t number)
{
    join_map_put(&settled->map, entry_at(settled, number)->identity, (uint32_t)(number % JOIN_SETTLED_ENTRIES));
}

void join_settled_index(struct join_settled *settled)
{
    uint64_t count = settled->next_entry < JOIN_SETTLED_ENTRIES ? settled->next_entry : JOIN_SETTLED_ENTRIES;
    join_map_release(&settled->map);
    for (uint64_t i = settled->next_entry - count; i < settled->next_entry; i++)
        index_entry(settled, i);
}

static void evict(struct join_settled *settled, uint64_t number)
{
    if (number < JOIN_SETTLED_ENTRIES)
        return;
    struct join_settled_entry *old = entry_at(settled, number);
    if (join_map_get(&settled->map, old->identity) == number % JOIN_SETTLED_ENTRIES)
        join_map_remove(&settled->map, old->identity);
}

static bool is_text(iso_atom atom)
{
    return (atom & ISO_ATOM_TABLE) && atom != ISO_ABSENT;
}

void join_settled_add(struct iso_join *join, const struct join_transaction *transaction, iso_atom tid, uint64_t cts)
{
    struct join_settled *settled = &join->settled;
    uint64_t number = settled->next_entry;
    reserve(settled);
    evict(settled, number);
    struct join_settled_entry *entry = entry_at(settled, number);
    *entry = (struct join_settled_entry){.identity = transaction->identity,
                                         .tid = tid,
                                         .first = settled->next_digest,
                                         .count = transaction->rows.count,
                                         .cts = cts};
    for (uint32_t i = 0, row = transaction->rows.first; i < transaction->rows.count;
         i++, row = join->rows.list[row].next) {
        const struct join_row *it = &join->rows.list[row];
        settled->digests[settled->next_digest++ % JOIN_SETTLED_DIGESTS] =
            (uint64_t)row_digest(join, transaction->identity, it->key, it->ordinal) << 32 | it->content;
    }
    settled->has_texts |=
        is_text(tid) || transaction->identity.tag == JOIN_BY_TEXT || transaction->identity.tag == JOIN_BY_MARKER;
    settled->next_entry++;
    index_entry(settled, number);
}

void join_settled_note(struct iso_join *join, struct join_identity identity, iso_atom tid, uint64_t cts)
{
    join_settled_add(join, &(struct join_transaction){.identity = identity}, tid, cts);
}

struct join_settled_entry *join_settled_find(struct iso_join *join, struct join_identity identity)
{
    struct join_settled *settled = &join->settled;
    uint32_t number = join_map_get(&settled->map, identity);
    if (number == ISO_NONE)
        return NULL;
    struct join_settled_entry *entry = &settled->entries[number];
    return is_kept(settled, entry) ? entry : NULL;
}

enum join_sight join_settled_look(struct iso_join *join, struct join_settled_entry *entry, uint32_t key,
                                  uint64_t ordinal, uint32_t content)
{
    const struct join_settled *settled = &join->settled;
    uint32_t digest = row_digest(join, entry->identity, key, ordinal);
    enum join_sight sight = JOIN_NEW;
    uint32_t first = entry->cursor;
    for (uint32_t i = 0; i < entry->count; i++) {
        uint32_t at = (first + i) % entry->count;
        uint64_t known = settled->digests[(entry->first + at) % JOIN_SETTLED_DIGESTS];
        if (known >> 32 != digest)
            continue;
        entry->cursor = at + 1;
        if ((uint32_t)known == content)
            return JOIN_REPEAT;
        sight = JOIN_OTHER_CONTENT;
    }
    return sight;
}

void join_settled_release(struct join_settled *settled)
{
    if (settled->entries) {
        iso_column_free(settled->entries, JOIN_SETTLED_ENTRIES * sizeof *settled->entries);
        iso_column_free(settled->digests, JOIN_SETTLED_DIGESTS * sizeof *settled->digests);
    }
    join_map_release(&settled->map);
}
