/* Letting keys go to the spill file, and what keeps them.
 *
 * A key goes as a record of all that it is (record.c), so that one which comes back is the one that
 * went: verdicts do not depend on who is in memory. Those stay that others refer to by their number
 * or by their reads: a read that a version to come may change, a pending verdict, a write of
 * unknown outcome, a step that waits for its turn, a tie that is not reported.
 *
 * Of every key that the hand comes by older versions go, whether it stays or not (paging.c).
 *
 * Who goes follows from the engine's state alone (archive.h): no clock, no address, nothing of the
 * process. So a run that is done again from an archive lets the same go at the same moments.
 *
 * Which go: a hand goes round the keys; each stays as often as it was asked for again since it
 * came, three times at most (a clock with two bits). Most keys that come are not asked for again
 * soon: they go first. A key whose record in the spill file is still good is only forgotten.
 */
#include <assert.h>

#include "aion/memory/record.h"
#include "base/fetch.h"

static void compact_record(void *owner, struct iso_spill_record *record)
{
    struct iso_aion_shard *shard = owner;
    shard->stats.spilt.compacted +=
        aion_record_compact(shard, record, &shard->paging.compact_record);
}

enum iso_status iso_aion_shard_spill_to(struct iso_aion_shard *shard,
                                        const struct iso_spill_options *options,
                                        struct iso_error *error)
{
    struct iso_spill_options own = *options;
    own.cut = compact_record;
    own.owner = shard;
    return iso_spill_open(&own, &shard->paging.store, error);
}

const struct iso_error *iso_aion_shard_failure(const struct iso_aion_shard *shard)
{
    return &shard->paging.failure;
}

uint64_t aion_store_bytes(const struct iso_aion_shard *shard)
{
    struct iso_spill_stats stats = {0};
    if (shard->paging.store)
        iso_spill_stats(shard->paging.store, &stats);
    return stats.memory;
}

void aion_add_spilt(const struct iso_aion_shard *shard, struct iso_aion_spilt *spilt)
{
    const struct iso_aion_spilt *own = &shard->stats.spilt;
    struct iso_spill_stats stats = {0};
    if (shard->paging.store)
        iso_spill_stats(shard->paging.store, &stats);
    spilt->hits += own->hits;
    spilt->misses += own->misses;
    spilt->evicted += own->evicted;
    spilt->clean += own->clean;
    spilt->paged_out += own->paged_out;
    spilt->paged_in += own->paged_in;
    spilt->old_reads += own->old_reads;
    spilt->keys += stats.records;
    spilt->compacted += own->compacted;
    spilt->disk += stats.disk;
    spilt->used += stats.used;
    spilt->living += stats.living;
    spilt->archived += stats.archived;
    spilt->read += stats.read;
    spilt->written += stats.written;
}

/* ---- what stays ---- */

void iso_aion_shard_pin(struct iso_aion_shard *shard, uint32_t key, bool pinned)
{
    assert(key < shard->keys.count);
    uint32_t *flags = &shard->keys.list[key].flags;
    *flags = pinned ? *flags | AION_KEY_PINNED : *flags & ~AION_KEY_PINNED;
}

static void pin_reordered(struct iso_aion_shard *shard, bool pinned)
{
    const struct aion_reorder_queue *queue = &shard->reorder.queue;
    for (uint32_t i = queue->first; i < queue->end; i++) {
        uint32_t subject = queue->turns[i].subject;
        const struct aion_batch *batch =
            &shard->reorder.pages[subject >> AION_REORDER_PAGE_BITS].batch;
        const struct aion_part *part =
            &batch->parts[subject & ((1u << AION_REORDER_PAGE_BITS) - 1)];
        for (uint32_t s = part->first_step; s < part->first_step + part->step_count; s++)
            iso_aion_shard_pin(shard, batch->steps[s].key, pinned);
    }
    for (uint32_t i = 0; i < shard->ties.count; i++)
        iso_aion_shard_pin(shard, shard->ties.heap[i].subject, pinned);
}

