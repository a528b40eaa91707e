/* Row sets: a range of keys, the rows that were found, and all the others, which were found to be absent. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "history/history_private.h"

enum { MOST_IMPLIED = 1u << 28 }; /* reads that row sets add to a history */

/* ---- building ---- */

void iso_history_range(struct iso_history *history, const struct iso_range *range, uint32_t rows)
{
    uint32_t transaction = history->transaction_count - 1, at = history->ranges.count++;
    ISO_RESERVE_COLUMN(history->ranges.list, (size_t)at + 1, history->ranges.capacity);
    history->ranges.list[at] = *range;
    history->ranges.list[at].transaction = transaction;
    history->ranges.list[at].first = history->operation_count - history->first_operation[transaction] - rows;
    history->ranges.list[at].count = history->ranges.list[at].rows = rows;
    if (!range->kind)
        return;
    history->flags[transaction] |= ISO_OWN_TIMES;
    if (range->kind & (ISO_OPERATION_OTS | ISO_OPERATION_SNAPSHOT))
        history_need_operation_column(history, &history->ots);
    if (history->clock == ISO_CLOCK_PAIR && range->kind & ISO_OPERATION_OTS)
        history_need_operation_column(history, &history->ots_logical);
    for (uint32_t o = history->operation_count - rows; o < history->operation_count; o++) {
        history->kind[o] |= range->kind;
        if (history->ots)
            history->ots[o] = range->ots;
        if (history->ots_logical)
            history->ots_logical[o] = range->ots_logical;
    }
}

void history_append_ranges(struct iso_history *history, const struct iso_history *block, const iso_atom *atoms)
{
    if (!block->ranges.count)
        return;
    ISO_RESERVE_COLUMN(history->ranges.list, (size_t)history->ranges.count + block->ranges.count,
                       history->ranges.capacity);
    for (uint32_t i = 0; i < block->ranges.count; i++) {
        struct iso_range range = block->ranges.list[i];
        range.transaction += history->transaction_count;
        range.from = history_translate(atoms, range.from);
        range.to = history_translate(atoms, range.to);
        range.table = history_translate(atoms, range.table);
        range.where = history_translate(atoms, range.where);
        range.returned = history_translate(atoms, range.returned);
        if (range.kind & ISO_OPERATION_SNAPSHOT)
            range.ots += history->snapshot_count;
        history->ranges.list[history->ranges.count++] = range;
    }
}

struct history_range_run history_ranges_of(const struct iso_history *history, uint32_t transaction, uint32_t low,
                                           uint32_t high)
{
    uint32_t end = high;
    ISO_BISECT(low, high, middle, history->ranges.list[middle].transaction < transaction);
    while (high < end && history->ranges.list[high].transaction == transaction)
        high++;
    return (struct history_range_run){low, high};
}

static bool same_range(const struct iso_history *history, const struct iso_range *a, const struct iso_range *b)
{
    if (a->first != b->first || a->count != b->count || a->from != b->from || a->to != b->to || a->kind != b->kind ||
        a->is_partial != b->is_partial || a->form != b->form || a->table != b->table || a->where != b->where ||
        a->returned != b->returned)
        return false;
    if (a->kind & ISO_OPERATION_SNAPSHOT)
        return history_same_snapshot(history, a->ots, b->ots);
    return a->ots == b->ots && a->ots_logical == b->ots_logical;
}

bool history_same_ranges(const struct iso_history *history, struct history_range_run a, struct history_range_run b)
{
    if (a.end - a.first != b.end - b.first)
        return false;
    for (uint32_t i = 0; i < a.end - a.first; i++)
        if (!same_range(history, &history->ranges.list[a.first + i], &history->ranges.list[b.first + i]))
            return false;
    return true;
}

enum iso_status iso_history_refuse_ranges(const struct iso_history *history, const char *expected,
                                          struct iso_error *error)
{
    char location[512];
    uint32_t number = 0;
    while (number < history->ranges.count && history->ranges.list[number].form != ISO_SET_RANGE)
        number++;
    if (number == history->ranges.count)
        return ISO_OK;
    iso_history_location_text(history, history->ranges.list[number].transaction, location, sizeof location);
    return iso_error_set(error, ISO_BAD_INPUT, "%s: a row set without \"table\", expected %s", location, expected);
}

bool iso_history_has_queries(const struct iso_history *history)
{
    for (uint32_t i = 0; i < history->ranges.count; i++)
        if (history->ranges.list[i].form == ISO_SET_QUERY)
            return true;
    return false;
}

