/* The careful way through a transaction: its operations by key, one key (a *run*) after another.
 *
 * The sweep's fast path judges transactions whose operations all read at one time and touch
 * registers only. Everything else comes here: lists, operations with times of their own,
 * transactions that commit before they read. A run is judged with local variables alone; only the
 * frontier comes from the key's state.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "chronos/chronos_private.h"

void chronos_sort_numbers(uint64_t *numbers, uint32_t count)
{
    enum { SMALL = 40 }; /* insertion sort wins below */
    if (count > SMALL) {
        qsort(numbers, count, sizeof *numbers, iso_order_u64);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        uint64_t number = numbers[i];
        uint32_t at = i;
        for (; at && numbers[at - 1] > number; at--)
            numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
}

uint32_t chronos_sort_operations(struct chronos_shard *shard, uint32_t transaction,
                                 bool only_writes)
{
    assert(transaction < shard->history->txns.count);
    const struct iso_history *history = shard->history;
    uint32_t count = 0;
    ISO_EACH(o, history->txns.first_op, transaction) {
        if (!chronos_owns(history->ops.key[o], shard->part, shard->check->parts))
            continue;
        if (!only_writes || iso_kind_writes(history->ops.kind[o]))
            shard->sorted[count++] = (uint64_t)history->ops.key[o] << 32 | o;
    }
    chronos_sort_numbers(shard->sorted, count);
    return count;
}

/* ---- registers ---- */

static void judge_register(struct chronos_shard *shard, uint32_t transaction, const uint64_t *run,
                           uint32_t count)
{
    const struct iso_history *history = shard->history;
    bool wrote = false, int_found = false;
    uint32_t last = ISO_ABSENT;
    uint64_t read_bound = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t operation = chronos_operation_of(run[i]), value = history->ops.value[operation];
        if (iso_kind_writes(history->ops.kind[operation])) {
            wrote = true;
            last = value;
            continue;
        }
        uint64_t bound = chronos_bound(history, transaction, operation);
        bool external = i == 0 || (!wrote && (bound != read_bound || shard->check->each_statement));
        shard->verdict->reads_judged++;
        if (external && shard->deferring) {
            chronos_defer(shard, transaction, operation, ISO_NONE);
        } else if (external) {
            chronos_judge_register_read(shard, transaction, operation);
        } else if (value != last && !int_found) {
            chronos_add_int(shard, transaction, operation, last);
            int_found = true;
        }
        last = value;
        read_bound = bound;
    }
}

/* The version that the transaction may see where the newest is its own. */
static struct chronos_previous frontier_of(struct chronos_shard *shard, uint32_t transaction,
                                           uint32_t key)
{
    const struct chronos_key *state = &shard->keys[key];
    assert(state->writer != transaction || shard->check->inverted);
    if (state->writer == transaction)
        return shard->check->previous[key];
    return (struct chronos_previous){state->value, state->writer};
}

void chronos_judge_register_read(struct chronos_shard *shard, uint32_t transaction,
                                 uint32_t operation)
{
    assert(operation < shard->history->ops.count);
    assert(transaction < shard->history->txns.count);
    struct chronos_previous seen =
        frontier_of(shard, transaction, shard->history->ops.key[operation]);
    if (shard->history->ops.value[operation] != seen.value)
        chronos_add_suspect(shard, &(struct chronos_suspect){.transaction = transaction,
                                                             .operation = operation,
                                                             .expected = seen.value,
                                                             .writer = seen.writer,
                                                             .prefix = ISO_NONE});
}

void chronos_add_int(struct chronos_shard *shard, uint32_t transaction, uint32_t operation,
                     uint32_t last)
{
    assert(operation < shard->history->ops.count);
    assert(transaction < shard->history->txns.count);
    struct iso_violation violation = iso_violation_of(ISO_INT, transaction);
    violation.key = shard->history->ops.key[operation];
    violation.operation = operation;
    violation.expected = iso_value_atom(last);
    violation.actual = iso_value_atom(shard->history->ops.value[operation]);
    iso_verdict_add(shard->verdict, &violation);
}

/* ---- lists ---- */

bool chronos_list_prefix(const struct iso_history *history, uint32_t operation, const iso_atom *own,
                         uint32_t own_count, uint32_t *prefix)
{
    uint32_t list = history->ops.value[operation];
    const iso_atom *end = history->lists.element + history->lists.first[list + 1];
    uint64_t count = history->lists.first[list + 1] - history->lists.first[list];
    if (count < own_count ||
        (own_count && memcmp(end - own_count, own, own_count * sizeof *own) != 0))
        return false;
    *prefix = (uint32_t)(count - own_count);
    return true;
}