static bool is_referred_to(struct iso_aion_shard *shard, struct aion_key *key)
{
    if (key->flags & (AION_KEY_FREE | AION_KEY_PINNED | AION_KEY_ALONE))
        return true;
    if (key->reads.count && !aion_may_drop_read(shard, key->last_read))
        return true;
    aion_trim(shard, key);
    if (key->reads.count)
        return true;
    if (!key->cold)
        return false;
    const struct aion_cold *cold = &shard->cold.list[key->cold];
    return cold->first_pending || cold->idle.count || aion_keeps_overlap_count(shard, key) ||
           (cold->nonversions.count &&
            aion_is_unknown(aion_chunks_last(&shard->pool, &cold->nonversions)));
}

/* ---- who goes ---- */

/* Puts the record of a key into the spill file; false: it has to stay. */
static bool store_key(struct iso_aion_shard *shard, struct aion_key *key, uint64_t digest)
{
    const uint8_t *other = NULL;
    uint32_t size;
    bool stored = key->flags & AION_KEY_STORED;
    if (stored && !(key->flags & AION_KEY_CHANGED)) {
        shard->stats.spilt.clean++;
        return true;
    }
    if (!stored &&
        iso_spill_get(shard->paging.store, digest, &other, &size, &shard->paging.failure) != ISO_OK)
        return false;
    struct iso_spill_record record = aion_record_write(shard, key, &shard->paging.record);
    if (other || shard->paging.record.size > iso_spill_most(shard->paging.store)) {
        key->flags |= AION_KEY_ALONE;
        return false;
    }
    return iso_spill_put(shard->paging.store, digest, stored, &record, &shard->paging.failure) ==
           ISO_OK;
}

void aion_entry_forget(struct iso_aion_shard *shard, const struct aion_key *key,
                       const struct aion_entry *version)
{
    aion_value_drop(shard, key, version->value);
    aion_transaction_drop(shard, version->transaction);
}

static void empty_sorted_chunks(struct iso_aion_shard *shard, struct aion_key *key,
                                struct aion_sorted_chunks *sorted_chunks, bool nonversions)
{
    struct aion_cursor cursor = aion_chunks_begin();
    const struct aion_entry *entry;
    for (; (entry = aion_chunks_get(&shard->pool, sorted_chunks, cursor));
         aion_chunks_next(&shard->pool, sorted_chunks, &cursor)) {
        if (nonversions) {
            aion_values_drop(&shard->values, entry->value);
            aion_transaction_drop(shard, entry->transaction);
        } else {
            aion_entry_forget(shard, key, entry);
        }
    }
    aion_chunks_drop(&shard->pool, sorted_chunks, sorted_chunks->count);
}

static void forget_key(struct iso_aion_shard *shard, struct aion_key *key)
{
    shard->stats.versions -= key->versions.count;
    empty_sorted_chunks(shard, key, &key->versions, false);
    if (key->cold) {
        struct aion_cold *cold = &shard->cold.list[key->cold];
        assert(!cold->idle.count);
        empty_sorted_chunks(shard, key, &cold->nonversions, true);
        aion_chunks_release(&shard->pool, &cold->pages);
        if (cold->base != ISO_ABSENT)
            aion_value_drop(shard, key, cold->base);
        if (cold->initial != shard->keys.initial)
            aion_values_drop(&shard->values, cold->initial);
    }
    aion_key_free(shard, (uint32_t)(key - shard->keys.list));
    shard->stats.spilt.evicted++;
}

static void evict_key(struct iso_aion_shard *shard, struct aion_key *key)
{
    if (key->flags & AION_KEY_PAGED)
        aion_pages_trim(shard, key);
    bool asked = key->flags & AION_KEY_QUERY && !shard->paging.eager;
    if (asked)
        key->flags -= AION_KEY_QUERY_ONCE;
    bool stays = asked || is_referred_to(shard, key);
    if (!(key->flags & AION_KEY_FREE))
        aion_page_out(shard, key);
    if (stays)
        return;
    uint64_t digest = aion_key_digest(shard, key);
    if (store_key(shard, key, digest))
        forget_key(shard, key);
}

/* ---- fetching ahead of the hand ---- */

/* Keys between two steps of fetching. */
enum { FETCH_STRIDE = 6, FETCH_VERSIONS = 5 };

