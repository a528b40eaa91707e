/* Timestamps to ranks: pairs are compared as pairs, so a finished history replaces each by its
 * rank, from 1. Scalars stay as they are unless the largest 64-bit number is among them: engines
 * need one number above all timestamps. */
#include <stdlib.h>

#include "base/order.h"
#include "history/history_private.h"

struct stamps {
    struct iso_stamp *values;
    size_t count;
};

typedef void visit(uint64_t *physical, uint64_t *logical, struct stamps *stamps);

/* Calls `visitor` for every timestamp of the history, in place. */
static void for_each_stamp(struct iso_history *history, visit *visitor, struct stamps *stamps)
{
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (history->txns.flags[t] & ISO_HAS_STS)
            visitor(&history->txns.sts[t],
                    history->txns.sts_logical ? &history->txns.sts_logical[t] : NULL, stamps);
        if (history->txns.flags[t] & ISO_HAS_CTS)
            visitor(&history->txns.cts[t],
                    history->txns.cts_logical ? &history->txns.cts_logical[t] : NULL, stamps);
    }
    for (uint32_t o = 0; history->ops.ots && o < history->ops.count; o++) {
        if (history->ops.kind[o] & ISO_OPERATION_OTS)
            visitor(&history->ops.ots[o],
                    history->ops.ots_logical ? &history->ops.ots_logical[o] : NULL, stamps);
    }
}

static void count_stamp(uint64_t *physical, uint64_t *logical, struct stamps *stamps)
{
    (void)physical;
    (void)logical;
    stamps->count++;
}

static void collect_stamp(uint64_t *physical, uint64_t *logical, struct stamps *stamps)
{
    stamps->values[stamps->count++] = (struct iso_stamp){*physical, logical ? *logical : 0};
}

ISO_ORDER_BY_TWO(compare_stamps, struct iso_stamp, physical, logical)

static void replace_stamp(uint64_t *physical, uint64_t *logical, struct stamps *stamps)
{
    struct iso_stamp wanted = {*physical, logical ? *logical : 0};
    const struct iso_stamp *found =
        bsearch(&wanted, stamps->values, stamps->count, sizeof wanted, compare_stamps);
    *physical = (uint64_t)(found - stamps->values) + 1;
}

static void find_largest(uint64_t *physical, uint64_t *logical, struct stamps *stamps)
{
    (void)logical;
    stamps->count += *physical == UINT64_MAX;
}

static bool needs_ranks(struct iso_history *history)
{
    struct stamps largest = {NULL, 0};
    if (history->clock == ISO_CLOCK_PAIR)
        return true;
    for_each_stamp(history, find_largest, &largest);
    return largest.count > 0;
}

static void keep_originals(struct iso_history *history, const struct stamps *stamps)
{
    bool pairs = history->clock == ISO_CLOCK_PAIR;
    history->ranks.count = stamps->count;
    history->ranks.physical = iso_allocate((stamps->count + 1) * sizeof *history->ranks.physical);
    history->ranks.logical =
        pairs ? iso_allocate((stamps->count + 1) * sizeof *history->ranks.logical) : NULL;
    for (size_t i = 0; i < stamps->count; i++) {
        history->ranks.physical[i + 1] = stamps->values[i].physical;
        if (pairs)
            history->ranks.logical[i + 1] = stamps->values[i].logical;
    }
}

void history_rank_timestamps(struct iso_history *history)
{
    struct stamps stamps = {NULL, 0};
    if (!needs_ranks(history))
        return;
    for_each_stamp(history, count_stamp, &stamps);
    stamps.values = iso_allocate(stamps.count * sizeof *stamps.values);
    stamps.count = 0;
    for_each_stamp(history, collect_stamp, &stamps);
    qsort(stamps.values, stamps.count, sizeof *stamps.values, compare_stamps);
    size_t distinct = 0;
    for (size_t i = 0; i < stamps.count; i++) {
        if (!i || compare_stamps(&stamps.values[i], &stamps.values[distinct - 1]))
            stamps.values[distinct++] = stamps.values[i];
    }
    stamps.count = distinct;
    for_each_stamp(history, replace_stamp, &stamps);
    keep_originals(history, &stamps);
    iso_free(stamps.values);
}
