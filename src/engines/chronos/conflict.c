/* NOCONFLICT: two writers of a key whose intervals (o, cts] overlap, o the ots of the first write.
 *
 * Put a key's writers into the order of their versions. A writer is blamed for each earlier one U
 * with cts(U) > o, and those stand together, right before it: its pairs are a *range* of writers.
 * So pairs are counted by a search, not one by one, however many there are, and only those that the
 * verdict keeps are ever listed. The exception are writers that commit at or below their own o (a
 * TIMESTAMP violation; *inverted* here): they overlap only those that were open all the way from
 * their cts to their o. They are never blamed, and a range is less those of them that do not
 * overlap: an order of versions passes their o's in rising order, so that a tree of sums holds
 * those whose o is still ahead.
 *
 * The sweep tells which keys have a range at all (`contested`); a history without conflicts costs
 * no more than that.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "chronos/chronos_private.h"

/* A committed writer of a contested key. */
struct writer {
    uint64_t bound; /* of its first write */
    uint32_t transaction, operation;
};

/* Writers [first, end) of a key overlap with the writer `blamed`. */
struct range {
    uint32_t key, blamed, first, end;
};

/* The inverted writers of one key, in the order of versions: into `writers`. */
struct inverted {
    uint32_t *list;
    uint32_t *by_bound; /* into `list`, by rising o */
    uint32_t *sums;     /* a Fenwick tree over `list`: how many have their o ahead */
    uint32_t count;
    uint32_t begun;  /* of `list`: what stands before the writer at hand */
    uint32_t passed; /* of `by_bound`: whose o is not ahead any more */
};

struct conflicts {
    struct chronos_shard *shard;
    struct writer *writers; /* by key, in the order of versions */
    uint32_t *first;        /* by contested key: into `writers`, one more at the end */
    uint32_t *last_writer; /* by contested key: the transaction that was seen to write it last; then
                            * how many of its pairs are listed */
    struct inverted inverted;
    struct range *ranges;
    size_t range_count, range_capacity;
    bool pruned; /* then nothing behind ranges[limit - 1] is needed */
};

void chronos_contest(struct chronos_shard *shard, uint32_t key)
{
    assert(key < shard->history->keys.count);
    struct chronos_key *state = &shard->keys[key];
    struct chronos_contested *contested = &shard->contested;
    if (state->contested)
        return;
    ISO_PUSH(contested->keys, contested->count, contested->capacity, key);
    state->contested = contested->count;
}

/* The shard's part of what all sweeps found, each key once; slices may have found the same. */
static void gather_contested(struct chronos_shard *shard)
{
    struct chronos *check = shard->check;
    for (int numbering = 0; numbering < 2; numbering++) {
        for (unsigned from = 0; from < check->shards; from++) {
            for (uint32_t i = 0; i < check->contested[from].count; i++) {
                uint32_t key = check->contested[from].keys[i];
                if (!chronos_owns(key, shard->part, check->shards))
                    continue;
                if (numbering)
                    chronos_contest(shard, key);
                else
                    check->keys[key].contested = 0;
            }
        }
    }
}

/* ---- the writers of contested keys ---- */

static uint64_t cts_of(const struct conflicts *conflicts, uint32_t writer)
{
    return conflicts->shard->history->txns.cts[conflicts->writers[writer].transaction];
}

/* Puts the transaction behind the other writers of each contested key that it writes, or only
 * counts it there. */
static void add_writes(struct conflicts *conflicts, uint32_t transaction, bool only_count)
{
    const struct iso_history *history = conflicts->shard->history;
    const struct chronos *check = conflicts->shard->check;
    ISO_EACH(o, history->txns.first_op, transaction) {
        uint32_t key = history->ops.key[o];
        if (!iso_kind_writes(history->ops.kind[o]) ||
            !chronos_owns(key, conflicts->shard->part, check->shards) ||
            !check->keys[key].contested)
            continue;
        uint32_t number = check->keys[key].contested - 1;
        if (conflicts->last_writer[number] == transaction)
            continue;
        conflicts->last_writer[number] = transaction;
        if (chronos_is_lock(history->ops.kind[o]))
            continue;
        uint32_t *next = &conflicts->first[number + 2 - !only_count];
        if (!only_count)
            conflicts->writers[*next] =
                (struct writer){chronos_bound(history, transaction, o), transaction, o};
        ++*next;
    }
}

static void collect_writers(struct conflicts *conflicts)
{
    const struct chronos_events *commits = &conflicts->shard->check->commits;
    uint32_t keys = conflicts->shard->contested.count;
    conflicts->first = iso_allocate_zeroed((size_t)keys + 2, sizeof *conflicts->first);
    conflicts->last_writer = iso_allocate(keys * sizeof *conflicts->last_writer);
    for (int filling = 0; filling < 2; filling++) {
        for (uint32_t key = 0; key < keys; key++)
            conflicts->last_writer[key] = ISO_NONE;
        for (uint32_t i = 0; i < commits->count; i++)
            add_writes(conflicts, commits->transaction[i], !filling);
        for (uint32_t key = 0; !filling && key < keys; key++)
            conflicts->first[key + 2] += conflicts->first[key + 1];
        if (!filling)
            conflicts->writers =
                iso_allocate(((size_t)conflicts->first[keys + 1] + 1) * sizeof *conflicts->writers);
    }
}

