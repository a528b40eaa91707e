#include "history/additions.h"

#include <assert.h>

#include "base/memory.h"
#include "base/radix.h"
#include "history/history_private.h"

void history_additions_put(struct history_additions *additions, struct history_addition addition)
{
    ISO_APPEND(*additions, addition);
}

void history_additions_release(struct history_additions *additions)
{
    iso_free(additions->list);
    *additions = (struct history_additions){0};
}

/* By transaction and operation, and else as they were put. */
static uint32_t *order_of(const struct iso_history *history,
                          const struct history_additions *additions)
{
    struct iso_radix items = iso_radix_allocate(additions->count);
    for (uint32_t i = 0; i < additions->count; i++) {
        const struct history_addition *addition = &additions->list[i];
        uint32_t end = history->ops.count;
        items.keys[i] = (uint64_t)addition->transaction * ((uint64_t)end + 1) +
                        (addition->before < end ? addition->before : end);
        items.payloads[i] = i;
    }
    return iso_radix_order(items, additions->count);
}

static void copy(struct iso_history *history, uint32_t to, uint32_t from)
{
    history->ops.kind[to] = history->ops.kind[from];
    history->ops.key[to] = history->ops.key[from];
    history->ops.value[to] = history->ops.value[from];
    if (history->ops.ots)
        history->ops.ots[to] = history->ops.ots[from];
}

static void put(struct iso_history *history, uint32_t to, const struct history_addition *addition,
                uint8_t moment, uint64_t ots)
{
    history->ops.kind[to] = (uint8_t)(addition->kind | moment);
    history->ops.key[to] = addition->key;
    history->ops.value[to] = addition->value;
    if (history->ops.ots)
        history->ops.ots[to] = ots;
}

/* Sets stand behind what was put in front of them. */
static void move_sets(struct iso_history *history, const struct history_additions *additions,
                      const uint32_t *order)
{
    uint32_t next = 0, moved = 0;
    for (uint32_t i = 0; i < history->ranges.count; i++) {
        struct iso_range *set = &history->ranges.list[i];
        if (!i || set[-1].transaction != set->transaction)
            moved = 0;
        uint32_t at = history->txns.first_op[set->transaction] + set->first;
        for (; next < additions->count; next++) {
            const struct history_addition *addition = &additions->list[order[next]];
            if (addition->transaction > set->transaction ||
                (addition->transaction == set->transaction && addition->before > at))
                break;
            moved += addition->transaction == set->transaction;
        }
        set->first += moved;
    }
}

/* From the last transaction to the first, since operations move up. Moments are looked up before
 * what has them moves. */
void history_add(struct iso_history *history, struct history_additions *additions)
{
    assert(history->finished);
    uint32_t left = additions->count, end = history->ops.count + left;
    if (!left)
        return;
    uint32_t *order = order_of(history, additions);
    move_sets(history, additions, order);
    iso_history_reserve_operations(history, left);
    for (uint32_t t = history->txns.count; t-- > 0 && left;) {
        uint32_t first = history->txns.first_op[t], o = history->txns.first_op[t + 1];
        history->txns.first_op[t + 1] = end;
        for (; left && additions->list[order[left - 1]].transaction == t; left--) {
            const struct history_addition *addition = &additions->list[order[left - 1]];
            uint8_t moment =
                addition->like == ISO_NONE ? 0 : history->ops.kind[addition->like] & ~ISO_KIND_MASK;
            uint64_t ots = addition->like == ISO_NONE || !history->ops.ots
                               ? 0
                               : history->ops.ots[addition->like];
            assert(addition->like == ISO_NONE || addition->before == ISO_NONE);
            while (addition->before != ISO_NONE && o > addition->before)
                copy(history, --end, --o);
            put(history, --end, addition, moment, ots);
            history->keys.use[addition->key] |= ISO_KEY_SCALAR;
        }
        while (o > first)
            copy(history, --end, --o);
    }
    history->ops.count += additions->count;
    iso_free(order);
}
