#include <assert.h>
#include <string.h>

#include "aion/archive_private.h"
#include "aion/levels/deferred.h"
#include "base/memory.h"
#include "history/archive.h"

void aion_pool_archive(struct iso_archive *archive, struct aion_pool *pool)
{
    struct unit {
        uint8_t bytes[AION_UNIT];
    } *units = (struct unit *)pool->base;
    uint64_t count = units ? pool->used : 0, capacity = pool->capacity;
    if (archive->restoring)
        aion_pool_release(pool);
    units = iso_archive_column(archive, "pool", ISO_ARCHIVE_COLUMN, units, &count, &capacity,
                               sizeof *units);
    pool->base = (uint8_t *)units;
    pool->capacity = (uint32_t)capacity;
    pool->used = units ? (uint32_t)count : 1;
    ISO_ARCHIVE_VALUE(archive, pool->in_use);
    ISO_ARCHIVE_VALUE(archive, pool->free);
    if (archive->restoring)
        iso_column_huge(pool->base, (size_t)pool->capacity * AION_UNIT);
}

void aion_values_archive(struct iso_archive *archive, struct aion_values *values)
{
    struct iso_atoms *atoms = &values->atoms;
    if (archive->restoring)
        aion_values_release(values);
    iso_atoms_archive(archive, atoms);
    ISO_ARCHIVE_ANY(archive, "holders", ISO_ARCHIVE_TWIN, values->references, atoms->count,
                    atoms->capacity);
    iso_archive_index(archive, "values->slots", &values->table);
    ISO_ARCHIVE_VALUE(archive, values->first_free);
    iso_archive_value(archive, "values->used", &values->table.used, sizeof values->table.used);
    ISO_ARCHIVE_VALUE(archive, values->garbage);
    ISO_ARCHIVE_VALUE(archive, values->free_text);
    if (archive->restoring && archive->error->status == ISO_OK)
        iso_archive_expect(archive, aion_values_refill(values));
}

void aion_index_archive(struct iso_archive *archive, struct iso_index *index)
{
    iso_archive_index(archive, "index", index);
    ISO_ARCHIVE_VALUE(archive, index->used);
}

void aion_reorder_queue_archive(struct iso_archive *archive, struct aion_reorder_queue *queue)
{
    ISO_ARCHIVE_ANY(archive, "queue", ISO_ARCHIVE_HEAP, queue->turns, queue->end, queue->capacity);
    ISO_ARCHIVE_VALUE(archive, queue->first);
    ISO_ARCHIVE_VALUE(archive, queue->sorted);
    ISO_ARCHIVE_VALUE(archive, queue->longest);
    iso_archive_expect(archive, queue->first <= queue->sorted && queue->sorted <= queue->end);
    if (archive->restoring && queue->capacity)
        queue->scratch = iso_allocate(queue->capacity * sizeof *queue->scratch);
}

static void archive_reorder_front(struct iso_archive *archive, struct aion_reorder_front *reorder)
{
    aion_reorder_queue_archive(archive, &reorder->queue);
    ISO_ARCHIVE_ANY(archive, "entrants", ISO_ARCHIVE_HEAP, reorder->entrants,
                    reorder->entrant_count, reorder->capacity);
    ISO_ARCHIVE_ANY(archive, "free entrants", ISO_ARCHIVE_HEAP_TWIN, reorder->free,
                    reorder->entrant_count, reorder->capacity);
    ISO_ARCHIVE_VALUE(archive, reorder->free_count);
    iso_archive_expect(archive, reorder->free_count <= reorder->entrant_count);
}

