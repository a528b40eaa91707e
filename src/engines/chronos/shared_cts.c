/* TIMESTAMP at SER, where transactions share a commit timestamp: no two of them may write one key,
 * and they must have an order in which each reads below all that it reads from.
 *
 * For the order, a graph: transaction -> key if it reads the key externally, key -> transaction if
 * that writes it. A path from one transaction to another is a path of "must come before", and since
 * keys are nodes the graph is no larger than the operations. Transactions on a cycle share a
 * strongly connected component.
 */
#include <string.h>

#include "base/components.h"
#include "chronos/chronos_private.h"

/* One transaction's use of one key, in a group of one cts. */
struct use {
    uint32_t member, node; /* the key's node, counted after the members */
    bool reads, writes;
};

struct group {
    const struct iso_history *history;
    const uint32_t *transactions;
    uint32_t count;
    struct use *uses;    /* by member */
    uint32_t *first_use; /* by member, one more at the end */
    uint64_t *by_key;    /* key << 32 | index into uses, sorted */
    uint32_t use_count, use_capacity;
    uint32_t *first_of_key; /* by key node: into by_key, one more at the end */
    uint32_t key_count;
    uint32_t *other;      /* by member: who shares cts and key, or ISO_NONE */
    bool *on_cycle;       /* by member */
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
    if (group->use_count == group->use_capacity) {
        group->use_capacity = group->use_capacity ? group->use_capacity * 2 : 64;
        group->uses = iso_reallocate(group->uses, group->use_capacity * sizeof *group->uses);
        group->by_key = iso_reallocate(group->by_key, group->use_capacity * sizeof *group->by_key);
    }
    struct use use = {.member = member,
                      .reads = reads_externally(group->history, run, count, group->own)};
    for (uint32_t i = 0; i < count; i++)
        use.writes |= iso_kind_writes(group->history->ops.kind[chronos_operation_of(run[i])]);
    group->by_key[group->use_count] = (uint64_t)chronos_key_of(run[0]) << 32 | group->use_count;
    group->uses[group->use_count++] = use;
}

static void gather_member(struct group *group, uint32_t member)
{
    const struct iso_history *history = group->history;
    uint32_t t = group->transactions[member], count = 0;
    for (uint32_t o = history->txns.first_op[t]; o < history->txns.first_op[t + 1]; o++)
        group->operations[count++] = (uint64_t)history->ops.key[o] << 32 | o;
    chronos_sort_numbers(group->operations, count);
    group->first_use[member] = group->use_count;
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && chronos_key_of(group->operations[end]) ==
                                             chronos_key_of(group->operations[i]);)
            end++;
        add_use(group, member, group->operations + i, end - i);
    }
}

static void number_keys(struct group *group)
{
    chronos_sort_numbers(group->by_key, group->use_count);
    group->first_of_key =
        iso_allocate(((size_t)group->use_count + 1) * sizeof *group->first_of_key);
    for (uint32_t i = 0; i < group->use_count; i++) {
        if (i == 0 || chronos_key_of(group->by_key[i]) != chronos_key_of(group->by_key[i - 1]))
            group->first_of_key[group->key_count++] = i;
        group->uses[chronos_operation_of(group->by_key[i])].node =
            group->count + group->key_count - 1;
    }
    group->first_of_key[group->key_count] = group->use_count;
}

/* ---- two writers of one key ---- */

/* The member with the smaller tid; ISO_NONE is none. */
static uint32_t member_with_smaller_tid(const struct group *group, uint32_t left, uint32_t right)
{
    const struct iso_history *history = group->history;
    if (left == ISO_NONE || right == ISO_NONE)
        return left == ISO_NONE ? right : left;
    return iso_atom_compare(&history->atoms, history->txns.tid[group->transactions[left]],
                            history->txns.tid[group->transactions[right]]) <= 0
               ? left
               : right;
}

static void find_sharers(struct group *group, uint32_t key)
{
    uint32_t smallest = ISO_NONE, second = ISO_NONE;
    for (uint32_t i = group->first_of_key[key]; i < group->first_of_key[key + 1]; i++) {
        const struct use *use = &group->uses[chronos_operation_of(group->by_key[i])];
        if (!use->writes)
            continue;
        uint32_t first = member_with_smaller_tid(group, smallest, use->member);
        second = member_with_smaller_tid(group, second, first == smallest ? use->member : smallest);
        smallest = first;
    }
    for (uint32_t i = group->first_of_key[key];
         i < group->first_of_key[key + 1] && second != ISO_NONE; i++) {
        const struct use *use = &group->uses[chronos_operation_of(group->by_key[i])];
        uint32_t other = use->member == smallest ? second : smallest;
        if (use->writes)
            group->other[use->member] =
                member_with_smaller_tid(group, group->other[use->member], other);
    }
}

