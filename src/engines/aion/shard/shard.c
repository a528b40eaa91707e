/* A shard: its transactions, and the way a batch takes through it. */
#include "aion/shard/shard_private.h"

#include <assert.h>

#include "base/fetch.h"
#include "base/heap.h"
#include "base/memory.h"
#include "base/numbers.h"

/* Parts ahead, whose first steps are looked at: the key's line is fetched, some steps later the end
 * of the run that the step will change, and again some later its last chunk where it has a
 * directory. */
enum { FETCH_AHEAD = 8, FETCH_STEPS = 32 };

/* Number of keys, with the ends of their runs, that stay in the second level cache. */
enum { KEYS_IN_CACHE = 1 << 12 };

struct iso_aion_shard *iso_aion_shard_new(const struct iso_aion_options *options)
{
    struct iso_aion_shard *shard = iso_allocate_zeroed(1, sizeof *shard);
    shard->options = *options;
    shard->defers = iso_aion_holds(options->level);
    aion_pool_init(&shard->pool);
    aion_values_init(&shard->values);
    shard->keys.initial = ISO_ABSENT;
    shard->cold.count = 1; /* 0 stands for none */
    return shard;
}

void iso_aion_shard_free(struct iso_aion_shard *shard)
{
    if (!shard)
        return;
    iso_aion_shard_clear(shard);
    for (uint32_t i = 0; i < shard->pending.count; i++)
        iso_free(shard->pending.list[i].more);
    ISO_FREE_COLUMN(shard->keys.list, shard->keys.capacity);
    aion_overlap_counts_release(shard);
    ISO_FREE_COLUMN(shard->cold.list, shard->cold.capacity);
    ISO_FREE_COLUMN(shard->transactions.list, shard->transactions.capacity);
    ISO_FREE_COLUMN(shard->pending.list, shard->pending.capacity);
    ISO_FREE_ALL(shard->pending.finals.heap, shard->pending.deadlines.heap, shard->ties.heap,
                 shard->pending.fresh.heap, shard->findings.list, shard->pending.groups,
                 shard->pending.rows.list, shard->keys.reading.list);
    iso_index_release(&shard->pending.rows.index);
    ISO_FREE_COLUMN(shard->readers.list, shard->readers.capacity);
    aion_reorder_buffer_release(&shard->reorder);
    aion_pool_release(&shard->pool);
    aion_values_release(&shard->values);
    iso_index_release(&shard->keys.index);
    iso_spill_free(shard->paging.store);
    ISO_FREE_ALL(shard->paging.record.bytes, shard->paging.compact_record.bytes, shard);
}

/* ---- transactions ---- */

uint32_t aion_transaction_add(struct iso_aion_shard *shard,
                              const struct aion_transaction *transaction)
{
    uint32_t number = shard->transactions.free - 1;
    if (shard->transactions.free) {
        shard->transactions.free = shard->transactions.list[number].tid;
        __builtin_prefetch(
            &shard->transactions
                 .list[shard->transactions.free ? shard->transactions.free - 1 : number],
            1);
    } else {
        if (shard->transactions.count == shard->transactions.capacity) {
            size_t old = shard->transactions.capacity, next = old ? old * 2 : 16384;
            ISO_COLUMN_RESIZE(shard->transactions.list, old, next);
            shard->transactions.capacity = (uint32_t)next;
            iso_column_huge(shard->transactions.list, next * sizeof *shard->transactions.list);
        }
        number = shard->transactions.count++;
    }
    shard->transactions.in_use++;
    shard->transactions.list[number] = *transaction;
    return number;
}

static uint32_t new_transaction(struct iso_aion_shard *shard, const struct aion_batch *batch,
                                const struct aion_part *part)
{
    struct aion_transaction transaction = {
        .sts = part->sts,
        .cts = part->cts,
        .origin = part->origin,
        .arrival = part->arrival,
        .tid = aion_values_take(&shard->values, batch->atoms, part->tid),
        .references = 1,
        .flags = part->flags};
    return aion_transaction_add(shard, &transaction);
}

void aion_transaction_drop(struct iso_aion_shard *shard, uint32_t number)
{
    struct aion_transaction *transaction = &shard->transactions.list[number];
    assert(transaction->references);
    if (--transaction->references)
        return;
    if (transaction->flips) {
        uint32_t often = transaction->flips < ISO_AION_FLIPS ? transaction->flips : ISO_AION_FLIPS;
        shard->stats.flipped++;
        shard->stats.flips[often - 1]++;
    }
    aion_values_drop(&shard->values, transaction->tid);
    transaction->tid = shard->transactions.free;
    shard->transactions.in_use--;
    shard->transactions.free = number + 1;
}

