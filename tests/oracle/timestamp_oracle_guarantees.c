/* ryw, mr, ra, cc and psi by the order of commits: who knows of whom, as a closure of pairs. */
#include <string.h>

#include "tests/oracle/timestamp_oracle_private.h"

#define NONE ISO_NONE

static bool writes(const struct oracle *oracle, uint32_t t)
{
    return plain_transaction_writes(&oracle->history->transactions[t]);
}

static uint64_t cts_of(const struct oracle *oracle, uint32_t t)
{
    return t == NONE ? 0 : oracle->times.transactions[t].cts;
}

/* ---- sessions ---- */

/* A writer that commits below an earlier one of its session. */
static bool goes_back(const struct oracle *oracle, uint32_t t)
{
    bool back = false;
    for (uint32_t u = 0; u < oracle->history->transaction_count; u++)
        back |= is_committed(oracle, u) && writes(oracle, u) && session_precedes(oracle, u, t) &&
                cts_of(oracle, u) > cts_of(oracle, t);
    return back && writes(oracle, t) && is_committed(oracle, t);
}

void judge_back(struct oracle *oracle, uint32_t t)
{
    struct instance instance = instance_of(ISO_SESSION, ISO_KIND_NONE, t);
    if (!goes_back(oracle, t))
        return;
    for (uint32_t u = 0; u < oracle->history->transaction_count; u++) {
        if (!is_committed(oracle, u) || !writes(oracle, u) || !session_precedes(oracle, u, t))
            continue;
        if (instance.other == NONE || cts_of(oracle, u) > cts_of(oracle, instance.other) ||
            (cts_of(oracle, u) == cts_of(oracle, instance.other) &&
             session_precedes(oracle, u, instance.other)))
            instance.other = u;
    }
    instances_add(oracle->instances, &instance);
}

/* U comes before T in their session, and the session's commits do not go back between them. */
static bool comes_before(const struct oracle *oracle, uint32_t u, uint32_t t)
{
    bool before =
        is_committed(oracle, u) && is_committed(oracle, t) && session_precedes(oracle, u, t);
    for (uint32_t b = 0; before && b < oracle->history->transaction_count; b++)
        before = !goes_back(oracle, b) || !session_precedes(oracle, u, b) ||
                 !(b == t || session_precedes(oracle, b, t));
    return before;
}

/* The writer itself; for who reads only, the next writer of its session, or NONE. */
static uint32_t next_writer(const struct oracle *oracle, uint32_t t)
{
    uint32_t next = NONE;
    if (writes(oracle, t))
        return t;
    for (uint32_t u = 0; u < oracle->history->transaction_count; u++) {
        if (writes(oracle, u) && comes_before(oracle, t, u) &&
            (next == NONE || session_precedes(oracle, u, next)))
            next = u;
    }
    return next;
}

static uint64_t limit_of(const struct oracle *oracle, uint32_t t)
{
    uint32_t next = next_writer(oracle, t);
    return next == NONE ? UINT64_MAX : cts_of(oracle, next);
}

/* ---- of whom a read is ---- */

struct source {
    bool none, certain, tied;
    uint32_t writer, newest; /* NONE: the initial version */
};

static bool returned(const struct oracle *oracle, const struct external_read *read, uint32_t prefix,
                     uint32_t writer)
{
    return prefix == NONE ? is_register_version(oracle, read, writer)
                          : is_list_version(oracle, read, prefix, writer);
}

static struct source source_of(const struct oracle *oracle, const struct external_read *read,
                               uint32_t prefix)
{
    uint64_t limit = limit_of(oracle, read->t), start = oracle->times.transactions[read->t].sts;
    bool ends = next_writer(oracle, read->t) != NONE;
    uint32_t oldest = NONE, newest = NONE, shown = NONE, count = 0;
    bool initial = returned(oracle, read, prefix, NONE);
    for (uint32_t w = 0; w < oracle->history->transaction_count; w++) {
        if (!has_version(oracle, read, w) || !returned(oracle, read, prefix, w) ||
            cts_of(oracle, w) > limit)
            continue;
        count++;
        if (oldest == NONE || version_below(oracle, read->key, w, oldest))
            oldest = w;
        if (newest == NONE || version_below(oracle, read->key, newest, w))
            newest = w;
        if (cts_of(oracle, w) <= start && (cts_of(oracle, w) < limit || !ends) &&
            (shown == NONE || version_below(oracle, read->key, shown, w)))
            shown = w;
    }
    struct source source = {
        .none = count + initial == 0, .certain = count + initial == 1, .newest = newest};
    source.writer = shown != NONE ? shown : initial ? NONE : oldest;
    source.tied = source.writer != NONE && cts_of(oracle, source.writer) == limit && ends;
    return source;
}

