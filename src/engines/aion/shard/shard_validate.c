/* Whether a shard is what its files take it for: run in builds that validate (ISO_VALIDATE), after
 * each step.
 *
 * Counted anew and compared: who stands in which run, in which order, and how often each
 * transaction is named. */
#include "aion/shard/shard_private.h"

#ifdef ISO_VALIDATE
#include <assert.h>

#include "base/memory.h"

/* ---- runs ---- */

/* Sorted by time; the directory says of each chunk where it begins, how many it has, and a bound of
 * their starts. */
void aion_chunks_validate(const struct aion_pool *pool,
                          const struct aion_sorted_chunks *sorted_chunks)
{
    uint32_t chunks = aion_chunks_chunks(sorted_chunks), found = 0;
    uint64_t last = 0;
    assert(!sorted_chunks->count || sorted_chunks->at);
    for (uint32_t chunk = 0; sorted_chunks->count && chunk < (chunks > 1 ? chunks : 1); chunk++) {
        uint32_t count;
        const struct aion_entry *entries = aion_chunks_chunk(pool, sorted_chunks, chunk, &count);
        const struct aion_ref *ref =
            chunks > 1 ? (const struct aion_ref *)aion_pool_at(pool, sorted_chunks->at) + chunk
                       : NULL;
        assert(count && count <= AION_CHUNK);
        assert(!ref || ref->first <= entries[0].time);
        for (uint32_t i = 0; i < count; i++) {
            assert(entries[i].time >= last);
            assert(!ref || ref->low <= entries[i].start);
            last = entries[i].time;
        }
        found += count;
    }
    assert(found == sorted_chunks->count);
}

/* ---- who is named how often ---- */

struct census {
    const struct iso_aion_shard *shard;
    uint32_t *names; /* by transaction */
};

static void name_transaction(struct census *census, uint32_t transaction)
{
    assert(transaction < census->shard->transactions.count);
    assert(census->shard->transactions.list[transaction].references);
    census->names[transaction]++;
}

static void name_all(struct census *census, const struct aion_sorted_chunks *sorted_chunks)
{
    const struct aion_entry *entry;
    struct aion_cursor cursor = aion_chunks_begin();
    for (; (entry = aion_chunks_get(&census->shard->pool, sorted_chunks, cursor));
         aion_chunks_next(&census->shard->pool, sorted_chunks, &cursor))
        name_transaction(census, entry->transaction);
}

/* ---- keys ---- */

static void validate_newest(const struct iso_aion_shard *shard, const struct aion_key *key)
{
    const struct aion_entry *entry;
    struct aion_cursor cursor = aion_chunks_begin();
    if (!key->versions.count) {
        assert(!key->newest_time);
        return;
    }
    entry = aion_chunks_last(&shard->pool, &key->versions);
    assert(key->newest_time == entry->time);
    assert(aion_key_is_list(key) || key->newest_value == entry->value);
    for (; (entry = aion_chunks_get(&shard->pool, &key->versions, cursor));
         aion_chunks_next(&shard->pool, &key->versions, &cursor))
        assert(entry->time <= entry->start || entry->time - entry->start <= key->span);
}

static void validate_chain(const struct iso_aion_shard *shard, uint32_t number,
                           const struct aion_cold *cold)
{
    uint32_t count = 0, previous = 0;
    for (uint32_t at = cold->first_pending; at; at = shard->pending.list[at - 1].next, count++) {
        const struct aion_pending *subject = &shard->pending.list[at - 1];
        assert(at <= shard->pending.count && subject->observed_count);
        assert(subject->key == number && subject->previous == previous);
        previous = at;
    }
    assert(count == cold->pending);
}

static void validate_cold(struct census *census, uint32_t number, const struct aion_key *key)
{
    const struct iso_aion_shard *shard = census->shard;
    const struct aion_cold *cold = &shard->cold.list[key->cold];
    uint32_t unknown = 0;
    const struct aion_entry *entry;
    struct aion_cursor cursor = aion_chunks_begin();
    assert(key->cold < shard->cold.count);
    aion_chunks_validate(&shard->pool, &cold->nonversions);
    aion_chunks_validate(&shard->pool, &cold->pages);
    aion_chunks_validate(&shard->pool, &cold->idle);
    aion_chunks_validate(&shard->pool, &cold->value_writers);
    validate_chain(shard, number, cold);
    name_all(census, &cold->nonversions);
    for (; (entry = aion_chunks_get(&shard->pool, &cold->nonversions, cursor));
         aion_chunks_next(&shard->pool, &cold->nonversions, &cursor)) {
        assert(!unknown || aion_is_unknown(entry)); /* they stand behind all others */
        unknown += aion_is_unknown(entry);
    }
    if (cold->value_writers.at)
        assert(cold->value_writers.count ==
               key->versions.count + cold->nonversions.count - unknown);
}

