/* Operations with times of their own, at SI: each external read of such a transaction is an event
 * at its own bound. Which reads are external, and INT, do not depend on other transactions, so they
 * are settled here.
 */
#include <assert.h>

#include "base/radix.h"
#include "chronos/chronos_private.h"

void chronos_defer(struct chronos_shard *shard, uint32_t transaction, uint32_t operation,
                   uint32_t prefix)
{
    assert(operation < shard->history->ops.count);
    assert(transaction < shard->history->txns.count);
    ISO_PUSH_COLUMN(shard->extras, shard->extra_count, shard->extra_capacity,
                    (struct chronos_extra){transaction, operation, prefix});
}

static void sort_extras(struct chronos_shard *shard)
{
    uint32_t count = shard->extra_count;
    struct iso_radix items = iso_radix_allocate(count);
    for (uint32_t i = 0; i < count; i++) {
        items.keys[i] =
            chronos_bound(shard->history, shard->extras[i].transaction, shard->extras[i].operation);
        items.payloads[i] = i;
    }
    struct iso_radix sorted = iso_radix_sorted(items, count);
    sorted.keys[count] = UINT64_MAX;
    shard->extra_time = sorted.keys;
    shard->extra_order = sorted.payloads;
}

void chronos_extras_collect(struct chronos_shard *shard)
{
    const struct iso_history *history = shard->history;
    shard->deferring = true;
    for (uint32_t t = 0; shard->check->own_times && shard->check->si && t < history->txns.count;
         t++) {
        if ((history->txns.flags[t] & (ISO_STATUS_MASK | ISO_OWN_TIMES)) ==
            (ISO_COMMITTED | ISO_OWN_TIMES))
            chronos_judge_transaction(shard, t);
    }
    shard->deferring = false;
    sort_extras(shard);
}

void chronos_extras_release(struct chronos_shard *shard)
{
    ISO_FREE_COLUMN(shard->extras, shard->extra_capacity);
    ISO_FREE_ALL(shard->extra_time, shard->extra_order);
}
