/* A shard's state as an archive. */
#include <assert.h>

#include "aion/archive_private.h"
#include "aion/shard_private.h"
#include "base/memory.h"

/* A new shard may hold initial values: what is restored takes their place. */
static void forget(struct iso_aion_shard *shard)
{
    iso_column_free(shard->keys, shard->key_capacity * sizeof *shard->keys);
    iso_column_free(shard->rares, shard->rare_capacity * sizeof *shard->rares);
    aion_index_release(&shard->key_index);
    shard->keys = NULL;
    shard->rares = NULL;
    shard->key_count = shard->key_capacity = shard->rare_capacity = 0;
}

static void archive_keys(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    aion_index_archive(archive, &shard->key_index);
    ISO_ARCHIVE_ANY(archive, "keys", ISO_ARCHIVE_COLUMN, shard->keys, shard->key_count, shard->key_capacity);
    uint32_t rares = shard->rares ? shard->rare_count : 0;
    ISO_ARCHIVE_ANY(archive, "rares", ISO_ARCHIVE_COLUMN, shard->rares, rares, shard->rare_capacity);
    shard->rare_count = rares ? rares : 1; /* 0 stands for none */
    ISO_ARCHIVE_VALUE(archive, shard->keys_in_use);
    ISO_ARCHIVE_VALUE(archive, shard->free_key);
    ISO_ARCHIVE_VALUE(archive, shard->known_keys);
    ISO_ARCHIVE_VALUE(archive, shard->rares_in_use);
    ISO_ARCHIVE_VALUE(archive, shard->free_rare);
    if (archive->restoring)
        aion_advise_huge(shard->keys, shard->key_capacity * sizeof *shard->keys);
}

static void archive_transactions(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    ISO_ARCHIVE_ANY(archive, "transactions", ISO_ARCHIVE_COLUMN, shard->transactions, shard->transaction_count,
                    shard->transaction_capacity);
    ISO_ARCHIVE_VALUE(archive, shard->free_transaction);
    ISO_ARCHIVE_VALUE(archive, shard->transactions_in_use);
    ISO_ARCHIVE_VALUE(archive, shard->leaving);
    ISO_ARCHIVE_VALUE(archive, shard->leaving_at);
    ISO_ARCHIVE_ANY(archive, "readers", ISO_ARCHIVE_COLUMN, shard->readers, shard->reader_count,
                    shard->reader_capacity);
    ISO_ARCHIVE_VALUE(archive, shard->readers_left);
    ISO_ARCHIVE_VALUE(archive, shard->readers_passed);
    if (archive->restoring)
        aion_advise_huge(shard->transactions, shard->transaction_capacity * sizeof *shard->transactions);
}

/* The looks of cases that have several, which alone are behind a pointer. */
static void archive_looks(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    for (uint32_t i = 0; archive->restoring && i < shard->case_count; i++)
        shard->cases[i].more = NULL; /* of another process */
    for (uint32_t i = 0; i < shard->case_count; i++) {
        struct aion_case *subject = &shard->cases[i];
        uint32_t count = subject->look_count;
        if (count < 2)
            continue;
        ISO_ARCHIVE_ANY(archive, "looks", ISO_ARCHIVE_HEAP, subject->more, count, count);
        iso_archive_expect(archive, count == subject->look_count);
    }
}

static void archive_dues(struct iso_archive *archive, const char *name, struct aion_dues *dues)
{
    ISO_ARCHIVE_ANY(archive, name, ISO_ARCHIVE_HEAP, dues->heap, dues->count, dues->capacity);
}

static void archive_cases(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    ISO_ARCHIVE_ANY(archive, "cases", ISO_ARCHIVE_COLUMN, shard->cases, shard->case_count, shard->case_capacity);
    archive_looks(archive, shard);
    ISO_ARCHIVE_VALUE(archive, shard->free_case);
    archive_dues(archive, "finals", &shard->finals);
    archive_dues(archive, "deadlines", &shard->deadlines);
    archive_dues(archive, "fresh", &shard->fresh);
    archive_dues(archive, "ties", &shard->ties);
}

static void archive_batch(struct iso_archive *archive, struct aion_batch *batch)
{
    ISO_ARCHIVE_ANY(archive, "parts", ISO_ARCHIVE_HEAP, batch->parts, batch->part_count, batch->part_capacity);
    ISO_ARCHIVE_ANY(archive, "steps", ISO_ARCHIVE_HEAP, batch->steps, batch->step_count, batch->step_capacity);
    ISO_ARCHIVE_ANY(archive, "details", ISO_ARCHIVE_HEAP, batch->details, batch->detail_count, batch->detail_capacity);
    ISO_ARCHIVE_ANY(archive, "elements", ISO_ARCHIVE_HEAP, batch->elements, batch->element_count,
                    batch->element_capacity);
}

static void archive_waiting(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    struct aion_waiting *waiting = &shard->waiting;
    ISO_ARCHIVE_ANY(archive, "pages", ISO_ARCHIVE_HEAP, waiting->pages, waiting->page_count, waiting->page_capacity);
    ISO_ARCHIVE_ANY(archive, "free pages", ISO_ARCHIVE_HEAP_TWIN, waiting->free, waiting->page_count,
                    waiting->page_capacity);
    ISO_ARCHIVE_VALUE(archive, waiting->free_count);
    ISO_ARCHIVE_VALUE(archive, waiting->shared);
    iso_archive_expect(archive, waiting->free_count <= waiting->page_count && waiting->shared <= waiting->page_count);
    for (uint32_t i = 0; archive->restoring && i < waiting->page_count; i++) /* pointers of another process */
        waiting->pages[i].batch = (struct aion_batch){.atoms = &shard->values.atoms};
    for (uint32_t i = 0; i < waiting->page_count; i++)
        archive_batch(archive, &waiting->pages[i].batch);
    aion_queue_archive(archive, &waiting->queue);
}

static void archive_time(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    ISO_ARCHIVE_VALUE(archive, shard->now);
    ISO_ARCHIVE_VALUE(archive, shard->limit);
    ISO_ARCHIVE_VALUE(archive, shard->passed);
    ISO_ARCHIVE_VALUE(archive, shard->floor);
    ISO_ARCHIVE_VALUE(archive, shard->ended);
    ISO_ARCHIVE_VALUE(archive, shard->initial);
    ISO_ARCHIVE_VALUE(archive, shard->hand);
    ISO_ARCHIVE_VALUE(archive, shard->evict_hand);
    ISO_ARCHIVE_VALUE(archive, shard->work);
    ISO_ARCHIVE_VALUE(archive, shard->stats);
}

void iso_aion_shard_archive(struct iso_archive *archive, struct iso_aion_shard *shard)
{
    assert(!shard->finding_count && !shard->group_count);
    if (archive->restoring)
        forget(shard);
    archive_time(archive, shard);
    aion_pool_archive(archive, &shard->pool);
    aion_values_archive(archive, &shard->values);
    archive_keys(archive, shard);
    archive_transactions(archive, shard);
    archive_cases(archive, shard);
    archive_waiting(archive, shard);
    if (shard->store)
        iso_spill_archive(archive, shard->store);
}

void iso_aion_shard_fork(struct iso_aion_shard *shard)
{
    if (shard->store)
        iso_spill_fork(shard->store);
}

void iso_aion_shard_commit(struct iso_aion_shard *shard)
{
    if (shard->store)
        iso_spill_commit(shard->store);
}
