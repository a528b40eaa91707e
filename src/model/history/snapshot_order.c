#include "history/snapshot_order.h"

#include "base/numbers.h"

int iso_snapshot_compare(const struct iso_history *history, const struct iso_snapshot *left,
                         const struct iso_snapshot *right)
{
    const uint64_t *a = iso_snapshot_xips(history, left), *b = iso_snapshot_xips(history, right);
    if (left->xmax != right->xmax)
        return left->xmax < right->xmax ? -1 : 1;
    if (left->xmin != right->xmin)
        return left->xmin < right->xmin ? -1 : 1;
    if (left->xip_count != right->xip_count)
        return left->xip_count < right->xip_count ? -1 : 1;
    for (uint32_t i = 0; i < left->xip_count; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

uint64_t iso_snapshot_count_seen(const struct iso_history *history,
                                 const struct iso_snapshot *snapshot,
                                 const struct iso_sorted *committed)
{
    const uint64_t *xips = iso_snapshot_xips(history, snapshot);
    uint64_t seen = iso_sorted_below(committed, snapshot->xmax);
    for (uint32_t i = 0; i < snapshot->xip_count; i++) {
        bool repeated = i && xips[i] == xips[i - 1];
        if (!repeated && xips[i] >= snapshot->xmin && xips[i] < snapshot->xmax &&
            iso_sorted_has(committed, xips[i]))
            seen--;
    }
    return seen;
}

uint64_t iso_snapshot_only_in(const struct iso_history *one_of, const struct iso_snapshot *one,
                              const struct iso_history *other_of, const struct iso_snapshot *other,
                              const struct iso_committed *committed)
{
    const uint64_t *xips = iso_snapshot_xips(other_of, other);
    for (uint32_t i = 0; i < other->xip_count; i++)
        if (iso_snapshot_sees(one_of, one, xips[i]) &&
            !iso_snapshot_sees(other_of, other, xips[i]) &&
            committed->next(committed->context, xips[i], xips[i] + 1))
            return xips[i];
    uint64_t xid = other->xmax;
    while (xid < one->xmax && (xid = committed->next(committed->context, xid, one->xmax))) {
        if (iso_snapshot_sees(one_of, one, xid))
            return xid;
        xid++;
    }
    return 0;
}

/* The next one of the chain, from each on; or ISO_NONE. */
static uint32_t *followers(const struct iso_snapshot_links *links)
{
    uint32_t *next = iso_numbers_none(links->count + 1), *chain = iso_numbers_none(links->count);
    uint32_t length = 0;
    for (uint32_t i = 0; i < links->count; i++) {
        if (length && links->lacks(links->context, chain[length - 1], i))
            length--;
        else
            chain[length++] = i;
    }
    for (uint32_t i = links->count; i--;) {
        bool is_member = length && chain[length - 1] == i;
        next[i] = is_member ? i : next[i + 1];
        length -= is_member;
    }
    iso_free(chain);
    return next;
}

uint32_t *iso_snapshots_contradicted(const struct iso_snapshot_links *links)
{
    uint32_t *next = followers(links), *others = iso_numbers_none(links->count);
    uint32_t before = ISO_NONE;
    for (uint32_t i = 0; i < links->count; i++) {
        if (next[i] != i && before != ISO_NONE && links->lacks(links->context, before, i))
            others[i] = before;
        else if (next[i] != i && next[i] != ISO_NONE && links->lacks(links->context, i, next[i]))
            others[i] = next[i];
        else
            before = i;
    }
    iso_free(next);
    return others;
}