/* Lets go of one whose line has long left the caches: asks for the line now and comes back for it
 * later. */
void aion_transaction_drop_later(struct iso_aion_shard *shard, uint32_t number)
{
    uint32_t *slot = &shard->transactions.leaving[shard->transactions.leaving_at++ % AION_LEAVING],
             before = *slot;
    __builtin_prefetch(&shard->transactions.list[number], 1);
    *slot = number + 1;
    if (before)
        aion_transaction_drop(shard, before - 1);
}

/* ---- transactions with open reads ---- */

static void add_reader(struct iso_aion_shard *shard, uint32_t transaction)
{
    ISO_GROW_COLUMN(shard->readers.list, shard->readers.count, shard->readers.capacity);
    shard->readers.list[shard->readers.count++] =
        (struct aion_reader){shard->readers.last_visible_below, transaction};
}

/* Lets go of those whose reads the watermark has passed. Each is looked at a few times: only once
 * they have doubled they are all gone through. */
void aion_readers_advance(struct iso_aion_shard *shard)
{
    uint32_t left = 0;
    if (!shard->time.thorough && shard->readers.count < 2 * shard->readers.left + 64)
        return;
    for (uint32_t i = 0; i < shard->readers.count; i++) {
        struct aion_reader reader = shard->readers.list[i];
        if (aion_may_drop_read(shard, reader.visible_below))
            aion_transaction_drop_later(shard, reader.transaction);
        else
            shard->readers.list[left++] = reader;
    }
    shard->readers.count = shard->readers.left = left;
    shard->readers.passed = shard->time.passed;
}

/* ---- what is due at a time: a heap, the earliest at its root ---- */

static bool is_earlier(const struct aion_due *left, const struct aion_due *right)
{
    return left->time != right->time ? left->time < right->time : left->subject < right->subject;
}

void aion_dues_push(struct aion_dues *dues, uint64_t time, uint32_t subject, uint32_t generation)
{
    ISO_GROW(dues->heap, dues->count, dues->capacity);
    struct aion_due due = {time, subject, generation};
    ISO_HEAP_PUSH(dues->heap, dues->count, due, is_earlier);
}

struct aion_due aion_dues_pop(struct aion_dues *dues)
{
    struct aion_due first = dues->heap[0];
    ISO_HEAP_POP(dues->heap, dues->count, is_earlier);
    return first;
}

/* ---- batches ---- */

ISO_FETCH fetch_end(const struct iso_aion_shard *shard,
                    const struct aion_sorted_chunks *sorted_chunks)
{
    uint32_t chunks = aion_chunks_chunks(sorted_chunks);
    if (!sorted_chunks->at)
        return;
    if (chunks > 1)
        __builtin_prefetch(
            (const struct aion_ref *)aion_pool_at(&shard->pool, sorted_chunks->at) + chunks - 1, 1);
    else if (aion_chunks_full(&shard->pool, sorted_chunks)) /* it will be trimmed: from its start */
        __builtin_prefetch(aion_pool_at(&shard->pool, sorted_chunks->at), 1);
    else
        __builtin_prefetch(
            (const struct aion_entry *)aion_pool_at(&shard->pool, sorted_chunks->at) +
                sorted_chunks->count,
            1);
}

/* A read of an older version than the newest looks at the versions too. */
static inline bool looks_back(const struct aion_part *part, const struct aion_step *step,
                              const struct aion_key *key)
{
    return step->kind == AION_READ && part->visible_below <= key->newest_time;
}

/* Fetches the end of a run's last chunk, if the run has a directory. */
ISO_FETCH fetch_last_chunk(const struct iso_aion_shard *shard,
                           const struct aion_sorted_chunks *sorted_chunks)
{
    uint32_t chunks = aion_chunks_chunks(sorted_chunks);
    if (chunks < 2)
        return;
    const struct aion_ref *ref =
        (const struct aion_ref *)aion_pool_at(&shard->pool, sorted_chunks->at) + chunks - 1;
    __builtin_prefetch(
        (const struct aion_entry *)aion_pool_at(&shard->pool, ref->at) + ref->count - 1, 1);
}

static inline const struct aion_batch *batch_at(const struct aion_march *march, uint32_t number)
{
    return march->batch
               ? march->batch
               : &march->pages[march->turns[number].subject >> AION_REORDER_PAGE_BITS].batch;
}

