/* The sweep: reads and commits in time order, one shard's.
 *
 * A read event at bound b comes after every commit with cts < b and before every other one. The
 * fast path takes a transaction all of whose operations read at one time, below its own cts: it
 * goes through them in their order, and what the transaction did to a key before stands in the
 * key's state, told from others' by `accessor`. The rest goes through runs.c, list keys always.
 */
#include <assert.h>

#include "chronos/chronos_private.h"
#include "base/fetch.h"

enum { AHEAD = 12, FAR_AHEAD = 24 }; /* events; no more than CHRONOS_PADDING */

/* ---- which operations are ours ---- */

/* The operations on our part of the keys (`parts` 1: any), or only those that write. Branches on
 * either would be mispredicted every other time, so the operations are picked without one. */
static inline uint32_t pick_operation(struct chronos_shard *shard, uint32_t transaction,
                                      bool only_writes, unsigned parts)
{
    const struct iso_history *history = shard->history;
    const uint32_t *keys = history->ops.key;
    const uint8_t *kinds = history->ops.kind;
    uint32_t *restrict picked = shard->picked, count = 0,
                       end = history->txns.first_op[transaction + 1];
    unsigned part = shard->part;
    for (uint32_t o = history->txns.first_op[transaction]; o < end; o++) {
        picked[count] = o;
        unsigned wanted = !only_writes || iso_kind_writes(kinds[o]),
                 ours = parts == 1 || chronos_owns(keys[o], part, parts);
        count += wanted & ours;
    }
    return count;
}

ISO_FETCH fetch_ahead(const struct iso_history *history, const uint32_t *transactions)
{
    __builtin_prefetch(&history->txns.first_op[transactions[FAR_AHEAD]]);
    uint32_t operation = history->txns.first_op[transactions[AHEAD]];
    __builtin_prefetch(&history->ops.key[operation]);
    __builtin_prefetch(&history->ops.kind[operation]);
    __builtin_prefetch(&history->ops.value[operation]);
    __builtin_prefetch(&history->ops.key[operation + 15]);
    __builtin_prefetch(&history->ops.value[operation + 15]);
}

/* ---- reads ---- */

static __attribute__((noinline, cold)) void wrong_read(struct chronos_shard *shard,
                                                       struct chronos_key *key,
                                                       uint32_t transaction, uint32_t operation)
{
    ISO_LOG(chronos, &shard->history->atoms, shard->history->txns.tid[transaction],
            "operation %" PRIu32 " read something else than was there", operation);
    if (key->accessor != transaction) {
        chronos_add_suspect(shard, &(struct chronos_suspect){.transaction = transaction,
                                                             .operation = operation,
                                                             .expected = key->value,
                                                             .writer = key->writer,
                                                             .prefix = ISO_NONE});
    } else if (key->int_found != transaction) {
        key->int_found = transaction;
        chronos_add_int(shard, transaction, operation, key->last);
    }
}

/* `when_set` if the bit is 1, else `otherwise`; a mask, since compilers make a branch of the
 * obvious. */
static inline uint32_t choose_value(unsigned bit, uint32_t when_set, uint32_t otherwise)
{
    return otherwise ^ ((otherwise ^ when_set) & (0u - bit));
}

/* One operation on a register; `writes` is 1 or 0. Whether it reads or writes, and whether the
 * transaction was here before, no processor can foresee: the only branches are those that lead to
 * violations. */
static inline void access_key(struct chronos_shard *shard, struct chronos_key *key,
                              uint32_t transaction, uint32_t operation, uint32_t value,
                              unsigned writes)
{
    unsigned here = key->accessor == transaction;
    unsigned differs = value != choose_value(here, key->last, key->value);
    if (__builtin_expect(differs & ~writes, 0))
        wrong_read(shard, key, transaction, operation);
    key->accessor = transaction;
    key->last = value;
}

static inline bool needs_care(const struct chronos *check, uint32_t transaction)
{
    const struct iso_history *history = check->history;
    if (!check->own_times && !check->inverted)
        return false;
    uint8_t flags = history->txns.flags[transaction];
    return (flags & ISO_OWN_TIMES) ||
           (check->si && (flags & ISO_WRITES) &&
            history->txns.cts[transaction] <= history->txns.sts[transaction]);
}

/* Operations `picked[0..count)`, or where that is NULL the `count` from `first`, of a transaction;
 * the number of list operations among them is returned, and they stand in `sorted`. */
