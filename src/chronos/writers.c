#define _GNU_SOURCE
#include "chronos/writers.h"
#include "base/hash.h"

#include <stdlib.h>

/* One write of a pair, while they are collected. */
struct occurrence {
    uint32_t group; /* pair * WRITER_CLASSES + class */
    uint32_t transaction;
};

struct occurrences {
    struct occurrence *items;
    size_t count, capacity;
};

/* ---- pairs ---- */

void writers_init(struct writers *writers, const struct iso_history *history)
{
    enum { SLOTS = 256 };
    *writers = (struct writers){.history = history, .slot_mask = SLOTS - 1};
    writers->pairs = iso_allocate(SLOTS * sizeof *writers->pairs);
    writers->numbers = iso_allocate_zeroed(SLOTS, sizeof *writers->numbers);
    writers->key_bits = iso_allocate_zeroed((size_t)history->key_count / 64 + 1, sizeof *writers->key_bits);
}

void writers_release(struct writers *writers)
{
    iso_free(writers->pairs);
    iso_free(writers->numbers);
    iso_free(writers->key_bits);
    iso_free(writers->first);
    iso_free(writers->transactions);
}

static uint32_t slot_of(const struct writers *writers, uint64_t pair)
{
    uint32_t slot = (uint32_t)iso_hash_number(pair) & writers->slot_mask;
    while (writers->numbers[slot] && writers->pairs[slot] != pair)
        slot = (slot + 1) & writers->slot_mask;
    return slot;
}

static void grow_writers(struct writers *writers)
{
    struct writers old = *writers;
    size_t slots = ((size_t)old.slot_mask + 1) * 2;
    writers->slot_mask = (uint32_t)(slots - 1);
    writers->pairs = iso_allocate(slots * sizeof *writers->pairs);
    writers->numbers = iso_allocate_zeroed(slots, sizeof *writers->numbers);
    for (size_t i = 0; i <= old.slot_mask; i++) {
        if (!old.numbers[i])
            continue;
        uint32_t slot = slot_of(writers, old.pairs[i]);
        writers->pairs[slot] = old.pairs[i];
        writers->numbers[slot] = old.numbers[i];
    }
    iso_free(old.pairs);
    iso_free(old.numbers);
}

void writers_need(struct writers *writers, uint32_t key, iso_atom value)
{
    uint64_t pair = (uint64_t)key << 32 | value;
    uint32_t slot = slot_of(writers, pair);
    if (writers->numbers[slot])
        return;
    writers->pairs[slot] = pair;
    writers->numbers[slot] = ++writers->pair_count;
    writers->key_bits[key / 64] |= (uint64_t)1 << key % 64;
    if (writers->pair_count > writers->slot_mask / 4 * 3)
        grow_writers(writers);
}

/* ---- their writers ---- */

static enum writer_class class_of(uint8_t status, bool is_final)
{
    if (status == ISO_ABORTED)
        return WRITER_ABORTED;
    if (status == ISO_UNKNOWN)
        return is_final ? WRITER_UNKNOWN : WRITER_UNKNOWN_LOST;
    return is_final ? WRITER_FINAL : WRITER_INTERMEDIATE;
}

static void add_writer(struct occurrences *found, struct occurrence occurrence)
{
    if (found->count == found->capacity) {
        size_t next = iso_column_capacity(found->capacity, found->count + 1);
        found->items =
            iso_column_grow(found->items, found->capacity * sizeof *found->items, next * sizeof *found->items);
        found->capacity = next;
    }
    found->items[found->count++] = occurrence;
}

/* All appends of a transaction are final; of its writes of a key, those of the last value. */
static void look_at_run(const struct writers *writers, struct occurrences *found, uint32_t transaction,
                        const uint64_t *run, uint32_t count)
{
    const struct iso_history *history = writers->history;
    uint32_t key = chronos_key_of(run[0]), last = history->value[chronos_operation_of(run[count - 1])];
    bool list = iso_key_is_list(history, key);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = history->value[chronos_operation_of(run[i])];
        bool is_final = list || value == last;
        uint32_t pair = writers->numbers[slot_of(writers, (uint64_t)key << 32 | value)];
        if (!pair || (!list && is_final && i + 1 < count))
            continue; /* the same value once more: the last one stands for it */
        add_writer(found, (struct occurrence){(pair - 1) * WRITER_CLASSES +
                                                  class_of(iso_status_of(history, transaction), is_final),
                                              transaction});
    }
}