/* ---- cycles ---- */

/* Edges by node: a member to the keys it reads, a key to the members that write it. */
static void list_edges(const struct group *group, uint32_t *first_edge, uint32_t *edge_to)
{
    uint32_t end = 0;
    for (uint32_t member = 0; member < group->count; member++) {
        first_edge[member] = end;
        for (uint32_t i = group->first_use[member]; i < group->first_use[member + 1]; i++) {
            if (group->uses[i].reads)
                edge_to[end++] = group->uses[i].node;
        }
    }
    for (uint32_t key = 0; key < group->key_count; key++) {
        first_edge[group->count + key] = end;
        for (uint32_t i = group->first_of_key[key]; i < group->first_of_key[key + 1]; i++) {
            const struct use *use = &group->uses[chronos_operation_of(group->by_key[i])];
            if (use->writes)
                edge_to[end++] = use->member;
        }
    }
    first_edge[group->count + group->key_count] = end;
}

/* Whoever shares a component with another member is on a cycle. */
static void find_cycles(struct group *group)
{
    uint32_t nodes = group->count + group->key_count;
    uint32_t *first_edge = iso_allocate(((size_t)nodes + 1) * sizeof *first_edge);
    uint32_t *edge_to = iso_allocate((2 * (size_t)group->use_count + 1) * sizeof *edge_to);
    uint32_t *component = iso_allocate(((size_t)nodes + 1) * sizeof *component);
    list_edges(group, first_edge, edge_to);
    uint32_t count = iso_components(nodes, first_edge, edge_to, component);
    uint32_t *members = iso_allocate_zeroed((size_t)count + 1, sizeof *members);
    for (uint32_t member = 0; member < group->count; member++)
        members[component[member]]++;
    for (uint32_t member = 0; member < group->count; member++)
        group->on_cycle[member] = members[component[member]] > 1;
    iso_free(first_edge);
    iso_free(edge_to);
    iso_free(component);
    iso_free(members);
}

/* ---- a group ---- */

static void report_shared_cts(struct chronos *check, struct iso_verdict *verdict,
                              const struct group *group)
{
    for (uint32_t member = 0; member < group->count; member++) {
        bool shared = group->other[member] != ISO_NONE;
        if (!shared && !group->on_cycle[member])
            continue;
        uint32_t t = group->transactions[member];
        if (check->first_snapshot_violation)
            check->first_snapshot_violation[t] = ISO_NONE; /* TIMESTAMP once a transaction */
        iso_verdict_add(verdict,
                        &(struct iso_violation){
                            .axiom = ISO_TIMESTAMP,
                            .kind = shared ? ISO_SHARED_CTS : ISO_CTS_CYCLE,
                            .transaction = t,
                            .other = shared ? group->transactions[group->other[member]] : ISO_NONE,
                            .key = ISO_NONE,
                            .operation = ISO_NONE,
                            .writer_expected = ISO_NONE,
                            .writer_actual = ISO_NONE,
                            .snapshot_violation = ISO_NONE});
    }
}

static void check_group(struct chronos *check, struct iso_verdict *verdict,
                        const uint32_t *transactions, uint32_t count)
{
    struct group group = {.history = check->history, .transactions = transactions, .count = count};
    group.operations =
        iso_allocate(((size_t)check->most_operations + 1) * sizeof *group.operations);
    group.own = iso_allocate(((size_t)check->most_operations + 1) * sizeof *group.own);
    group.first_use = iso_allocate(((size_t)count + 1) * sizeof *group.first_use);
    group.other = iso_allocate(count * sizeof *group.other);
    group.on_cycle = iso_allocate_zeroed(count, sizeof *group.on_cycle);
    memset(group.other, 0xff, count * sizeof *group.other); /* ISO_NONE */
    for (uint32_t member = 0; member < count; member++)
        gather_member(&group, member);
    group.first_use[count] = group.use_count;
    number_keys(&group);
    for (uint32_t key = 0; key < group.key_count; key++)
        find_sharers(&group, key);
    find_cycles(&group);
    report_shared_cts(check, verdict, &group);
    iso_free(group.operations);
    iso_free(group.own);
    iso_free(group.first_use);
    iso_free(group.other);
    iso_free(group.on_cycle);
    iso_free(group.uses);
    iso_free(group.by_key);
    iso_free(group.first_of_key);
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
