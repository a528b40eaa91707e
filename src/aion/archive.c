#include "aion/archive.h"

#include <assert.h>
#include <string.h>

#include "aion/archive_private.h"
#include "aion/engine_private.h"
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
    units = iso_archive_column(archive, "pool", ISO_ARCHIVE_COLUMN, units, &count, &capacity, sizeof *units);
    pool->base = (uint8_t *)units;
    pool->capacity = (uint32_t)capacity;
    pool->used = units ? (uint32_t)count : 1;
    ISO_ARCHIVE_VALUE(archive, pool->in_use);
    ISO_ARCHIVE_VALUE(archive, pool->free);
    if (archive->restoring)
        aion_advise_huge(pool->base, (size_t)pool->capacity * AION_UNIT);
}

void aion_values_archive(struct iso_archive *archive, struct aion_values *values)
{
    struct iso_atoms *atoms = &values->atoms;
    if (archive->restoring)
        aion_values_release(values);
    iso_atoms_archive(archive, atoms);
    ISO_ARCHIVE_ANY(archive, "holders", ISO_ARCHIVE_TWIN, values->holders, atoms->count, atoms->capacity);
    ISO_ARCHIVE_ANY(archive, "hash", ISO_ARCHIVE_TWIN, values->hash, atoms->count, atoms->capacity);
    values->slots = iso_archive_slots(archive, "values->slots", values->slots, &values->slot_mask);
    ISO_ARCHIVE_VALUE(archive, values->first_free);
    ISO_ARCHIVE_VALUE(archive, values->used);
    ISO_ARCHIVE_VALUE(archive, values->garbage);
    ISO_ARCHIVE_VALUE(archive, values->free_text);
}

void aion_index_archive(struct iso_archive *archive, struct aion_index *index)
{
    index->slots = iso_archive_slots(archive, "index", index->slots, &index->mask);
    ISO_ARCHIVE_VALUE(archive, index->used);
}

void aion_queue_archive(struct iso_archive *archive, struct aion_queue *queue)
{
    ISO_ARCHIVE_ANY(archive, "queue", ISO_ARCHIVE_HEAP, queue->turns, queue->end, queue->capacity);
    ISO_ARCHIVE_VALUE(archive, queue->first);
    ISO_ARCHIVE_VALUE(archive, queue->settled);
    ISO_ARCHIVE_VALUE(archive, queue->longest);
    iso_archive_expect(archive, queue->first <= queue->settled && queue->settled <= queue->end);
    if (archive->restoring && queue->capacity)
        queue->spare = iso_allocate(queue->capacity * sizeof *queue->spare);
}

static void archive_apart(struct iso_archive *archive, struct aion_apart *apart)
{
    aion_queue_archive(archive, &apart->queue);
    ISO_ARCHIVE_ANY(archive, "entrants", ISO_ARCHIVE_HEAP, apart->entrants, apart->entrant_count, apart->capacity);
    ISO_ARCHIVE_ANY(archive, "free entrants", ISO_ARCHIVE_HEAP_TWIN, apart->free, apart->entrant_count,
                    apart->capacity);
    ISO_ARCHIVE_VALUE(archive, apart->free_count);
    iso_archive_expect(archive, apart->free_count <= apart->entrant_count);
}

static void archive_seen(struct iso_archive *archive, struct aion_seen *seen)
{
    uint64_t count = seen->slots ? seen->mask + 1 : 0, capacity = count;
    if (archive->restoring)
        aion_seen_release(seen);
    seen->slots =
        iso_archive_column(archive, "seen", ISO_ARCHIVE_COLUMN, seen->slots, &count, &capacity, sizeof *seen->slots);
    iso_archive_expect(archive, count == capacity && !(count & (count - 1)));
    seen->mask = capacity ? capacity - 1 : 0;
    ISO_ARCHIVE_VALUE(archive, seen->used);
}

static void archive_sessions(struct iso_archive *archive, struct aion_sessions *sessions)
{
    aion_values_archive(archive, &sessions->names);
    ISO_ARCHIVE_ANY(archive, "sessions", ISO_ARCHIVE_COLUMN, sessions->list, sessions->count, sessions->capacity);
    ISO_ARCHIVE_ANY(archive, "free sessions", ISO_ARCHIVE_TWIN, sessions->free, sessions->count, sessions->capacity);
    ISO_ARCHIVE_VALUE(archive, sessions->free_count);
    iso_archive_expect(archive, sessions->free_count <= sessions->count);
    aion_index_archive(archive, &sessions->by_name);
    ISO_ARCHIVE_VALUE(archive, sessions->hand);
    ISO_ARCHIVE_VALUE(archive, sessions->due);
    ISO_ARCHIVE_VALUE(archive, sessions->different);
    ISO_ARCHIVE_ANY(archive, "past", ISO_ARCHIVE_COLUMN, sessions->past, sessions->past_count, sessions->past_count);
    iso_archive_expect(archive, sessions->past_count % AION_PAST_SET == 0 &&
                                    !(sessions->past_count & (sessions->past_count - 1)));
}

