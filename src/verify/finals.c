/* Final writes, sorted: who left a value in a register, or appended an element to a list. */
#include <stdlib.h>

#include "verify/verify_private.h"

static int compare_finals(const void *left, const void *right)
{
    const struct final *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return (a->transaction > b->transaction) - (a->transaction < b->transaction);
}

void finals_init(struct finals *finals, const struct iso_history *history)
{
    *finals = (struct finals){.history = history};
    finals->items = iso_allocate(((size_t)history->operation_count + 1) * sizeof *finals->items);
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        if (iso_status_of(history, t) == ISO_ABORTED)
            continue;
        for (uint32_t o = history->first_operation[t]; o < history->first_operation[t + 1]; o++) {
            uint32_t value;
            if (!iso_kind_writes(history->kind[o]))
                continue;
            bool list = iso_kind_of(history, o) == ISO_APPEND;
            if (!list && (!verify_final_write(history, t, history->key[o], &value) || value != history->value[o]))
                continue;
            finals->items[finals->count++] = (struct final){history->key[o], history->value[o], t};
        }
    }
    if (finals->count)
        qsort(finals->items, finals->count, sizeof *finals->items, compare_finals);
}

void finals_release(struct finals *finals)
{
    iso_free(finals->items);
    *finals = (struct finals){0};
}

uint32_t finals_find(const struct finals *finals, uint32_t key, uint32_t value, uint32_t *end)
{
    uint32_t low = 0, high = finals->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct final *final = &finals->items[middle];
        if (final->key < key || (final->key == key && final->value < value))
            low = middle + 1;
        else
            high = middle;
    }
    *end = low;
    while (*end < finals->count && finals->items[*end].key == key && finals->items[*end].value == value)
        ++*end;
    return low;
}
