#define _GNU_SOURCE
#include "history/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history/history_private.h"

/* ---- reading one ---- */

static bool read_number(const char **at, const char *end, uint64_t *number)
{
    const char *start = *at;
    uint64_t value = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (unsigned)(**at - '0'), &value))
            return false;
    }
    *number = value;
    return *at > start;
}

static int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static bool read_xips(struct iso_history *history, const char *at, const char *end)
{
    while (at < end) {
        uint64_t xip;
        if (!read_number(&at, end, &xip))
            return false;
        history_reserve_snapshots(history, 0, 1);
        history->snapshot_xips[history->xip_count++] = xip;
        if (at < end && *at++ != ',')
            return false;
        if (at == end && end[-1] == ',')
            return false;
    }
    return true;
}

bool iso_history_snapshot(struct iso_history *history, const char *text, size_t length, uint32_t *snapshot)
{
    const char *at = text, *end = text + length;
    struct iso_snapshot one = {.first_xip = history->xip_count};
    if (!read_number(&at, end, &one.xmin) || at == end || *at++ != ':' || !read_number(&at, end, &one.xmax) ||
        at == end || *at++ != ':' || one.xmin > one.xmax)
        return false;
    if (!read_xips(history, at, end)) {
        history->xip_count = one.first_xip;
        return false;
    }
    one.xip_count = (uint32_t)(history->xip_count - one.first_xip);
    if (one.xip_count)
        qsort(history->snapshot_xips + one.first_xip, one.xip_count, sizeof one.xmin, compare_numbers);
    history_reserve_snapshots(history, 1, 0);
    *snapshot = history->snapshot_count;
    history->snapshots[history->snapshot_count++] = one;
    return true;
}

/* Adds `xid` to those in progress. The list stays sorted, and becomes the newest of the history's. */
static void hide(struct iso_history *history, struct iso_snapshot *snapshot, uint64_t xid)
{
    uint32_t count = snapshot->xip_count, smaller = 0;
    history_reserve_snapshots(history, 0, count + 1);
    const uint64_t *old = history->snapshot_xips + snapshot->first_xip;
    uint64_t *new = history->snapshot_xips + history->xip_count;
    while (smaller < count && old[smaller] < xid)
        smaller++;
    if (smaller)
        memcpy(new, old, smaller * sizeof *new);
    new[smaller] = xid;
    if (count > smaller)
        memcpy(new + smaller + 1, old + smaller, (count - smaller) * sizeof *new);
    snapshot->first_xip = history->xip_count;
    snapshot->xip_count = count + 1;
    snapshot->xmin = xid < snapshot->xmin ? xid : snapshot->xmin;
    history->xip_count += count + 1;
}

void history_hide_own(struct iso_history *history, uint32_t transaction)
{
    uint64_t xid = history->xid ? history->xid[transaction] : 0;
    if (!xid)
        return;
    if (history->snapshot && history->snapshot[transaction] != ISO_NONE) {
        struct iso_snapshot *own = &history->snapshots[history->snapshot[transaction]];
        if (iso_snapshot_sees(history, own, xid))
            hide(history, own, xid);
    }
    for (uint32_t o = history->first_operation[transaction]; o < history->first_operation[transaction + 1]; o++) {
        if (!(history->kind[o] & ISO_OPERATION_SNAPSHOT))
            continue;
        struct iso_snapshot *its = &history->snapshots[history->ots[o]];
        if (iso_snapshot_sees(history, its, xid))
            hide(history, its, xid);
    }
}

uint32_t iso_snapshot_copy(struct iso_history *into, const struct iso_history *from, uint32_t snapshot)
{
    struct iso_snapshot one = from->snapshots[snapshot];
    uint64_t first = one.first_xip;
    history_reserve_snapshots(into, 1, one.xip_count);
    one.first_xip = into->xip_count;
    if (one.xip_count)
        memcpy(into->snapshot_xips + into->xip_count, &from->snapshot_xips[first],
               one.xip_count * sizeof *into->snapshot_xips);
    into->xip_count += one.xip_count;
    into->snapshots[into->snapshot_count] = one;
    return into->snapshot_count++;
}

