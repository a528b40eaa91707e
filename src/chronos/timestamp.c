/* TIMESTAMP, what a transaction's own timestamps and snapshots tell. At SER only snapshots: sts is ignored there, and
 * shared commit timestamps have a file of their own (shared_cts.c). */
#include "chronos/chronos_private.h"

/* The first operation whose own timestamp does not lie between sts and cts, or ISO_NONE. */
static uint32_t stray_operation(const struct iso_history *history, uint32_t t)
{
    for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
        if ((history->kind[o] & ISO_OPERATION_OTS) &&
            (history->ots[o] < history->sts[t] || history->ots[o] > history->cts[t]))
            return o;
    }
    return ISO_NONE;
}

static void check_one(struct chronos *check, struct iso_verdict *verdict, uint32_t t)
{
    const struct iso_history *history = check->history;
    uint8_t flags = history->flags[t];
    struct iso_violation violation = {.axiom = ISO_TIMESTAMP,
                                      .transaction = t,
                                      .other = ISO_NONE,
                                      .key = ISO_NONE,
                                      .operation = ISO_NONE,
                                      .writer_expected = ISO_NONE,
                                      .writer_actual = ISO_NONE,
                                      .breach = check->first_breach ? check->first_breach[t] : ISO_NONE};
    if (check->si) {
        if (flags & ISO_OWN_TIMES) {
            verdict->per_operation = true;
            violation.operation = stray_operation(history, t);
        }
        if (violation.operation != ISO_NONE || history->sts[t] > history->cts[t] ||
            ((flags & ISO_WRITES) && history->sts[t] == history->cts[t])) {
            violation.kind = ISO_INTERVAL;
            violation.breach = ISO_NONE;
        }
    }
    if (violation.kind == ISO_KIND_NONE && violation.breach != ISO_NONE)
        violation.kind = ISO_SNAPSHOT_ORDER;
    if (violation.kind != ISO_KIND_NONE)
        iso_verdict_add(verdict, &violation);
}

void chronos_check_timestamps(struct chronos *check, struct iso_verdict *verdict, uint32_t first, uint32_t end)
{
    for (uint32_t t = first; t < end; t++) {
        if (iso_status_of(check->history, t) == ISO_COMMITTED)
            check_one(check, verdict, t);
    }
}
