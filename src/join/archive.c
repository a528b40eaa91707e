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
    if (archive->restoring && archive->error->status == ISO_OK)
        iso_archive_expect(archive, join_map_refill(map));
}

static void archive_keys(struct iso_archive *archive, struct iso_join *join)
{
    uint64_t count = join->keys.names.key_count;
    iso_history_archive(archive, &join->keys.names);
    ISO_ARCHIVE_ANY(archive, "key_states", ISO_ARCHIVE_COLUMN, join->keys.list, count, join->keys.capacity);
    iso_archive_expect(archive, count == join->keys.names.key_count);
    for (uint64_t i = count; archive->restoring && i < join->keys.capacity; i++)
        join->keys.list[i] = (struct join_key){.table = ISO_ABSENT, .value = ISO_ABSENT, .of_table = ISO_NONE};
    iso_atoms_archive(archive, &join->texts);
    ISO_ARCHIVE_VALUE(archive, join->texts_kept);
}

static void archive_tables(struct iso_archive *archive, struct join_tables *tables)
{
    ISO_ARCHIVE_ANY(archive, "tables", ISO_ARCHIVE_HEAP, tables->list, tables->count, tables->capacity);
    archive_map(archive, "tables.by_name", &tables->by_name);
    ISO_ARCHIVE_VALUE(archive, tables->collections);
}

static void archive_waiting(struct iso_archive *archive, struct iso_join *join)
{
    ISO_ARCHIVE_ANY(archive, "rows", ISO_ARCHIVE_COLUMN, join->rows.list, join->rows.count, join->rows.capacity);
    ISO_ARCHIVE_VALUE(archive, join->rows.free);
    ISO_ARCHIVE_VALUE(archive, join->rows.in_use);
    ISO_ARCHIVE_ANY(archive, "transactions", ISO_ARCHIVE_COLUMN, join->open.list, join->open.count,
                    join->open.capacity);
    ISO_ARCHIVE_VALUE(archive, join->open.free);
    ISO_ARCHIVE_VALUE(archive, join->open.oldest);
    ISO_ARCHIVE_VALUE(archive, join->open.newest);
    ISO_ARCHIVE_VALUE(archive, join->open.waiting);
    ISO_ARCHIVE_ANY(archive, "records", ISO_ARCHIVE_COLUMN, join->records.list, join->records.count,
                    join->records.capacity);
    ISO_ARCHIVE_VALUE(archive, join->records.free);
    ISO_ARCHIVE_VALUE(archive, join->records.oldest);
    ISO_ARCHIVE_VALUE(archive, join->records.newest);
    ISO_ARCHIVE_VALUE(archive, join->records.waiting);
    ISO_ARCHIVE_VALUE(archive, join->records.aborted);
    ISO_ARCHIVE_VALUE(archive, join->records.unknown);
    archive_map(archive, "by_identity", &join->open.by_identity);
    archive_map(archive, "by_claim", &join->records.by_claim);
    iso_history_archive(archive, &join->records.held);
    ISO_ARCHIVE_VALUE(archive, join->records.held_open);
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

static void archive_seats(struct iso_archive *archive, struct join_places *places)
{
    struct join_seats *seats = &places->seats;
    ISO_ARCHIVE_VALUE(archive, seats->latest);
    ISO_ARCHIVE_VALUE(archive, seats->taken);
    seats->list = archive_ring(archive, "seats", seats->list, seats->taken, JOIN_SEATS, sizeof *seats->list);
    iso_archive_expect(archive, !seats->taken || seats->taken == (places->position - ISO_JOIN_START) / 2 + 1);
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
    archive_seats(archive, places);
}

static void archive_source(struct iso_archive *archive, struct iso_join *join)
{
    ISO_ARCHIVE_VALUE(archive, join->expects_in_band);
    ISO_ARCHIVE_VALUE(archive, join->in_band);
    ISO_ARCHIVE_VALUE(archive, join->ends_come);
    ISO_ARCHIVE_VALUE(archive, join->starts_come);
    ISO_ARCHIVE_VALUE(archive, join->domains_differ);
    ISO_ARCHIVE_VALUE(archive, join->numbered);
    ISO_ARCHIVE_VALUE(archive, join->domain);
    ISO_ARCHIVE_ANY(archive, "lanes", ISO_ARCHIVE_HEAP, join->lanes, join->lane_count, join->lane_count);
}

static void archive_counters(struct iso_archive *archive, struct iso_join *join)
{
    ISO_ARCHIVE_VALUE(archive, join->runs);
    ISO_ARCHIVE_VALUE(archive, join->open.stamps);
    ISO_ARCHIVE_VALUE(archive, join->marks);
    ISO_ARCHIVE_VALUE(archive, join->out_blocks);
    ISO_ARCHIVE_VALUE(archive, join->tellings);
    ISO_ARCHIVE_VALUE(archive, join->largest);
    ISO_ARCHIVE_VALUE(archive, join->taken);
    ISO_ARCHIVE_VALUE(archive, join->types);
    ISO_ARCHIVE_VALUE(archive, join->work);
    ISO_ARCHIVE_VALUE(archive, join->closed);
    ISO_ARCHIVE_VALUE(archive, join->clients);
    ISO_ARCHIVE_VALUE(archive, join->end.of);
    ISO_ARCHIVE_VALUE(archive, join->end.count);
    ISO_ARCHIVE_VALUE(archive, join->end.collected);
    ISO_ARCHIVE_VALUE(archive, join->end.last);
    ISO_ARCHIVE_VALUE(archive, join->promised);
    ISO_ARCHIVE_VALUE(archive, join->now);
    ISO_ARCHIVE_VALUE(archive, join->stats);
}

static void archive_log(struct iso_archive *archive, struct join_log *log)
{
    ISO_ARCHIVE_ANY(archive, "log", ISO_ARCHIVE_HEAP, log->list, log->count, log->capacity);
    ISO_ARCHIVE_ANY(archive, "log.alone", ISO_ARCHIVE_HEAP, log->alone, log->alone_count, log->alone_capacity);
    ISO_ARCHIVE_VALUE(archive, log->begun);
    ISO_ARCHIVE_VALUE(archive, log->start);
    ISO_ARCHIVE_VALUE(archive, log->broken);
    ISO_ARCHIVE_VALUE(archive, log->forgot);
    iso_history_archive(archive, &log->records);
    ISO_ARCHIVE_VALUE(archive, log->waiting);
    ISO_ARCHIVE_VALUE(archive, log->reads);
    iso_archive_expect(archive, log->waiting <= log->records.transaction_count);
}

void iso_join_archive(struct iso_archive *archive, struct iso_join *join)
{
    assert(!join->out.count && !join->cache.block);
    if (archive->restoring) { /* of routes and of the pipeline's declarations, which the archive has too */
        iso_free(join->lanes);
        join->lanes = NULL;
        join->lane_count = 0;
    }
    archive_source(archive, join);
    archive_counters(archive, join);
    archive_keys(archive, join);
    archive_tables(archive, &join->tables);
    ISO_ARCHIVE_VALUE(archive, join->start);
    ISO_ARCHIVE_VALUE(archive, join->begun);
    ISO_ARCHIVE_ANY(archive, "changes", ISO_ARCHIVE_HEAP, join->changes.list, join->changes.count,
                    join->changes.capacity);
    archive_waiting(archive, join);
    archive_log(archive, &join->log);
    archive_settled(archive, &join->settled);
    archive_places(archive, &join->places);
}
