#define _GNU_SOURCE
#include "chronos/writers.h"

#include <assert.h>
#include <stdlib.h>

#include "base/numbers.h"

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
    *writers = (struct writers){.history = history};
    writers->key_bits =
        iso_allocate_zeroed((size_t)history->keys.count / 64 + 1, sizeof *writers->key_bits);
}

void writers_release(struct writers *writers)
{
    iso_number_map_release(&writers->pairs);
    ISO_FREE_ALL(writers->key_bits, writers->first, writers->transactions);
}

void writers_need(struct writers *writers, uint32_t key, iso_atom value)
{
    assert(!writers->first && key < writers->history->keys.count);
    iso_number_map_add(&writers->pairs, iso_number_pair(key, value), writers->pairs.count);
    writers->key_bits[key / 64] |= (uint64_t)1 << key % 64;
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
    ISO_PUSH_COLUMN(found->items, found->count, found->capacity, occurrence);
}

/* All appends of a transaction are final; of its writes of a key, those of the last value. */
static void find_in_run(const struct writers *writers, struct occurrences *found,
                        uint32_t transaction, const uint64_t *run, uint32_t count)
{
    assert(count);
    const struct iso_history *history = writers->history;
    uint32_t key = chronos_key_of(run[0]),
             last = history->ops.value[chronos_operation_of(run[count - 1])];
    bool list = iso_key_is_list(history, key);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = history->ops.value[chronos_operation_of(run[i])];
        bool is_final = list || value == last;
        uint32_t pair = iso_number_map_get(&writers->pairs, iso_number_pair(key, value));
        if (pair == ISO_NONE || (!list && is_final && i + 1 < count))
            continue; /* the same value once more: the last one stands for it */
        add_writer(found,
                   (struct occurrence){pair * WRITER_CLASSES +
                                           class_of(iso_status_of(history, transaction), is_final),
                                       transaction});
    }
}

static void find_in_transaction(const struct writers *writers, struct occurrences *found,
                                uint64_t *sorted, uint32_t transaction)
{
    const struct iso_history *history = writers->history;
    uint32_t count = 0;
    ISO_EACH(o, history->txns.first_op, transaction) {
        uint32_t key = history->ops.key[o];
        if ((writers->key_bits[key / 64] >> key % 64 & 1) && iso_kind_writes(history->ops.kind[o]))
            sorted[count++] = (uint64_t)key << 32 | o;
    }
    chronos_sort_numbers(sorted, count);
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && chronos_key_of(sorted[end]) == chronos_key_of(sorted[i]);)
            end++;
        find_in_run(writers, found, transaction, sorted + i, end - i);
    }
}

/* Counting sort by pair and class. */
static void group_occurrences(struct writers *writers, const struct occurrences *found)
{
    size_t groups = (size_t)writers->pairs.count * WRITER_CLASSES;
    uint32_t *first = iso_allocate_zeroed(groups + 2, sizeof *first);
    writers->transactions = iso_allocate((found->count + 1) * sizeof *writers->transactions);
    for (size_t i = 0; i < found->count; i++)
        first[found->items[i].group + 2]++;
    iso_running_sums(first + 1, (size_t)groups + 1);
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
    return iso_atom_compare(&history->atoms, history->txns.tid[*(const uint32_t *)left],
                            history->txns.tid[*(const uint32_t *)right]);
}

/* cts, then the bound of the first write, then tid. */
static int by_version(const void *left, const void *right, void *context)
{
    const struct order *order = context;
    const struct iso_history *history = order->history;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (a == b)
        return 0;
    if (history->txns.cts[a] != history->txns.cts[b])
        return history->txns.cts[a] < history->txns.cts[b] ? -1 : 1;
    uint64_t a_bound = chronos_first_write_bound(history, a, order->key),
             b_bound = chronos_first_write_bound(history, b, order->key);
    if (a_bound != b_bound)
        return a_bound < b_bound ? -1 : 1;
    return by_tid(left, right, context);
}

/* Without sts first: it may have started any time. */
static int by_start(const void *left, const void *right, void *context)
{
    const struct iso_history *history = ((const struct order *)context)->history;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    bool a_has = history->txns.flags[a] & ISO_HAS_STS, b_has = history->txns.flags[b] & ISO_HAS_STS;
    if (a_has && b_has && history->txns.sts[a] != history->txns.sts[b])
        return history->txns.sts[a] < history->txns.sts[b] ? -1 : 1;
    return a_has != b_has ? a_has - b_has : by_tid(left, right, context);
}

static void sort_classes(struct writers *writers, uint32_t pair, uint32_t key)
{
    struct order order = {writers->history, key};
    for (uint32_t class = 0; class < WRITER_CLASSES; class ++) {
        const uint32_t *span = writers->first + (size_t)pair * WRITER_CLASSES + class;
        if (span[1] - span[0] > 1)
            qsort_r(writers->transactions + span[0], span[1] - span[0],
                    sizeof *writers->transactions,
                    class == WRITER_FINAL     ? by_version
                    : class == WRITER_UNKNOWN ? by_start
                                              : by_tid,
                    &order);
    }
}

void writers_find(struct writers *writers, struct chronos_shard *shard)
{
    assert(!writers->first);
    struct occurrences found = {0};
    for (uint32_t t = 0; t < writers->history->txns.count; t++)
        find_in_transaction(writers, &found, shard->sorted, t);
    group_occurrences(writers, &found);
    ISO_FREE_COLUMN(found.items, found.capacity);
    for (size_t slot = 0; writers->pairs.slots && slot <= writers->pairs.mask; slot++) {
        const struct iso_number_slot *pair = &writers->pairs.slots[slot];
        if (pair->value)
            sort_classes(writers, pair->value - 1, (uint32_t)(pair->number >> 32));
    }
}

struct writer_span writers_of(const struct writers *writers, uint32_t key, iso_atom value,
                              enum writer_class class)
{
    uint32_t pair = iso_number_map_get(&writers->pairs, iso_number_pair(key, value));
    assert(pair != ISO_NUMBER_NONE && class < WRITER_CLASSES);
    const uint32_t *span = writers->first + (size_t)pair * WRITER_CLASSES + class;
    return (struct writer_span){writers->transactions + span[0], span[1] - span[0]};
}
