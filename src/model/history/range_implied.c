/* Row sets imply, of rows that they did not find: reads of nothing, which are put behind the rows
 * of each.
 *
 * Of a finished history all keys in the range get them. Of a stream nobody knows which keys there
 * are when a range arrives: those get them that its own transaction names, so that INT and EXT of
 * one key meet in them. Of all other keys the ranges' judge says it (rowsets/rowsets.h).
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/sorted.h"
#include "history/history_private.h"

enum { MOST_IMPLIED = 1u << 28 }; /* reads that row sets add to a history */

struct universe {
    struct iso_history *history;
    bool own;           /* keys are those of one transaction at a time */
    uint32_t first_set; /* of all that are looked at */
    uint32_t *keys;     /* in their order */
    uint32_t key_count, key_capacity;
    uint32_t *returned_by; /* by key: 1 + the row set that returned it last */
    uint32_t *implied;     /* by row set: the reads that it gets */
};

static int compare_keys(const void *left, const void *right, void *context)
{
    const struct iso_history *history = context;
    return iso_atom_compare(&history->atoms, history->keys.atom[*(const uint32_t *)left],
                            history->keys.atom[*(const uint32_t *)right]);
}

static void take_all_keys(struct universe *universe)
{
    struct iso_history *history = universe->history;
    universe->key_count = history->keys.count;
    universe->keys = iso_numbers(history->keys.count);
    for (uint32_t key = 0; key < history->keys.count; key++)
        universe->keys[key] = key;
    qsort_r(universe->keys, history->keys.count, sizeof *universe->keys, compare_keys, history);
}

static void take_keys_of(struct universe *universe, uint32_t t)
{
    struct iso_history *history = universe->history;
    uint32_t first = history->txns.first_op[t], count = history->txns.first_op[t + 1] - first;
    ISO_RESERVE(universe->keys, count, universe->key_capacity);
    universe->key_count = 0;
    if (!count)
        return;
    memcpy(universe->keys, history->ops.key + first, count * sizeof *universe->keys);
    qsort_r(universe->keys, count, sizeof *universe->keys, compare_keys, history);
    for (uint32_t i = 0; i < count; i++)
        if (!universe->key_count || universe->keys[universe->key_count - 1] != universe->keys[i])
            universe->keys[universe->key_count++] = universe->keys[i];
}

/* How many keys stand before the bound; `too`: the bound itself counts, too. */
static uint32_t keys_before(const struct universe *universe, iso_atom bound, bool too)
{
    const struct iso_history *history = universe->history;
    uint32_t low = 0, high = universe->key_count;
    ISO_BISECT(low, high, middle,
               iso_atom_compare(&history->atoms, history->keys.atom[universe->keys[middle]],
                                bound) < (int)too);
    return low;
}

static uint32_t range_start(const struct universe *universe, const struct iso_range *range)
{
    return range->from == ISO_ABSENT ? 0 : keys_before(universe, range->from, false);
}

static uint32_t range_end(const struct universe *universe, const struct iso_range *range)
{
    return range->to == ISO_ABSENT ? universe->key_count : keys_before(universe, range->to, true);
}

/* Notes what the row set returned. */
static void note_returned(const struct universe *universe, uint32_t number)
{
    const struct iso_history *history = universe->history;
    const struct iso_range *range = &history->ranges.list[number];
    uint32_t first = history->txns.first_op[range->transaction] + range->first;
    for (uint32_t o = first; o < first + range->count; o++)
        universe->returned_by[history->ops.key[o]] = number + 1;
}

static bool is_skipped(const struct universe *universe, struct iso_range *range, uint32_t keys,
                       uint64_t total)
{
    struct iso_history *history = universe->history;
    uint32_t limit = history->ranges.limit ? history->ranges.limit : ISO_SCAN_LIMIT;
    if (universe->own)
        return false;
    range->is_skipped = keys > limit || total + keys > MOST_IMPLIED;
    history->ranges.skipped += range->is_skipped;
    return range->is_skipped;
}

static uint64_t count_implied(struct universe *universe)
{
    struct iso_history *history = universe->history;
    uint64_t total = 0;
    for (uint32_t i = universe->first_set; i < history->ranges.count; i++) {
        struct iso_range *range = &history->ranges.list[i];
        if (universe->own &&
            (i == universe->first_set || range[-1].transaction != range->transaction))
            take_keys_of(universe, range->transaction);
        if (range->form != ISO_SET_RANGE || range->is_partial ||
            (!universe->own && iso_status_of(history, range->transaction) != ISO_COMMITTED))
            continue;
        uint32_t start = range_start(universe, range), end = range_end(universe, range);
        if (is_skipped(universe, range, end - start, total))
            continue;
        note_returned(universe, i);
        for (uint32_t k = start; k < end; k++)
            universe->implied[i] += universe->returned_by[universe->keys[k]] != i + 1;
        total += universe->implied[i];
    }
    return total;
}