/* ---- who knows of whom ---- */

static bool share_key(const struct oracle *oracle, uint32_t u, uint32_t t)
{
    const struct plain_transaction *transaction = &oracle->history->transactions[t];
    bool share = false;
    for (uint32_t i = 0; i < transaction->operation_count; i++)
        share |= plain_writes(&transaction->operations[i]) &&
                 first_write(oracle, u, &transaction->operations[i].key) != NONE;
    return share;
}

/* Called for the reads in any order: all of them are known first. */
static void add_source(struct oracle *oracle, const struct external_read *read, uint32_t prefix)
{
    struct source source = source_of(oracle, read, prefix);
    if (source.none || source.tied || source.writer == NONE)
        return;
    oracle->read_by[1][source.writer][read->t] = true;
    oracle->read_by[0][source.writer][read->t] |= source.certain;
}

static void close_pairs(uint32_t count, bool known[PLAIN_TRANSACTIONS][PLAIN_TRANSACTIONS])
{
    for (uint32_t middle = 0; middle < count; middle++) {
        for (uint32_t u = 0; u < count; u++) {
            for (uint32_t t = 0; t < count; t++)
                known[u][t] |= known[u][middle] && known[middle][t];
        }
    }
}

static void find_known(struct oracle *oracle, int by_guess)
{
    uint32_t count = oracle->history->transaction_count;
    for (uint32_t u = 0; u < count; u++) {
        for (uint32_t t = 0; t < count; t++) {
            bool so = comes_before(oracle, u, t), wr = oracle->read_by[by_guess][u][t],
                 wr_so = false;
            bool ww = is_committed(oracle, u) && is_committed(oracle, t) &&
                      share_key(oracle, u, t) && cts_of(oracle, u) < cts_of(oracle, t);
            for (uint32_t r = 0; r < count; r++)
                wr_so |= oracle->read_by[by_guess][u][r] && comes_before(oracle, r, t);
            oracle->known[by_guess][u][t] = oracle->level == ISO_RYW ? so
                                            : oracle->level == ISO_MR
                                                ? wr_so
                                                : so || wr || (oracle->level == ISO_PSI && ww);
        }
    }
    if (oracle->level == ISO_CC || oracle->level == ISO_PSI)
        close_pairs(count, oracle->known[by_guess]);
}

void find_knowledge(struct oracle *oracle)
{
    memset(oracle->read_by, 0, sizeof oracle->read_by);
    for_each_external_read(oracle, add_source);
    find_known(oracle, 0);
    find_known(oracle, 1);
}

/* The newest version of the key by somebody whom the reader knows of. */
static uint32_t newest_known(const struct oracle *oracle, const struct external_read *read,
                             int by_guess)
{
    uint32_t newest = NONE;
    for (uint32_t w = 0; w < oracle->history->transaction_count; w++) {
        if (has_version(oracle, read, w) && oracle->known[by_guess][w][read->t] &&
            (newest == NONE || version_below(oracle, read->key, newest, w)))
            newest = w;
    }
    return newest;
}

enum read_verdict judge_by_knowledge(struct oracle *oracle, const struct external_read *read,
                                     uint32_t prefix, struct instance *wrong)
{
    struct source source = source_of(oracle, read, prefix);
    uint32_t required = newest_known(oracle, read, 0), by_guess = newest_known(oracle, read, 1);
    if (source.none || cts_of(oracle, required) > cts_of(oracle, source.newest)) {
        oracle->expected_writer = required;
        oracle->limit = limit_of(oracle, read->t);
        if (prefix == NONE)
            return judge_register(oracle, read, wrong);
        return list_is_tied(oracle, read->key) ? READ_UNJUDGED
                                               : judge_list(oracle, read, prefix, wrong);
    }
    return source.tied || cts_of(oracle, by_guess) > cts_of(oracle, source.writer) ? READ_UNJUDGED
                                                                                   : READ_GOOD;
}