bool iso_history_leaves_queries(const struct iso_history *history)
{
    return iso_history_has_queries(history) && (!history->ranges.are_implied || history->ranges.not_implied);
}

uint32_t iso_history_sets_of(const struct iso_history *history, uint32_t transaction, uint32_t *end)
{
    struct history_range_run run = history_ranges_of(history, transaction, 0, history->ranges.count);
    *end = run.end;
    return run.first;
}

const struct iso_range *iso_history_set_of(const struct iso_history *history, uint32_t operation)
{
    if (!history->ranges.count)
        return NULL;
    uint32_t transaction = iso_history_owner(history, operation);
    uint32_t at = operation - history->first_operation[transaction];
    struct history_range_run run = history_ranges_of(history, transaction, 0, history->ranges.count);
    for (uint32_t i = run.first; i < run.end; i++)
        if (at - history->ranges.list[i].first < history->ranges.list[i].count)
            return &history->ranges.list[i];
    return NULL;
}

bool iso_history_in_range(const struct iso_history *history, uint32_t operation, bool *is_row)
{
    const struct iso_range *range = iso_history_set_of(history, operation);
    if (!range || range->form == ISO_SET_ROW)
        return false;
    *is_row = operation - history->first_operation[range->transaction] - range->first < range->rows;
    return true;
}

uint32_t iso_history_step(const struct iso_history *history, uint32_t transaction, uint32_t operation)
{
    uint32_t at = operation - history->first_operation[transaction], step = at;
    struct history_range_run run = history_ranges_of(history, transaction, 0, history->ranges.count);
    for (uint32_t i = run.first; i < run.end && history->ranges.list[i].first <= at; i++) {
        const struct iso_range *range = &history->ranges.list[i];
        bool inside = at - range->first < range->count;
        step -= inside ? at - range->first : range->count - 1; /* of an empty set: + 1 */
    }
    return step;
}

uint32_t iso_history_set_step(const struct iso_history *history, const struct iso_range *set)
{
    uint32_t step = set->first;
    for (const struct iso_range *range = set; range > history->ranges.list; step -= range->count - 1)
        if ((--range)->transaction != set->transaction)
            break;
    return step;
}

/* ---- finishing ---- */

/* All keys in their order, and which of them a row set has returned. */
struct universe {
    struct iso_history *history;
    uint32_t *keys;
    uint32_t *returned_by; /* by key: 1 + the row set that returned it last */
    uint32_t *implied;     /* by row set: the reads that it gets */
};

static int compare_keys(const void *left, const void *right, void *context)
{
    const struct iso_history *history = context;
    return iso_atom_compare(&history->atoms, history->key_atom[*(const uint32_t *)left],
                            history->key_atom[*(const uint32_t *)right]);
}

/* How many keys stand before the bound; `too`: the bound itself counts, too. */
static uint32_t keys_before(const struct universe *universe, iso_atom bound, bool too)
{
    const struct iso_history *history = universe->history;
    uint32_t low = 0, high = history->key_count;
    ISO_BISECT(low, high, middle,
               iso_atom_compare(&history->atoms, history->key_atom[universe->keys[middle]], bound) < too);
    return low;
}

static uint32_t range_start(const struct universe *universe, const struct iso_range *range)
{
    return range->from == ISO_ABSENT ? 0 : keys_before(universe, range->from, false);
}

static uint32_t range_end(const struct universe *universe, const struct iso_range *range)
{
    return range->to == ISO_ABSENT ? universe->history->key_count : keys_before(universe, range->to, true);
}

/* Notes what the row set returned. */
static void note_returned(const struct universe *universe, uint32_t number)
{
    const struct iso_history *history = universe->history;
    const struct iso_range *range = &history->ranges.list[number];
    uint32_t first = history->first_operation[range->transaction] + range->first;
    for (uint32_t o = first; o < first + range->count; o++)
        universe->returned_by[history->key[o]] = number + 1;
}

