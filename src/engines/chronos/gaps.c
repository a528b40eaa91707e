#include "chronos/gaps.h"

#include "chronos/chronos_private.h"

struct chronos_gaps *chronos_gaps_new(const struct iso_history *history)
{
    struct chronos_gaps *gaps = iso_allocate_zeroed(1, sizeof *gaps);
    struct iso_history *mapped = &gaps->history;
    size_t transactions = (size_t)history->txns.count + 1,
           operations = (size_t)history->ops.count + 1;
    const struct iso_boundaries *boundaries = &gaps->boundaries;
    gaps->boundaries.is_on = true;
    iso_boundaries_add_all(&gaps->boundaries, history);
    *mapped = *history;
    mapped->txns.sts = iso_allocate_zeroed(transactions, sizeof *mapped->txns.sts);
    mapped->txns.cts = iso_allocate_zeroed(transactions, sizeof *mapped->txns.cts);
    mapped->ops.ots =
        history->ops.ots ? iso_allocate_zeroed(operations, sizeof *mapped->ops.ots) : NULL;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        bool has_sts = history->txns.flags[t] & ISO_HAS_STS,
             is_point = history->txns.flags[t] & ISO_POINT;
        if (has_sts) /* of who did not commit: no later than it was */
            mapped->txns.sts[t] = iso_boundaries_snapshot(boundaries, history->txns.sts[t]) -
                                  (iso_status_of(history, t) == ISO_COMMITTED ? 0 : 2);
        mapped->txns.cts[t] = is_point && !has_sts && !history->txns.cts[t] ? 0
                              : is_point ? iso_boundaries_snapshot(boundaries, history->txns.cts[t])
                                         : iso_boundaries_commit(boundaries, history->txns.cts[t]);
    }
    for (uint32_t o = 0; history->ops.ots && o < history->ops.count; o++) {
        if (history->ops.kind[o] & ISO_OPERATION_OTS)
            mapped->ops.ots[o] = iso_boundaries_snapshot(boundaries, history->ops.ots[o]);
    }
    return gaps;
}

void chronos_gaps_free(struct chronos_gaps *gaps)
{
    if (!gaps)
        return;
    ISO_FREE_ALL(gaps->history.txns.sts, gaps->history.txns.cts, gaps->history.ops.ots,
                 gaps->boundaries.list, gaps);
}

uint64_t chronos_gaps_back(const struct chronos_gaps *gaps, uint64_t position)
{
    uint64_t index = position ? (position - 1) / 2 : 0;
    if (!gaps->boundaries.count)
        return 0;
    return index < gaps->boundaries.count ? gaps->boundaries.list[index]
                                          : gaps->boundaries.list[gaps->boundaries.count - 1] + 1;
}
