#include "history/boundaries.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/sorted.h"

bool iso_history_has_boundaries(const struct iso_history *history)
{
    return history->clock == ISO_CLOCK_SCALAR && history->txns.xid && !history->ranks.physical;
}

static void add(struct iso_boundaries *boundaries, uint64_t position)
{
    uint32_t count = boundaries->count;
    ISO_GROW(boundaries->list, boundaries->count, boundaries->capacity);
    boundaries->is_sorted =
        !count || (boundaries->is_sorted && boundaries->list[count - 1] < position);
    boundaries->list[boundaries->count++] = position;
}

void iso_boundaries_add(struct iso_boundaries *boundaries, const struct iso_history *history,
                        uint32_t transaction)
{
    if (!boundaries->is_on)
        return;
    if (history->txns.flags[transaction] & ISO_HAS_STS)
        add(boundaries, history->txns.sts[transaction]);
    for (uint32_t o = history->txns.first_op[transaction];
         history->ops.ots && o < history->txns.first_op[transaction + 1]; o++) {
        if (history->ops.kind[o] & ISO_OPERATION_OTS)
            add(boundaries, history->ops.ots[o]);
    }
}

void iso_boundaries_add_all(struct iso_boundaries *boundaries, const struct iso_history *history)
{
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (iso_status_of(history, t) == ISO_COMMITTED)
            iso_boundaries_add(boundaries, history, t);
    }
    iso_boundaries_sort(boundaries);
}

void iso_boundaries_sort(struct iso_boundaries *boundaries)
{
    uint32_t left = 0;
    if (boundaries->is_sorted || !boundaries->count)
        return;
    qsort(boundaries->list, boundaries->count, sizeof *boundaries->list, iso_order_u64);
    for (uint32_t i = 0; i < boundaries->count; i++) {
        if (!left || boundaries->list[left - 1] != boundaries->list[i])
            boundaries->list[left++] = boundaries->list[i];
    }
    boundaries->count = left;
    boundaries->is_sorted = true;
}

static uint64_t snapshots_below(const struct iso_boundaries *boundaries, uint64_t position)
{
    uint32_t low = 0, high = boundaries->count;
    ISO_BISECT(low, high, middle, boundaries->list[middle] < position);
    return low;
}

uint64_t iso_boundaries_snapshot(const struct iso_boundaries *boundaries, uint64_t position)
{
    return boundaries->is_on ? 2 * snapshots_below(boundaries, position) + 2 : position;
}

uint64_t iso_boundaries_commit(const struct iso_boundaries *boundaries, uint64_t position)
{
    return boundaries->is_on ? 2 * snapshots_below(boundaries, position) + 1 : position;
}

bool iso_read_moments(uint8_t bits, uint64_t own, bool is_point, bool are_positions, uint64_t *low,
                      uint64_t *high)
{
    if (bits & ISO_OPERATION_OTS)
        *low = own > *low ? own : *low;
    if (bits == ISO_OPERATION_OTS || *high < *low)
        *high = *low;
    if (bits == ISO_OPERATION_LOCK && !is_point)
        *low = *high = own + are_positions;
    return !(bits & ISO_OPERATION_LOCK);
}
