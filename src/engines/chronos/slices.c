/* Shards by time: each sweeps a slice of the events, on all keys.
 *
 * Shards by key all walk through every event and pick what is theirs, which costs nearly as much as
 * judging it. A slice of time touches its own events only. But it starts in the middle: it looks
 * back for the newest version of each key, until all are found. It commits what its first read does
 * not see and the next slice's first read does, so whole groups of one cts. A key that two slices
 * find contested is judged once all the same (conflict.c).
 *
 * Only a history of registers whose transactions read at one time, below their cts, is sliced: the
 * prefixes of lists, the version before the frontier and operations with times of their own depend
 * on more than that. And each slice has its own state of all keys, so the keys must be few enough.
 */
#include <assert.h>
#include <string.h>

#include "base/sorted.h"
#include "chronos/chronos_private.h"

enum { STATES_LIMIT = 24 << 20 }; /* bytes, of all slices */

void chronos_choose_shards(struct chronos *check)
{
    const struct iso_history *history = check->history;
    bool lists = false;
    for (uint32_t key = 0; key < history->keys.count && !lists; key++)
        lists = iso_key_is_list(history, key);
    size_t states = (size_t)history->keys.count * sizeof *check->keys;
    bool sliced = !lists && !check->inverted && states <= STATES_LIMIT / check->shards;
    check->slices = sliced ? check->shards : 1;
    check->parts = sliced ? 1 : check->shards;
}

/* The first commit that a read at `bound` does not see. */
static uint32_t first_commit(const struct chronos *check, uint64_t bound)
{
    uint32_t low = 0, high = check->commits.count;
    ISO_BISECT(low, high, middle, check->commits.time[middle] < bound);
    return low;
}

/* ---- looking back ---- */

/* True if the transaction's version of the key comes before the other's: they have one cts or the
 * other's is later. */
static bool comes_before(const struct iso_history *history, uint32_t transaction, uint32_t other,
                         uint32_t key)
{
    if (history->txns.cts[transaction] != history->txns.cts[other])
        return true;
    uint64_t bound = chronos_first_write_bound(history, transaction, key),
             other_bound = chronos_first_write_bound(history, other, key);
    if (bound != other_bound)
        return bound < other_bound;
    return iso_atom_compare(&history->atoms, history->txns.tid[transaction],
                            history->txns.tid[other]) < 0;
}

/* Takes the transaction's final writes for the frontier of keys that have none yet, or one of the
 * same cts that is before them. Returns how many keys had none. */
static uint32_t take_writes(struct chronos_shard *shard, uint32_t transaction)
{
    const struct iso_history *history = shard->history;
    uint32_t found = 0;
    assert(transaction < history->txns.count);
    for (uint32_t o = history->txns.first_op[transaction + 1];
         o-- > history->txns.first_op[transaction];) {
        uint32_t key = history->ops.key[o], writer = shard->keys[key].writer;
        if (!iso_kind_writes(history->ops.kind[o]) || writer == transaction)
            continue;
        if (writer != ISO_NONE && comes_before(history, transaction, writer, key))
            continue;
        found += writer == ISO_NONE;
        shard->keys[key].writer = transaction;
        shard->keys[key].judged_cts = history->txns.cts[transaction];
        shard->keys[key].value = history->ops.value[o];
    }
    return found;
}

/* A key that is read as something but that no committed transaction wrote makes this look back to
 * the start.
 */
static void find_frontier(struct chronos_shard *shard)
{
    const struct iso_history *history = shard->history;
    const struct chronos_events *commits = &shard->check->commits;
    uint32_t missing = 0, commit = shard->first_commit;
    for (uint32_t key = 0; key < history->keys.count; key++)
        missing += (history->keys.use[key] & ISO_KEY_SCALAR) != 0;
    while (commit && (missing || commits->time[commit - 1] == commits->time[commit]))
        missing -= take_writes(shard, commits->transaction[--commit]);
}

/* ---- a slice ---- */

/* Where slice `slice` starts, or the last one ends. */
static void find_start(const struct chronos *check, unsigned slice, uint32_t *read,
                       uint32_t *commit)
{
    *read = (uint32_t)((uint64_t)check->reads.count * slice / check->slices);
    if (slice == check->slices)
        *commit = check->commits.count;
    else
        *commit = *read ? first_commit(check, check->reads.time[*read]) : 0;
}

void chronos_slice_init(struct chronos_shard *shard)
{
    struct chronos *check = shard->check;
    uint32_t count = check->history->keys.count;
    bool sliced = check->slices > 1;
    unsigned slice = sliced ? shard->index : 0;
    shard->part = sliced ? 0 : shard->index;
    find_start(check, slice, &shard->first_read, &shard->first_commit);
    find_start(check, slice + 1, &shard->end_read, &shard->end_commit);
    assert(shard->first_read <= shard->end_read && shard->first_commit <= shard->end_commit);
    shard->keys = check->keys;
    if (!sliced || shard->first_read == shard->end_read)
        return;
    shard->keys = chronos_keys_allocate(count, &shard->keys_memory);
    memcpy(shard->keys, check->keys, count * sizeof *shard->keys);
    find_frontier(shard);
}
