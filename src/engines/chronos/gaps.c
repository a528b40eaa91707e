#include "chronos/gaps.h"

#include "base/sorted.h"
#include "chronos/chronos_private.h"

bool chronos_has_gaps(const struct iso_history *history)
{
    return history->clock == ISO_CLOCK_SCALAR && history->txns.xid && !history->ranks.physical;
}

static bool is_committed(const struct iso_history *history, uint32_t t)
{
    return iso_status_of(history, t) == ISO_COMMITTED;
}

/* ---- snapshots ---- */

static void collect_looks(const struct iso_history *history, struct chronos_gaps *gaps)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (!is_committed(history, t))
            continue;
        if (history->txns.flags[t] & ISO_HAS_STS)
            gaps->looks[count++] = history->txns.sts[t];
        for (uint32_t o = history->txns.first_op[t];
             history->ops.ots && o < history->txns.first_op[t + 1]; o++) {
            if (history->ops.kind[o] & ISO_OPERATION_OTS)
                gaps->looks[count++] = history->ops.ots[o];
        }
    }
    chronos_sort_numbers(gaps->looks, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!gaps->look_count || gaps->looks[gaps->look_count - 1] != gaps->looks[i])
            gaps->looks[gaps->look_count++] = gaps->looks[i];
    }
}

static uint64_t looks_below(const struct chronos_gaps *gaps, uint64_t position)
{
    uint32_t low = 0, high = gaps->look_count;
    ISO_BISECT(low, high, middle, gaps->looks[middle] < position);
    return low;
}

/* Snapshots have even positions, the gaps below them odd ones. */
static uint64_t map_look(const struct chronos_gaps *gaps, uint64_t position)
{
    return 2 * looks_below(gaps, position) + 2;
}

static uint64_t map_commit(const struct chronos_gaps *gaps, uint64_t position)
{
    return 2 * looks_below(gaps, position) + 1;
}

/* ---- the mapped history ---- */

struct chronos_gaps *chronos_gaps_new(const struct iso_history *history)
{
    struct chronos_gaps *gaps = iso_allocate_zeroed(1, sizeof *gaps);
    struct iso_history *mapped = &gaps->history;
    size_t transactions = (size_t)history->txns.count + 1,
           operations = (size_t)history->ops.count + 1;
    gaps->looks = iso_allocate((transactions + operations) * sizeof *gaps->looks);
    collect_looks(history, gaps);
    *mapped = *history;
    mapped->txns.sts = iso_allocate_zeroed(transactions, sizeof *mapped->txns.sts);
    mapped->txns.cts = iso_allocate_zeroed(transactions, sizeof *mapped->txns.cts);
    mapped->ops.ots =
        history->ops.ots ? iso_allocate_zeroed(operations, sizeof *mapped->ops.ots) : NULL;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        bool has_sts = history->txns.flags[t] & ISO_HAS_STS,
             is_point = history->txns.flags[t] & ISO_POINT;
        if (has_sts) /* of who did not commit: no later than it was */
            mapped->txns.sts[t] = is_committed(history, t)
                                      ? map_look(gaps, history->txns.sts[t])
                                      : 2 * looks_below(gaps, history->txns.sts[t]);
        mapped->txns.cts[t] = is_point && !has_sts && !history->txns.cts[t] ? 0
                              : is_point ? map_look(gaps, history->txns.cts[t])
                                         : map_commit(gaps, history->txns.cts[t]);
    }
    for (uint32_t o = 0; history->ops.ots && o < history->ops.count; o++) {
        if (history->ops.kind[o] & ISO_OPERATION_OTS)
            mapped->ops.ots[o] = map_look(gaps, history->ops.ots[o]);
    }
    return gaps;
}

void chronos_gaps_free(struct chronos_gaps *gaps)
{
    if (!gaps)
        return;
    iso_free(gaps->history.txns.sts);
    iso_free(gaps->history.txns.cts);
    iso_free(gaps->history.ops.ots);
    iso_free(gaps->looks);
    iso_free(gaps);
}

uint64_t chronos_gaps_back(const struct chronos_gaps *gaps, uint64_t position)
{
    uint64_t index = position ? (position - 1) / 2 : 0;
    if (!gaps->look_count)
        return 0;
    return index < gaps->look_count ? gaps->looks[index] : gaps->looks[gaps->look_count - 1] + 1;
}