static void validate_key(struct census *census, uint32_t number)
{
    const struct iso_aion_shard *shard = census->shard;
    const struct aion_key *key = &shard->keys.list[number];
    aion_chunks_validate(&shard->pool, &key->versions);
    aion_chunks_validate(&shard->pool, &key->reads);
    validate_newest(shard, key);
    assert(!key->reads.count ||
           aion_chunks_last(&shard->pool, &key->reads)->time <= key->last_read);
    assert(!(key->flags & AION_KEY_PAGED) ||
           (key->cold && shard->cold.list[key->cold].pages.count));
    name_all(census, &key->versions);
    if (key->cold)
        validate_cold(census, number, key);
}

static void validate_keys(struct census *census)
{
    const struct iso_aion_shard *shard = census->shard;
    uint32_t in_use = 0, cold = 0, free = 0;
    for (uint32_t i = 0; i < shard->keys.count; i++) {
        if (shard->keys.list[i].flags & AION_KEY_FREE)
            continue;
        in_use++;
        cold += shard->keys.list[i].cold != 0;
        validate_key(census, i);
    }
    for (uint32_t at = shard->keys.free; at; at = shard->keys.list[at - 1].atom, free++)
        assert(at <= shard->keys.count && shard->keys.list[at - 1].flags & AION_KEY_FREE);
    assert(in_use == shard->keys.in_use && in_use + free == shard->keys.count);
    assert(in_use == shard->keys.index.used && in_use <= shard->keys.known);
    assert(cold == shard->cold.in_use);
}

/* ---- pending verdicts, transactions ---- */

static void validate_heap(const struct aion_dues *dues)
{
    for (uint32_t i = 1; i < dues->count; i++)
        assert(dues->heap[(i - 1) / 2].time <= dues->heap[i].time);
}

static void validate_pending(struct census *census)
{
    const struct iso_aion_shard *shard = census->shard;
    uint32_t free = 0, used = 0;
    for (uint32_t i = 0; i < shard->pending.count; i++) {
        const struct aion_pending *subject = &shard->pending.list[i];
        const struct aion_observed *observed = subject->more ? subject->more : &subject->observed;
        uint64_t visible_below = 0;
        for (uint32_t j = 0; j < subject->observed_count; j++)
            visible_below = observed[j].visible_below > visible_below ? observed[j].visible_below
                                                                      : visible_below;
        if (!subject->observed_count)
            continue;
        used++;
        assert(visible_below == subject->visible_below);
        assert(!subject->emitted_final || subject->emitted);
        name_transaction(census, subject->transaction);
    }
    for (uint32_t at = shard->pending.free; at; at = shard->pending.list[at - 1].next, free++)
        assert(at <= shard->pending.count && !shard->pending.list[at - 1].observed_count);
    assert(used + free == shard->pending.count);
    assert(!shard->pending.group_count);
    aion_rows_validate(shard);
    validate_heap(&shard->pending.finals);
    validate_heap(&shard->pending.deadlines);
}

static void validate_transactions(struct census *census)
{
    const struct iso_aion_shard *shard = census->shard;
    uint32_t in_use = 0, free = 0;
    for (uint32_t i = 0; i < shard->readers.count; i++)
        name_transaction(census, shard->readers.list[i].transaction);
    for (uint32_t i = 0; i < AION_LEAVING; i++)
        if (shard->transactions.leaving[i])
            name_transaction(census, shard->transactions.leaving[i] - 1);
    for (uint32_t i = 0; i < shard->transactions.count; i++) {
        assert(shard->transactions.list[i].references == census->names[i]);
        in_use += census->names[i] != 0;
    }
    for (uint32_t at = shard->transactions.free; at;
         at = shard->transactions.list[at - 1].tid, free++)
        assert(at <= shard->transactions.count && !shard->transactions.list[at - 1].references);
    assert(in_use == shard->transactions.in_use && in_use + free == shard->transactions.count);
}

/* ---- what waits ---- */

void aion_reorder_queue_validate(const struct aion_reorder_queue *queue)
{
    assert(queue->first <= queue->sorted && queue->sorted <= queue->end &&
           queue->end <= queue->capacity);
    for (uint32_t i = queue->first + 1; i < queue->sorted; i++)
        assert(queue->turns[i - 1].time <= queue->turns[i].time);
}

static void validate_reorder(const struct aion_reorder_buffer *buffer)
{
    uint32_t left = 0;
    aion_reorder_queue_validate(&buffer->queue);
    for (uint32_t i = 0; i < buffer->page_count; i++)
        left += buffer->pages[i].left;
    assert(left == aion_reorder_queue_count(&buffer->queue));
    assert(buffer->free_count <= buffer->page_count && buffer->shared <= buffer->page_count);
}

/* ---- all of it ---- */

uint64_t aion_shard_size(const struct iso_aion_shard *shard)
{
    return shard->keys.count + shard->transactions.count + shard->pending.count +
           shard->stats.versions + shard->stats.open_reads;
}

void aion_shard_validate(const struct iso_aion_shard *shard)
{
    struct census census = {
        shard, iso_allocate_zeroed(shard->transactions.count + 1u, sizeof *census.names)};
    assert(shard->time.floor <= shard->time.passed && shard->time.limit <= shard->time.passed);
    assert(!shard->findings.count); /* they were delivered */
    validate_keys(&census);
    validate_pending(&census);
    validate_transactions(&census);
    validate_reorder(&shard->reorder);
    iso_free(census.names);
}
#endif
