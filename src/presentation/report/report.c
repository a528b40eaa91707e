/* Helpers of the reports by timestamps and by orders. */
#include "report/report.h"

#include <stdio.h>

#include "history/snapshot.h"

/* A snapshot with thousands of transactions in progress is cut; its ends distinguish it. */
enum { SNAPSHOT_TEXT = 240 };

static void snapshot_text(const struct iso_history *history, uint32_t snapshot,
                          char text[SNAPSHOT_TEXT])
{
    iso_snapshot_text(history, &history->snapshots.list[snapshot], text, SNAPSHOT_TEXT);
}

void iso_report_snapshot_order(const struct iso_verdict *verdict,
                               const struct iso_violation *violation, char *text, size_t size)
{
    const struct iso_history *history = verdict->history;
    const struct iso_snapshot_violation *snapshot_violation =
        &history->snapshots.violations[violation->snapshot_violation];
    char earlier[SNAPSHOT_TEXT], later[SNAPSHOT_TEXT];
    snapshot_text(history, snapshot_violation->earlier, earlier);
    snapshot_text(history, snapshot_violation->later, later);
    int used = snprintf(text, size, "snapshot %s does not see xid %llu, which snapshot %s sees",
                        later, (unsigned long long)snapshot_violation->only_earlier, earlier);
    if (snapshot_violation->only_later && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, "; xid %llu is the other way round",
                 (unsigned long long)snapshot_violation->only_later);
}

uint32_t iso_report_first_write(const struct iso_history *history, uint32_t transaction,
                                uint32_t key)
{
    for (uint32_t o = history->txns.first_op[transaction];
         o < history->txns.first_op[transaction + 1]; o++) {
        if (history->ops.key[o] == key && iso_kind_writes(history->ops.kind[o]))
            return o;
    }
    return ISO_NONE;
}
