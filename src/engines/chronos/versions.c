/* Commits that need care: several transactions at one cts, whose versions of a common key have an
 * order, and transactions that commit before they read, whose reads look past their own version.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "chronos/chronos_private.h"

/* One transaction's version of one key. */
struct version {
    uint32_t key, transaction;
    uint32_t first, count; /* into the operations gathered */
    uint64_t bound;        /* of the first write */
};

struct group {
    ISO_LIST(uint64_t) operations; /* key << 32 | operation */
    ISO_LIST(struct version) versions;
};

static void add_version(struct group *group, struct version version)
{
    ISO_APPEND(group->versions, version);
}

static void gather_versions(struct chronos_shard *shard, struct group *group, uint32_t transaction)
{
    uint32_t count = chronos_sort_operations(shard, transaction, true),
             first = group->operations.count;
    if (first + count > group->operations.capacity) {
        group->operations.capacity =
            (uint32_t)iso_column_capacity(group->operations.capacity, first + count);
        group->operations.list = iso_reallocate(
            group->operations.list, group->operations.capacity * sizeof *group->operations.list);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key = chronos_key_of(shard->sorted[i]);
        group->operations.list[first + i] = shard->sorted[i];
        if (i == 0 || key != chronos_key_of(shard->sorted[i - 1]))
            add_version(group,
                        (struct version){key, transaction, first + i, 0,
                                         chronos_bound(shard->history, transaction,
                                                       chronos_operation_of(shard->sorted[i]))});
        group->versions.list[group->versions.count - 1].count++;
    }
    group->operations.count = first + count;
}

/* Versions of one cts. */
static int compare_versions(const void *left, const void *right, void *context)
{
    const struct version *a = left, *b = right;
    const struct iso_history *history = context;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->bound != b->bound)
        return a->bound < b->bound ? -1 : 1;
    return iso_atom_compare(&history->atoms, history->txns.tid[a->transaction],
                            history->txns.tid[b->transaction]);
}

static void watch_conflicts(struct chronos_shard *shard, const struct version *version,
                            uint32_t first_write)
{
    struct chronos_key *key = &shard->keys[version->key];
    if (shard->check->overlaps)
        return;
    if (chronos_is_lock(shard->history->ops.kind[first_write])) {
        shard->verdict->writes_unjudged++;
        return;
    }
    if (key->judged_cts >= version->bound)
        chronos_contest(shard, version->key);
    key->judged_cts = shard->history->txns.cts[version->transaction];
}

static void apply_versions(struct chronos_shard *shard, const struct group *group,
                           const struct version *version)
{
    struct chronos *check = shard->check;
    const struct iso_history *history = check->history;
    struct chronos_key *key = &shard->keys[version->key];
    if (check->previous)
        check->previous[version->key] = (struct chronos_previous){key->value, key->writer};
    if (check->si)
        watch_conflicts(shard, version,
                        chronos_operation_of(group->operations.list[version->first]));
    for (uint32_t i = version->first; i < version->first + version->count; i++) {
        uint32_t operation = chronos_operation_of(group->operations.list[i]);
        key->value = history->ops.value[operation];
        if (iso_kind_of(history, operation) == ISO_APPEND) {
            chronos_append(&check->lists[version->key], key->value);
            key->value = check->lists[version->key].count;
        }
    }
    key->writer = version->transaction;
}

void chronos_commit_group(struct chronos_shard *shard, const uint32_t *transactions, uint32_t count)
{
    struct group group = {0};
    for (uint32_t i = 0; i < count; i++)
        gather_versions(shard, &group, transactions[i]);
    if (count > 1 && group.versions.count)
        qsort_r(group.versions.list, group.versions.count, sizeof *group.versions.list,
                compare_versions, (void *)shard->history);
    for (uint32_t i = 0; i < group.versions.count; i++)
        apply_versions(shard, &group, &group.versions.list[i]);
    ISO_FREE_ALL(group.operations.list, group.versions.list);
}