static int compare_writers(const void *left, const void *right, void *context)
{
    const struct writer *a = left, *b = right;
    const struct iso_history *history = context;
    if (a->bound != b->bound)
        return a->bound < b->bound ? -1 : 1;
    return iso_atom_compare(&history->atoms, history->txns.tid[a->transaction],
                            history->txns.tid[b->transaction]);
}

/* Sorts writers of the same cts among themselves; all stand by cts already. */
static void order_ties(struct conflicts *conflicts, uint32_t first, uint32_t last)
{
    for (uint32_t end; first < last; first = end) {
        for (end = first + 1; end < last && cts_of(conflicts, end) == cts_of(conflicts, first);)
            end++;
        if (end - first > 1)
            qsort_r(conflicts->writers + first, end - first, sizeof *conflicts->writers,
                    compare_writers, (void *)conflicts->shard->history);
    }
}

/* ---- ranges ---- */

static int compare_ranges(const void *left, const void *right, void *context)
{
    const struct range *a = left, *b = right;
    const struct conflicts *conflicts = context;
    const struct iso_history *history = conflicts->shard->history;
    int order = iso_atom_compare(&history->atoms,
                                 history->txns.tid[conflicts->writers[a->blamed].transaction],
                                 history->txns.tid[conflicts->writers[b->blamed].transaction]);
    return order ? order
                 : iso_atom_compare(&history->atoms, history->keys.atom[a->key],
                                    history->keys.atom[b->key]);
}

static void sort_ranges(struct conflicts *conflicts)
{
    if (conflicts->range_count)
        qsort_r(conflicts->ranges, conflicts->range_count, sizeof *conflicts->ranges,
                compare_ranges, conflicts);
}

/* Each range gives a violation at least, in the order of reports: more than `limit` of them are
 * never needed.
 */
static void add_range(struct conflicts *conflicts, struct range range)
{
    assert(range.first < range.end && range.end == range.blamed);
    size_t limit = conflicts->shard->verdict->limit;
    if (conflicts->pruned && compare_ranges(&range, &conflicts->ranges[limit - 1], conflicts) > 0)
        return;
    ISO_PUSH(conflicts->ranges, conflicts->range_count, conflicts->range_capacity, range);
    if (limit && conflicts->range_count >= 2 * limit + 64) {
        sort_ranges(conflicts);
        conflicts->range_count = limit;
        conflicts->pruned = true;
    }
}

/* The first of the key's writers before `writer` that commits at or above the bound. */
static uint32_t find_first(const struct conflicts *conflicts, uint32_t first, uint32_t writer)
{
    uint32_t low = first, high = writer;
    uint64_t bound = conflicts->writers[writer].bound;
    ISO_BISECT(low, high, middle, cts_of(conflicts, middle) < bound);
    return low;
}

/* An earlier writer of the range, which commits above o, overlaps unless it is inverted and opens
 * too late.
 */
static bool writers_overlap(const struct conflicts *conflicts, uint32_t earlier, uint32_t writer)
{
    return conflicts->writers[earlier].bound <= cts_of(conflicts, writer);
}

/* ---- inverted writers ---- */

static bool is_inverted(const struct conflicts *conflicts, uint32_t writer)
{
    return conflicts->writers[writer].bound > cts_of(conflicts, writer);
}

static int compare_bounds(const void *left, const void *right, void *context)
{
    const struct conflicts *conflicts = context;
    uint64_t a = conflicts->writers[conflicts->inverted.list[*(const uint32_t *)left]].bound;
    uint64_t b = conflicts->writers[conflicts->inverted.list[*(const uint32_t *)right]].bound;
    return a < b ? -1 : a > b;
}

static void add_sum(struct inverted *inverted, uint32_t index, uint32_t change)
{
    assert(index < inverted->count);
    for (uint32_t i = index + 1; i <= inverted->count; i += i & -i)
        inverted->sums[i - 1] += change;
}

static uint32_t sum_before(const struct inverted *inverted, uint32_t index)
{
    uint32_t sum = 0;
    for (uint32_t i = index; i; i &= i - 1)
        sum += inverted->sums[i - 1];
    return sum;
}

static void find_inverted(struct conflicts *conflicts, uint32_t first, uint32_t end)
{
    struct inverted *inverted = &conflicts->inverted;
    inverted->count = inverted->begun = inverted->passed = 0;
    for (uint32_t writer = first; writer < end; writer++) {
        if (!is_inverted(conflicts, writer))
            continue;
        inverted->by_bound[inverted->count] = inverted->count;
        inverted->list[inverted->count++] = writer;
    }
    if (!inverted->count)
        return;
    qsort_r(inverted->by_bound, inverted->count, sizeof *inverted->by_bound, compare_bounds,
            conflicts);
    for (uint32_t i = 0; i < inverted->count; i++)
        inverted->sums[i] = 0;
}

