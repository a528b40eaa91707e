/* TIMESTAMP at SER, where transactions share a commit timestamp: what each of them does to its
 * keys; history/tied.h says who of them is wrong.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "chronos/chronos_private.h"
#include "history/tied.h"

struct group {
    const struct iso_history *history;
    uint32_t *transactions; /* by member: in the order of their tids */
    uint32_t count;
    ISO_LIST(struct iso_tied_use) uses;
    uint64_t *operations; /* of one member */
    iso_atom *own;        /* of one member: what it appended to a key */
};

/* ---- what the members do ---- */

/* `own`: room for as many elements as the run has. */
static bool reads_externally(const struct iso_history *history, const uint64_t *run, uint32_t count,
                             iso_atom *own)
{
    uint32_t prefix, own_count = 0;
    if (!iso_key_is_list(history, chronos_key_of(run[0])))
        return !iso_kind_writes(history->ops.kind[chronos_operation_of(run[0])]);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t operation = chronos_operation_of(run[i]);
        if (iso_kind_writes(history->ops.kind[operation]))
            own[own_count++] = history->ops.value[operation];
        else if (chronos_list_prefix(history, operation, own, own_count, &prefix))
            return true;
    }
    return false;
}

static void add_use(struct group *group, uint32_t member, const uint64_t *run, uint32_t count)
{
    struct iso_tied_use use = {.member = member,
                               .key = chronos_key_of(run[0]),
                               .reads = reads_externally(group->history, run, count, group->own)};
    for (uint32_t i = 0; i < count; i++)
        use.writes |= iso_kind_writes(group->history->ops.kind[chronos_operation_of(run[i])]);
    ISO_APPEND(group->uses, use);
}

static void gather_member(struct group *group, uint32_t member)
{
    const struct iso_history *history = group->history;
    uint32_t t = group->transactions[member], count = 0;
    ISO_EACH(o, history->txns.first_op, t)
        group->operations[count++] = (uint64_t)history->ops.key[o] << 32 | o;
    chronos_sort_numbers(group->operations, count);
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && chronos_key_of(group->operations[end]) ==
                                             chronos_key_of(group->operations[i]);)
            end++;
        add_use(group, member, group->operations + i, end - i);
    }
}

/* Keys get numbers of their own; how many there are. */
static uint32_t number_keys(struct group *group)
{
    uint64_t *by_key = iso_allocate((group->uses.count + (size_t)1) * sizeof *by_key);
    uint32_t keys = 0;
    for (uint32_t i = 0; i < group->uses.count; i++)
        by_key[i] = (uint64_t)group->uses.list[i].key << 32 | i;
    chronos_sort_numbers(by_key, group->uses.count);
    for (uint32_t i = 0; i < group->uses.count; i++) {
        keys += !i || chronos_key_of(by_key[i]) != chronos_key_of(by_key[i - 1]);
        group->uses.list[chronos_operation_of(by_key[i])].key = keys - 1;
    }
    iso_free(by_key);
    return keys;
}

/* ---- a group ---- */

static int compare_by_tid(const void *left, const void *right, void *context)
{
    const struct iso_history *history = context;
    return iso_atom_compare(&history->atoms, history->txns.tid[*(const uint32_t *)left],
                            history->txns.tid[*(const uint32_t *)right]);
}

static void report_shared_cts(struct chronos *check, struct iso_verdict *verdict,
                              const struct group *group, const uint32_t *other,
                              const bool *on_cycle)
{
    for (uint32_t member = 0; member < group->count; member++) {
        bool shared = other[member] != ISO_NONE;
        if (!shared && !on_cycle[member])
            continue;
        uint32_t t = group->transactions[member];
        if (check->first_snapshot_violation)
            check->first_snapshot_violation[t] = ISO_NONE; /* TIMESTAMP once a transaction */
        struct iso_violation violation = iso_violation_of(ISO_TIMESTAMP, t);
        violation.kind = shared ? ISO_SHARED_CTS : ISO_CTS_CYCLE;
        violation.other = shared ? group->transactions[other[member]] : ISO_NONE;
        iso_verdict_add(verdict, &violation);
    }
}

static void check_group(struct chronos *check, struct iso_verdict *verdict,
                        const uint32_t *transactions, uint32_t count)
{
    struct group group = {.history = check->history, .count = count};
    uint32_t *other = iso_numbers(count);
    bool *on_cycle = iso_allocate_zeroed(count, sizeof *on_cycle);
    group.transactions = memcpy(iso_numbers(count), transactions, count * sizeof *transactions);
    group.operations =
        iso_allocate(((size_t)check->most_operations + 1) * sizeof *group.operations);
    group.own = iso_allocate(((size_t)check->most_operations + 1) * sizeof *group.own);
    qsort_r(group.transactions, count, sizeof *transactions, compare_by_tid,
            (void *)(uintptr_t)check->history);
    for (uint32_t member = 0; member < count; member++)
        gather_member(&group, member);
    uint32_t keys = number_keys(&group);
    iso_tied_judge(group.uses.list, group.uses.count, count, keys, other, on_cycle);
    report_shared_cts(check, verdict, &group, other, on_cycle);
    ISO_FREE_ALL(group.transactions, group.uses.list, group.operations, group.own, other, on_cycle);
}

void chronos_check_shared_cts(struct chronos *check, struct iso_verdict *verdict, unsigned part,
                              unsigned parts)
{
    const struct chronos_events *commits = &check->commits;
    uint32_t first = (uint32_t)((uint64_t)commits->count * part / parts);
    uint32_t last = (uint32_t)((uint64_t)commits->count * (part + 1) / parts), end;
    while (first && first < last && commits->time[first] == commits->time[first - 1])
        first++; /* a group belongs to the part that it starts in */
    for (; first < last; first = end) {
        for (end = first + 1; commits->time[end] == commits->time[first];)
            end++;
        if (end - first > 1)
            check_group(check, verdict, commits->transaction + first, end - first);
    }
}
