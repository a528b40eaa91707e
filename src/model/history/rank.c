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
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        if (history->flags[t] & ISO_HAS_STS)
            visitor(&history->sts[t], history->sts_logical ? &history->sts_logical[t] : NULL,
                    stamps);
        if (history->flags[t] & ISO_HAS_CTS)
            visitor(&history->cts[t], history->cts_logical ? &history->cts_logical[t] : NULL,
                    stamps);
    }
    for (uint32_t o = 0; history->ots && o < history->operation_count; o++) {
        if (history->kind[o] & ISO_OPERATION_OTS)
            visitor(&history->ots[o], history->ots_logical ? &history->ots_logical[o] : NULL,
                    stamps);
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
    history->rank_count = stamps->count;
    history->rank_physical = iso_allocate((stamps->count + 1) * sizeof *history->rank_physical);
    history->rank_logical =
        pairs ? iso_allocate((stamps->count + 1) * sizeof *history->rank_logical) : NULL;
    for (size_t i = 0; i < stamps->count; i++) {
        history->rank_physical[i + 1] = stamps->values[i].physical;
        if (pairs)
            history->rank_logical[i + 1] = stamps->values[i].logical;
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