static void archive_dedup(struct iso_archive *archive, struct aion_dedup *dedup)
{
    uint64_t count = dedup->slots ? dedup->mask + 1 : 0, capacity = count;
    if (archive->restoring)
        aion_dedup_release(dedup);
    dedup->slots = iso_archive_column(archive, "seen", ISO_ARCHIVE_COLUMN, dedup->slots, &count,
                                      &capacity, sizeof *dedup->slots);
    iso_archive_expect(archive, count == capacity && !(count & (count - 1)));
    dedup->mask = capacity ? capacity - 1 : 0;
    ISO_ARCHIVE_VALUE(archive, dedup->used);
    iso_archive_expect(archive, !count || dedup->used <= dedup->mask);
    if (archive->restoring && archive->error->status == ISO_OK)
        aion_dedup_refill(dedup);
}

static uint32_t hash_of_session(const void *context, uint32_t number)
{
    const struct aion_sessions *sessions = context;
    return iso_atom_hash(&sessions->names.atoms, sessions->list[number].name);
}

static void archive_sessions(struct iso_archive *archive, struct aion_sessions *sessions)
{
    aion_values_archive(archive, &sessions->names);
    ISO_ARCHIVE_LIST(archive, "sessions", ISO_ARCHIVE_COLUMN, *sessions);
    ISO_ARCHIVE_ANY(archive, "free sessions", ISO_ARCHIVE_TWIN, sessions->free, sessions->count,
                    sessions->capacity);
    ISO_ARCHIVE_VALUE(archive, sessions->free_count);
    iso_archive_expect(archive, sessions->free_count <= sessions->count);
    aion_index_archive(archive, &sessions->by_name);
    if (archive->restoring && archive->error->status == ISO_OK)
        iso_archive_expect(archive, iso_index_refill(&sessions->by_name, sessions->count,
                                                     hash_of_session, sessions));
    ISO_ARCHIVE_VALUE(archive, sessions->clock_hand);
    ISO_ARCHIVE_VALUE(archive, sessions->due);
    ISO_ARCHIVE_VALUE(archive, sessions->different);
    ISO_ARCHIVE_ANY(archive, "disorders", ISO_ARCHIVE_HEAP, sessions->disorders,
                    sessions->disorder_count, sessions->disorder_capacity);
    ISO_ARCHIVE_VALUE(archive, sessions->free_disorder);
    ISO_ARCHIVE_ANY(archive, "past", ISO_ARCHIVE_COLUMN, sessions->ended.list,
                    sessions->ended.count, sessions->ended.count);
    ISO_ARCHIVE_VALUE(archive, sessions->ended.gone);
    ISO_ARCHIVE_VALUE(archive, sessions->ended.gone_lost);
    ISO_ARCHIVE_VALUE(archive, sessions->ended.gone_arrived);
    iso_archive_expect(archive, sessions->ended.count % AION_TOMBSTONE_SET == 0 &&
                                    !(sessions->ended.count & (sessions->ended.count - 1)));
}

static void archive_members(struct iso_archive *archive, struct iso_aion *engine)
{
    ISO_ARCHIVE_LIST(archive, "members", ISO_ARCHIVE_COLUMN, engine->sessions.members);
    ISO_ARCHIVE_ANY(archive, "free_members", ISO_ARCHIVE_TWIN, engine->sessions.members.free,
                    engine->sessions.members.count, engine->sessions.members.capacity);
    ISO_ARCHIVE_VALUE(archive, engine->sessions.members.free_count);
    iso_archive_expect(archive,
                       engine->sessions.members.free_count <= engine->sessions.members.count);
}

static void archive_unknown(struct iso_archive *archive, struct iso_aion *engine)
{
    ISO_ARCHIVE_LIST(archive, "open", ISO_ARCHIVE_HEAP, engine->unknown);
    ISO_ARCHIVE_VALUE(archive, engine->unknown.open);
    ISO_ARCHIVE_VALUE(archive, engine->unknown.clock_hand);
    ISO_ARCHIVE_VALUE(archive, engine->unknown.due);
    iso_history_archive(archive, &engine->unknown.history);
    if (archive->restoring)
        aion_key_cache_set(&engine->unknown.cache, &engine->unknown.history);
    if (archive->restoring && archive->error->status == ISO_OK)
        aion_unknown_index(engine);
}

