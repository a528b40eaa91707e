/* A shard's state as an archive. */
#include <assert.h>

#include "aion/archive_private.h"
#include "aion/shard/shard_private.h"
#include "base/memory.h"

/* A new shard may have initial values: what is restored takes their place. */
static void forget_initial(struct iso_aion_shard *shard)
{
    ISO_FREE_COLUMN(shard->keys.list, shard->keys.capacity);
    aion_overlap_counts_release(shard);
    ISO_FREE_COLUMN(shard->cold.list, shard->cold.capacity);
    iso_index_release(&shard->keys.index);
    shard->keys.list = NULL;
    shard->cold.list = NULL;
    shard->keys.count = shard->keys.capacity = shard->cold.capacity = 0;
}

static uint32_t hash_of_key(const void *context, uint32_t number)
{
    const struct iso_aion_shard *shard = context;
    return iso_atom_hash(&shard->values.atoms, shard->keys.list[number].atom);
}

static void archive_keys(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    aion_index_archive(archive, &shard->keys.index);
    ISO_ARCHIVE_LIST(archive, "keys", ISO_ARCHIVE_COLUMN, shard->keys);
    uint32_t cold = shard->cold.list ? shard->cold.count : 0;
    ISO_ARCHIVE_ANY(archive, "rares", ISO_ARCHIVE_COLUMN, shard->cold.list, cold,
                    shard->cold.capacity);
    shard->cold.count = cold ? cold : 1; /* 0 stands for none */
    for (uint32_t i = 1; archive->restoring && i < cold; i++)
        shard->cold.list[i].overlap_count = NULL; /* of another process */
    ISO_ARCHIVE_VALUE(archive, shard->keys.in_use);
    ISO_ARCHIVE_VALUE(archive, shard->keys.free);
    ISO_ARCHIVE_VALUE(archive, shard->keys.known);
    ISO_ARCHIVE_LIST(archive, "reading", ISO_ARCHIVE_HEAP, shard->keys.reading);
    ISO_ARCHIVE_VALUE(archive, shard->keys.reading_left);
    ISO_ARCHIVE_VALUE(archive, shard->cold.in_use);
    ISO_ARCHIVE_VALUE(archive, shard->cold.free);
    if (archive->restoring)
        iso_column_huge(shard->keys.list, shard->keys.capacity * sizeof *shard->keys.list);
    if (archive->restoring && archive->error->status == ISO_OK)
        iso_archive_expect(
            archive, iso_index_refill(&shard->keys.index, shard->keys.count, hash_of_key, shard));
}

static void archive_transactions(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    ISO_ARCHIVE_LIST(archive, "transactions", ISO_ARCHIVE_COLUMN, shard->transactions);
    ISO_ARCHIVE_VALUE(archive, shard->transactions.free);
    ISO_ARCHIVE_VALUE(archive, shard->transactions.in_use);
    ISO_ARCHIVE_VALUE(archive, shard->transactions.leaving);
    ISO_ARCHIVE_VALUE(archive, shard->transactions.leaving_at);
    ISO_ARCHIVE_LIST(archive, "readers", ISO_ARCHIVE_COLUMN, shard->readers);
    ISO_ARCHIVE_VALUE(archive, shard->readers.left);
    ISO_ARCHIVE_VALUE(archive, shard->readers.passed);
    if (archive->restoring)
        iso_column_huge(shard->transactions.list,
                        shard->transactions.capacity * sizeof *shard->transactions.list);
}

/* The reads of pending verdicts that have several, which alone are behind a pointer. */
static void archive_observed(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    for (uint32_t i = 0; archive->restoring && i < shard->pending.count; i++)
        shard->pending.list[i].more = NULL; /* of another process */
    for (uint32_t i = 0; i < shard->pending.count; i++) {
        struct aion_pending *subject = &shard->pending.list[i];
        uint32_t count = subject->observed_count;
        if (count < 2)
            continue;
        ISO_ARCHIVE_ANY(archive, "looks", ISO_ARCHIVE_HEAP, subject->more, count, count);
        iso_archive_expect(archive, count == subject->observed_count);
    }
}

static void archive_dues(struct iso_archive *archive, const char *name, struct aion_dues *dues)
{
    ISO_ARCHIVE_ANY(archive, name, ISO_ARCHIVE_HEAP, dues->heap, dues->count, dues->capacity);
}