static inline uint32_t access_operations(struct chronos_shard *shard, uint32_t transaction,
                                         const uint32_t *picked, uint32_t first, uint32_t count)
{
    const uint32_t *keys = shard->history->ops.key, *values = shard->history->ops.value;
    const uint8_t *kinds = shard->history->ops.kind;
    struct chronos_key *states = shard->keys;
    uint32_t writes = 0, lists = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t operation = picked ? picked[i] : first + i, key = keys[operation];
        uint8_t kind = kinds[operation];
        if (__builtin_expect(kind > ISO_DELETE, 0)) {
            shard->sorted[lists++] = (uint64_t)key << 32 | operation;
            continue;
        }
        unsigned is_write = kind != ISO_READ;
        access_key(shard, &states[key], transaction, operation, values[operation], is_write);
        writes += is_write;
    }
    shard->verdict->reads_judged += count - lists - writes;
    return lists;
}

static uint32_t access_own_keys(struct chronos_shard *shard, uint32_t transaction)
{
    const uint32_t *first = shard->history->txns.first_op + transaction;
    unsigned parts = shard->check->parts;
    if (parts == 1)
        return access_operations(shard, transaction, NULL, first[0], first[1] - first[0]);
    return access_operations(shard, transaction, shard->picked, 0,
                             pick_operation(shard, transaction, false, parts));
}

static void read_all(struct chronos_shard *shard, uint32_t transaction)
{
    if (needs_care(shard->check, transaction)) {
        chronos_judge_transaction(shard, transaction);
        return;
    }
    uint32_t lists = access_own_keys(shard, transaction);
    if (lists) {
        chronos_sort_numbers(shard->sorted, lists);
        chronos_judge_runs(shard, transaction, shard->sorted, lists);
    }
}

static void read_extra(struct chronos_shard *shard, const struct chronos_extra *extra)
{
    if (extra->prefix == ISO_NONE)
        chronos_judge_register_read(shard, extra->transaction, extra->operation);
    else
        chronos_judge_list_read(shard, extra->transaction, extra->operation, extra->prefix);
}

/* ---- commits ---- */

static void commit_writes(struct chronos_shard *shard, uint32_t transaction)
{
    struct chronos *check = shard->check;
    const struct iso_history *history = check->history;
    unsigned parts = check->parts;
    uint32_t count = parts == 1 ? pick_operation(shard, transaction, true, 1)
                                : pick_operation(shard, transaction, true, parts);
    uint64_t bound =
                 check->si && !check->overlaps ? history->txns.sts[transaction] + 1 : UINT64_MAX,
             cts = history->txns.cts[transaction];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t operation = shard->picked[i], key = history->ops.key[operation];
        struct chronos_key *state = &shard->keys[key];
        if (__builtin_expect(state->judged_cts >= bound, 0) && state->writer != transaction)
            chronos_contest(shard, key);
        state->judged_cts = cts;
        state->writer = transaction;
        state->value = history->ops.value[operation];
        if (history->ops.kind[operation] == ISO_APPEND) {
            chronos_append(&check->lists[key], state->value);
            state->value = check->lists[key].count;
        }
    }
}

/* Commits all that have the cts of commit `at`; returns where the next ones start. */
static uint32_t commit_at(struct chronos_shard *shard, uint32_t at)
{
    const struct chronos_events *commits = &shard->check->commits;
    uint32_t end = at + 1;
    fetch_ahead(shard->history, commits->transaction + at);
    while (commits->time[end] == commits->time[at])
        end++;
    assert(end <= commits->count);
    if (end == at + 1 && !needs_care(shard->check, commits->transaction[at]))
        commit_writes(shard, commits->transaction[at]);
    else
        chronos_commit_group(shard, commits->transaction + at, end - at);
    return end;
}

void chronos_sweep(struct chronos_shard *shard)
{
    const struct chronos_events *reads = &shard->check->reads, *commits = &shard->check->commits;
    uint32_t read = shard->first_read, extra = 0, committed = shard->first_commit;
    while (read < shard->end_read || extra < shard->extra_count) {
        bool extra_first =
            extra < shard->extra_count && shard->extra_time[extra] <= reads->time[read];
        uint64_t bound = extra_first ? shard->extra_time[extra] : reads->time[read];
        while (committed < shard->end_commit && commits->time[committed] < bound)
            committed = commit_at(shard, committed);
        if (extra_first) {
            read_extra(shard, &shard->extras[shard->extra_order[extra++]]);
        } else {
            fetch_ahead(shard->history, reads->transaction + read);
            read_all(shard, reads->transaction[read++]);
        }
    }
    while (committed < shard->end_commit) /* nothing reads these, but they may conflict */
        committed = commit_at(shard, committed);
    assert(committed == shard->end_commit);
}
