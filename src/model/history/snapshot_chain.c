/* The snapshots of a finished history in their order, and the places of transactions by them
 * (snapshot.h). */
#define _GNU_SOURCE
#include <stdlib.h>

#include "base/order.h"
#include "history/history_private.h"
#include "history/snapshot_order.h"

/* A committed transaction's xid. */
struct committed {
    uint64_t xid;
    uint32_t transaction;
};

/* A snapshot somebody committed used, in the chain. */
struct link {
    uint32_t snapshot, owner;
    uint64_t seen; /* how many committed xids */
    bool is_wrong; /* it contradicts the others: no commit stands by it */
};

struct chain {
    struct iso_history *history;
    struct committed *committed;
    uint32_t committed_count;
    struct link *links;
    uint32_t link_count, link_capacity;
    uint64_t *position; /* by snapshot: its position; 0: not placed */
    uint32_t violation_capacity;
};

ISO_ORDER_BY(compare_committed, struct committed, xid)

static enum iso_status collect_committed(struct chain *chain, struct iso_error *error)
{
    struct iso_history *history = chain->history;
    chain->committed = iso_allocate(((size_t)history->txns.count + 1) * sizeof *chain->committed);
    for (uint32_t t = 0; history->txns.xid && t < history->txns.count; t++) {
        if (history->txns.xid[t] && iso_status_of(history, t) == ISO_COMMITTED)
            chain->committed[chain->committed_count++] =
                (struct committed){history->txns.xid[t], t};
    }
    qsort(chain->committed, chain->committed_count, sizeof *chain->committed, compare_committed);
    for (uint32_t i = 1; i < chain->committed_count; i++) {
        if (chain->committed[i].xid != chain->committed[i - 1].xid)
            continue;
        char first[512], second[512];
        iso_history_location_text(history, chain->committed[i - 1].transaction, first,
                                  sizeof first);
        iso_history_location_text(history, chain->committed[i].transaction, second, sizeof second);
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "%s: xid %llu occurs here and at %s; an xid belongs to one transaction", second,
            (unsigned long long)chain->committed[i].xid, first);
    }
    return ISO_OK;
}

static struct iso_sorted committed_xids(const struct chain *chain)
{
    return (struct iso_sorted){&chain->committed->xid, sizeof *chain->committed,
                               chain->committed_count};
}

static uint64_t next_committed(const void *context, uint64_t from, uint64_t end)
{
    const struct chain *chain = context;
    struct iso_sorted xids = committed_xids(chain);
    uint32_t at = iso_sorted_below(&xids, from);
    return at < chain->committed_count && chain->committed[at].xid < end ? chain->committed[at].xid
                                                                         : 0;
}

static uint64_t only_in(const struct chain *chain, const struct iso_snapshot *one,
                        const struct iso_snapshot *other)
{
    struct iso_committed committed = {next_committed, chain};
    return iso_snapshot_only_in(chain->history, one, chain->history, other, &committed);
}

static uint64_t count_seen(const struct chain *chain, const struct iso_snapshot *snapshot)
{
    struct iso_sorted xids = committed_xids(chain);
    return iso_snapshot_count_seen(chain->history, snapshot, &xids);
}

static void add_link(struct chain *chain, uint32_t snapshot, uint32_t owner)
{
    ISO_GROW_COLUMN(chain->links, chain->link_count, chain->link_capacity);
    chain->links[chain->link_count++] =
        (struct link){.snapshot = snapshot,
                      .owner = owner,
                      .seen = count_seen(chain, &chain->history->snapshots.list[snapshot])};
}

static void collect_links(struct chain *chain)
{
    const struct iso_history *history = chain->history;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (iso_status_of(history, t) != ISO_COMMITTED)
            continue;
        if (history->txns.snapshot && history->txns.snapshot[t] != ISO_NONE)
            add_link(chain, history->txns.snapshot[t], t);
        if (!(history->txns.flags[t] & ISO_OWN_TIMES) || !history->ops.ots)
            continue;
        ISO_EACH(o, history->txns.first_op, t) {
            if (history->ops.kind[o] & ISO_OPERATION_SNAPSHOT)
                add_link(chain, (uint32_t)history->ops.ots[o], t);
        }
    }
}

/* By what they see; then, so that the order does not depend on the input's, by their own
 * numbers. */
static int compare_links(const void *left, const void *right, void *context)
{
    const struct link *a = left, *b = right;
    const struct iso_history *history = context;
    const struct iso_snapshot *x = &history->snapshots.list[a->snapshot],
                              *y = &history->snapshots.list[b->snapshot];
    if (a->seen != b->seen)
        return a->seen < b->seen ? -1 : 1;
    int order = iso_snapshot_compare(history, x, y);
    if (order)
        return order;
    return a->owner < b->owner ? -1 : a->owner > b->owner;
}

static void add_violation(struct chain *chain, struct iso_snapshot_violation snapshot_violation)
{
    struct iso_history *history = chain->history;
    ISO_PUSH(history->snapshots.violations, history->snapshots.violation_count,
             chain->violation_capacity, snapshot_violation);
}

static const struct iso_snapshot *snapshot_of(const struct chain *chain, uint32_t link)
{
    return &chain->history->snapshots.list[chain->links[link].snapshot];
}

static bool lacks(const void *context, uint32_t earlier, uint32_t later)
{
    const struct chain *chain = context;
    return only_in(chain, snapshot_of(chain, earlier), snapshot_of(chain, later));
}

