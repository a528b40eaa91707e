/* Whether the engine is what its files take it for: run in builds that validate (ISO_VALIDATE),
 * after each call. What it costs is kept below a share of the calls' own, however much there is. */
#include "aion/levels/deferred.h"

#ifdef ISO_VALIDATE
#include <assert.h>

/* Entries that one call pays for. */
enum { SHARE = 64 };

/* ---- sessions ---- */

static void validate_members(const struct iso_aion *engine, const struct aion_session *session)
{
    const struct aion_sessions *sessions = &engine->sessions;
    const struct aion_entry *entry;
    struct aion_cursor cursor = aion_chunks_begin();
    uint64_t largest = 0;
    aion_chunks_validate(&sessions->pool, &session->members);
    assert(!session->disorder || !session->members.count);
    for (; (entry = aion_chunks_get(&sessions->pool, &session->members, cursor));
         aion_chunks_next(&sessions->pool, &session->members, &cursor)) {
        assert(entry->transaction < sessions->members.count &&
               entry->detail < sessions->members.count);
        assert(entry->start >= largest); /* the largest cts up to here */
        assert(entry->start == sessions->members.list[entry->detail].cts);
        largest = entry->start;
    }
}

static void validate_sessions(const struct iso_aion *engine)
{
    const struct aion_sessions *sessions = &engine->sessions;
    uint32_t live = 0;
    assert(sessions->members.free_count <= sessions->members.count);
    for (uint32_t i = 0; i < sessions->count; i++) {
        const struct aion_session *session = &sessions->list[i];
        if (session->name == ISO_ABSENT)
            continue;
        live++;
        assert(session->life && session->disorder <= sessions->disorder_count);
        validate_members(engine, session);
    }
    assert(live + sessions->free_count == sessions->count);
    assert(live == sessions->by_name.used);
}

/* ---- tables of tids ---- */

/* A search that begins at a tid's hash meets the tid before an empty slot. */
static void validate_dedup(const struct aion_dedup *dedup)
{
    uint64_t used = 0;
    for (uint64_t i = 0; dedup->slots && i <= dedup->mask; i++) {
        if (!dedup->slots[i].tid)
            continue;
        used++;
        uint64_t at = iso_hash_number(dedup->slots[i].tid) & dedup->mask;
        for (; at != i; at = (at + 1) & dedup->mask)
            assert(dedup->slots[at].tid);
    }
    assert(used == dedup->used && (!dedup->slots || used <= dedup->mask));
}

static void validate_unknown(const struct aion_unknowns *unknown)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < unknown->count; i++) {
        open += unknown->list[i].open;
        assert(unknown->list[i].transaction < unknown->history.txns.count);
    }
    assert(open == unknown->open && unknown->by_tid.used == unknown->count);
}

/* ---- all of it ---- */

static uint64_t size_of(const struct iso_aion *engine)
{
    uint64_t size = engine->sessions.count + engine->sessions.members.count +
                    engine->unknown.count + (engine->dedup.slots ? engine->dedup.mask : 0) / SHARE +
                    engine->unknown.by_tid.mask / SHARE;
    for (uint32_t s = 0; s < engine->shards.count; s++)
        size += aion_shard_size(engine->shards.list[s]);
    return size;
}

void aion_engine_validate(struct iso_aion *engine)
{
    const struct aion_time *time = &engine->time;
    if (++engine->calls * SHARE < size_of(engine) || engine->budget.failure.status != ISO_OK)
        return;
    engine->calls = 0;
    assert(!engine->group.count); /* all that was accepted was taken */
    assert(time->limit <= time->passed && time->arrivals.count <= time->arrivals.capacity);
    validate_sessions(engine);
    validate_dedup(&engine->dedup);
    validate_unknown(&engine->unknown);
    aion_deferred_validate(&engine->deferred);
    aion_reorder_queue_validate(&engine->reorder.queue);
    for (uint32_t s = 0; s < engine->shards.count; s++)
        aion_shard_validate(engine->shards.list[s]);
}
#endif