static inline const struct aion_part *part_at(const struct aion_march *march, uint32_t number)
{
    if (march->batch)
        return &march->batch->parts[number];
    return &batch_at(march, number)
                ->parts[march->turns[number].subject & ((1u << AION_REORDER_PAGE_BITS) - 1)];
}

ISO_FETCH fetch_keys(const struct iso_aion_shard *shard, const struct aion_march *march,
                     uint32_t number)
{
    if (number >= march->count)
        return;
    const struct aion_part *part = part_at(march, number);
    const struct aion_batch *batch = batch_at(march, number);
    const struct aion_step *step = &batch->steps[part->first_step];
    bool entered = batch->atoms == &shard->values.atoms;
    for (uint32_t left = part->step_count < FETCH_STEPS ? part->step_count : FETCH_STEPS; left;
         left--, step++) {
        __builtin_prefetch(&shard->keys.list[step->key], 1);
        if (step->kind == AION_VERSION && aion_value_is_entry(step->value) && !entered)
            aion_values_fetch_slot(&shard->values, iso_atom_hash(batch->atoms, step->value));
    }
}

/* `chunks`: what the end of the run's directory names, which has been fetched before. */
ISO_FETCH fetch_runs(const struct iso_aion_shard *shard, const struct aion_march *march,
                     uint32_t number, bool chunks)
{
    if (number >= march->count)
        return;
    const struct aion_part *part = part_at(march, number);
    const struct aion_step *step = &batch_at(march, number)->steps[part->first_step];
    for (uint32_t left = part->step_count < FETCH_STEPS ? part->step_count : FETCH_STEPS; left;
         left--, step++) {
        const struct aion_key *key = &shard->keys.list[step->key];
        const struct aion_sorted_chunks *sorted_chunks =
            step->kind <= AION_READ_LIST ? &key->reads : &key->versions;
        bool too = looks_back(part, step, key);
        if (step->kind == AION_READ && aion_value_is_entry(step->value)) {
            if (chunks)
                aion_values_fetch_text(&shard->values, key->newest_value);
            else
                aion_values_fetch_entry(&shard->values, key->newest_value);
        }
        if (chunks) {
            fetch_last_chunk(shard, sorted_chunks);
            if (too)
                fetch_last_chunk(shard, &key->versions);
        } else {
            fetch_end(shard, sorted_chunks);
            if (too)
                fetch_end(shard, &key->versions);
        }
    }
}

ISO_FETCH fetch_step(const struct iso_aion_shard *shard, const struct aion_march *march,
                     uint32_t at)
{
    fetch_keys(shard, march, at + 3 * march->ahead);
    fetch_runs(shard, march, at + 2 * march->ahead, false);
    fetch_runs(shard, march, at + march->ahead, true);
}

/* Once all steps of a part are taken: a group has one verdict. */
static void end_part(struct iso_aion_shard *shard, uint32_t transaction)
{
    for (uint32_t i = 0; i < shard->pending.group_count; i++)
        aion_pending_start(shard, shard->pending.groups[i], ISO_NONE);
    shard->pending.group_count = 0;
    if (shard->readers.keeps_reads)
        add_reader(shard, transaction);
    else
        aion_transaction_drop(shard, transaction);
}

void aion_apply_part(struct iso_aion_shard *shard, const struct aion_batch *batch,
                     const struct aion_part *part)
{
    if (part->flags & AION_FORGET) {
        aion_forget(shard, batch, part);
        return;
    }
    uint32_t transaction = new_transaction(shard, batch, part);
    shard->readers.last_visible_below = 0;
    shard->readers.keeps_reads = false;
    for (uint32_t i = part->first_step; i < part->first_step + part->step_count; i++) {
        const struct aion_step *step = &batch->steps[i];
        if (step->kind <= AION_READ_LIST)
            aion_read(shard, batch, part, step, transaction);
        else if (step->kind == AION_NONVERSION)
            aion_nonversion(shard, batch, step, transaction);
        else
            aion_version(shard, batch, part, step, transaction);
    }
    end_part(shard, transaction);
}

