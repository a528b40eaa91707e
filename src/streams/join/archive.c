/* The join's state as an archive: columns as they stand, since all in them are numbers of one
 * another. Caches of a batch are empty between batches; the map of what was finished is made anew
 * from its ring. */
#include "join/join.h"

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
    uint64_t count = join->keys.names.keys.count;
    iso_history_archive(archive, &join->keys.names);
    ISO_ARCHIVE_ANY(archive, "key_states", ISO_ARCHIVE_COLUMN, join->keys.list, count,
                    join->keys.capacity);
    iso_archive_expect(archive, count == join->keys.names.keys.count);
    for (uint64_t i = count; archive->restoring && i < join->keys.capacity; i++)
        join->keys.list[i] = join_key_new;
    iso_atoms_archive(archive, &join->texts.atoms);
    ISO_ARCHIVE_AS(archive, "join->texts_kept", join->texts.kept);
}

static void archive_tables(struct iso_archive *archive, struct join_tables *tables)
{
    ISO_ARCHIVE_ANY(archive, "tables", ISO_ARCHIVE_HEAP, tables->list, tables->count,
                    tables->capacity);
    archive_map(archive, "tables.by_name", &tables->by_name);
    ISO_ARCHIVE_VALUE(archive, tables->collections);
    ISO_ARCHIVE_VALUE(archive, tables->varies);
}

static void archive_waiting(struct iso_archive *archive, struct iso_join *join)
{
    ISO_ARCHIVE_ANY(archive, "rows", ISO_ARCHIVE_COLUMN, join->rows.list, join->rows.count,
                    join->rows.capacity);
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
    iso_history_archive(archive, &join->records.kept);
    ISO_ARCHIVE_AS(archive, "join->records.held_open", join->records.kept_open);
}

/* A ring that is used up to `next`: as much of it as that. Restored, that is its capacity. */
static void *archive_ring(struct iso_archive *archive, const char *name, void *ring, uint64_t next,
                          uint64_t most, uint64_t *restored, size_t element)
{
    uint64_t count = next < most ? next : most, capacity = count;
    uint64_t expected = ring || archive->restoring ? count : 0;
    ring = iso_archive_column(archive, name, ISO_ARCHIVE_COLUMN, ring, &count, &capacity, element);
    iso_archive_expect(archive, count == expected && capacity == expected);
    if (archive->restoring)
        *restored = ring ? capacity : 0;
    return ring;
}

static void archive_dedup(struct iso_archive *archive, struct join_dedup *dedup)
{
    ISO_ARCHIVE_AS(archive, "settled->next_entry", dedup->next_entry);
    ISO_ARCHIVE_AS(archive, "settled->next_digest", dedup->next_digest);
    ISO_ARCHIVE_AS(archive, "settled->has_texts", dedup->has_texts);
    dedup->entries =
        archive_ring(archive, "settled.entries", dedup->entries, dedup->next_entry,
                     JOIN_DEDUP_ENTRIES, &dedup->entry_capacity, sizeof *dedup->entries);
    dedup->digests =
        archive_ring(archive, "settled.digests", dedup->digests, dedup->next_digest,
                     JOIN_DEDUP_DIGESTS, &dedup->digest_capacity, sizeof *dedup->digests);
    if (archive->restoring && dedup->entries && archive->error->status == ISO_OK)
        join_dedup_index(dedup);
}

static void archive_commit_names(struct iso_archive *archive, struct join_positions *positions)
{
    struct join_commit_names *names = &positions->names;
    ISO_ARCHIVE_AS(archive, "seats->latest", names->latest);
    ISO_ARCHIVE_AS(archive, "seats->taken", names->taken);
    uint64_t restored = 0;
    names->list = archive_ring(archive, "seats", names->list, names->taken, JOIN_COMMIT_NAMES,
                               &restored, sizeof *names->list);
    if (restored)
        ISO_COLUMN_RESIZE(names->list, restored, JOIN_COMMIT_NAMES);
    iso_archive_expect(archive, !names->taken ||
                                    names->taken == (positions->position - ISO_JOIN_START) / 2 + 1);
}

static void archive_positions(struct iso_archive *archive, struct join_positions *positions)
{
    ISO_ARCHIVE_ANY(archive, "commits", ISO_ARCHIVE_HEAP, positions->commits,
                    positions->commit_count, positions->commit_capacity);
    ISO_ARCHIVE_AS(archive, "places->commit_first", positions->commit_first);
    iso_archive_expect(archive, positions->commit_first <= positions->commit_count);
    ISO_ARCHIVE_ANY(archive, "links", ISO_ARCHIVE_HEAP, positions->links, positions->link_count,
                    positions->link_capacity);
    ISO_ARCHIVE_AS(archive, "places->position", positions->position);
    ISO_ARCHIVE_VALUE(archive, positions->base);
    ISO_ARCHIVE_VALUE(archive, positions->uncounted);
    ISO_ARCHIVE_AS(archive, "places->clients", positions->clients);
    ISO_ARCHIVE_AS(archive, "places->reference", positions->reference);
    ISO_ARCHIVE_AS(archive, "places->active", positions->active);
    archive_map(archive, "placed", &positions->placed);
    archive_commit_names(archive, positions);
}

