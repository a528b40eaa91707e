/* The join's state as an archive: columns as they stand, since all in them are numbers of one another. Caches of a
 * batch are empty between batches; the map of what was settled is made anew from its ring. */
#include "join/archive.h"

#include <assert.h>

#include "base/memory.h"
#include "history/archive.h"
#include "join/join_private.h"

static void archive_map(struct iso_archive *archive, const char *name, struct join_map *map)
{
    uint64_t slots = map->slots ? (uint64_t)map->mask + 1 : 0;
    uint64_t used = map->used;
    ISO_ARCHIVE_ANY(archive, name, ISO_ARCHIVE_HEAP, map->slots, slots, slots);
    iso_archive_value(archive, "map.used", &used, sizeof used);
    iso_archive_expect(archive, !(slots & (slots - 1)) && slots <= UINT32_MAX && used <= slots);
    map->mask = slots ? (uint32_t)(slots - 1) : 0;
    map->used = (uint32_t)used;
}

static void archive_keys(struct iso_archive *archive, struct iso_join *join)
{
    uint64_t count = join->keys.key_count;
    iso_history_archive(archive, &join->keys);
    ISO_ARCHIVE_ANY(archive, "key_states", ISO_ARCHIVE_COLUMN, join->key_states, count, join->key_capacity);
    iso_archive_expect(archive, count == join->keys.key_count);
    for (uint64_t i = count; archive->restoring && i < join->key_capacity; i++)
        join->key_states[i] = (struct join_key){.table = ISO_ABSENT, .value = ISO_ABSENT};
    iso_atoms_archive(archive, &join->texts);
    ISO_ARCHIVE_VALUE(archive, join->texts_kept);
}

static void archive_waiting(struct iso_archive *archive, struct iso_join *join)
{
    ISO_ARCHIVE_ANY(archive, "rows", ISO_ARCHIVE_COLUMN, join->rows, join->row_count, join->row_capacity);
    ISO_ARCHIVE_VALUE(archive, join->free_row);
    ISO_ARCHIVE_VALUE(archive, join->rows_in_use);
    ISO_ARCHIVE_ANY(archive, "transactions", ISO_ARCHIVE_COLUMN, join->transactions, join->transaction_count,
                    join->transaction_capacity);
    ISO_ARCHIVE_VALUE(archive, join->free_transaction);
    ISO_ARCHIVE_VALUE(archive, join->oldest);
    ISO_ARCHIVE_VALUE(archive, join->newest);
    ISO_ARCHIVE_VALUE(archive, join->open_count);
    ISO_ARCHIVE_ANY(archive, "records", ISO_ARCHIVE_COLUMN, join->records, join->record_count, join->record_capacity);
    ISO_ARCHIVE_VALUE(archive, join->free_record);
    ISO_ARCHIVE_VALUE(archive, join->oldest_record);
    ISO_ARCHIVE_VALUE(archive, join->newest_record);
    ISO_ARCHIVE_VALUE(archive, join->waiting_records);
    ISO_ARCHIVE_VALUE(archive, join->aborted_records);
    ISO_ARCHIVE_VALUE(archive, join->unknown_count);
    archive_map(archive, "by_identity", &join->by_identity);
    archive_map(archive, "by_claim", &join->by_claim);
    archive_map(archive, "snapshot_rows", &join->snapshot_rows);
    iso_history_archive(archive, &join->held);
    ISO_ARCHIVE_VALUE(archive, join->held_open);
}

/* A ring that is used up to `next`: as much of it as that. Restored, it has its full size again. */
static void *archive_ring(struct iso_archive *archive, const char *name, void *ring, uint64_t next, uint64_t most,
                          size_t element)
{
    uint64_t count = next < most ? next : most, capacity = count;
    uint64_t expected = ring || archive->restoring ? count : 0;
    ring = iso_archive_column(archive, name, ISO_ARCHIVE_COLUMN, ring, &count, &capacity, element);
    iso_archive_expect(archive, count == expected && capacity == expected);
    return archive->restoring && ring ? iso_column_grow(ring, capacity * element, most * element) : ring;
}

