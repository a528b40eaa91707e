/* Ranges of a stream: which keys there are is not known when one arrives. What it says of keys that its own transaction
 * names (nothing was found there) is added as reads, as history_expand_ranges adds those of all keys: INT and EXT of one key
 * meet in them. Of all other keys the ranges' judge says it (rowsets/rowsets.h). */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "history/history_private.h"

struct own {
    struct iso_history *history;
    uint32_t first_set;    /* of all that are looked at */
    uint32_t *implied;     /* by set, from the first on: the reads that it gets */
    uint32_t *keys;        /* that one transaction names, in their order */
    uint32_t *returned_by; /* of each: 1 + the set that returned it last */
    uint32_t key_count, capacity;
};

static int compare_keys(const void *left, const void *right, void *context)
{
    const struct iso_history *history = context;
    return iso_atom_compare(&history->atoms, history->key_atom[*(const uint32_t *)left],
                            history->key_atom[*(const uint32_t *)right]);
}

static void find_keys(struct own *own, uint32_t t)
{
    const struct iso_history *history = own->history;
    uint32_t first = history->first_operation[t], count = history->first_operation[t + 1] - first;
    if (count > own->capacity) {
        own->capacity = count;
        own->keys = iso_reallocate(own->keys, (size_t)count * sizeof *own->keys);
        own->returned_by = iso_reallocate(own->returned_by, (size_t)count * sizeof *own->returned_by);
    }
    own->key_count = 0;
    if (!count)
        return;
    memcpy(own->keys, history->key + first, count * sizeof *own->keys);
    memset(own->returned_by, 0, count * sizeof *own->returned_by);
    qsort_r(own->keys, count, sizeof *own->keys, compare_keys, own->history);
    for (uint32_t i = 0; i < count; i++)
        if (!own->key_count || own->keys[own->key_count - 1] != own->keys[i])
            own->keys[own->key_count++] = own->keys[i];
}

/* How many of them stand before the key; `too`: itself counts, too. */
static uint32_t keys_before(const struct own *own, iso_atom key, bool too)
{
    const struct iso_history *history = own->history;
    uint32_t low = 0, high = own->key_count;
    ISO_BISECT(low, high, middle,
               iso_atom_compare(&history->atoms, history->key_atom[own->keys[middle]], key) < (int)too);
    return low;
}

struct keys {
    uint32_t first, end;
};

/* Those that the set covers, once it is noted which of them it returned. */
static struct keys note_returned(struct own *own, uint32_t number)
{
    const struct iso_history *history = own->history;
    const struct iso_range *set = &history->ranges.list[number];
    uint32_t first = history->first_operation[set->transaction] + set->first;
    for (uint32_t o = first; o < first + set->count; o++)
        own->returned_by[keys_before(own, history->key_atom[history->key[o]], false)] = number + 1;
    return (struct keys){set->from == ISO_ABSENT ? 0 : keys_before(own, set->from, false),
                         set->to == ISO_ABSENT ? own->key_count : keys_before(own, set->to, true)};
}

static uint32_t *implied_of(const struct own *own, uint32_t set)
{
    return &own->implied[set - own->first_set];
}

/* What the sets of transaction t get. */
static uint32_t count_implied(struct own *own, uint32_t t, struct history_range_run sets)
{
    uint32_t total = 0;
    find_keys(own, t);
    for (uint32_t i = sets.first; i < sets.end; i++) {
        const struct iso_range *set = &own->history->ranges.list[i];
        if (set->form != ISO_SET_RANGE || set->is_partial)
            continue;
        struct keys keys = note_returned(own, i);
        for (uint32_t k = keys.first; k < keys.end; k++)
            *implied_of(own, i) += own->returned_by[k] != i + 1;
        total += *implied_of(own, i);
    }
    return total;
}

static uint64_t count_all(struct own *own)
{
    struct iso_history *history = own->history;
    uint64_t total = 0;
    for (uint32_t i = own->first_set; i < history->ranges.count;) {
        uint32_t t = history->ranges.list[i].transaction;
        struct history_range_run sets = history_ranges_of(history, t, i, history->ranges.count);
        total += count_implied(own, t, sets);
        i = sets.end;
    }
    return total;
}

static void imply(struct own *own, uint32_t number, uint32_t at)
{
    struct iso_history *history = own->history;
    const struct iso_range *set = &history->ranges.list[number];
    struct keys keys = note_returned(own, number);
    for (uint32_t k = keys.first; k < keys.end; k++) {
        if (own->returned_by[k] == number + 1)
            continue;
        history->kind[at] = (uint8_t)(ISO_READ | set->kind);
        history->key[at] = own->keys[k];
        history->value[at] = ISO_ABSENT;
        if (history->ots)
            history->ots[at] = set->ots;
        if (history->ots_logical)
            history->ots_logical[at] = set->ots_logical;
        at++;
    }
}

/* All operations of transaction t end at `end`; where they begin. Backwards, since they move up. */
static uint32_t expand(struct own *own, uint32_t t, struct history_range_run sets, uint32_t end)
{
    struct iso_history *history = own->history;
    uint32_t first = history->first_operation[t], tail = history->first_operation[t + 1], moved = 0;
    if (sets.first < sets.end)
        find_keys(own, t);
    for (uint32_t i = sets.end; i-- > sets.first;) {
        const struct iso_range *set = &history->ranges.list[i];
        uint32_t behind = first + set->first + set->count, implied = *implied_of(own, i);
        end -= tail - behind;
        history_move_operations(history, end, behind, tail - behind);
        end -= implied;
        if (implied)
            imply(own, i, end);
        tail = behind;
    }
    history_move_operations(history, end - (tail - first), first, tail - first);
    for (uint32_t i = sets.first; i < sets.end; i++) {
        history->ranges.list[i].first += moved;
        history->ranges.list[i].count += *implied_of(own, i);
        moved += *implied_of(own, i);
    }
    return end - (tail - first);
}

static void expand_all(struct own *own, uint32_t from, uint32_t total)
{
    struct iso_history *history = own->history;
    uint32_t end = history->operation_count + total, sets = history->ranges.count;
    iso_history_reserve_operations(history, total);
    for (uint32_t t = history->transaction_count; t-- > from;) {
        struct history_range_run run = {sets, sets};
        while (run.first > own->first_set && history->ranges.list[run.first - 1].transaction == t)
            run.first--;
        uint32_t begins = expand(own, t, run, end);
        history->first_operation[t + 1] = end;
        end = begins;
        sets = run.first;
    }
    history->operation_count += total;
}

void iso_history_imply_own(struct iso_history *history, uint32_t from)
{
    struct own own = {.history = history, .first_set = history->ranges.count};
    while (own.first_set && history->ranges.list[own.first_set - 1].transaction >= from)
        own.first_set--;
    if (own.first_set == history->ranges.count)
        return;
    own.implied = iso_allocate_zeroed(history->ranges.count - own.first_set, sizeof *own.implied);
    uint64_t total = count_all(&own);
    if (total && total < UINT32_MAX - history->operation_count)
        expand_all(&own, from, (uint32_t)total);
    iso_free(own.keys);
    iso_free(own.returned_by);
    iso_free(own.implied);
}
