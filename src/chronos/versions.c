/* Commits that need care: several transactions at one cts, whose versions of a common key have an order, and
 * transactions that commit before they read, whose reads look past their own version.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "chronos/chronos_private.h"

/* What one transaction wrote to one key. */
struct version {
    uint32_t key, transaction;
    uint32_t first, count; /* into the operations gathered */
};

struct group {
    uint64_t *operations; /* key << 32 | operation */
    uint32_t operation_count, operation_capacity;
    struct version *versions;
    uint32_t version_count, version_capacity;
};

static void add_version(struct group *group, struct version version)
{
    if (group->version_count == group->version_capacity) {
        group->version_capacity = group->version_capacity ? group->version_capacity * 2 : 32;
        group->versions = iso_reallocate(group->versions, group->version_capacity * sizeof *group->versions);
    }
    group->versions[group->version_count++] = version;
}

static void gather(struct chronos_shard *shard, struct group *group, uint32_t transaction)
{
    uint32_t count = chronos_sort_operations(shard, transaction, true), first = group->operation_count;
    if (first + count > group->operation_capacity) {
        group->operation_capacity = (uint32_t)iso_column_capacity(group->operation_capacity, first + count);
        group->operations =
            iso_reallocate(group->operations, group->operation_capacity * sizeof *group->operations);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key = chronos_key_of(shard->sorted[i]);
        group->operations[first + i] = shard->sorted[i];
        if (i == 0 || key != chronos_key_of(shard->sorted[i - 1]))
            add_version(group, (struct version){key, transaction, first + i, 0});
        group->versions[group->version_count - 1].count++;
    }
    group->operation_count = first + count;
}

static int compare(const void *left, const void *right, void *history)
{
    const struct version *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->transaction == b->transaction ? 0 : chronos_compare_versions(history, a->transaction, b->transaction, a->key);
}

static void apply(struct chronos_shard *shard, const struct group *group, const struct version *version)
{
    struct chronos *check = shard->check;
    const struct iso_history *history = check->history;
    struct chronos_key *key = &shard->keys[version->key];
    if (check->previous)
        check->previous[version->key] = (struct chronos_previous){key->value, key->writer};
    if (check->si)
        chronos_close_writer(shard, version->transaction, key);
    for (uint32_t i = version->first; i < version->first + version->count; i++) {
        uint32_t operation = chronos_operation_of(group->operations[i]);
        key->value = history->value[operation];
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
        gather(shard, &group, transactions[i]);
    if (count > 1 && group.version_count)
        qsort_r(group.versions, group.version_count, sizeof *group.versions, compare, (void *)shard->history);
    for (uint32_t i = 0; i < group.version_count; i++)
        apply(shard, &group, &group.versions[i]);
    iso_free(group.operations);
    iso_free(group.versions);
}
