/* rc and stale: every moment is tried.
 *
 * Moments are the numbers of plain_times.h, from 1. Between two neighbours of those that occur
 * nothing changes, so it is enough to try these, and those just below them.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/oracle/timestamp_oracle_private.h"

#define NONE ISO_NONE

enum { MAX_MOMENTS = 2 + 2 * PLAIN_TRANSACTIONS * (PLAIN_OPERATIONS + 2) };

struct moments {
    uint32_t count;
    uint64_t at[MAX_MOMENTS]; /* sorted, each once */
};

static int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static void add_moment(struct moments *moments, uint64_t number)
{
    moments->at[moments->count++] = number;
    if (number > 1)
        moments->at[moments->count++] = number - 1;
}

static struct moments all_moments(const struct oracle *oracle)
{
    struct moments moments = {.count = 0}, once = {.count = 0};
    moments.at[moments.count++] = 1;
    moments.at[moments.count++] = UINT64_MAX;
    for (uint32_t t = 0; t < oracle->history->transaction_count; t++) {
        const struct plain_transaction_times *times = &oracle->times.transactions[t];
        add_moment(&moments, times->sts);
        add_moment(&moments, times->cts);
        for (uint32_t i = 0; i < oracle->history->transactions[t].operation_count; i++)
            add_moment(&moments, times->operations[i].ots);
    }
    qsort(moments.at, moments.count, sizeof moments.at[0], compare_numbers);
    for (uint32_t i = 0; i < moments.count; i++) {
        if (moments.at[i] && (!once.count || once.at[once.count - 1] != moments.at[i]))
            once.at[once.count++] = moments.at[i];
    }
    return once;
}

/* ---- is a read right at a moment? ---- */

/* Of the versions of which the newest is the one that `read` returned. */
static bool returned(const struct oracle *oracle, const struct external_read *read, uint32_t prefix,
                     uint32_t writer)
{
    return prefix == NONE ? is_register_version(oracle, read, writer)
                          : is_list_version(oracle, read, prefix, writer);
}

/* The largest cts of a version up to `limit`; 0: there is none. */
static uint64_t newest_cts(const struct oracle *oracle, const struct external_read *read,
                           uint64_t limit)
{
    uint64_t newest = 0;
    for (uint32_t w = 0; w < oracle->history->transaction_count; w++) {
        uint64_t cts = oracle->times.transactions[w].cts;
        if (has_version(oracle, read, w) && cts <= limit && cts > newest)
            newest = cts;
    }
    return newest;
}

/* Of versions of one cts any may be the newest. */
static bool returned_one_of(const struct oracle *oracle, const struct external_read *read,
                            uint32_t prefix, uint64_t cts)
{
    if (!cts)
        return returned(oracle, read, prefix, NONE);
    for (uint32_t w = 0; w < oracle->history->transaction_count; w++) {
        if (has_version(oracle, read, w) && oracle->times.transactions[w].cts == cts &&
            returned(oracle, read, prefix, w))
            return true;
    }
    return false;
}

static bool is_right(const struct oracle *oracle, const struct external_read *read, uint32_t prefix,
                     uint64_t moment)
{
    uint64_t newest = newest_cts(oracle, read, moment);
    if (returned_one_of(oracle, read, prefix, newest))
        return true;
    /* Among positions, commits of one position come one after the other, in an order that nobody
     * knows. */
    return oracle->positions && newest == moment &&
           returned_one_of(oracle, read, prefix, newest_cts(oracle, read, moment - 1));
}

/* ---- rc ---- */

/* The start of the session's next committed transaction that has one. */
static uint64_t next_start(const struct oracle *oracle, uint32_t t)
{
    uint32_t next = NONE;
    for (uint32_t u = 0; u < oracle->history->transaction_count; u++) {
        if (is_committed(oracle, u) && oracle->times.transactions[u].has_sts &&
            session_precedes(oracle, t, u) && (next == NONE || session_precedes(oracle, u, next)))
            next = u;
    }
    return next == NONE || !oracle->session_order ? UINT64_MAX
                                                  : oracle->times.transactions[next].sts;
}

/* The commit of the session's last writer before it. */
static uint64_t last_commit(const struct oracle *oracle, uint32_t t)
{
    uint32_t last = NONE;
    for (uint32_t u = 0; u < oracle->history->transaction_count; u++) {
        if (is_committed(oracle, u) &&
            plain_transaction_writes(&oracle->history->transactions[u]) &&
            session_precedes(oracle, u, t) && (last == NONE || session_precedes(oracle, last, u)))
            last = u;
    }
    return last == NONE || !oracle->session_order ? 1 : oracle->times.transactions[last].cts;
}

static uint64_t at_least(uint64_t number, uint64_t least)
{
    return number < least ? least : number;
}

struct range {
    uint64_t low, high;
};

