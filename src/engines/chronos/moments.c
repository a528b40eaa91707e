/* Read committed, and reads of the past: at which moments was each read right?
 *
 * `rc`: each external read has a moment between its transaction's start and commit, and moments do
 * not go back. The operations are taken in their order, each at the first moment that is left to
 * it; a read to which none is left is an instance of EXT and is passed over. No other choice leaves
 * more to what follows. A moment at which nobody can say whether the read is right is one, too: the
 * read is not judged, and what follows has all the moments from there on.
 *
 * `stale`: all reads have one moment, at or before the start. The latest one that suits all reads
 * so far is known; a read that it does not suit moves it back, as far as all of them ask for it.
 *
 * Moments are bounds here (chronos_private.h). Every transaction is judged by itself, against an
 * index of all versions, so threads share the transactions. Costs: a few searches a read; at
 * `stale` as many rounds as values repeat and do not suit, one where they do not repeat.
 */
#include <assert.h>

#include "chronos/version_index.h"
#include "history/boundaries.h"

struct judging {
    struct chronos_shard *shard;
    const struct chronos_index *index;
    uint32_t transaction;
    uint64_t low, high; /* bounds that are left */
};

/* `version`: what it is compared with, of all that it may have seen at the bound `expected`. */
static struct chronos_suspect suspect_of(struct judging *judging, const struct chronos_extra *read,
                                         const struct chronos_look *look, uint64_t expected,
                                         uint64_t limit, uint32_t version)
{
    const struct chronos_index *index = judging->index;
    struct chronos_suspect suspect = {.transaction = read->transaction,
                                      .operation = read->operation,
                                      .expected = chronos_initial_version(index, look->key),
                                      .writer = ISO_NONE,
                                      .prefix = read->prefix,
                                      .bound = limit,
                                      .look = expected};
    if (version != ISO_NONE) {
        suspect.expected = index->versions[version].value;
        suspect.writer = index->versions[version].writer;
    }
    return suspect;
}

static void doubt_of(struct judging *judging, const struct chronos_extra *read,
                     const struct chronos_look *look, uint64_t expected, uint64_t limit,
                     uint32_t version)
{
    struct chronos_suspect suspect = suspect_of(judging, read, look, expected, limit, version);
    chronos_add_suspect(judging->shard, &suspect);
}

static void doubt(struct judging *judging, const struct chronos_extra *read,
                  const struct chronos_look *look, uint64_t expected, uint64_t limit)
{
    doubt_of(judging, read, look, expected, limit,
             chronos_newest_below(judging->index, look->key, look->reader, expected));
}

static uint8_t own_time(const struct judging *judging, uint32_t operation)
{
    return judging->shard->history->ops.kind[operation] & (ISO_OPERATION_OTS | ISO_OPERATION_LOCK);
}

/* ---- rc ---- */

/* The start of the session's next committed transaction that has one, as a bound: a point was over
 * by then. */
static uint64_t end_of_point(const struct chronos *check, uint32_t transaction)
{
    assert(transaction < check->history->txns.count);
    const struct iso_history *history = check->history;
    uint32_t session = history->txns.session[transaction],
             end = history->sessions.first[session + 1];
    for (uint32_t i = check->position_in_session[transaction] + 1;
         check->options->session_order && i < end; i++) {
        uint32_t next = history->sessions.order[i];
        if ((history->txns.flags[next] & (ISO_STATUS_MASK | ISO_HAS_STS)) ==
            (ISO_COMMITTED | ISO_HAS_STS))
            return history->txns.sts[next] + 1;
    }
    return UINT64_MAX;
}

/* A transaction that does not say where it started did so after what its session had committed
 * before. */
static uint64_t start_bound(const struct chronos *check, uint32_t transaction)
{
    assert(transaction < check->history->txns.count);
    const struct iso_history *history = check->history;
    if (history->txns.flags[transaction] & ISO_HAS_STS)
        return history->txns.sts[transaction] + 1;
    uint32_t first = history->sessions.first[history->txns.session[transaction]];
    for (uint32_t i = check->position_in_session[transaction];
         check->options->session_order && i-- > first;) {
        uint32_t before = history->sessions.order[i];
        if ((history->txns.flags[before] & (ISO_STATUS_MASK | ISO_WRITES)) ==
            (ISO_COMMITTED | ISO_WRITES))
            return history->txns.cts[before] + 1;
    }
    return 1;
}

static bool is_point(const struct judging *judging)
{
    return judging->shard->history->txns.flags[judging->transaction] & ISO_POINT;
}

static uint64_t commit_of(const struct chronos_index *index, uint32_t version)
{
    return version == ISO_NONE ? 0 : index->versions[version].cts;
}

/* As it was given. */
static uint64_t position_of(const struct chronos_index *index, uint32_t version)
{
    const uint64_t *positions = index->check->log_positions;
    return version == ISO_NONE || !positions ? commit_of(index, version)
                                             : positions[index->versions[version].writer];
}

/* Whatever its transaction's other reads saw; a read that no moment suits is wrong anyway. */
static void judge_messages(struct judging *judging, const struct chronos_extra *read,
                           const struct chronos_look *look)
{
    uint32_t least, most, unclear;
    enum chronos_sight sight =
        chronos_messages_allow(judging->index, look, read->operation, &least, &most, &unclear);
    if (sight == CHRONOS_UNCLEAR)
        doubt_of(judging, read, look, commit_of(judging->index, unclear) + 1,
                 commit_of(judging->index, most) + 1, unclear);
    if (sight != CHRONOS_UNSEEN)
        return;
    uint64_t from = commit_of(judging->index, least), to = commit_of(judging->index, most);
    struct chronos_suspect suspect = suspect_of(judging, read, look, from + 1, to + 1, least);
    suspect.by_messages = true;
    suspect.first_moment = position_of(judging->index, least);
    suspect.last_moment = position_of(judging->index, most);
    chronos_add_suspect(judging->shard, &suspect);
}