void iso_aion_shard_apply(struct iso_aion_shard *shard, struct aion_march march)
{
    bool fetches = march.count && shard->keys.count > KEYS_IN_CACHE;
    const struct aion_batch *first = fetches ? batch_at(&march, 0) : NULL;
    march.ahead = fetches ? 1 + FETCH_AHEAD * first->part_count / (first->step_count + 1) : 0;
    for (uint32_t i = 0; i < 3 * march.ahead; i++)
        fetch_keys(shard, &march, i);
    for (uint32_t i = 0; i < 2 * march.ahead; i++)
        fetch_runs(shard, &march, i, false);
    for (uint32_t i = 0; i < march.count; i++) {
        const struct aion_part *part = part_at(&march, i);
        if (fetches)
            fetch_step(shard, &march, i);
        shard->time.now = part->arrival > shard->time.now ? part->arrival : shard->time.now;
        shard->keys.work += part->step_count;
        aion_apply_part(shard, batch_at(&march, i), part);
    }
    aion_sweep_some(shard);
}

/* ---- time ---- */

void iso_aion_shard_advance(struct iso_aion_shard *shard, uint64_t limit, uint64_t passed,
                            uint64_t floor, uint64_t now)
{
    shard->time.now = now > shard->time.now ? now : shard->time.now;
    shard->time.limit = limit > shard->time.limit ? limit : shard->time.limit;
    passed = passed > shard->time.limit ? passed : shard->time.limit;
    shard->time.passed = passed > shard->time.passed ? passed : shard->time.passed;
    floor = floor < shard->time.passed ? floor : shard->time.passed;
    shard->time.floor = floor > shard->time.floor ? floor : shard->time.floor;
    /* of what has just been released: final at once where the watermark has come */
    iso_aion_shard_emit(shard);
    aion_ties_advance(shard);
    aion_pending_advance(shard);
    aion_readers_advance(shard);
    aion_trim_reading(shard);
}

void iso_aion_shard_tick(struct iso_aion_shard *shard, uint64_t now)
{
    shard->time.now = now > shard->time.now ? now : shard->time.now;
    aion_pending_tick(shard);
}

void iso_aion_shard_end(struct iso_aion_shard *shard, uint64_t now)
{
    iso_aion_shard_release(shard, UINT64_MAX, UINT64_MAX, now);
    shard->time.ended = true;
    iso_aion_shard_advance(shard, UINT64_MAX, UINT64_MAX, 0, now);
    for (uint32_t i = 0; i < shard->pending.count; i++) {
        if (shard->pending.list[i].observed_count)
            aion_dues_push(&shard->pending.finals, shard->pending.list[i].visible_below, i,
                           shard->pending.list[i].generation);
    }
    aion_pending_advance(shard);
    /* transactions still referred to count as flipped when they go */
    for (uint32_t i = 0; i < shard->transactions.count; i++) {
        struct aion_transaction *transaction = &shard->transactions.list[i];
        if (!transaction->references || !transaction->flips)
            continue;
        uint32_t often = transaction->flips < ISO_AION_FLIPS ? transaction->flips : ISO_AION_FLIPS;
        shard->stats.flipped++;
        shard->stats.flips[often - 1]++;
        transaction->flips = 0;
    }
}

/* ---- looking in ---- */

const struct iso_atoms *iso_aion_shard_atoms(const struct iso_aion_shard *shard)
{
    return &shard->values.atoms;
}

iso_atom iso_aion_shard_key_atom(const struct iso_aion_shard *shard, uint32_t key)
{
    assert(key < shard->keys.count);
    return shard->keys.list[key].atom;
}

uint64_t iso_aion_shard_bytes(const struct iso_aion_shard *shard)
{
    return shard->pool.in_use + aion_values_bytes(&shard->values) +
           (uint64_t)shard->keys.in_use * sizeof *shard->keys.list +
           (uint64_t)shard->cold.in_use * sizeof *shard->cold.list +
           (uint64_t)shard->transactions.in_use * sizeof *shard->transactions.list +
           (uint64_t)shard->readers.count * sizeof *shard->readers.list +
           (uint64_t)shard->pending.count * sizeof *shard->pending.list +
           (uint64_t)shard->pending.rows.count * sizeof *shard->pending.rows.list +
           aion_reorder_buffer_bytes(&shard->reorder) + iso_index_bytes(&shard->keys.index) +
           aion_store_bytes(shard);
}

void iso_aion_shard_stats(const struct iso_aion_shard *shard, struct iso_aion_stats *stats)
{
    /* a shard's own have no others; sums wrap: what the front counted and was not judged in the end
     */
    iso_add_counts(stats, &shard->stats, offsetof(struct iso_aion_stats, spilt));
    stats->keys += shard->keys.known;
    aion_add_spilt(shard, &stats->spilt);
    stats->bytes += iso_aion_shard_bytes(shard);
}