static void archive_arrivals(struct iso_archive *archive, struct aion_arrivals *arrivals)
{
    ISO_ARCHIVE_ANY(archive, "arrivals", ISO_ARCHIVE_HEAP, arrivals->ring, arrivals->capacity,
                    arrivals->capacity);
    ISO_ARCHIVE_VALUE(archive, arrivals->first);
    ISO_ARCHIVE_VALUE(archive, arrivals->count);
    iso_archive_expect(archive, arrivals->count <= arrivals->capacity);
}

static void archive_time(struct iso_archive *archive, struct iso_aion *engine)
{
    ISO_ARCHIVE_VALUE(archive, engine->group.number);
    ISO_ARCHIVE_VALUE(archive, engine->time.now);
    ISO_ARCHIVE_VALUE(archive, engine->budget.fitted);
    ISO_ARCHIVE_VALUE(archive, engine->time.recent);
    ISO_ARCHIVE_VALUE(archive, engine->time.promised);
    ISO_ARCHIVE_VALUE(archive, engine->time.limit);
    ISO_ARCHIVE_VALUE(archive, engine->time.expired);
    ISO_ARCHIVE_VALUE(archive, engine->time.passed);
    ISO_ARCHIVE_VALUE(archive, engine->time.floor);
    ISO_ARCHIVE_VALUE(archive, engine->time.retention);
    ISO_ARCHIVE_VALUE(archive, engine->stats);
    ISO_ARCHIVE_VALUE(archive, engine->reorder.window);
}

static void archive_budget(struct iso_archive *archive, struct aion_budget *budget)
{
    ISO_ARCHIVE_VALUE(archive, budget->limit);
    ISO_ARCHIVE_VALUE(archive, budget->most);
    ISO_ARCHIVE_VALUE(archive, budget->kept);
    ISO_ARCHIVE_VALUE(archive, budget->beside);
    ISO_ARCHIVE_VALUE(archive, budget->useless);
}

/* Options that the restored engine must have in common with the saved one. */
static void archive_kind(struct iso_archive *archive, const struct iso_aion *engine)
{
    uint32_t kind[] = {aion_holds(engine) ? engine->options.level : aion_versions_level(engine),
                       engine->shards.count, engine->options.spill != NULL};
    uint32_t saved[] = {kind[0], kind[1], kind[2]};
    iso_archive_value(archive, "engine", saved, sizeof saved);
    iso_archive_expect(archive, !memcmp(kind, saved, sizeof kind));
}

void iso_aion_archive(struct iso_archive *archive, struct iso_aion *engine)
{
    assert(!engine->group.count);
    archive_kind(archive, engine);
    archive_time(archive, engine);
    archive_budget(archive, &engine->budget);
    archive_dedup(archive, &engine->dedup);
    aion_values_archive(archive, &engine->values);
    aion_pool_archive(archive, &engine->sessions.pool);
    archive_sessions(archive, &engine->sessions);
    archive_members(archive, engine);
    archive_unknown(archive, engine);
    archive_reorder_front(archive, &engine->reorder);
    ISO_ARCHIVE_LIST(archive, "ties", ISO_ARCHIVE_HEAP, engine->ties);
    archive_arrivals(archive, &engine->time.arrivals);
    for (uint32_t s = 0; s < engine->shards.count; s++)
        iso_aion_shard_archive(archive, engine->shards.list[s]);
    aion_deferred_archive(archive, engine);
}

void iso_aion_fork(struct iso_aion *engine)
{
    for (uint32_t s = 0; s < engine->shards.count; s++)
        iso_aion_shard_fork(engine->shards.list[s]);
}

void iso_aion_commit(struct iso_aion *engine)
{
    for (uint32_t s = 0; s < engine->shards.count; s++)
        iso_aion_shard_commit(engine->shards.list[s]);
}
