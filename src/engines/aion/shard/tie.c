/* SER: keys that are read and written, or written twice, at one cts. What the front needs to report
 * shared-cts and cts-cycle from it: once the watermark has passed the cts, all readers and writers
 * of the key there. */
#include "aion/shard/shard_private.h"

void aion_tie_note(struct iso_aion_shard *shard, const struct aion_key *key, uint64_t time)
{
    aion_dues_push(&shard->ties, time, (uint32_t)(key - shard->keys.list), 0);
}

static void report_readers(struct iso_aion_shard *shard, const struct aion_sorted_chunks *reads,
                           uint64_t time, uint32_t number)
{
    if (!reads->count || time < shard->readers.passed)
        return;
    struct aion_cursor cursor = aion_chunks_lower(&shard->pool, reads, time);
    for (;; aion_chunks_next(&shard->pool, reads, &cursor)) {
        const struct aion_entry *read = aion_chunks_get(&shard->pool, reads, cursor);
        if (!read || read->time != time)
            break;
        const struct aion_transaction *reader = &shard->transactions.list[read->transaction];
        if (reader->cts == time && !(reader->flags & ISO_POINT))
            aion_finding_new(shard, AION_FOUND_READER, number)->transaction =
                aion_party_of(shard, read->transaction);
    }
}

static void report_tie(struct iso_aion_shard *shard, uint64_t time, uint32_t number)
{
    const struct aion_key *key = &shard->keys.list[number];
    struct aion_cursor cursor = aion_chunks_lower(&shard->pool, &key->versions, time);
    for (;; aion_chunks_next(&shard->pool, &key->versions, &cursor)) {
        const struct aion_entry *version = aion_chunks_get(&shard->pool, &key->versions, cursor);
        if (!version || version->time != time)
            break;
        aion_finding_new(shard, AION_FOUND_WRITER, number)->transaction =
            aion_party_of(shard, version->transaction);
    }
    if (key->cold)
        report_readers(shard, &shard->cold.list[key->cold].idle, time, number);
    report_readers(shard, &key->reads, time, number);
}

void aion_ties_advance(struct iso_aion_shard *shard)
{
    struct aion_due last = {0};
    bool any = false;
    while (shard->ties.count &&
           (shard->time.ended || shard->ties.heap[0].time < shard->time.passed)) {
        struct aion_due due = aion_dues_pop(&shard->ties);
        if (any && due.time == last.time && due.subject == last.subject)
            continue;
        report_tie(shard, due.time, due.subject);
        last = due;
        any = true;
    }
}
