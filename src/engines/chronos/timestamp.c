/* TIMESTAMP, what a transaction's own timestamps and snapshots tell. At SER only snapshots: sts is
 * ignored there, and shared commit timestamps have a file of their own (shared_cts.c). */
#include "chronos/chronos_private.h"

/* The first operation whose own timestamp does not lie between sts and cts, or ISO_NONE. */
static uint32_t stray_operation(const struct iso_history *history, uint32_t t)
{
    ISO_EACH(o, history->txns.first_op, t) {
        if ((history->ops.kind[o] & ISO_OPERATION_OTS) &&
            (history->ops.ots[o] < history->txns.sts[t] ||
             history->ops.ots[o] > history->txns.cts[t]))
            return o;
    }
    return ISO_NONE;
}

static bool breaks_interval(const struct iso_history *history, uint32_t t, uint32_t stray)
{
    bool writes = history->txns.flags[t] & ISO_WRITES;
    return stray != ISO_NONE || history->txns.sts[t] > history->txns.cts[t] ||
           (history->txns.sts[t] == history->txns.cts[t] && writes);
}

static void check_one(struct chronos *check, struct iso_verdict *verdict, uint32_t t)
{
    const struct iso_history *history = check->history;
    bool own_times = check->si && (history->txns.flags[t] & ISO_OWN_TIMES);
    uint32_t stray = own_times ? stray_operation(history, t) : ISO_NONE;
    uint32_t snapshot_violation =
        check->first_snapshot_violation ? check->first_snapshot_violation[t] : ISO_NONE;
    bool interval =
        check->si && (history->txns.flags[t] & ISO_HAS_STS) && breaks_interval(history, t, stray);
    verdict->per_operation |= own_times;
    if (!interval && snapshot_violation == ISO_NONE)
        return;
    struct iso_violation violation = iso_violation_of(ISO_TIMESTAMP, t);
    violation.kind = interval ? ISO_INTERVAL : ISO_SNAPSHOT_ORDER;
    violation.operation = stray;
    violation.snapshot_violation = interval ? ISO_NONE : snapshot_violation;
    iso_verdict_add(verdict, &violation);
}

void chronos_check_timestamps(struct chronos *check, struct iso_verdict *verdict, uint32_t first,
                              uint32_t end)
{
    for (uint32_t t = first; t < end; t++) {
        if (iso_status_of(check->history, t) == ISO_COMMITTED)
            check_one(check, verdict, t);
    }
}