/* Writers come by rising cts: what opens at or below it was open, and stays so. */
static void pass_bounds(struct conflicts *conflicts, uint64_t cts)
{
    struct inverted *inverted = &conflicts->inverted;
    for (; inverted->passed < inverted->count; inverted->passed++) {
        uint32_t index = inverted->by_bound[inverted->passed];
        if (conflicts->writers[inverted->list[index]].bound > cts)
            return;
        add_sum(inverted, index, UINT32_MAX);
    }
}

/* How many inverted writers of the range open above the cts of `range->blamed`: they do not overlap
 * it. */
static uint32_t count_apart(struct conflicts *conflicts, const struct range *range)
{
    struct inverted *inverted = &conflicts->inverted;
    pass_bounds(conflicts, cts_of(conflicts, range->blamed));
    uint32_t low = 0, high = inverted->begun;
    ISO_BISECT(low, high, middle, inverted->list[middle] < range->first);
    return sum_before(inverted, inverted->begun) - sum_before(inverted, low);
}

static void judge_writer(struct conflicts *conflicts, uint32_t key, uint32_t first_of_key,
                         uint32_t writer)
{
    assert(writer == first_of_key || cts_of(conflicts, writer - 1) <= cts_of(conflicts, writer));
    struct inverted *inverted = &conflicts->inverted;
    if (is_inverted(conflicts, writer)) {
        add_sum(inverted, inverted->begun++, 1);
        return;
    }
    struct range range = {key, writer, find_first(conflicts, first_of_key, writer), writer};
    uint32_t pairs = range.end - range.first;
    if (inverted->count)
        pairs -= count_apart(conflicts, &range);
    assert(pairs <= range.end - range.first);
    conflicts->shard->verdict->counts[ISO_NOCONFLICT] += pairs;
    if (pairs)
        add_range(conflicts, range);
}

static void judge_keys(struct conflicts *conflicts)
{
    size_t capacity = (size_t)conflicts->first[conflicts->shard->contested.count] + 1;
    uint32_t *room = iso_allocate(3 * capacity * sizeof *room);
    conflicts->inverted =
        (struct inverted){.list = room, .by_bound = room + capacity, .sums = room + 2 * capacity};
    for (uint32_t key = 0; key < conflicts->shard->contested.count; key++) {
        uint32_t first = conflicts->first[key], end = conflicts->first[key + 1];
        order_ties(conflicts, first, end);
        find_inverted(conflicts, first, end);
        for (uint32_t writer = first; writer < end; writer++)
            judge_writer(conflicts, conflicts->shard->contested.keys[key], first, writer);
    }
    iso_free(room);
}

/* ---- violations ---- */

static uint64_t list_range(struct conflicts *conflicts, const struct range *range, uint32_t *of_key)
{
    const struct writer *blamed = &conflicts->writers[range->blamed];
    struct iso_violation violation = iso_violation_of(ISO_NOCONFLICT, blamed->transaction);
    violation.key = range->key;
    violation.operation = blamed->operation;
    uint64_t listed = 0;
    uint32_t most = conflicts->shard->check->options->max_per_key;
    for (uint32_t other = range->first; other < range->end && (!most || *of_key < most); other++) {
        if (!writers_overlap(conflicts, other, range->blamed))
            continue;
        violation.other = conflicts->writers[other].transaction;
        iso_verdict_keep(conflicts->shard->verdict, &violation);
        listed++;
        ++*of_key;
    }
    return listed;
}

static void list_violations(struct conflicts *conflicts)
{
    uint64_t limit = conflicts->shard->verdict->limit, listed = 0;
    uint32_t keys = conflicts->shard->contested.count;
    sort_ranges(conflicts);
    for (uint32_t key = 0; key < keys; key++)
        conflicts->last_writer[key] = 0;
    for (size_t i = 0; i < conflicts->range_count && (!limit || listed < limit); i++) {
        const struct range *range = &conflicts->ranges[i];
        assert(conflicts->shard->check->keys[range->key].contested);
        uint32_t number = conflicts->shard->check->keys[range->key].contested - 1;
        listed += list_range(conflicts, range, &conflicts->last_writer[number]);
    }
}

void chronos_judge_conflicts(struct chronos_shard *shard)
{
    struct conflicts conflicts = {.shard = shard};
    gather_contested(shard);
    if (!shard->contested.count)
        return;
    collect_writers(&conflicts);
    judge_keys(&conflicts);
    list_violations(&conflicts);
    ISO_FREE_ALL(conflicts.writers, conflicts.first, conflicts.last_writer, conflicts.ranges,
                 shard->contested.keys);
}
