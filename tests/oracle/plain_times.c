#include "tests/oracle/plain_times.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SLOTS = PLAIN_TRANSACTIONS * (PLAIN_OPERATIONS + 2) };

/* ---- explicit timestamps ---- */

struct distinct {
    uint32_t count;
    struct plain_stamp stamps[MAX_SLOTS];
};

static bool stamp_below(const struct plain_stamp *left, const struct plain_stamp *right)
{
    if (left->physical != right->physical)
        return left->physical < right->physical;
    return left->logical < right->logical;
}

static void collect(struct distinct *distinct, const struct plain_stamp *stamp)
{
    if (!stamp->given)
        return;
    for (uint32_t i = 0; i < distinct->count; i++) {
        if (!stamp_below(&distinct->stamps[i], stamp) && !stamp_below(stamp, &distinct->stamps[i]))
            return;
    }
    distinct->stamps[distinct->count++] = *stamp;
}

static void collect_all(const struct plain_history *history, struct distinct *distinct)
{
    distinct->count = 0;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        const struct plain_transaction *transaction = &history->transactions[t];
        collect(distinct, &transaction->sts);
        collect(distinct, &transaction->cts);
        for (uint32_t i = 0; i < transaction->operation_count; i++)
            collect(distinct, &transaction->operations[i].ots);
    }
}

static bool needs_ranks(const struct plain_history *history, const struct distinct *distinct)
{
    bool largest = false;
    for (uint32_t i = 0; i < distinct->count; i++)
        largest |= distinct->stamps[i].physical == UINT64_MAX;
    return history->pairs || largest;
}

static uint64_t number_of(const struct distinct *distinct, bool ranks,
                          const struct plain_stamp *stamp)
{
    uint64_t below = 0;
    if (!ranks)
        return stamp->physical + 1;
    for (uint32_t i = 0; i < distinct->count; i++)
        below += stamp_below(&distinct->stamps[i], stamp);
    return below + 2;
}

static void take_stamps(const struct plain_history *history, struct plain_times *times)
{
    struct distinct distinct;
    collect_all(history, &distinct);
    bool ranks = needs_ranks(history, &distinct);
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        const struct plain_transaction *transaction = &history->transactions[t];
        struct plain_transaction_times *of = &times->transactions[t];
        of->has_sts = transaction->sts.given;
        of->has_cts = transaction->cts.given;
        of->sts = of->has_sts ? number_of(&distinct, ranks, &transaction->sts) : 1;
        of->cts = of->has_cts ? number_of(&distinct, ranks, &transaction->cts) : 1;
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            of->operations[i].own = transaction->operations[i].ots.given;
            if (of->operations[i].own)
                of->operations[i].ots =
                    number_of(&distinct, ranks, &transaction->operations[i].ots);
        }
    }
}

/* ---- snapshots ---- */

/* A snapshot that a transaction used, and the committed transactions whose xids it sees. */
struct view {
    const struct plain_snapshot *snapshot;
    uint64_t xips[PLAIN_XIPS]; /* in order */
    uint32_t owner;
    bool sees[PLAIN_TRANSACTIONS];
    uint32_t seen;
    uint64_t place;
    bool wrong; /* contradicts the others */
};

struct chain {
    uint32_t count;
    struct view views[MAX_SLOTS];
};

bool plain_snapshot_sees(const struct plain_snapshot *snapshot, uint64_t xid)
{
    if (xid < snapshot->xmin)
        return true;
    for (uint32_t i = 0; i < snapshot->xip_count; i++) {
        if (snapshot->xip[i] == xid)
            return false;
    }
    return xid < snapshot->xmax;
}

static int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static struct view view_of(const struct plain_history *history,
                           const struct plain_snapshot *snapshot, uint32_t owner)
{
    struct view view = {.snapshot = snapshot, .owner = owner};
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        const struct plain_transaction *transaction = &history->transactions[t];
        view.sees[t] = transaction->status == ISO_COMMITTED && transaction->xid &&
                       plain_snapshot_sees(snapshot, transaction->xid);
        view.seen += view.sees[t];
    }
    memcpy(view.xips, snapshot->xip, sizeof view.xips);
    qsort(view.xips, snapshot->xip_count, sizeof view.xips[0], compare_numbers);
    return view;
}

/* By what they see; then by their own numbers, so that the chain does not depend on the order of
 * the file. */