static uint64_t count_implied(const struct universe *universe)
{
    struct iso_history *history = universe->history;
    uint32_t limit = history->ranges.limit ? history->ranges.limit : ISO_SCAN_LIMIT;
    uint64_t total = 0;
    for (uint32_t i = 0; i < history->ranges.count; i++) {
        struct iso_range *range = &history->ranges.list[i];
        uint32_t start = range_start(universe, range), end = range_end(universe, range);
        if (range->form != ISO_SET_RANGE || range->is_partial ||
            iso_status_of(history, range->transaction) != ISO_COMMITTED)
            continue;
        range->is_skipped = end - start > limit || total + (end - start) > MOST_IMPLIED;
        history->ranges.skipped += range->is_skipped;
        if (range->is_skipped)
            continue;
        note_returned(universe, i);
        for (uint32_t k = start; k < end; k++)
            universe->implied[i] += universe->returned_by[universe->keys[k]] != i + 1;
        total += universe->implied[i];
    }
    return total;
}

void history_move_operations(struct iso_history *history, uint32_t to, uint32_t from, uint32_t count)
{
    memmove(history->kind + to, history->kind + from, count * sizeof *history->kind);
    memmove(history->key + to, history->key + from, count * sizeof *history->key);
    memmove(history->value + to, history->value + from, count * sizeof *history->value);
    if (history->ots)
        memmove(history->ots + to, history->ots + from, count * sizeof *history->ots);
    if (history->ots_logical)
        memmove(history->ots_logical + to, history->ots_logical + from, count * sizeof *history->ots_logical);
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
        history->kind[at] = (uint8_t)(ISO_READ | range->kind);
        history->key[at] = universe->keys[k];
        history->value[at] = ISO_ABSENT;
        if (history->ots)
            history->ots[at] = range->ots;
        if (history->ots_logical)
            history->ots_logical[at] = range->ots_logical;
        at++;
    }
}

/* Puts the implied reads of transaction t behind the rows of their sets. All of its operations end at `end`, which they
 * have to reach; returns where they begin. */
static uint32_t expand_transaction(const struct universe *universe, uint32_t t, struct history_range_run run,
                                   uint32_t end)
{
    struct iso_history *history = universe->history;
    uint32_t first = history->first_operation[t], tail = history->first_operation[t + 1];
    for (uint32_t i = run.end; i-- > run.first;) {
        const struct iso_range *range = &history->ranges.list[i];
        uint32_t behind = first + range->first + range->count;
        note_returned(universe, i);
        end -= tail - behind;
        history_move_operations(history, end, behind, tail - behind);
        end -= universe->implied[i];
        if (universe->implied[i])
            imply_reads(universe, i, end);
        tail = behind;
    }
    history_move_operations(history, end - (tail - first), first, tail - first);
    return end - (tail - first);
}

static void expand_all(const struct universe *universe, uint32_t total)
{
    struct iso_history *history = universe->history;
    uint32_t ranges = history->ranges.count, end = history->operation_count + total;
    iso_history_reserve_operations(history, total);
    for (uint32_t t = history->transaction_count; t-- > 0 && ranges;) {
        struct history_range_run run = {ranges, ranges};
        while (run.first && history->ranges.list[run.first - 1].transaction == t)
            run.first--;
        uint32_t begins = expand_transaction(universe, t, run, end);
        history->first_operation[t + 1] = end;
        end = begins;
        ranges = run.first;
    }
    history->operation_count += total;
}

/* Where the sets stand now, with what was implied. */
static void place_ranges(const struct universe *universe)
{
    struct iso_history *history = universe->history;
    uint32_t before = 0;
    for (uint32_t i = 0; i < history->ranges.count; i++) {
        struct iso_range *range = &history->ranges.list[i];
        before = i && range[-1].transaction == range->transaction ? before : 0;
        range->first += before;
        range->count += universe->implied[i];
        before += universe->implied[i];
    }
}

void history_expand_ranges(struct iso_history *history)
{
    struct universe universe = {.history = history};
    if (!history->ranges.count)
        return;
    universe.keys = iso_allocate(((size_t)history->key_count + 1) * sizeof *universe.keys);
    universe.returned_by = iso_allocate_zeroed((size_t)history->key_count + 1, sizeof *universe.returned_by);
    universe.implied = iso_allocate_zeroed(history->ranges.count, sizeof *universe.implied);
    for (uint32_t key = 0; key < history->key_count; key++)
        universe.keys[key] = key;
    qsort_r(universe.keys, history->key_count, sizeof *universe.keys, compare_keys, history);
    uint64_t total = count_implied(&universe);
    if (total)
        expand_all(&universe, (uint32_t)total);
    place_ranges(&universe);
    iso_free(universe.keys);
    iso_free(universe.returned_by);
    iso_free(universe.implied);
}