/* The moments that a read may have, of those that are left to its transaction. */
static struct range moments_of(const struct oracle *oracle, const struct external_read *read,
                               struct range left)
{
    const struct plain_transaction_times *times = &oracle->times.transactions[read->t];
    const struct plain_operation_times *operation = &times->operations[read->operation];
    bool positions = oracle->positions;
    if (operation->own && oracle->history->transactions[read->t].operations[read->operation].lock) {
        left.low = at_least(operation->ots, left.low);
        left.high = at_least(left.high, left.low);
    } else if (operation->own) {
        left.low = left.high = at_least(operation->ots, left.low);
    } else if (operation->lock && !times->point) {
        left.low = left.high = positions ? times->cts : times->cts - 1;
    }
    return left;
}

static struct range moments_left(const struct oracle *oracle, uint32_t t)
{
    const struct plain_transaction_times *times = &oracle->times.transactions[t];
    struct range left = {times->has_sts ? times->sts : last_commit(oracle, t),
                         times->point ? next_start(oracle, t) : times->cts};
    left.high = at_least(left.high, left.low);
    return left;
}

/* The first moment of the range at which the read is right; 0: none. */
static uint64_t first_right(const struct oracle *oracle, const struct external_read *read,
                            uint32_t prefix, struct range range)
{
    struct moments moments = all_moments(oracle);
    for (uint32_t i = 0; i < moments.count; i++) {
        if (moments.at[i] >= range.low && moments.at[i] <= range.high &&
            is_right(oracle, read, prefix, moments.at[i]))
            return moments.at[i];
    }
    return 0;
}

void begin_moments(struct oracle *oracle, uint32_t t)
{
    struct range left = moments_left(oracle, t);
    oracle->left_low = left.low;
    oracle->left_high = left.high;
    oracle->past_count = 0;
}

static enum read_verdict judge_wrong(struct oracle *oracle, const struct external_read *read,
                                     uint32_t prefix, uint64_t expected_at, uint64_t limit,
                                     struct instance *wrong)
{
    oracle->expected_at = expected_at;
    oracle->limit = limit;
    if (prefix == NONE)
        return judge_register(oracle, read, wrong);
    return list_is_tied(oracle, read->key) ? READ_UNJUDGED
                                           : judge_list(oracle, read, prefix, wrong);
}

static enum read_verdict judge_committed_read(struct oracle *oracle,
                                              const struct external_read *read, uint32_t prefix,
                                              struct instance *wrong)
{
    struct range left = {oracle->left_low, oracle->left_high};
    struct range range = moments_of(oracle, read, left);
    uint64_t found = first_right(oracle, read, prefix, range);
    if (!found)
        return judge_wrong(oracle, read, prefix, range.low, range.high, wrong);
    if (!oracle->history->transactions[read->t].operations[read->operation].lock)
        oracle->left_low = found;
    oracle->left_high = at_least(oracle->left_high, oracle->left_low);
    return READ_GOOD;
}

/* ---- stale ---- */

static bool suits_all(const struct oracle *oracle, const struct external_read *read,
                      uint32_t prefix, uint64_t moment)
{
    bool suits = is_right(oracle, read, prefix, moment);
    for (uint32_t i = 0; suits && i < oracle->past_count; i++)
        suits = is_right(oracle, &oracle->past[i], oracle->past_prefix[i], moment);
    return suits;
}

static enum read_verdict judge_past_read(struct oracle *oracle, const struct external_read *read,
                                         uint32_t prefix, struct instance *wrong)
{
    const struct plain_transaction_times *times = &oracle->times.transactions[read->t];
    const struct plain_operation_times *operation = &times->operations[read->operation];
    bool positions = oracle->positions;
    if (operation->own || operation->lock) {
        uint64_t moment = operation->lock && positions ? times->cts : operation->ots;
        return is_right(oracle, read, prefix, moment)
                   ? READ_GOOD
                   : judge_wrong(oracle, read, prefix, moment, moment, wrong);
    }
    struct moments moments = all_moments(oracle);
    uint64_t latest = times->sts;
    for (uint32_t i = 0; i < moments.count; i++) {
        if (moments.at[i] <= times->sts && suits_all(oracle, read, prefix, moments.at[i])) {
            oracle->past[oracle->past_count] = *read;
            oracle->past_prefix[oracle->past_count++] = prefix;
            return READ_GOOD;
        }
    }
    for (uint32_t i = moments.count; i-- > 0;) {
        bool suits = moments.at[i] <= times->sts;
        for (uint32_t past = 0; suits && past < oracle->past_count; past++)
            suits = is_right(oracle, &oracle->past[past], oracle->past_prefix[past], moments.at[i]);
        latest = moments.at[i];
        if (suits)
            break;
    }
    return judge_wrong(oracle, read, prefix, latest, times->sts, wrong);
}

enum read_verdict judge_by_moments(struct oracle *oracle, const struct external_read *read,
                                   uint32_t prefix, struct instance *wrong)
{
    return oracle->level == ISO_RC ? judge_committed_read(oracle, read, prefix, wrong)
                                   : judge_past_read(oracle, read, prefix, wrong);
}