static void move_operations(struct iso_history *history, uint32_t to, uint32_t from, uint32_t count)
{
    memmove(history->ops.kind + to, history->ops.kind + from, count * sizeof *history->ops.kind);
    memmove(history->ops.key + to, history->ops.key + from, count * sizeof *history->ops.key);
    memmove(history->ops.value + to, history->ops.value + from, count * sizeof *history->ops.value);
    if (history->ops.ots)
        memmove(history->ops.ots + to, history->ops.ots + from, count * sizeof *history->ops.ots);
    if (history->ops.ots_logical)
        memmove(history->ops.ots_logical + to, history->ops.ots_logical + from,
                count * sizeof *history->ops.ots_logical);
}

/* The reads of null of a row set, in the order of keys, from operation `at` on. */
static void imply_reads(const struct universe *universe, uint32_t number, uint32_t at)
{
    struct iso_history *history = universe->history;
    const struct iso_range *range = &history->ranges.list[number];
    uint32_t end = range_end(universe, range);
    for (uint32_t k = range_start(universe, range); k < end; k++) {
        if (universe->returned_by[universe->keys[k]] == number + 1)
            continue;
        history->ops.kind[at] = (uint8_t)(ISO_READ | range->kind);
        history->ops.key[at] = universe->keys[k];
        history->ops.value[at] = ISO_ABSENT;
        if (history->ops.ots)
            history->ops.ots[at] = range->ots;
        if (history->ops.ots_logical)
            history->ops.ots_logical[at] = range->ots_logical;
        at++;
    }
}

/* Puts the implied reads of transaction t behind the rows of their sets. All of its operations end
 * at `end`, which they have to reach; returns where they begin. */
static uint32_t expand_transaction(const struct universe *universe, uint32_t t,
                                   struct history_range_run run, uint32_t end)
{
    struct iso_history *history = universe->history;
    uint32_t first = history->txns.first_op[t], tail = history->txns.first_op[t + 1];
    for (uint32_t i = run.end; i-- > run.first;) {
        const struct iso_range *range = &history->ranges.list[i];
        uint32_t behind = first + range->first + range->count;
        note_returned(universe, i);
        end -= tail - behind;
        move_operations(history, end, behind, tail - behind);
        end -= universe->implied[i];
        if (universe->implied[i])
            imply_reads(universe, i, end);
        tail = behind;
    }
    move_operations(history, end - (tail - first), first, tail - first);
    return end - (tail - first);
}

static void expand_all(struct universe *universe, uint32_t from, uint32_t total)
{
    struct iso_history *history = universe->history;
    uint32_t ranges = history->ranges.count, end = history->ops.count + total;
    iso_history_reserve_operations(history, total);
    for (uint32_t t = history->txns.count; t-- > from && ranges > universe->first_set;) {
        struct history_range_run run = {ranges, ranges};
        while (run.first > universe->first_set &&
               history->ranges.list[run.first - 1].transaction == t)
            run.first--;
        if (universe->own && run.first < run.end)
            take_keys_of(universe, t);
        uint32_t begins = expand_transaction(universe, t, run, end);
        history->txns.first_op[t + 1] = end;
        end = begins;
        ranges = run.first;
    }
    history->ops.count += total;
}

/* Where the sets stand now, with what was implied. */
static void place_ranges(const struct universe *universe)
{
    struct iso_history *history = universe->history;
    uint32_t before = 0;
    for (uint32_t i = universe->first_set; i < history->ranges.count; i++) {
        struct iso_range *range = &history->ranges.list[i];
        before =
            i > universe->first_set && range[-1].transaction == range->transaction ? before : 0;
        range->first += before;
        range->count += universe->implied[i];
        before += universe->implied[i];
    }
}

/* Adds the reads that the sets of transactions from `from` on imply. */
static void expand(struct universe *universe, uint32_t from)
{
    struct iso_history *history = universe->history;
    if (universe->first_set == history->ranges.count)
        return;
    universe->returned_by = iso_numbers_zero(history->keys.count);
    universe->implied = iso_numbers_zero(history->ranges.count);
    if (!universe->own)
        take_all_keys(universe);
    uint64_t total = count_implied(universe);
    if (total && total < UINT32_MAX - history->ops.count) {
        expand_all(universe, from, (uint32_t)total);
        place_ranges(universe);
    }
    ISO_FREE_ALL(universe->keys, universe->returned_by, universe->implied);
}

void history_expand_ranges(struct iso_history *history)
{
    struct universe universe = {.history = history};
    expand(&universe, 0);
}

void iso_history_imply_own(struct iso_history *history, uint32_t from)
{
    struct universe universe = {
        .history = history, .own = true, .first_set = history->ranges.count};
    while (universe.first_set && history->ranges.list[universe.first_set - 1].transaction >= from)
        universe.first_set--;
    expand(&universe, from);
}