static void judge_committed(struct judging *judging, const struct chronos_extra *reads,
                            uint32_t count)
{
    const struct chronos *check = judging->shard->check;
    const struct iso_history *history = check->history;
    uint64_t end = is_point(judging) ? end_of_point(check, judging->transaction)
                                     : history->txns.cts[judging->transaction] + 1;
    judging->low = start_bound(check, judging->transaction);
    judging->high = end > judging->low ? end : judging->low;
    for (uint32_t i = 0; i < count; i++) {
        struct chronos_look look = chronos_look_of(judging->index, &reads[i]);
        uint64_t low = judging->low, high = judging->high;
        bool moves =
            iso_read_moments(own_time(judging, reads[i].operation),
                             chronos_bound(history, judging->transaction, reads[i].operation),
                             is_point(judging), judging->index->are_positions, &low, &high);
        bool is_one = low == high; /* which may be 0 */
        uint64_t found = is_one ? low : chronos_first_right(judging->index, &look, low, high),
                 unsure = 0;
        uint32_t unclear = ISO_NONE;
        bool is_right = is_one ? chronos_right_at(judging->index, &look, low) : found != 0;
        if (!is_right || found != low)
            unsure = chronos_first_unsure(judging->index, &look, reads[i].operation, low,
                                          is_right ? found - 1 : high, &unclear);
        if (unsure)
            doubt_of(judging, &reads[i], &look, unsure, high, unclear);
        else if (!is_right)
            doubt(judging, &reads[i], &look, low, high);
        else
            judge_messages(judging, &reads[i], &look);
        if (moves && (unsure || is_right))
            judging->low = unsure ? unsure : found;
        if (judging->high < judging->low)
            judging->high = judging->low;
    }
}

/* ---- stale ---- */

/* The latest bound up to `high` that suits `look` and those of the `count` reads before that count;
 * 0: none. */
static uint64_t common_bound(const struct judging *judging, const struct chronos_look *looks,
                             uint32_t count, const struct chronos_look *look, uint64_t high)
{
    uint64_t bound = chronos_last_right(judging->index, look, high);
    for (uint32_t i = 0; bound && i < count; i++) {
        uint64_t suits = chronos_last_right(judging->index, &looks[i], bound);
        if (suits == bound)
            continue;
        bound = suits ? chronos_last_right(judging->index, look, suits) : 0;
        i = UINT32_MAX; /* from the first one again */
    }
    return bound;
}

static void judge_fixed(struct judging *judging, const struct chronos_extra *read)
{
    const struct iso_history *history = judging->shard->history;
    struct chronos_look look = chronos_look_of(judging->index, read);
    bool is_lock = chronos_is_lock(history->ops.kind[read->operation]);
    uint64_t bound = chronos_bound(history, judging->transaction, read->operation) +
                     (is_lock && !is_point(judging) && judging->index->are_positions);
    if (!chronos_right_at(judging->index, &look, bound))
        doubt(judging, read, &look, bound, bound);
}

static void judge_stale(struct judging *judging, const struct chronos_extra *reads, uint32_t count)
{
    const struct iso_history *history = judging->shard->history;
    struct chronos_look *looks = iso_allocate(((size_t)count + 1) * sizeof *looks);
    uint64_t start = history->txns.sts[judging->transaction] + 1, bound = start;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (own_time(judging, reads[i].operation)) {
            judge_fixed(judging, &reads[i]);
            continue;
        }
        looks[taken] = chronos_look_of(judging->index, &reads[i]);
        uint64_t suits = common_bound(judging, looks, taken, &looks[taken], bound);
        if (suits)
            bound = suits;
        else
            doubt(judging, &reads[i], &looks[taken], bound, start);
        taken += suits != 0;
    }
    iso_free(looks);
}

/* ---- all ---- */

void chronos_sort_extras(struct chronos_shard *shard)
{
    for (uint32_t i = 0; i < shard->extra_count; i++)
        shard->sorted[i] = (uint64_t)shard->extras[i].operation << 32 | shard->extras[i].prefix;
    chronos_sort_numbers(shard->sorted, shard->extra_count);
    for (uint32_t i = 0; i < shard->extra_count; i++) {
        shard->extras[i].operation = (uint32_t)(shard->sorted[i] >> 32);
        shard->extras[i].prefix = (uint32_t)shard->sorted[i];
    }
}

void chronos_judge_moments(struct chronos_shard *shard, uint32_t first, uint32_t end)
{
    const struct chronos *check = shard->check;
    shard->deferring = true;
    for (uint32_t t = first; t < end; t++) {
        struct judging judging = {.shard = shard, .index = check->index, .transaction = t};
        if (iso_status_of(check->history, t) != ISO_COMMITTED)
            continue;
        shard->extra_count = 0;
        chronos_judge_transaction(shard, t);
        chronos_sort_extras(shard);
        if (check->options->level == ISO_RC)
            judge_committed(&judging, shard->extras, shard->extra_count);
        else
            judge_stale(&judging, shard->extras, shard->extra_count);
    }
    shard->deferring = false;
    shard->extra_count = 0;
}
