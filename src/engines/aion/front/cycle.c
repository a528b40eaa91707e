/* TIMESTAMP at SER, once the watermark has passed a cts that several transactions share.
 *
 * The shards reported who reads and who writes each key at which that matters (tie.c). Two writers
 * of a key: shared-cts. The rest is a graph, a transaction -> the keys it reads -> the transactions
 * that write them: who shares a strongly connected component with another transaction stands on a
 * cycle. The nodes are the group's transactions, then its keys.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "aion/state_private.h"
#include "base/components.h"
#include "base/memory.h"
#include "base/order.h"

void aion_tie_add(struct iso_aion *engine, const struct aion_tie *tie,
                  const struct iso_atoms *atoms, iso_atom tid)
{
    ISO_GROW(engine->ties.list, engine->ties.count, engine->ties.capacity);
    engine->ties.list[engine->ties.count] = *tie;
    engine->ties.list[engine->ties.count++].tid = aion_values_take(&engine->values, atoms, tid);
}

/* The ties of one cts. `from` and `to` are edges by their start: node -> node. */
struct group {
    struct iso_aion *engine;
    const struct aion_tie *ties;
    uint32_t count;
    uint32_t *member;    /* by tie: its transaction's node */
    uint32_t *key;       /* by tie: its key's node; ISO_NONE for a snapshot-order violation */
    uint32_t *first_tie; /* by member: a tie of it */
    uint32_t *other;     /* by member: the writer it shares a key with, as a member, or ISO_NONE */
    uint32_t members, nodes;
    uint32_t *first_edge; /* by node, and one more */
    uint32_t *edges;
    bool *on_cycle;
};

/* ---- nodes ---- */

static int compare_by_tid(const void *left, const void *right, void *context)
{
    const struct group *group = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint32_t x = group->ties[a].tid, y = group->ties[b].tid;
    int order = x == y ? 0 : iso_atom_compare(&group->engine->values.atoms, x, y);
    return order ? order : a < b ? -1 : a > b;
}

static int compare_by_key(const void *left, const void *right, void *context)
{
    const struct group *group = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct aion_tie *x = &group->ties[a], *y = &group->ties[b];
    if ((x->what == AION_TIE_SNAPSHOT_ORDER) != (y->what == AION_TIE_SNAPSHOT_ORDER))
        return x->what == AION_TIE_SNAPSHOT_ORDER ? 1 : -1;
    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Members in the order of their tids, so that the smaller number is the smaller tid; then keys. */
static void number_nodes(struct group *group)
{
    uint32_t *order = iso_allocate(group->count * sizeof *order);
    for (uint32_t i = 0; i < group->count; i++)
        order[i] = i;
    qsort_r(order, group->count, sizeof *order, compare_by_tid, group);
    for (uint32_t i = 0; i < group->count; i++) {
        if (!i || group->ties[order[i]].tid != group->ties[order[i - 1]].tid)
            group->first_tie[group->members++] = order[i];
        group->member[order[i]] = group->members - 1;
    }
    qsort_r(order, group->count, sizeof *order, compare_by_key, group);
    group->nodes = group->members;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct aion_tie *tie = &group->ties[order[i]],
                              *before = i ? &group->ties[order[i - 1]] : NULL;
        if (tie->what != AION_TIE_SNAPSHOT_ORDER &&
            (!before || before->key != tie->key || before->shard != tie->shard))
            group->nodes++;
        group->key[order[i]] = tie->what == AION_TIE_SNAPSHOT_ORDER ? ISO_NONE : group->nodes - 1;
    }
    iso_free(order);
}

/* ---- two writers of one key ---- */

static void find_sharers(struct group *group)
{
    uint32_t keys = group->nodes - group->members;
    uint32_t *smallest = iso_allocate(2 * ((size_t)keys + 1) * sizeof *smallest);
    memset(smallest, 0xff, 2 * ((size_t)keys + 1) * sizeof *smallest); /* ISO_NONE */
    for (uint32_t i = 0; i < group->count; i++) {
        if (group->ties[i].what != AION_FOUND_WRITER)
            continue;
        uint32_t *two = smallest + 2 * (group->key[i] - group->members), member = group->member[i];
        if (member < two[0]) {
            two[1] = two[0];
            two[0] = member;
        } else if (member != two[0] && member < two[1]) {
            two[1] = member;
        }
    }
    for (uint32_t i = 0; i < group->count; i++) {
        if (group->ties[i].what != AION_FOUND_WRITER)
            continue;
        const uint32_t *two = smallest + 2 * (group->key[i] - group->members);
        uint32_t *other = &group->other[group->member[i]],
                 found = two[0] == group->member[i] ? two[1] : two[0];
        *other = found < *other ? found : *other;
    }
    iso_free(smallest);
}

/* ---- cycles ---- */