static void blame_links(struct chain *chain)
{
    struct iso_snapshot_links links = {lacks, chain, chain->link_count};
    uint32_t *others = iso_snapshots_contradicted(&links);
    for (uint32_t i = 0; i < chain->link_count; i++) {
        chain->links[i].is_wrong = others[i] != ISO_NONE;
        if (others[i] == ISO_NONE)
            continue;
        const struct iso_snapshot *here = snapshot_of(chain, i),
                                  *other = snapshot_of(chain, others[i]);
        add_violation(chain, (struct iso_snapshot_violation){
                                 chain->links[i].owner, chain->links[others[i]].snapshot,
                                 chain->links[i].snapshot, only_in(chain, other, here),
                                 only_in(chain, here, other)});
    }
    iso_free(others);
}

/* Those that see the same have one position, and so has one that is wrong, with that before it. */
static void place_links(struct chain *chain)
{
    uint64_t position = 2;
    uint32_t before = ISO_NONE;
    for (uint32_t i = 0; i < chain->link_count; i++) {
        const struct link *here = &chain->links[i];
        if (!here->is_wrong) {
            position += before != ISO_NONE && here->seen != chain->links[before].seen ? 2 : 0;
            before = i;
        }
        chain->position[here->snapshot] = position;
    }
}

static void set_cts(struct iso_history *history, uint32_t transaction, uint64_t position)
{
    history->txns.cts[transaction] = position;
    history->txns.flags[transaction] |= ISO_HAS_CTS;
}

/* cts: just below the first snapshot of the chain that sees the xid. Few xids are in progress at a
 * time. */
static void place_commits(struct chain *chain)
{
    struct iso_history *history = chain->history;
    uint32_t *pending = iso_allocate(((size_t)chain->committed_count + 1) * sizeof *pending);
    uint32_t pending_count = 0, next = 0;
    uint64_t last = 0;
    for (uint32_t i = 0; i < chain->link_count; i++) {
        const struct iso_snapshot *snapshot = &history->snapshots.list[chain->links[i].snapshot];
        uint64_t position = chain->position[chain->links[i].snapshot];
        uint32_t kept = 0;
        last = position;
        if (chain->links[i].is_wrong)
            continue;
        while (next < chain->committed_count && chain->committed[next].xid < snapshot->xmax)
            pending[pending_count++] = next++;
        for (uint32_t p = 0; p < pending_count; p++) {
            if (iso_snapshot_sees(history, snapshot, chain->committed[pending[p]].xid))
                set_cts(history, chain->committed[pending[p]].transaction, position - 1);
            else
                pending[kept++] = pending[p];
        }
        pending_count = kept;
    }
    while (next < chain->committed_count)
        pending[pending_count++] = next++;
    for (uint32_t p = 0; p < pending_count; p++)
        set_cts(history, chain->committed[pending[p]].transaction, last + 1);
    iso_free(pending);
}

/* How many links see no more than `seen` committed xids. */
static uint32_t links_up_to(const struct chain *chain, uint64_t seen)
{
    if (!chain->link_count)
        return 0;
    return iso_sorted_below(
        &(struct iso_sorted){&chain->links->seen, sizeof *chain->links, chain->link_count},
        seen + 1);
}

/* Where a snapshot that no committed transaction used stands: with the last link that sees no more
 * than it does. */
static uint64_t place_of(const struct chain *chain, uint32_t snapshot)
{
    if (chain->position[snapshot])
        return chain->position[snapshot];
    uint32_t links =
        links_up_to(chain, count_seen(chain, &chain->history->snapshots.list[snapshot]));
    return links ? chain->position[chain->links[links - 1].snapshot] : 0;
}

static void place_owners(struct chain *chain)
{
    struct iso_history *history = chain->history;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (iso_status_of(history, t) == ISO_ABORTED)
            continue;
        if (history->txns.snapshot && history->txns.snapshot[t] != ISO_NONE) {
            history->txns.sts[t] = place_of(chain, history->txns.snapshot[t]);
            history->txns.flags[t] |= ISO_HAS_STS;
            /* Snapshots of one position differ in transactions of unknown outcome: one that began
             * there may have committed before another of that position was taken, which then
             * sees it. */
            if (iso_status_of(history, t) == ISO_UNKNOWN && history->txns.sts[t])
                history->txns.sts[t]--;
        }
        for (uint32_t o = history->txns.first_op[t];
             history->ops.ots && o < history->txns.first_op[t + 1]; o++) {
            if (!(history->ops.kind[o] & ISO_OPERATION_SNAPSHOT))
                continue;
            history->ops.ots[o] = place_of(chain, (uint32_t)history->ops.ots[o]);
            history->ops.kind[o] =
                (uint8_t)((history->ops.kind[o] & ~ISO_OPERATION_SNAPSHOT) | ISO_OPERATION_OTS);
        }
    }
}

enum iso_status history_place_snapshots(struct iso_history *history, struct iso_error *error)
{
    struct chain chain = {.history = history};
    enum iso_status status = collect_committed(&chain, error);
    if (status == ISO_OK) {
        chain.position =
            iso_allocate_zeroed((size_t)history->snapshots.count + 1, sizeof *chain.position);
        collect_links(&chain);
        if (chain.link_count)
            qsort_r(chain.links, chain.link_count, sizeof *chain.links, compare_links, history);
        blame_links(&chain);
        place_links(&chain);
        place_commits(&chain);
        place_owners(&chain);
        history->clock = ISO_CLOCK_SNAPSHOT;
    }
    iso_free(chain.committed);
    ISO_FREE_COLUMN(chain.links, chain.link_capacity);
    iso_free(chain.position);
    return status;
}
