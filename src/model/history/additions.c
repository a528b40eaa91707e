#define _GNU_SOURCE
#include "history/additions.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "history/history_private.h"

void history_additions_put(struct history_additions *additions, struct history_addition addition)
{
    ISO_GROW(additions->list, additions->count, additions->capacity);
    additions->list[additions->count++] = addition;
}

void history_additions_release(struct history_additions *additions)
{
    iso_free(additions->list);
    *additions = (struct history_additions){0};
}

ISO_ORDER_BY_TWO(compare, struct history_addition, transaction, key)

static void copy(struct iso_history *history, uint32_t to, uint32_t from)
{
    history->kind[to] = history->kind[from];
    history->key[to] = history->key[from];
    history->value[to] = history->value[from];
    if (history->ots)
        history->ots[to] = history->ots[from];
}

static void put(struct iso_history *history, uint32_t to, const struct history_addition *addition,
                uint8_t moment, uint64_t ots)
{
    history->kind[to] = (uint8_t)(addition->kind | moment);
    history->key[to] = addition->key;
    history->value[to] = addition->value;
    if (history->ots)
        history->ots[to] = ots;
}

/* From the last transaction to the first, since operations move up. Moments are looked up before
 * what has them moves. */
void history_add(struct iso_history *history, struct history_additions *additions)
{
    assert(history->finished);
    uint32_t left = additions->count, end = history->operation_count + left;
    if (!left)
        return;
    qsort(additions->list, left, sizeof *additions->list, compare);
    iso_history_reserve_operations(history, left);
    for (uint32_t t = history->transaction_count; t-- > 0 && left;) {
        uint32_t first = history->first_operation[t], o = history->first_operation[t + 1];
        history->first_operation[t + 1] = end;
        for (; left && additions->list[left - 1].transaction == t; left--) {
            const struct history_addition *addition = &additions->list[left - 1];
            uint8_t moment =
                addition->like == ISO_NONE ? 0 : history->kind[addition->like] & ~ISO_KIND_MASK;
            put(history, --end, addition, moment,
                addition->like == ISO_NONE || !history->ots ? 0 : history->ots[addition->like]);
            history->key_use[addition->key] |= ISO_KEY_SCALAR;
        }
        while (o > first)
            copy(history, --end, --o);
    }
    history->operation_count += additions->count;
}