static int compare_views(const void *left, const void *right)
{
    const struct view *a = left, *b = right;
    const struct plain_snapshot *x = a->snapshot, *y = b->snapshot;
    if (a->seen != b->seen)
        return a->seen < b->seen ? -1 : 1;
    if (x->xmax != y->xmax)
        return x->xmax < y->xmax ? -1 : 1;
    if (x->xmin != y->xmin)
        return x->xmin < y->xmin ? -1 : 1;
    if (x->xip_count != y->xip_count)
        return x->xip_count < y->xip_count ? -1 : 1;
    for (uint32_t i = 0; i < x->xip_count; i++) {
        if (a->xips[i] != b->xips[i])
            return a->xips[i] < b->xips[i] ? -1 : 1;
    }
    return a->owner < b->owner ? -1 : a->owner > b->owner;
}

static void build_chain(const struct plain_history *history, struct chain *chain)
{
    chain->count = 0;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        const struct plain_transaction *transaction = &history->transactions[t];
        if (transaction->status != ISO_COMMITTED)
            continue;
        if (transaction->snapshot.given)
            chain->views[chain->count++] = view_of(history, &transaction->snapshot, t);
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            if (transaction->operations[i].snapshot.given)
                chain->views[chain->count++] =
                    view_of(history, &transaction->operations[i].snapshot, t);
        }
    }
    qsort(chain->views, chain->count, sizeof chain->views[0], compare_views);
}

static bool contains(const struct view *larger, const struct view *smaller)
{
    for (uint32_t t = 0; t < PLAIN_TRANSACTIONS; t++) {
        if (smaller->sees[t] && !larger->sees[t])
            return false;
    }
    return true;
}

/* Those that see the same have one place; one that is wrong has that of the one before it. */
static void place_chain(struct chain *chain)
{
    const struct view *before = NULL;
    for (uint32_t i = 0; i < chain->count; i++) {
        struct view *here = &chain->views[i];
        bool is_same = here->wrong || !before || contains(before, here);
        here->place = (before ? before->place : 2) + (is_same ? 0 : 2);
        before = here->wrong ? before : here;
    }
}

static bool fits(const struct chain *chain, const bool *good, uint32_t number)
{
    bool all = true;
    for (uint32_t i = 0; i < chain->count; i++)
        if (good[i])
            all &= i < number ? contains(&chain->views[number], &chain->views[i])
                              : contains(&chain->views[i], &chain->views[number]);
    return all;
}

/* Who is blamed: while two neighbours contradict each other both go; who then does not fit, of all
 * that went, in their order. */
static void blame(struct chain *chain, struct plain_times *times)
{
    bool good[MAX_SLOTS] = {false};
    for (uint32_t i = 0; i < chain->count; i++) {
        uint32_t last = i;
        while (last && !good[last - 1])
            last--;
        if (last && !contains(&chain->views[i], &chain->views[last - 1]))
            good[last - 1] = false;
        else
            good[i] = true;
    }
    for (uint32_t i = 0; i < chain->count; i++)
        good[i] = good[i] || fits(chain, good, i);
    for (uint32_t i = 0; i < chain->count; i++)
        times->transactions[chain->views[i].owner].breached |= chain->views[i].wrong = !good[i];
}

/* A snapshot of nobody committed stands with the last view that sees no more than it does; before
 * all, if none. */
static uint64_t place_of(const struct plain_history *history, const struct chain *chain,
                         const struct plain_snapshot *snapshot, uint32_t owner)
{
    struct view view = view_of(history, snapshot, owner);
    uint64_t place = 0;
    for (uint32_t i = 0; i < chain->count; i++) {
        if (chain->views[i].snapshot == snapshot)
            return chain->views[i].place;
    }
    for (uint32_t i = 0; i < chain->count; i++) {
        if (chain->views[i].seen <= view.seen)
            place = chain->views[i].place;
    }
    return place;
}

/* Just below the first snapshot that sees it and is not wrong; after all, if none does. */
static uint64_t commit_place(const struct chain *chain, uint32_t transaction)
{
    for (uint32_t i = 0; i < chain->count; i++) {
        if (chain->views[i].sees[transaction] && !chain->views[i].wrong)
            return chain->views[i].place - 1;
    }
    return chain->count ? chain->views[chain->count - 1].place + 1 : 1;
}