static void archive_settled(struct iso_archive *archive, struct join_settled *settled)
{
    ISO_ARCHIVE_VALUE(archive, settled->next_entry);
    ISO_ARCHIVE_VALUE(archive, settled->next_digest);
    ISO_ARCHIVE_VALUE(archive, settled->has_texts);
    settled->entries = archive_ring(archive, "settled.entries", settled->entries, settled->next_entry,
                                    JOIN_SETTLED_ENTRIES, sizeof *settled->entries);
    settled->digests = archive_ring(archive, "settled.digests", settled->digests, settled->next_digest,
                                    JOIN_SETTLED_DIGESTS, sizeof *settled->digests);
    if (archive->restoring && settled->entries && !settled->digests) /* nothing but identities without rows */
        settled->digests = iso_column_grow(NULL, 0, JOIN_SETTLED_DIGESTS * sizeof *settled->digests);
    if (archive->restoring && settled->entries && archive->error->status == ISO_OK)
        join_settled_index(settled);
}

static void archive_places(struct iso_archive *archive, struct join_places *places)
{
    ISO_ARCHIVE_ANY(archive, "commits", ISO_ARCHIVE_HEAP, places->commits, places->commit_count,
                    places->commit_capacity);
    ISO_ARCHIVE_VALUE(archive, places->commit_first);
    iso_archive_expect(archive, places->commit_first <= places->commit_count);
    ISO_ARCHIVE_ANY(archive, "links", ISO_ARCHIVE_HEAP, places->links, places->link_count, places->link_capacity);
    ISO_ARCHIVE_VALUE(archive, places->position);
    ISO_ARCHIVE_VALUE(archive, places->delivered);
    ISO_ARCHIVE_VALUE(archive, places->clients);
    ISO_ARCHIVE_VALUE(archive, places->reference);
    ISO_ARCHIVE_VALUE(archive, places->active);
    ISO_ARCHIVE_VALUE(archive, places->broken);
    archive_map(archive, "placed", &places->placed);
    iso_history_archive(archive, &places->last);
}

static void archive_source(struct iso_archive *archive, struct iso_join *join)
{
    ISO_ARCHIVE_VALUE(archive, join->expects_in_band);
    ISO_ARCHIVE_VALUE(archive, join->in_band);
    ISO_ARCHIVE_VALUE(archive, join->ends_come);
    ISO_ARCHIVE_VALUE(archive, join->starts_come);
    ISO_ARCHIVE_VALUE(archive, join->domains_differ);
    ISO_ARCHIVE_ANY(archive, "lanes", ISO_ARCHIVE_HEAP, join->lanes, join->lane_count, join->lane_count);
}

static void archive_counters(struct iso_archive *archive, struct iso_join *join)
{
    ISO_ARCHIVE_VALUE(archive, join->runs);
    ISO_ARCHIVE_VALUE(archive, join->stamps);
    ISO_ARCHIVE_VALUE(archive, join->marks);
    ISO_ARCHIVE_VALUE(archive, join->out_blocks);
    ISO_ARCHIVE_VALUE(archive, join->tellings);
    ISO_ARCHIVE_VALUE(archive, join->largest);
    ISO_ARCHIVE_VALUE(archive, join->taken);
    ISO_ARCHIVE_VALUE(archive, join->work);
    ISO_ARCHIVE_VALUE(archive, join->closed);
    ISO_ARCHIVE_VALUE(archive, join->clients);
    ISO_ARCHIVE_VALUE(archive, join->last_end);
    ISO_ARCHIVE_VALUE(archive, join->promised);
    ISO_ARCHIVE_VALUE(archive, join->now);
    ISO_ARCHIVE_VALUE(archive, join->stats);
}

void iso_join_archive(struct iso_archive *archive, struct iso_join *join)
{
    assert(!join->out.count && !join->block);
    if (archive->restoring) { /* of routes and of the pipeline's declarations, which the archive has too */
        iso_free(join->lanes);
        join->lanes = NULL;
        join->lane_count = 0;
    }
    archive_source(archive, join);
    archive_counters(archive, join);
    archive_keys(archive, join);
    archive_waiting(archive, join);
    archive_settled(archive, &join->settled);
    archive_places(archive, &join->places);
}
