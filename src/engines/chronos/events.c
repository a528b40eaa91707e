/* The sweep's events: when each transaction reads, when it commits, each sorted by time once.
 *
 * Two streams, sorted side by side by two threads; the sweep merges them as it goes, which saves a
 * pass and the bit that would tell them apart. Aborted and unknown transactions have no events. At
 * SI a transaction with operation times of its own has no read event: its operations become extras
 * (extras.c).
 */

#include <assert.h>

#include "base/team.h"
#include "base/radix.h"
#include "chronos/chronos_private.h"

static bool reads_at_once(const struct chronos *check, uint8_t flags)
{
    return (flags & ISO_STATUS_MASK) == ISO_COMMITTED && !(check->si && (flags & ISO_OWN_TIMES));
}

static bool has_commit(uint8_t flags)
{
    return (flags & (ISO_STATUS_MASK | ISO_WRITES)) == (ISO_COMMITTED | ISO_WRITES);
}

static void release_radix(struct iso_radix buffer, uint32_t capacity)
{
    ISO_FREE_COLUMN(buffer.keys, capacity);
    ISO_FREE_COLUMN(buffer.payloads, capacity);
}

static struct iso_radix acquire_radix(uint32_t capacity)
{
    return (struct iso_radix){iso_column_grow(NULL, 0, capacity * sizeof(uint64_t)),
                              iso_column_grow(NULL, 0, capacity * sizeof(uint32_t))};
}

static uint32_t capacity_of(const struct chronos *check)
{
    return check->history->txns.count + CHRONOS_PADDING;
}

static void sort_events(struct chronos *check, struct chronos_events *events,
                        struct iso_radix items)
{
    uint32_t capacity = capacity_of(check);
    assert(events->count + CHRONOS_PADDING <= capacity);
    struct iso_radix other = acquire_radix(capacity);
    bool in_other = iso_radix_sort(items, other, events->count);
    release_radix(in_other ? items : other, capacity);
    items = in_other ? other : items;
    for (uint32_t i = 0; i < CHRONOS_PADDING; i++) {
        items.keys[events->count + i] = UINT64_MAX;
        items.payloads[events->count + i] = 0;
    }
    assert(!events->count || items.keys[0] <= items.keys[events->count - 1]);
    events->time = items.keys;
    events->transaction = items.payloads;
}

static void collect_reads(struct chronos *check)
{
    const struct iso_history *history = check->history;
    struct iso_radix items = acquire_radix(capacity_of(check));
    uint32_t count = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (!reads_at_once(check, history->txns.flags[t]))
            continue;
        items.keys[count] = chronos_read_bound(check, t);
        items.payloads[count++] = t;
    }
    check->reads.count = count;
    sort_events(check, &check->reads, items);
}

static void collect_commits(struct chronos *check)
{
    const struct iso_history *history = check->history;
    struct iso_radix items = acquire_radix(capacity_of(check));
    uint32_t count = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (!has_commit(history->txns.flags[t]))
            continue;
        items.keys[count] = history->txns.cts[t];
        items.payloads[count++] = t;
    }
    check->commits.count = count;
    sort_events(check, &check->commits, items);
}

static void collect_events(void *context, unsigned part)
{
    if (part == 0)
        collect_reads(context);
    if (part == 1 || ((struct chronos *)context)->shards == 1)
        collect_commits(context);
}

void chronos_events_init(struct chronos *check)
{
    iso_parallel(check->shards < 2 ? 1 : 2, collect_events, check);
}

void chronos_events_release(struct chronos *check)
{
    release_radix((struct iso_radix){check->reads.time, check->reads.transaction},
                  capacity_of(check));
    release_radix((struct iso_radix){check->commits.time, check->commits.transaction},
                  capacity_of(check));
}
