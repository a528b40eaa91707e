/* Final writes, sorted: who left a value in a register, or appended an element to a list. */
#include <assert.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/sorted.h"
#include "verify/verify_private.h"

/* The order of one key's items. */
ISO_ORDER_BY_TWO(compare_finals, struct final, value, transaction)

/* By key: the last write of a transaction, 1 + its operation; those of others come before its
 * first. */
static void note_last(const struct iso_history *history, uint32_t t, uint32_t *last)
{
    ISO_EACH(o, history->txns.first_op, t) {
        if (iso_kind_writes(history->ops.kind[o]))
            last[history->ops.key[o]] = o + 1;
    }
}

static void add_finals(struct finals *finals, uint32_t t, const uint32_t *last)
{
    const struct iso_history *history = finals->history;
    ISO_EACH(o, history->txns.first_op, t) {
        if (iso_kind_writes(history->ops.kind[o]) &&
            (iso_kind_of(history, o) == ISO_APPEND ||
             history->ops.value[last[history->ops.key[o]] - 1] == history->ops.value[o]))
            finals->items[finals->count++] =
                (struct final){history->ops.key[o], history->ops.value[o], t};
    }
}

static void find_initial(struct finals *finals)
{
    const struct iso_history *history = finals->history;
    finals->initial_value =
        iso_allocate(((size_t)history->keys.count + 1) * sizeof *finals->initial_value);
    finals->initial_length =
        iso_allocate_zeroed((size_t)history->keys.count + 1, sizeof *finals->initial_length);
    for (uint32_t key = 0; key < history->keys.count; key++)
        finals->initial_value[key] = history->initial.other_value;
    for (uint32_t i = 0; i < history->initial.count; i++) {
        finals->initial_value[history->initial.key[i]] = history->initial.value[i];
        finals->initial_length[history->initial.key[i]] += history->initial.is_append[i];
    }
}

/* By key first, in one pass, then those of each key. */
static void sort(struct finals *finals)
{
    uint32_t keys = finals->history->keys.count,
             *at = iso_allocate_zeroed((size_t)keys + 2, sizeof *at);
    struct final *sorted = iso_allocate(((size_t)finals->count + 1) * sizeof *sorted);
    for (uint32_t i = 0; i < finals->count; i++)
        at[finals->items[i].key + 2]++;
    for (uint32_t key = 0; key < keys; key++)
        at[key + 2] += at[key + 1];
    for (uint32_t i = 0; i < finals->count; i++)
        sorted[at[finals->items[i].key + 1]++] = finals->items[i];
    for (uint32_t key = 0; key < keys; key++) {
        if (at[key + 1] > at[key])
            qsort(sorted + at[key], at[key + 1] - at[key], sizeof *sorted, compare_finals);
    }
    iso_free(finals->items);
    finals->items = sorted;
    finals->first = at;
}

static void collect_finals(struct finals *finals, const struct iso_history *history, bool aborted)
{
    uint32_t *last = iso_allocate_zeroed((size_t)history->keys.count + 1, sizeof *last);
    *finals = (struct finals){.history = history};
    finals->items = iso_allocate(((size_t)history->ops.count + 1) * sizeof *finals->items);
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if ((iso_status_of(history, t) == ISO_ABORTED) != aborted)
            continue;
        note_last(history, t, last);
        add_finals(finals, t, last);
    }
    sort(finals);
    find_initial(finals);
    iso_free(last);
}

void finals_init(struct finals *finals, const struct iso_history *history)
{
    collect_finals(finals, history, false);
}

void finals_init_aborted(struct finals *finals, const struct iso_history *history)
{
    collect_finals(finals, history, true);
}

void finals_release(struct finals *finals)
{
    ISO_FREE_ALL(finals->items, finals->first, finals->initial_value, finals->initial_length);
    *finals = (struct finals){0};
}

uint32_t finals_of_key(const struct finals *finals, uint32_t key, uint32_t *end)
{
    bool known = key < finals->history->keys.count;
    *end = known ? finals->first[key + 1] : finals->count;
    return known ? finals->first[key] : finals->count;
}

/* Where one stands, or would. */
static uint32_t position_of(const struct finals *finals, struct final wanted)
{
    uint32_t high, low = finals_of_key(finals, wanted.key, &high);
    ISO_BISECT(low, high, middle, compare_finals(&finals->items[middle], &wanted) < 0);
    return low;
}

uint32_t finals_find(const struct finals *finals, uint32_t key, uint32_t value, uint32_t *end)
{
    uint32_t first = position_of(finals, (struct final){key, value, 0}), high, low = first;
    finals_of_key(finals, key, &high);
    if (low < high && finals->items[low].value == value) { /* mostly it is the only one */
        low++;
        if (low < high && finals->items[low].value == value)
            ISO_BISECT(low, high, middle, finals->items[middle].value == value);
    }
    *end = low;
    return first;
}

bool finals_has(const struct finals *finals, uint32_t key, uint32_t value, uint32_t transaction)
{
    assert(key < finals->history->keys.count);
    struct final wanted = {key, value, transaction};
    uint32_t end, at = position_of(finals, wanted);
    finals_of_key(finals, key, &end);
    return at < end && compare_finals(&finals->items[at], &wanted) == 0;
}
