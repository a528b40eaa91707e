#include "history/moment.h"

struct iso_moment iso_moment_of(const struct iso_history *history, uint32_t transaction,
                                uint32_t operation, bool is_serial)
{
    uint8_t kind = history->ops.kind[operation];
    bool is_point = history->txns.flags[transaction] & ISO_POINT;
    if (is_serial)
        return (struct iso_moment){.at = history->txns.cts[transaction], .inclusive = is_point};
    if (kind & ISO_OPERATION_OTS)
        return (struct iso_moment){
            .at = history->ops.ots[operation], .inclusive = true, .own = true};
    if (kind & ISO_OPERATION_LOCK)
        return (struct iso_moment){
            .at = history->txns.cts[transaction], .inclusive = is_point, .lock = true};
    return (struct iso_moment){.at = history->txns.sts[transaction], .inclusive = true};
}

uint64_t iso_history_latest_time(const struct iso_history *history, uint32_t transaction)
{
    uint64_t latest = history->txns.sts[transaction];
    if (!(history->txns.flags[transaction] & ISO_OWN_TIMES) || !history->ops.ots)
        return latest;
    ISO_EACH(o, history->txns.first_op, transaction)
        if ((history->ops.kind[o] & ISO_OPERATION_OTS) && history->ops.ots[o] > latest)
            latest = history->ops.ots[o];
    /* Where timestamps are ranks by now, sets keep theirs as they were given, and their reads have
     * said the rest. */
    if (history->clock != ISO_CLOCK_SCALAR || history->ranks.count || !history->ranges.count)
        return latest;
    uint32_t end, first = iso_history_sets_of(history, transaction, &end);
    for (uint32_t i = first; i < end; i++)
        if (history->ranges.list[i].kind & ISO_OPERATION_OTS &&
            history->ranges.list[i].ots > latest)
            latest = history->ranges.list[i].ots;
    return latest;
}