static bool in_progress(const struct iso_history *history, const struct iso_snapshot *snapshot, uint64_t xid)
{
    const uint64_t *xips = iso_snapshot_xips(history, snapshot);
    return snapshot->xip_count && bsearch(&xid, xips, snapshot->xip_count, sizeof xid, compare_numbers);
}

bool iso_snapshot_sees(const struct iso_history *history, const struct iso_snapshot *snapshot, uint64_t xid)
{
    return xid < snapshot->xmin || (xid < snapshot->xmax && !in_progress(history, snapshot, xid));
}

void iso_snapshot_text(const struct iso_history *history, const struct iso_snapshot *snapshot, char *text, size_t size)
{
    int used =
        snprintf(text, size, "%llu:%llu:", (unsigned long long)snapshot->xmin, (unsigned long long)snapshot->xmax);
    for (uint32_t i = 0; i < snapshot->xip_count && used > 0 && (size_t)used < size; i++)
        used += snprintf(text + used, size - (size_t)used, i ? ",%llu" : "%llu",
                         (unsigned long long)history->snapshot_xips[snapshot->first_xip + i]);
}

/* ---- ordering all ---- */

/* A committed transaction's xid. */
struct committed {
    uint64_t xid;
    uint32_t transaction;
};

/* A snapshot somebody committed used, in the chain. */
struct link {
    uint32_t snapshot, owner;
    uint64_t seen; /* how many committed xids */
};

struct chain {
    struct iso_history *history;
    struct committed *committed;
    uint32_t committed_count;
    struct link *links;
    uint32_t link_count, link_capacity;
    uint64_t *place; /* by snapshot: its position; 0: not placed */
    uint32_t breach_capacity;
};

static int compare_committed(const void *left, const void *right)
{
    const struct committed *a = left, *b = right;
    return a->xid < b->xid ? -1 : a->xid > b->xid;
}

static enum iso_status collect_committed(struct chain *chain, struct iso_error *error)
{
    struct iso_history *history = chain->history;
    chain->committed = iso_allocate(((size_t)history->transaction_count + 1) * sizeof *chain->committed);
    for (uint32_t t = 0; history->xid && t < history->transaction_count; t++) {
        if (history->xid[t] && iso_status_of(history, t) == ISO_COMMITTED)
            chain->committed[chain->committed_count++] = (struct committed){history->xid[t], t};
    }
    qsort(chain->committed, chain->committed_count, sizeof *chain->committed, compare_committed);
    for (uint32_t i = 1; i < chain->committed_count; i++) {
        if (chain->committed[i].xid != chain->committed[i - 1].xid)
            continue;
        char first[512], second[512];
        iso_history_place_text(history, chain->committed[i - 1].transaction, first, sizeof first);
        iso_history_place_text(history, chain->committed[i].transaction, second, sizeof second);
        return iso_error_set(error, ISO_BAD_INPUT, "%s: xid %llu stands here and at %s; an xid is one transaction's",
                             second, (unsigned long long)chain->committed[i].xid, first);
    }
    return ISO_OK;
}