static void archive_pending(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    ISO_ARCHIVE_LIST(archive, "cases", ISO_ARCHIVE_COLUMN, shard->pending);
    archive_observed(archive, shard);
    aion_rows_archive(archive, shard);
    ISO_ARCHIVE_VALUE(archive, shard->pending.free);
    archive_dues(archive, "finals", &shard->pending.finals);
    archive_dues(archive, "deadlines", &shard->pending.deadlines);
    archive_dues(archive, "fresh", &shard->pending.fresh);
    archive_dues(archive, "ties", &shard->ties);
}

static void archive_batch(struct iso_archive *archive, struct aion_batch *batch)
{
    ISO_ARCHIVE_ANY(archive, "parts", ISO_ARCHIVE_HEAP, batch->parts, batch->part_count,
                    batch->part_capacity);
    ISO_ARCHIVE_ANY(archive, "steps", ISO_ARCHIVE_HEAP, batch->steps, batch->step_count,
                    batch->step_capacity);
    ISO_ARCHIVE_ANY(archive, "details", ISO_ARCHIVE_HEAP, batch->details, batch->detail_count,
                    batch->detail_capacity);
    ISO_ARCHIVE_ANY(archive, "elements", ISO_ARCHIVE_HEAP, batch->elements, batch->element_count,
                    batch->element_capacity);
}

static void archive_reorder_buffer(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    struct aion_reorder_buffer *waiting = &shard->reorder;
    ISO_ARCHIVE_ANY(archive, "pages", ISO_ARCHIVE_HEAP, waiting->pages, waiting->page_count,
                    waiting->page_capacity);
    ISO_ARCHIVE_ANY(archive, "free pages", ISO_ARCHIVE_HEAP_TWIN, waiting->free,
                    waiting->page_count, waiting->page_capacity);
    ISO_ARCHIVE_VALUE(archive, waiting->free_count);
    ISO_ARCHIVE_VALUE(archive, waiting->shared);
    iso_archive_expect(archive, waiting->free_count <= waiting->page_count &&
                                    waiting->shared <= waiting->page_count);
    for (uint32_t i = 0; archive->restoring && i < waiting->page_count;
         i++) /* pointers of another process */
        waiting->pages[i].batch = (struct aion_batch){.atoms = &shard->values.atoms};
    for (uint32_t i = 0; i < waiting->page_count; i++)
        archive_batch(archive, &waiting->pages[i].batch);
    aion_reorder_queue_archive(archive, &waiting->queue);
}

static void archive_time(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    ISO_ARCHIVE_VALUE(archive, shard->time.now);
    ISO_ARCHIVE_VALUE(archive, shard->time.limit);
    ISO_ARCHIVE_VALUE(archive, shard->time.passed);
    ISO_ARCHIVE_VALUE(archive, shard->time.floor);
    ISO_ARCHIVE_VALUE(archive, shard->time.ended);
    ISO_ARCHIVE_VALUE(archive, shard->keys.initial);
    ISO_ARCHIVE_VALUE(archive, shard->keys.clock_hand);
    ISO_ARCHIVE_VALUE(archive, shard->paging.evict_clock_hand);
    ISO_ARCHIVE_VALUE(archive, shard->keys.work);
    ISO_ARCHIVE_VALUE(archive, shard->stats);
}

void iso_aion_shard_archive(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    assert(!shard->findings.count && !shard->pending.group_count);
    if (archive->restoring)
        forget_initial(shard);
    archive_time(archive, shard);
    aion_pool_archive(archive, &shard->pool);
    aion_values_archive(archive, &shard->values);
    archive_keys(archive, shard);
    archive_transactions(archive, shard);
    archive_pending(archive, shard);
    archive_reorder_buffer(archive, shard);
    if (shard->paging.store)
        iso_spill_archive(archive, shard->paging.store);
}

void iso_aion_shard_fork(struct iso_aion_shard *shard)
{
    if (shard->paging.store)
        iso_spill_fork(shard->paging.store);
}

void iso_aion_shard_commit(struct iso_aion_shard *shard)
{
    if (shard->paging.store)
        iso_spill_commit(shard->paging.store);
}
