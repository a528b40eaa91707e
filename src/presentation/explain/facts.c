#define _GNU_SOURCE
#include "explain/facts.h"

#include <stdlib.h>

#include "base/memory.h"

static bool is_version(const struct iso_history *history, uint32_t transaction)
{
    uint8_t flags = history->txns.flags[transaction];
    return (flags & ISO_WRITES) && (flags & ISO_HAS_CTS) &&
           iso_status_of(history, transaction) == ISO_COMMITTED;
}

typedef void visit(struct iso_facts *facts, uint32_t transaction, uint32_t operation, uint32_t slot,
                   uint32_t *filled);

static void for_each_write(struct iso_facts *facts, visit *visitor, uint32_t *filled)
{
    const struct iso_history *history = facts->history;
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (!is_version(history, t))
            continue;
        ISO_EACH(o, history->txns.first_op, t) {
            uint32_t slot = facts->slot_of_key[history->ops.key[o]];
            if (slot != ISO_NONE && iso_kind_writes(history->ops.kind[o]))
                visitor(facts, t, o, slot, filled);
        }
    }
}

/* An upper bound: a transaction that writes a key twice counts twice. */
static void count_write(struct iso_facts *facts, uint32_t transaction, uint32_t operation,
                        uint32_t slot, uint32_t *filled)
{
    (void)transaction;
    (void)operation;
    (void)filled;
    facts->first_version[slot + 1]++;
}

static void add_write(struct iso_facts *facts, uint32_t transaction, uint32_t operation,
                      uint32_t slot, uint32_t *filled)
{
    struct iso_key_version *versions = facts->versions + facts->first_version[slot];
    if (filled[slot] && versions[filled[slot] - 1].transaction == transaction)
        versions[filled[slot] - 1].last_write = operation;
    else
        versions[filled[slot]++] = (struct iso_key_version){transaction, operation, operation};
}

/* From when the write excludes others, as an exclusive bound: a lock's moment is just below the
 * commit. */
static uint64_t bound_of(const struct iso_history *history, const struct iso_key_version *version)
{
    struct iso_moment moment =
        iso_moment_of(history, version->transaction, version->first_write, false);
    return moment.at + (moment.inclusive ? 1 : 0);
}

static int compare(const void *left, const void *right, void *context)
{
    const struct iso_history *history = context;
    const struct iso_key_version *a = left, *b = right;
    uint64_t a_cts = history->txns.cts[a->transaction], b_cts = history->txns.cts[b->transaction];
    if (a_cts != b_cts)
        return a_cts < b_cts ? -1 : 1;
    uint64_t a_bound = bound_of(history, a), b_bound = bound_of(history, b);
    if (a_bound != b_bound)
        return a_bound < b_bound ? -1 : 1;
    return iso_atom_compare(&history->atoms, history->txns.tid[a->transaction],
                            history->txns.tid[b->transaction]);
}

/* Closes the gaps that double writes left, and sorts. */
static void sort_versions(struct iso_facts *facts, const uint32_t *filled)
{
    uint32_t used = 0;
    for (uint32_t slot = 0; slot < facts->slot_count; slot++) {
        struct iso_key_version *into = facts->versions + used,
                               *from = facts->versions + facts->first_version[slot];
        for (uint32_t i = 0; i < filled[slot]; i++)
            into[i] = from[i];
        facts->first_version[slot] = used;
        used += filled[slot];
        if (filled[slot])
            qsort_r(into, filled[slot], sizeof *into, compare, (void *)facts->history);
    }
    facts->first_version[facts->slot_count] = used;
}

static void claim_key(struct iso_facts *facts, uint32_t key)
{
    if (key != ISO_NONE && facts->slot_of_key[key] == ISO_NONE)
        facts->slot_of_key[key] = facts->slot_count++;
}

/* Claims all keys that a row set covers, since one missing row is shown beside all others. */
static void claim_range(struct iso_facts *facts, uint32_t operation)
{
    const struct iso_history *history = facts->history;
    const struct iso_range *range =
        operation == ISO_NONE ? NULL : iso_history_set_of(history, operation);
    for (uint32_t i = 0; range && range->form != ISO_SET_ROW && i < range->count; i++)
        claim_key(facts,
                  history->ops.key[history->txns.first_op[range->transaction] + range->first + i]);
}

static void claim_keys(struct iso_facts *facts)
{
    const struct iso_claims *claims = facts->claims;
    for (uint32_t key = 0; key < facts->history->keys.count; key++)
        facts->slot_of_key[key] = ISO_NONE;
    for (uint32_t i = 0; i < claims->count; i++) {
        claim_key(facts, claims->list[i].key);
        claim_range(facts, claims->list[i].operation);
    }
}

/* Where no row set is, nobody asks. */
static void find_initial(struct iso_facts *facts)
{
    const struct iso_history *history = facts->history;
    for (uint32_t i = 0; history->ranges.count && i < history->initial.count; i++)
        if (facts->slot_of_key[history->initial.key[i]] != ISO_NONE)
            iso_number_map_put(&facts->initial, history->initial.key[i], i);
}

iso_atom iso_facts_initial(const struct iso_facts *facts, uint32_t key)
{
    uint32_t write = iso_number_map_get(&facts->initial, key);
    return write == ISO_NUMBER_NONE ? facts->history->initial.other_value
                                    : facts->history->initial.value[write];
}

void iso_facts_init(struct iso_facts *facts, const struct iso_claims *claims)
{
    *facts = (struct iso_facts){.history = claims->history, .claims = claims};
    facts->slot_of_key =
        iso_allocate((claims->history->keys.count + 1) * sizeof *facts->slot_of_key);
    claim_keys(facts);
    find_initial(facts);
    facts->first_version = iso_allocate_zeroed(facts->slot_count + 1, sizeof *facts->first_version);
    uint32_t *filled = iso_allocate_zeroed(facts->slot_count + 1, sizeof *filled);
    for_each_write(facts, count_write, NULL);
    for (uint32_t slot = 0; slot < facts->slot_count; slot++)
        facts->first_version[slot + 1] += facts->first_version[slot];
    facts->versions =
        iso_allocate((facts->first_version[facts->slot_count] + 1) * sizeof *facts->versions);
    for_each_write(facts, add_write, filled);
    sort_versions(facts, filled);
    iso_free(filled);
}

void iso_facts_release(struct iso_facts *facts)
{
    ISO_FREE_ALL(facts->slot_of_key, facts->first_version, facts->versions);
    iso_number_map_release(&facts->initial);
    *facts = (struct iso_facts){.history = NULL};
}

const struct iso_key_version *iso_facts_versions(const struct iso_facts *facts, uint32_t key,
                                                 uint32_t *count)
{
    uint32_t slot = facts->slot_of_key[key];
    *count = facts->first_version[slot + 1] - facts->first_version[slot];
    return facts->versions + facts->first_version[slot];
}

uint32_t iso_facts_version_of(const struct iso_facts *facts, uint32_t key, uint32_t transaction)
{
    uint32_t count;
    const struct iso_key_version *versions = iso_facts_versions(facts, key, &count);
    for (uint32_t i = 0; i < count; i++)
        if (versions[i].transaction == transaction)
            return i;
    return ISO_NONE;
}