static void archive_source(struct iso_archive *archive, struct iso_join *join)
{
    ISO_ARCHIVE_AS(archive, "join->expects_in_band", join->source.expects_in_band);
    ISO_ARCHIVE_VALUE(archive, join->source.expects_ends);
    ISO_ARCHIVE_VALUE(archive, join->source.expects_statements);
    ISO_ARCHIVE_VALUE(archive, join->source.connector);
    ISO_ARCHIVE_VALUE(archive, join->source.scales);
    ISO_ARCHIVE_VALUE(archive, join->source.early);
    ISO_ARCHIVE_VALUE(archive, join->source.first_early);
    ISO_ARCHIVE_AS(archive, "join->in_band", join->source.in_band);
    ISO_ARCHIVE_AS(archive, "join->ends_come", join->source.has_ends);
    ISO_ARCHIVE_AS(archive, "join->starts_come", join->source.has_starts);
    ISO_ARCHIVE_AS(archive, "join->domains_differ", join->source.domains_differ);
    ISO_ARCHIVE_AS(archive, "join->numbered", join->source.numbered);
    ISO_ARCHIVE_AS(archive, "join->domain", join->source.domain);
    ISO_ARCHIVE_ANY(archive, "partitions", ISO_ARCHIVE_HEAP, join->partitions.list,
                    join->partitions.count, join->partitions.count);
}

static void archive_counters(struct iso_archive *archive, struct iso_join *join)
{
    ISO_ARCHIVE_AS(archive, "join->runs", join->counters.spans);
    ISO_ARCHIVE_VALUE(archive, join->open.stamps);
    ISO_ARCHIVE_AS(archive, "join->marks", join->counters.marks);
    ISO_ARCHIVE_AS(archive, "join->out_blocks", join->counters.out_blocks);
    ISO_ARCHIVE_AS(archive, "join->tellings", join->counters.arrivals);
    ISO_ARCHIVE_AS(archive, "join->largest", join->progress.largest);
    ISO_ARCHIVE_AS(archive, "join->taken", join->counters.taken);
    ISO_ARCHIVE_AS(archive, "join->types", join->tables.types);
    ISO_ARCHIVE_AS(archive, "join->work", join->counters.work);
    ISO_ARCHIVE_AS(archive, "join->closed", join->progress.closed);
    ISO_ARCHIVE_AS(archive, "join->clients", join->progress.clients);
    ISO_ARCHIVE_VALUE(archive, join->end.of);
    ISO_ARCHIVE_VALUE(archive, join->end.count);
    ISO_ARCHIVE_VALUE(archive, join->end.collected);
    ISO_ARCHIVE_VALUE(archive, join->end.last);
    ISO_ARCHIVE_AS(archive, "join->promised", join->progress.promised);
    ISO_ARCHIVE_AS(archive, "join->now", join->progress.now);
    ISO_ARCHIVE_VALUE(archive, join->stats);
}

static void archive_log(struct iso_archive *archive, struct join_log *log)
{
    ISO_ARCHIVE_ANY(archive, "log", ISO_ARCHIVE_HEAP, log->list, log->count, log->capacity);
    ISO_ARCHIVE_ANY(archive, "log.alone", ISO_ARCHIVE_HEAP, log->alone, log->alone_count,
                    log->alone_capacity);
    ISO_ARCHIVE_VALUE(archive, log->first);
    ISO_ARCHIVE_VALUE(archive, log->begun);
    ISO_ARCHIVE_VALUE(archive, log->start);
    ISO_ARCHIVE_VALUE(archive, log->told);
    ISO_ARCHIVE_VALUE(archive, log->broken);
    ISO_ARCHIVE_VALUE(archive, log->forgot);
    iso_history_archive(archive, &log->records);
    ISO_ARCHIVE_VALUE(archive, log->waiting);
    ISO_ARCHIVE_VALUE(archive, log->reads);
    iso_archive_expect(archive, log->waiting <= log->records.txns.count);
}

void iso_join_archive(struct iso_archive *archive, struct iso_join *join)
{
    assert(!join->out.count && !join->scratch.cache.block);
    if (archive->restoring) { /* of routes and of the pipeline's declarations, which the archive has
                                 too */
        iso_free(join->partitions.list);
        join->partitions.list = NULL;
        join->partitions.count = 0;
    }
    archive_source(archive, join);
    archive_counters(archive, join);
    archive_keys(archive, join);
    archive_tables(archive, &join->tables);
    ISO_ARCHIVE_VALUE(archive, join->start);
    ISO_ARCHIVE_VALUE(archive, join->begun);
    ISO_ARCHIVE_ANY(archive, "changes", ISO_ARCHIVE_HEAP, join->changes.list, join->changes.count,
                    join->changes.capacity);
    ISO_ARCHIVE_ANY(archive, "carried", ISO_ARCHIVE_HEAP, join->carried.list, join->carried.count,
                    join->carried.capacity);
    ISO_ARCHIVE_VALUE(archive, join->carried.pending);
    archive_waiting(archive, join);
    archive_log(archive, &join->log);
    archive_dedup(archive, &join->dedup);
    archive_positions(archive, &join->positions);
    iso_history_archive(archive, &join->extent.reached);
    iso_stairs_archive(archive, &join->extent.over);
    ISO_ARCHIVE_VALUE(archive, join->extent.latest);
    ISO_ARCHIVE_VALUE(archive, join->extent.first);
    ISO_ARCHIVE_VALUE(archive, join->extent.sure);
    ISO_ARCHIVE_ANY(archive, "channels", ISO_ARCHIVE_HEAP, join->extent.channels,
                    join->extent.channel_count, join->extent.channel_capacity);
    ISO_ARCHIVE_ANY(archive, "partial", ISO_ARCHIVE_HEAP, join->extent.partial,
                    join->extent.partial_count, join->extent.partial_capacity);
    archive_map(archive, "by_channel", &join->extent.by_channel);
    ISO_ARCHIVE_AS(archive, "join->lacks", join->counters.lacks);
}
