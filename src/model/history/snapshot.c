#include "history/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/order.h"
#include "history/history_private.h"

static bool read_xips(struct iso_history *history, const char *at, const char *end)
{
    while (at < end) {
        uint64_t xip;
        if (!iso_bytes_take_decimal(&at, end, &xip))
            return false;
        history_reserve_snapshots(history, 0, 1);
        history->snapshots.xips[history->snapshots.xip_count++] = xip;
        if (at < end && *at++ != ',')
            return false;
        if (at == end && end[-1] == ',')
            return false;
    }
    return true;
}

bool iso_history_snapshot(struct iso_history *history, const char *text, size_t length,
                          uint32_t *snapshot)
{
    const char *at = text, *end = text + length;
    struct iso_snapshot one = {.first_xip = history->snapshots.xip_count};
    if (!iso_bytes_take_decimal(&at, end, &one.xmin) || at == end || *at++ != ':' ||
        !iso_bytes_take_decimal(&at, end, &one.xmax) || at == end || *at++ != ':' ||
        one.xmin > one.xmax)
        return false;
    if (!read_xips(history, at, end)) {
        history->snapshots.xip_count = one.first_xip;
        return false;
    }
    one.xip_count = (uint32_t)(history->snapshots.xip_count - one.first_xip);
    if (one.xip_count)
        qsort(history->snapshots.xips + one.first_xip, one.xip_count, sizeof one.xmin,
              iso_order_u64);
    history_reserve_snapshots(history, 1, 0);
    *snapshot = history->snapshots.count;
    history->snapshots.list[history->snapshots.count++] = one;
    return true;
}

/* Adds `xid` to those in progress. The list stays sorted, and becomes the newest of the
 * history's. */
static void hide(struct iso_history *history, struct iso_snapshot *snapshot, uint64_t xid)
{
    uint32_t count = snapshot->xip_count, smaller = 0;
    history_reserve_snapshots(history, 0, count + 1);
    const uint64_t *old = history->snapshots.xips + snapshot->first_xip;
    uint64_t *new = history->snapshots.xips + history->snapshots.xip_count;
    while (smaller < count && old[smaller] < xid)
        smaller++;
    if (smaller)
        memcpy(new, old, smaller * sizeof *new);
    new[smaller] = xid;
    if (count > smaller)
        memcpy(new + smaller + 1, old + smaller, (count - smaller) * sizeof *new);
    snapshot->first_xip = history->snapshots.xip_count;
    snapshot->xip_count = count + 1;
    snapshot->xmin = xid < snapshot->xmin ? xid : snapshot->xmin;
    history->snapshots.xip_count += count + 1;
}

void history_hide_own(struct iso_history *history, uint32_t transaction)
{
    uint64_t xid = history->txns.xid ? history->txns.xid[transaction] : 0;
    if (!xid)
        return;
    if (history->txns.snapshot && history->txns.snapshot[transaction] != ISO_NONE) {
        struct iso_snapshot *own = &history->snapshots.list[history->txns.snapshot[transaction]];
        if (iso_snapshot_sees(history, own, xid))
            hide(history, own, xid);
    }
    ISO_EACH(o, history->txns.first_op, transaction) {
        if (!(history->ops.kind[o] & ISO_OPERATION_SNAPSHOT))
            continue;
        struct iso_snapshot *its = &history->snapshots.list[history->ops.ots[o]];
        if (iso_snapshot_sees(history, its, xid))
            hide(history, its, xid);
    }
    for (uint32_t i = history->ranges.count;
         i-- > 0 && history->ranges.list[i].transaction == transaction;) {
        if (!(history->ranges.list[i].kind & ISO_OPERATION_SNAPSHOT))
            continue;
        struct iso_snapshot *its = &history->snapshots.list[history->ranges.list[i].ots];
        if (iso_snapshot_sees(history, its, xid))
            hide(history, its, xid);
    }
}

uint32_t iso_snapshot_copy(struct iso_history *into, const struct iso_history *from,
                           uint32_t snapshot)
{
    struct iso_snapshot one = from->snapshots.list[snapshot];
    uint64_t first = one.first_xip;
    history_reserve_snapshots(into, 1, one.xip_count);
    one.first_xip = into->snapshots.xip_count;
    if (one.xip_count)
        memcpy(into->snapshots.xips + into->snapshots.xip_count, &from->snapshots.xips[first],
               one.xip_count * sizeof *into->snapshots.xips);
    into->snapshots.xip_count += one.xip_count;
    into->snapshots.list[into->snapshots.count] = one;
    return into->snapshots.count++;
}

static bool in_progress(const struct iso_history *history, const struct iso_snapshot *snapshot,
                        uint64_t xid)
{
    const uint64_t *xips = iso_snapshot_xips(history, snapshot);
    return snapshot->xip_count &&
           bsearch(&xid, xips, snapshot->xip_count, sizeof xid, iso_order_u64);
}

bool iso_snapshot_sees(const struct iso_history *history, const struct iso_snapshot *snapshot,
                       uint64_t xid)
{
    return xid < snapshot->xmin || (xid < snapshot->xmax && !in_progress(history, snapshot, xid));
}

void iso_snapshot_text(const struct iso_history *history, const struct iso_snapshot *snapshot,
                       char *text, size_t size)
{
    int used = snprintf(text, size, "%llu:%llu:", (unsigned long long)snapshot->xmin,
                        (unsigned long long)snapshot->xmax);
    for (uint32_t i = 0; i < snapshot->xip_count && used > 0 && (size_t)used < size; i++)
        used += snprintf(text + used, size - (size_t)used, i ? ",%llu" : "%llu",
                         (unsigned long long)history->snapshots.xips[snapshot->first_xip + i]);
}