/* How many committed xids lie below `xid`. */
static uint32_t committed_below(const struct chain *chain, uint64_t xid)
{
    uint32_t low = 0, high = chain->committed_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (chain->committed[middle].xid < xid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_committed(const struct chain *chain, uint64_t xid)
{
    uint32_t at = committed_below(chain, xid);
    return at < chain->committed_count && chain->committed[at].xid == xid;
}

static uint64_t count_seen(const struct chain *chain, const struct iso_snapshot *snapshot)
{
    const uint64_t *xips = iso_snapshot_xips(chain->history, snapshot);
    uint64_t seen = committed_below(chain, snapshot->xmax);
    for (uint32_t i = 0; i < snapshot->xip_count; i++) {
        bool repeated = i && xips[i] == xips[i - 1];
        if (!repeated && xips[i] >= snapshot->xmin && xips[i] < snapshot->xmax && is_committed(chain, xips[i]))
            seen--;
    }
    return seen;
}

static void add_link(struct chain *chain, uint32_t snapshot, uint32_t owner)
{
    if (chain->link_count == chain->link_capacity) {
        size_t next = iso_column_capacity(chain->link_capacity, chain->link_count + 1);
        ISO_GROW(chain->links, chain->link_capacity, next);
        chain->link_capacity = (uint32_t)next;
    }
    chain->links[chain->link_count++] =
        (struct link){snapshot, owner, count_seen(chain, &chain->history->snapshots[snapshot])};
}

static void collect_links(struct chain *chain)
{
    const struct iso_history *history = chain->history;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        if (iso_status_of(history, t) != ISO_COMMITTED)
            continue;
        if (history->snapshot && history->snapshot[t] != ISO_NONE)
            add_link(chain, history->snapshot[t], t);
        if (!(history->flags[t] & ISO_OWN_TIMES) || !history->ots)
            continue;
        for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
            if (history->kind[o] & ISO_OPERATION_SNAPSHOT)
                add_link(chain, (uint32_t)history->ots[o], t);
        }
    }
}

/* By what they see; then, so that the order does not depend on the input's, by their own numbers. */
static int compare_links(const void *left, const void *right, void *context)
{
    const struct link *a = left, *b = right;
    const struct iso_history *history = context;
    const struct iso_snapshot *x = &history->snapshots[a->snapshot], *y = &history->snapshots[b->snapshot];
    if (a->seen != b->seen)
        return a->seen < b->seen ? -1 : 1;
    if (x->xmax != y->xmax)
        return x->xmax < y->xmax ? -1 : 1;
    if (x->xmin != y->xmin)
        return x->xmin < y->xmin ? -1 : 1;
    if (x->xip_count != y->xip_count)
        return x->xip_count < y->xip_count ? -1 : 1;
    for (uint32_t i = 0; i < x->xip_count; i++) {
        uint64_t p = history->snapshot_xips[x->first_xip + i], q = history->snapshot_xips[y->first_xip + i];
        if (p != q)
            return p < q ? -1 : 1;
    }
    return a->owner < b->owner ? -1 : a->owner > b->owner;
}

/* The smallest committed xid that `one` sees and `other` does not; 0 if there is none. `other` does not see
 * what was in progress in it, nor what lies at its xmax or above: no xid in between needs a look, however old
 * its xmin is. */
static uint64_t only_in(const struct chain *chain, const struct iso_snapshot *one, const struct iso_snapshot *other)
{
    const struct iso_history *history = chain->history;
    const uint64_t *xips = iso_snapshot_xips(history, other);
    for (uint32_t i = 0; i < other->xip_count; i++) {
        if (iso_snapshot_sees(history, one, xips[i]) && !iso_snapshot_sees(history, other, xips[i]) &&
            is_committed(chain, xips[i]))
            return xips[i];
    }
    uint32_t end = committed_below(chain, one->xmax);
    for (uint32_t i = committed_below(chain, other->xmax); i < end; i++) {
        if (iso_snapshot_sees(history, one, chain->committed[i].xid))
            return chain->committed[i].xid;
    }
    return 0;
}

static void add_breach(struct chain *chain, struct iso_snapshot_breach breach)
{
    struct iso_history *history = chain->history;
    if (history->breach_count == chain->breach_capacity) {
        chain->breach_capacity = chain->breach_capacity ? chain->breach_capacity * 2 : 16;
        history->breaches = iso_reallocate(history->breaches, chain->breach_capacity * sizeof *history->breaches);
    }
    history->breaches[history->breach_count++] = breach;
}

