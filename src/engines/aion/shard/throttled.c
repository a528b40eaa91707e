/* Reads that are judged again too often.
 *
 * A version that comes late is compared with the reads that see it now. Where many reads of a key
 * stand open and versions come below them one after the other, each of them would be judged again
 * by each of these. So who was passed over often enough, among many, is tired: it leaves the run of
 * open reads, and its pending verdict alone is left, which is judged when it is final, or its
 * deadline comes. So a read costs no more than so many looks, and what is reported at the end is
 * the same.
 *
 * Of reads at SER the time stays, in the key's `idle`: transactions at one cts still have to hear
 * of each other (tie.c).
 */

#include "aion/shard/shard_private.h"

static struct aion_pending *pending_of(struct iso_aion_shard *shard, struct aion_key *key,
                                       struct aion_entry *read)
{
    if (!read->detail) {
        struct aion_observed observed = {.visible_below = read->time,
                                         .before = read->start,
                                         .value = read->value,
                                         .operation = read->operation & ~AION_READ_OWN,
                                         .state = AION_RIGHT,
                                         .own = read->operation & AION_READ_OWN};
        read->detail = aion_pending_new(shard, (uint32_t)(key - shard->keys.list),
                                        read->transaction, &observed) +
                       1;
        aion_pending_start(shard, read->detail - 1, ISO_NONE);
    }
    return &shard->pending.list[read->detail - 1];
}

static void retire_read(struct iso_aion_shard *shard, struct aion_key *key,
                        struct aion_cursor cursor)
{
    struct aion_entry read = *aion_chunks_get(&shard->pool, &key->reads, cursor);
    shard->pending.list[read.detail - 1].throttled = true;
    if (shard->options.level == ISO_SER) {
        struct aion_sorted_chunks *idle = &shard->cold.list[key->cold].idle;
        struct aion_entry entry = {.time = read.time, .transaction = read.transaction};
        aion_chunks_insert(&shard->pool, idle, aion_chunks_lower(&shard->pool, idle, read.time),
                           &entry);
    }
    aion_chunks_remove(&shard->pool, &key->reads, cursor);
    aion_value_drop(shard, key, read.value);
    shard->stats.open_reads--;
}

/* The last `scanned` reads before `end` were judged again. From the end on, so that entries before
 * stay what they are. */
void aion_note_rechecks(struct iso_aion_shard *shard, struct aion_key *key, struct aion_cursor end,
                        uint32_t scanned)
{
    struct aion_cursor cursor = end;
    for (; scanned && aion_chunks_before(&shard->pool, &key->reads, &cursor); scanned--) {
        struct aion_entry *read = aion_chunks_get(&shard->pool, &key->reads, cursor);
        shard->stats.steps++;
        struct aion_pending *subject = pending_of(shard, key, read);
        if (++subject->rechecks >= (shard->options.forced.throttles_soon ? 2 : AION_RECHECKS))
            retire_read(shard, key, cursor);
    }
    if (!key->reads.count) {
        key->flags &= ~(AION_KEY_OWN | AION_KEY_ENTRIES);
        key->last_read = 0;
    }
}

void aion_trim_idle(struct iso_aion_shard *shard, struct aion_key *key)
{
    struct aion_sorted_chunks *idle = key->cold ? &shard->cold.list[key->cold].idle : NULL;
    uint32_t gone = 0, count;
    if (!idle || !idle->count)
        return;
    struct aion_cursor cursor = aion_chunks_lower(&shard->pool, idle, shard->time.passed);
    for (uint32_t chunk = 0; chunk < cursor.chunk; chunk++, gone += count)
        aion_chunks_chunk(&shard->pool, idle, chunk, &count);
    gone += cursor.index;
    if (gone)
        aion_chunks_drop(&shard->pool, idle, gone);
}