static void archive_members(struct iso_archive *archive, struct iso_aion *engine)
{
    ISO_ARCHIVE_ANY(archive, "members", ISO_ARCHIVE_COLUMN, engine->members, engine->member_count,
                    engine->member_capacity);
    ISO_ARCHIVE_ANY(archive, "free_members", ISO_ARCHIVE_TWIN, engine->free_members, engine->member_count,
                    engine->member_capacity);
    ISO_ARCHIVE_VALUE(archive, engine->free_member_count);
    iso_archive_expect(archive, engine->free_member_count <= engine->member_count);
}

static void archive_unknown(struct iso_archive *archive, struct iso_aion *engine)
{
    ISO_ARCHIVE_ANY(archive, "open", ISO_ARCHIVE_HEAP, engine->open, engine->open_count, engine->open_capacity);
    ISO_ARCHIVE_VALUE(archive, engine->held_open);
    iso_history_archive(archive, &engine->held_history);
    if (archive->restoring)
        aion_block_set(&engine->held, &engine->held_history);
}

static void archive_arrivals(struct iso_archive *archive, struct aion_arrivals *arrivals)
{
    ISO_ARCHIVE_ANY(archive, "arrivals", ISO_ARCHIVE_HEAP, arrivals->ring, arrivals->capacity, arrivals->capacity);
    ISO_ARCHIVE_VALUE(archive, arrivals->first);
    ISO_ARCHIVE_VALUE(archive, arrivals->count);
    iso_archive_expect(archive, arrivals->count <= arrivals->capacity);
}

static void archive_time(struct iso_archive *archive, struct iso_aion *engine)
{
    ISO_ARCHIVE_VALUE(archive, engine->accepted);
    ISO_ARCHIVE_VALUE(archive, engine->now);
    ISO_ARCHIVE_VALUE(archive, engine->limit);
    ISO_ARCHIVE_VALUE(archive, engine->settled);
    ISO_ARCHIVE_VALUE(archive, engine->passed);
    ISO_ARCHIVE_VALUE(archive, engine->floor);
    ISO_ARCHIVE_VALUE(archive, engine->retention);
    ISO_ARCHIVE_VALUE(archive, engine->stats);
    ISO_ARCHIVE_VALUE(archive, engine->settle);
}

static void archive_budget(struct iso_archive *archive, struct aion_budget *budget)
{
    ISO_ARCHIVE_VALUE(archive, budget->limit);
    ISO_ARCHIVE_VALUE(archive, budget->most);
    ISO_ARCHIVE_VALUE(archive, budget->beside);
    ISO_ARCHIVE_VALUE(archive, budget->useless);
}

/* What a restored engine must have been made with. */
static void archive_kind(struct iso_archive *archive, const struct iso_aion *engine)
{
    uint32_t kind[] = {engine->options.level, engine->shards, engine->options.spill != NULL};
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
    archive_seen(archive, &engine->seen);
    aion_values_archive(archive, &engine->values);
    aion_pool_archive(archive, &engine->pool);
    archive_sessions(archive, &engine->sessions);
    archive_members(archive, engine);
    archive_unknown(archive, engine);
    archive_apart(archive, &engine->apart);
    ISO_ARCHIVE_ANY(archive, "ties", ISO_ARCHIVE_HEAP, engine->ties, engine->tie_count, engine->tie_capacity);
    archive_arrivals(archive, &engine->arrivals);
    for (uint32_t s = 0; s < engine->shards; s++)
        iso_aion_shard_archive(archive, engine->shard[s]);
}

void iso_aion_fork(struct iso_aion *engine)
{
    for (uint32_t s = 0; s < engine->shards; s++)
        iso_aion_shard_fork(engine->shard[s]);
}

void iso_aion_commit(struct iso_aion *engine)
{
    for (uint32_t s = 0; s < engine->shards; s++)
        iso_aion_shard_commit(engine->shard[s]);
}