static const struct aion_key *key_going(const struct iso_aion_shard *shard, uint32_t number)
{
    const struct aion_key *key = &shard->keys.list[number < shard->keys.count ? number : 0];
    bool stays = key->flags & (AION_KEY_FREE | AION_KEY_PINNED | AION_KEY_ALONE | AION_KEY_QUERY);
    return (stays && key->versions.count < FETCH_VERSIONS) || !key->versions.at ? NULL : key;
}

/* Fetches the transactions that the first versions of a run name. */
ISO_FETCH fetch_named(const struct iso_aion_shard *shard,
                      const struct aion_sorted_chunks *sorted_chunks, bool leaving)
{
    uint32_t count;
    const struct aion_entry *versions = aion_chunks_chunk(&shard->pool, sorted_chunks, 0, &count);
    aion_fetch_versions(shard, versions, count < FETCH_VERSIONS ? count : FETCH_VERSIONS, leaving);
}

/* A key, its first versions, what those name, and the texts and slots of that: each when what leads
 * there has come. */
ISO_FETCH fetch_going(const struct iso_aion_shard *shard, uint32_t clock_hand)
{
    const struct aion_key *key;
    uint32_t at = clock_hand + 4 * FETCH_STRIDE;
    __builtin_prefetch(&shard->keys.list[at < shard->keys.count ? at : 0], 1);
    if ((key = key_going(shard, clock_hand + 3 * FETCH_STRIDE))) {
        __builtin_prefetch(aion_pool_at(&shard->pool, key->versions.at), 1);
        aion_values_fetch_entry(&shard->values, key->atom);
    }
    if ((key = key_going(shard, clock_hand + 2 * FETCH_STRIDE)) &&
        aion_chunks_chunks(&key->versions) <= 1 && !aion_key_is_list(key)) {
        fetch_named(shard, &key->versions, false);
        aion_values_fetch_leave(&shard->values, key->atom);
        iso_index_fetch(&shard->keys.index, iso_atom_hash(&shard->values.atoms, key->atom));
    }
    if ((key = key_going(shard, clock_hand + FETCH_STRIDE)) &&
        aion_chunks_chunks(&key->versions) <= 1 && !aion_key_is_list(key)) {
        fetch_named(shard, &key->versions, true);
        iso_spill_fetch(shard->paging.store, aion_key_digest(shard, key));
    }
}

/* The hand goes round so often: keys that were asked for most often go after three rounds, and some
 * that stayed may go by then. */
enum { ROUNDS = 5 };

/* Bytes in use beside these do not change here. */
uint64_t iso_aion_shard_key_bytes(const struct iso_aion_shard *shard)
{
    return shard->pool.in_use + aion_values_bytes(&shard->values) +
           (uint64_t)shard->keys.in_use * sizeof *shard->keys.list +
           (uint64_t)shard->cold.in_use * sizeof *shard->cold.list +
           (uint64_t)shard->transactions.in_use * sizeof *shard->transactions.list;
}

void iso_aion_shard_evict(struct iso_aion_shard *shard, uint64_t bytes)
{
    uint64_t before = iso_aion_shard_key_bytes(shard), goal = before > bytes ? before - bytes : 0;
    iso_spill_advance(shard->paging.store, shard->time.floor);
    pin_reordered(shard, true);
    shard->time.thorough = true;
    shard->paging.eager = !goal;
    for (uint64_t left = ROUNDS * (uint64_t)shard->keys.count;
         left && shard->paging.failure.status == ISO_OK; left--) {
        if (iso_aion_shard_key_bytes(shard) <= goal)
            break;
        shard->paging.evict_clock_hand = shard->paging.evict_clock_hand + 1 < shard->keys.count
                                             ? shard->paging.evict_clock_hand + 1
                                             : 0;
        fetch_going(shard, shard->paging.evict_clock_hand);
        evict_key(shard, &shard->keys.list[shard->paging.evict_clock_hand]);
    }
    shard->time.thorough = false;
    aion_values_shrink(&shard->values, shard->paging.eager);
    aion_keys_shrink(shard);
    pin_reordered(shard, false);
}