static void add_edges(struct group *group)
{
    group->first_edge = iso_allocate_zeroed((size_t)group->nodes + 2, sizeof *group->first_edge);
    group->edges = iso_allocate(((size_t)group->count + 1) * sizeof *group->edges);
    for (uint32_t i = 0; i < group->count; i++) {
        if (group->ties[i].what == AION_FOUND_READER)
            group->first_edge[group->member[i] + 2]++;
        else if (group->ties[i].what == AION_FOUND_WRITER)
            group->first_edge[group->key[i] + 2]++;
    }
    for (uint32_t node = 0; node < group->nodes; node++)
        group->first_edge[node + 2] += group->first_edge[node + 1];
    for (uint32_t i = 0; i < group->count; i++) {
        if (group->ties[i].what == AION_FOUND_READER)
            group->edges[group->first_edge[group->member[i] + 1]++] = group->key[i];
        else if (group->ties[i].what == AION_FOUND_WRITER)
            group->edges[group->first_edge[group->key[i] + 1]++] = group->member[i];
    }
}

static void find_cycles(struct group *group)
{
    uint32_t *component = iso_allocate(((size_t)group->nodes + 1) * sizeof *component);
    uint32_t count = iso_components(group->nodes, group->first_edge, group->edges, component);
    uint32_t *members = iso_allocate_zeroed((size_t)count + 1, sizeof *members); /* by component */
    for (uint32_t member = 0; member < group->members; member++)
        members[component[member]]++;
    for (uint32_t member = 0; member < group->members; member++)
        group->on_cycle[member] = members[component[member]] > 1;
    iso_free(component);
    iso_free(members);
}

/* ---- reporting ---- */

static struct iso_aion_party party_of(const struct group *group, uint32_t member)
{
    const struct aion_tie *tie = &group->ties[group->first_tie[member]];
    return (struct iso_aion_party){&group->engine->values.atoms, tie->tid, tie->origin, tie->sts,
                                   tie->cts};
}

static void emit_tie_violation(struct group *group, uint32_t member, uint32_t snapshot_violation)
{
    struct iso_aion_event event = aion_event_of(group->engine, ISO_TIMESTAMP);
    bool shared = group->other[member] != ISO_NONE;
    if (!shared && !group->on_cycle[member] && snapshot_violation == ISO_NONE)
        return;
    event.transaction = party_of(group, member);
    if (shared) {
        event.kind = ISO_SHARED_CTS;
        event.other = party_of(group, group->other[member]);
    } else if (group->on_cycle[member]) {
        event.kind = ISO_CTS_CYCLE;
    } else {
        event.kind = ISO_SNAPSHOT_ORDER;
        event.snapshot_violation = snapshot_violation;
    }
    group->engine->stats.counts[ISO_TIMESTAMP]++;
    aion_emit(group->engine, &event);
}

static void emit_group(struct group *group)
{
    uint32_t *snapshot_violation = iso_allocate(group->members * sizeof *snapshot_violation);
    memset(snapshot_violation, 0xff, group->members * sizeof *snapshot_violation); /* ISO_NONE */
    for (uint32_t i = 0; i < group->count; i++) {
        if (group->ties[i].what == AION_TIE_SNAPSHOT_ORDER)
            snapshot_violation[group->member[i]] = group->ties[i].snapshot_violation;
    }
    for (uint32_t member = 0; member < group->members; member++)
        emit_tie_violation(group, member, snapshot_violation[member]);
    iso_free(snapshot_violation);
}

static void resolve_group(struct iso_aion *engine, const struct aion_tie *ties, uint32_t count)
{
    struct group group = {.engine = engine, .ties = ties, .count = count};
    group.member = iso_allocate(count * sizeof *group.member);
    group.key = iso_allocate(count * sizeof *group.key);
    group.first_tie = iso_allocate(count * sizeof *group.first_tie);
    group.other = iso_allocate(count * sizeof *group.other);
    memset(group.other, 0xff, count * sizeof *group.other); /* ISO_NONE */
    group.on_cycle = iso_allocate_zeroed(count, sizeof *group.on_cycle);
    number_nodes(&group);
    find_sharers(&group);
    add_edges(&group);
    find_cycles(&group);
    emit_group(&group);
    iso_free(group.member);
    iso_free(group.key);
    iso_free(group.first_tie);
    iso_free(group.other);
    iso_free(group.on_cycle);
    iso_free(group.first_edge);
    iso_free(group.edges);
}

ISO_ORDER_BY(compare_by_cts, struct aion_tie, cts)

/* The shards have reported all of every cts below `passed`; of the last timestamp that there is, at
 * the end. */
void aion_ties_resolve(struct iso_aion *engine)
{
    uint32_t first = 0, end;
    if (!engine->ties.count)
        return;
    qsort(engine->ties.list, engine->ties.count, sizeof *engine->ties.list, compare_by_cts);
    for (; first < engine->ties.count && (engine->ties.list[first].cts < engine->time.passed ||
                                          engine->time.passed == UINT64_MAX);
         first = end) {
        for (end = first + 1; end < engine->ties.count &&
                              engine->ties.list[end].cts == engine->ties.list[first].cts;)
            end++;
        resolve_group(engine, engine->ties.list + first, end - first);
        for (uint32_t i = first; i < end; i++)
            aion_values_drop(&engine->values, engine->ties.list[i].tid);
    }
    memmove(engine->ties.list, engine->ties.list + first,
            (engine->ties.count - first) * sizeof *engine->ties.list);
    engine->ties.count -= first;
}