/* Sees what link i sees; same place as the one before where both see the same. */
static void place_links(struct chain *chain)
{
    struct iso_history *history = chain->history;
    uint64_t place = 0;
    uint32_t previous = ISO_NONE; /* the last link of the place before */
    uint64_t only_earlier = 0, only_later = 0;
    for (uint32_t i = 0; i < chain->link_count; i++) {
        const struct iso_snapshot *here = &history->snapshots[chain->links[i].snapshot];
        uint64_t lost = 0, gained = 0;
        if (i) {
            const struct iso_snapshot *before = &history->snapshots[chain->links[i - 1].snapshot];
            lost = only_in(chain, before, here);
            gained = lost || chain->links[i].seen != chain->links[i - 1].seen ? only_in(chain, here, before) : 0;
        }
        if (!i || lost || gained) {
            place += 2;
            previous = i ? i - 1 : ISO_NONE;
            only_earlier = lost;
            only_later = gained;
        }
        chain->place[chain->links[i].snapshot] = place;
        if (only_earlier)
            add_breach(chain, (struct iso_snapshot_breach){chain->links[i].owner, chain->links[previous].snapshot,
                                                           chain->links[i].snapshot, only_earlier, only_later});
    }
}

static void set_cts(struct iso_history *history, uint32_t transaction, uint64_t position)
{
    history->cts[transaction] = position;
    history->flags[transaction] |= ISO_HAS_CTS;
}

/* cts: just below the first snapshot of the chain that sees the xid. Few xids are in progress at a time. */
static void place_commits(struct chain *chain)
{
    struct iso_history *history = chain->history;
    uint32_t *pending = iso_allocate(((size_t)chain->committed_count + 1) * sizeof *pending);
    uint32_t pending_count = 0, next = 0;
    uint64_t last = 0;
    for (uint32_t i = 0; i < chain->link_count; i++) {
        const struct iso_snapshot *snapshot = &history->snapshots[chain->links[i].snapshot];
        uint64_t place = chain->place[chain->links[i].snapshot];
        uint32_t kept = 0;
        while (next < chain->committed_count && chain->committed[next].xid < snapshot->xmax)
            pending[pending_count++] = next++;
        for (uint32_t p = 0; p < pending_count; p++) {
            if (iso_snapshot_sees(history, snapshot, chain->committed[pending[p]].xid))
                set_cts(history, chain->committed[pending[p]].transaction, place - 1);
            else
                pending[kept++] = pending[p];
        }
        pending_count = kept;
        last = place;
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
    uint32_t low = 0, high = chain->link_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (chain->links[middle].seen <= seen)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where a snapshot that no committed transaction used stands: with the last link that sees no more than it
 * does. */
static uint64_t place_of(const struct chain *chain, uint32_t snapshot)
{
    if (chain->place[snapshot])
        return chain->place[snapshot];
    uint32_t links = links_up_to(chain, count_seen(chain, &chain->history->snapshots[snapshot]));
    return links ? chain->place[chain->links[links - 1].snapshot] : 0;
}

static void place_owners(struct chain *chain)
{
    struct iso_history *history = chain->history;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        if (iso_status_of(history, t) == ISO_ABORTED)
            continue;
        if (history->snapshot && history->snapshot[t] != ISO_NONE) {
            history->sts[t] = place_of(chain, history->snapshot[t]);
            history->flags[t] |= ISO_HAS_STS;
        }
        for (uint32_t o = history->first_operation[t]; history->ots && o < history->first_operation[t + 1]; o++) {
            if (!(history->kind[o] & ISO_OPERATION_SNAPSHOT))
                continue;
            history->ots[o] = place_of(chain, (uint32_t)history->ots[o]);
            history->kind[o] = (uint8_t)((history->kind[o] & ~ISO_OPERATION_SNAPSHOT) | ISO_OPERATION_OTS);
        }
    }
}

enum iso_status history_place_snapshots(struct iso_history *history, struct iso_error *error)
{
    struct chain chain = {.history = history};
    enum iso_status status = collect_committed(&chain, error);
    if (status == ISO_OK) {
        chain.place = iso_allocate_zeroed((size_t)history->snapshot_count + 1, sizeof *chain.place);
        collect_links(&chain);
        if (chain.link_count)
            qsort_r(chain.links, chain.link_count, sizeof *chain.links, compare_links, history);
        place_links(&chain);
        place_commits(&chain);
        place_owners(&chain);
        history->clock = ISO_CLOCK_SNAPSHOT;
    }
    iso_free(chain.committed);
    iso_column_free(chain.links, chain.link_capacity * sizeof *chain.links);
    iso_free(chain.place);
    return status;
}