struct iso_value chronos_expected_list(struct chronos_shard *shard, const iso_atom *prefix,
                                       uint32_t prefix_count, const iso_atom *own,
                                       uint32_t own_count)
{
    iso_atom *elements = iso_allocate(((size_t)prefix_count + own_count) * sizeof *elements);
    if (prefix_count)
        memcpy(elements, prefix, prefix_count * sizeof *elements);
    if (own_count)
        memcpy(elements + prefix_count, own, own_count * sizeof *elements);
    struct iso_value value = iso_verdict_list(shard->verdict, elements, prefix_count + own_count);
    iso_free(elements);
    return value;
}

/* The read should have returned the prefix of the read before it (of no length if the end is wrong
 * already), and the transaction's own appends. */
static void add_list_int(struct chronos_shard *shard, uint32_t transaction, uint32_t operation,
                         const iso_atom *prefix, uint32_t prefix_count, uint32_t own_count)
{
    assert(operation < shard->history->ops.count);
    assert(transaction < shard->history->txns.count);
    const struct iso_history *history = shard->history;
    struct iso_violation violation = iso_violation_of(ISO_INT, transaction);
    violation.key = history->ops.key[operation];
    violation.operation = operation;
    violation.actual = iso_value_of_list(shard->verdict->history, history->ops.value[operation]);
    if (iso_verdict_keeps(shard->verdict, &violation))
        violation.expected =
            chronos_expected_list(shard, prefix, prefix_count, shard->picked, own_count);
    iso_verdict_add(shard->verdict, &violation);
}

static void judge_list(struct chronos_shard *shard, uint32_t transaction, const uint64_t *run,
                       uint32_t count)
{
    const struct iso_history *history = shard->history;
    bool read = false, int_found = false;
    const iso_atom *before = NULL; /* the prefix of the read before */
    /* the transaction's appends so far; nobody else is in need of that room */
    iso_atom *own = shard->picked;
    uint32_t before_count = 0, prefix = 0, own_count = 0;
    uint64_t read_bound = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t operation = chronos_operation_of(run[i]);
        if (iso_kind_writes(history->ops.kind[operation])) {
            assert(own_count < shard->check->most_operations);
            own[own_count++] = history->ops.value[operation];
            continue;
        }
        shard->verdict->reads_judged++;
        uint64_t bound = chronos_bound(history, transaction, operation);
        const iso_atom *elements =
            history->lists.element + history->lists.first[history->ops.value[operation]];
        bool ends_right = chronos_list_prefix(history, operation, own, own_count, &prefix);
        bool external =
            ends_right && (!read || bound != read_bound || shard->check->each_statement);
        if (external && shard->deferring) {
            chronos_defer(shard, transaction, operation, prefix);
        } else if (external) {
            chronos_judge_list_read(shard, transaction, operation, prefix);
        } else if (!int_found &&
                   (!ends_right || prefix != before_count ||
                    (prefix && memcmp(elements, before, prefix * sizeof *elements) != 0))) {
            add_list_int(shard, transaction, operation, before, ends_right ? before_count : 0,
                         own_count);
            int_found = true;
        }
        if (!ends_right)
            continue;
        read = true;
        before = elements;
        before_count = prefix;
        read_bound = bound;
    }
}

void chronos_judge_list_read(struct chronos_shard *shard, uint32_t transaction, uint32_t operation,
                             uint32_t prefix)
{
    assert(operation < shard->history->ops.count);
    assert(transaction < shard->history->txns.count);
    const struct iso_history *history = shard->history;
    uint32_t key = history->ops.key[operation];
    struct chronos_previous seen = frontier_of(shard, transaction, key);
    const iso_atom *elements =
        history->lists.element + history->lists.first[history->ops.value[operation]];
    if (prefix == seen.value && (prefix == 0 || memcmp(elements, shard->check->lists[key].elements,
                                                       prefix * sizeof *elements) == 0))
        return;
    chronos_add_suspect(shard, &(struct chronos_suspect){.transaction = transaction,
                                                         .operation = operation,
                                                         .expected = seen.value,
                                                         .writer = seen.writer,
                                                         .prefix = prefix});
}

/* ---- both ---- */

void chronos_judge_run(struct chronos_shard *shard, uint32_t transaction, const uint64_t *run,
                       uint32_t count)
{
    assert(transaction < shard->history->txns.count);
    if (iso_key_is_list(shard->history, chronos_key_of(run[0])))
        judge_list(shard, transaction, run, count);
    else
        judge_register(shard, transaction, run, count);
}

void chronos_judge_runs(struct chronos_shard *shard, uint32_t transaction, const uint64_t *sorted,
                        uint32_t count)
{
    assert(transaction < shard->history->txns.count);
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && chronos_key_of(sorted[end]) == chronos_key_of(sorted[i]);)
            end++;
        chronos_judge_run(shard, transaction, sorted + i, end - i);
    }
}

void chronos_judge_transaction(struct chronos_shard *shard, uint32_t transaction)
{
    assert(transaction < shard->history->txns.count);
    chronos_judge_runs(shard, transaction, shard->sorted,
                       chronos_sort_operations(shard, transaction, false));
}