static void take_snapshots(const struct plain_history *history, struct plain_times *times)
{
    struct chain chain;
    build_chain(history, &chain);
    blame(&chain, times);
    place_chain(&chain);
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        const struct plain_transaction *transaction = &history->transactions[t];
        struct plain_transaction_times *of = &times->transactions[t];
        of->has_sts = transaction->snapshot.given;
        of->sts = of->has_sts ? place_of(history, &chain, &transaction->snapshot, t) + 1 : 1;
        /* Snapshots of one place differ in what is unknown: it may have committed before another
         * one was taken there. */
        if (transaction->status == ISO_UNKNOWN && of->sts > 1)
            of->sts--;
        of->has_cts = transaction->status == ISO_COMMITTED && transaction->xid;
        of->cts = of->has_cts ? commit_place(&chain, t) + 1 : 1;
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            const struct plain_snapshot *snapshot = &transaction->operations[i].snapshot;
            of->operations[i].own = snapshot->given;
            if (snapshot->given)
                of->operations[i].ots = place_of(history, &chain, snapshot, t) + 1;
        }
    }
}

/* ---- defaults ---- */

static void find_point(const struct plain_transaction *transaction,
                       struct plain_transaction_times *of)
{
    if (transaction->status != ISO_COMMITTED || plain_transaction_writes(transaction))
        return;
    if (of->has_cts) {
        of->point = of->has_sts && of->cts == of->sts;
        return;
    }
    of->point = true;
    of->cts = of->sts;
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        if (of->operations[i].own && of->operations[i].ots > of->cts)
            of->cts = of->operations[i].ots;
    }
}

/* An operation's own ots; else under a lock just below the commit (a point stands after all commits
 * at its timestamp); else sts. */
static void default_ots(const struct plain_transaction *transaction,
                        struct plain_transaction_times *of)
{
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        struct plain_operation_times *operation = &of->operations[i];
        if (operation->own)
            continue;
        operation->lock = transaction->operations[i].lock;
        operation->ots = !operation->lock ? of->sts : of->point ? of->cts : of->cts - 1;
    }
}

void plain_times_of(const struct plain_history *history, struct plain_times *times)
{
    memset(times, 0, sizeof *times);
    if (plain_clock(history) == ISO_CLOCK_SNAPSHOT)
        take_snapshots(history, times);
    else
        take_stamps(history, times);
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        find_point(&history->transactions[t], &times->transactions[t]);
        default_ots(&history->transactions[t], &times->transactions[t]);
    }
}

/* ---- gaps ---- */

static bool is_look(const struct plain_history *history, const struct plain_times *times,
                    uint64_t number)
{
    bool found = false;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        const struct plain_transaction_times *of = &times->transactions[t];
        if (history->transactions[t].status != ISO_COMMITTED)
            continue;
        found |= of->has_sts && of->sts == number;
        for (uint32_t i = 0; i < history->transactions[t].operation_count; i++)
            found |= of->operations[i].own && of->operations[i].ots == number;
    }
    return found;
}

/* How many different positions of snapshots lie below. */
static uint64_t looks_below(const struct plain_history *history, const struct plain_times *times,
                            uint64_t number)
{
    uint64_t below = 0, seen[MAX_SLOTS];
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        const struct plain_transaction_times *of = &times->transactions[t];
        for (uint32_t i = 0; i <= history->transactions[t].operation_count; i++) {
            uint64_t look = i ? of->operations[i - 1].ots : of->sts;
            bool counts = look < number && is_look(history, times, look);
            for (uint64_t j = 0; j < below && counts; j++)
                counts = seen[j] != look;
            if (counts)
                seen[below++] = look;
        }
    }
    return below;
}

bool plain_times_merge_gaps(const struct plain_history *history, struct plain_times *times)
{
    struct plain_times given = *times;
    struct distinct distinct;
    bool xids = false;
    for (uint32_t t = 0; t < history->transaction_count; t++)
        xids |= history->transactions[t].xid != 0;
    collect_all(history, &distinct);
    if (!xids || plain_clock(history) != ISO_CLOCK_SCALAR || needs_ranks(history, &distinct))
        return false;
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        const struct plain_transaction *transaction = &history->transactions[t];
        struct plain_transaction_times *of = &times->transactions[t];
        uint64_t start = looks_below(history, &given, of->sts),
                 commit = looks_below(history, &given, of->cts);
        bool committed = transaction->status == ISO_COMMITTED;
        of->log_place = of->cts;
        of->sts = !of->has_sts ? 1 : 2 * start + (committed ? 3 : 1);
        of->cts = !of->point ? 2 * commit + 2 : of->has_sts || of->cts > 1 ? 2 * commit + 3 : 1;
        for (uint32_t i = 0; i < transaction->operation_count; i++)
            of->operations[i].ots = 2 * looks_below(history, &given, of->operations[i].ots) + 3;
        default_ots(transaction, of);
    }
    return true;
}