static void look_at_transaction(const struct writers *writers, struct occurrences *found, uint64_t *sorted,
                                uint32_t transaction)
{
    const struct iso_history *history = writers->history;
    uint32_t count = 0;
    for (uint32_t o = history->first_operation[transaction]; o < history->first_operation[transaction + 1]; o++) {
        uint32_t key = history->key[o];
        if ((writers->key_bits[key / 64] >> key % 64 & 1) && iso_kind_writes(history->kind[o]))
            sorted[count++] = (uint64_t)key << 32 | o;
    }
    chronos_sort_numbers(sorted, count);
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && chronos_key_of(sorted[end]) == chronos_key_of(sorted[i]);)
            end++;
        look_at_run(writers, found, transaction, sorted + i, end - i);
    }
}

/* Counting sort by pair and class. */
static void group_occurrences(struct writers *writers, const struct occurrences *found)
{
    size_t groups = (size_t)writers->pair_count * WRITER_CLASSES;
    uint32_t *first = iso_allocate_zeroed(groups + 2, sizeof *first);
    writers->transactions = iso_allocate((found->count + 1) * sizeof *writers->transactions);
    writers->transaction_count = (uint32_t)found->count;
    for (size_t i = 0; i < found->count; i++)
        first[found->items[i].group + 2]++;
    for (size_t group = 0; group < groups; group++)
        first[group + 2] += first[group + 1];
    for (size_t i = 0; i < found->count; i++)
        writers->transactions[first[found->items[i].group + 1]++] = found->items[i].transaction;
    writers->first = first;
}

/* ---- order within a class ---- */

struct order {
    const struct iso_history *history;
    uint32_t key;
};

static int by_tid(const void *left, const void *right, void *context)
{
    const struct iso_history *history = ((const struct order *)context)->history;
    return iso_atom_compare(&history->atoms, history->tid[*(const uint32_t *)left],
                            history->tid[*(const uint32_t *)right]);
}

static uint64_t first_bound(const struct iso_history *history, uint32_t transaction, uint32_t key)
{
    uint32_t o = history->first_operation[transaction];
    if (!(history->flags[transaction] & ISO_OWN_TIMES))
        return history->sts[transaction] + 1;
    while (history->key[o] != key || !iso_kind_writes(history->kind[o]))
        o++;
    return chronos_bound(history, transaction, o);
}

/* cts, then the bound of the first write, then tid. */
static int by_version(const void *left, const void *right, void *context)
{
    const struct order *order = context;
    const struct iso_history *history = order->history;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (a == b)
        return 0;
    if (history->cts[a] != history->cts[b])
        return history->cts[a] < history->cts[b] ? -1 : 1;
    uint64_t a_bound = first_bound(history, a, order->key), b_bound = first_bound(history, b, order->key);
    if (a_bound != b_bound)
        return a_bound < b_bound ? -1 : 1;
    return by_tid(left, right, context);
}

/* Without sts first: it may have started any time. */
static int by_start(const void *left, const void *right, void *context)
{
    const struct iso_history *history = ((const struct order *)context)->history;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    bool a_has = history->flags[a] & ISO_HAS_STS, b_has = history->flags[b] & ISO_HAS_STS;
    if (a_has && b_has && history->sts[a] != history->sts[b])
        return history->sts[a] < history->sts[b] ? -1 : 1;
    return a_has != b_has ? a_has - b_has : by_tid(left, right, context);
}

static void sort_classes(struct writers *writers, uint32_t pair, uint32_t key)
{
    struct order order = {writers->history, key};
    for (uint32_t class = 0; class < WRITER_CLASSES; class ++) {
        const uint32_t *span = writers->first + (size_t)pair * WRITER_CLASSES + class;
        if (span[1] - span[0] > 1)
            qsort_r(writers->transactions + span[0], span[1] - span[0], sizeof *writers->transactions,
                    class == WRITER_FINAL     ? by_version
                    : class == WRITER_UNKNOWN ? by_start
                                              : by_tid,
                    &order);
    }
}

void writers_find(struct writers *writers, struct chronos_shard *shard)
{
    struct occurrences found = {0};
    for (uint32_t t = 0; t < writers->history->transaction_count; t++)
        look_at_transaction(writers, &found, shard->sorted, t);
    group_occurrences(writers, &found);
    iso_column_free(found.items, found.capacity * sizeof *found.items);
    for (size_t slot = 0; slot <= writers->slot_mask; slot++) {
        if (writers->numbers[slot])
            sort_classes(writers, writers->numbers[slot] - 1, (uint32_t)(writers->pairs[slot] >> 32));
    }
}

struct writer_span writers_of(const struct writers *writers, uint32_t key, iso_atom value, enum writer_class class)
{
    uint32_t pair = writers->numbers[slot_of(writers, (uint64_t)key << 32 | value)];
    const uint32_t *span = writers->first + (size_t)(pair - 1) * WRITER_CLASSES + class;
    return (struct writer_span){writers->transactions + span[0], span[1] - span[0]};
}
