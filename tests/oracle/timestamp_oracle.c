/* TIMESTAMP, SESSION and NOCONFLICT. */
#include <string.h>

#include "tests/oracle/timestamp_oracle_private.h"

#define NONE ISO_NONE

uint32_t first_write(const struct oracle *oracle, uint32_t t, const struct plain_text *key)
{
    const struct plain_transaction *transaction = &oracle->history->transactions[t];
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        if (plain_writes(&transaction->operations[i]) &&
            plain_equal(&transaction->operations[i].key, key))
            return i;
    }
    return NONE;
}

uint32_t final_write(const struct oracle *oracle, uint32_t t, const struct plain_text *key)
{
    const struct plain_transaction *transaction = &oracle->history->transactions[t];
    uint32_t final = NONE;
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        if (plain_writes(&transaction->operations[i]) &&
            plain_equal(&transaction->operations[i].key, key))
            final = i;
    }
    return final;
}

uint32_t smaller_tid(const struct oracle *oracle, uint32_t left, uint32_t right)
{
    const struct plain_transaction *transactions = oracle->history->transactions;
    if (left == NONE)
        return right;
    return plain_compare(&transactions[left].tid, &transactions[right].tid) < 0 ? left : right;
}

uint32_t operation_number(const struct oracle *oracle, uint32_t t, uint32_t operation)
{
    for (uint32_t u = 0; u < t; u++)
        operation += oracle->history->transactions[u].operation_count;
    return operation;
}

/* ---- what cannot be judged ---- */

static bool lacks_times(const struct oracle *oracle, uint32_t t)
{
    const struct plain_transaction_times *times = &oracle->times.transactions[t];
    if (!is_committed(oracle, t))
        return false;
    if (plain_transaction_writes(&oracle->history->transactions[t]) && !times->has_cts)
        return true;
    if (oracle->level == ISO_RC || has_knowledge(oracle))
        return false;
    return oracle->level != ISO_SER ? !times->has_sts : !times->has_sts && !times->has_cts;
}

/* ---- TIMESTAMP ---- */

static bool interval_broken(const struct oracle *oracle, uint32_t t)
{
    const struct plain_transaction *transaction = &oracle->history->transactions[t];
    const struct plain_transaction_times *times = &oracle->times.transactions[t];
    if (!times->has_sts)
        return false;
    if (times->sts > times->cts ||
        (plain_transaction_writes(transaction) && times->sts >= times->cts))
        return true;
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        const struct plain_operation_times *operation = &times->operations[i];
        if (operation->own && (operation->ots < times->sts || operation->ots > times->cts))
            return true;
    }
    return false;
}

static bool equal_cts(const struct oracle *oracle, uint32_t t, uint32_t u)
{
    return t != u && is_committed(oracle, t) && is_committed(oracle, u) &&
           oracle->times.transactions[t].cts == oracle->times.transactions[u].cts;
}

/* The writer of a key of T, with T's cts and the smallest tid. */
static uint32_t find_shared_cts(const struct oracle *oracle, uint32_t t)
{
    const struct plain_transaction *transaction = &oracle->history->transactions[t];
    uint32_t found = NONE;
    for (uint32_t u = 0; u < oracle->history->transaction_count; u++) {
        if (!equal_cts(oracle, t, u))
            continue;
        for (uint32_t i = 0; i < transaction->operation_count; i++) {
            const struct plain_operation *operation = &transaction->operations[i];
            if (plain_writes(operation) && first_write(oracle, u, &operation->key) != NONE)
                found = smaller_tid(oracle, found, u);
        }
    }
    return found;
}

/* Equal cts, and T reads externally what U writes: T must come first. */
static bool must_precede(const struct oracle *oracle, uint32_t t, uint32_t u)
{
    const struct plain_transaction *transaction = &oracle->history->transactions[t];
    if (!equal_cts(oracle, t, u) || oracle->times.transactions[t].point ||
        oracle->times.transactions[u].point)
        return false;
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        if (oracle->reads_externally[t][i] &&
            first_write(oracle, u, &transaction->operations[i].key) != NONE)
            return true;
    }
    return false;
}

static void find_cycles(const struct oracle *oracle, bool on_cycle[PLAIN_TRANSACTIONS])
{
    uint32_t count = oracle->history->transaction_count;
    bool reaches[PLAIN_TRANSACTIONS][PLAIN_TRANSACTIONS];
    for (uint32_t t = 0; t < count; t++) {
        for (uint32_t u = 0; u < count; u++)
            reaches[t][u] = must_precede(oracle, t, u);
    }
    for (uint32_t middle = 0; middle < count; middle++) {
        for (uint32_t t = 0; t < count; t++) {
            for (uint32_t u = 0; u < count; u++)
                reaches[t][u] |= reaches[t][middle] && reaches[middle][u];
        }
    }
    for (uint32_t t = 0; t < count; t++)
        on_cycle[t] = reaches[t][t];
}

static void judge_timestamps(struct oracle *oracle)
{
    bool on_cycle[PLAIN_TRANSACTIONS] = {false};
    if (oracle->level == ISO_SER)
        find_cycles(oracle, on_cycle);
    for (uint32_t t = 0; t < oracle->history->transaction_count; t++) {
        struct instance instance = instance_of(ISO_TIMESTAMP, ISO_KIND_NONE, t);
        if (!is_committed(oracle, t))
            continue;
        if (oracle->level == ISO_SER)
            instance.other = find_shared_cts(oracle, t);
        if (instance.other != NONE)
            instance.kind = ISO_SHARED_CTS;
        else if (on_cycle[t])
            instance.kind = ISO_CTS_CYCLE;
        else if (oracle->level != ISO_SER && interval_broken(oracle, t))
            instance.kind = ISO_INTERVAL;
        else if (oracle->times.transactions[t].breached)
            instance.kind = ISO_SNAPSHOT_ORDER;
        if (instance.kind != ISO_KIND_NONE)
            instances_add(oracle->instances, &instance);
    }
}

/* ---- SESSION ---- */

bool session_precedes(const struct oracle *oracle, uint32_t u, uint32_t t)
{
    const struct plain_history *history = oracle->history;
    uint64_t left = plain_sno(history, u), right = plain_sno(history, t);
    return plain_equal(&history->transactions[u].session, &history->transactions[t].session) &&
           (left < right || (left == right && u < t));
}

/* SI: by cts. SER: by cts, points after all others. */
static bool position_below(const struct oracle *oracle, uint32_t left, uint32_t right)
{
    const struct plain_transaction_times *a = &oracle->times.transactions[left];
    const struct plain_transaction_times *b = &oracle->times.transactions[right];
    if (a->cts != b->cts || oracle->level != ISO_SER)
        return a->cts < b->cts;
    return !a->point && b->point;
}

/* U, which T comes after in their session, does not lie before T. */
static bool session_broken(const struct oracle *oracle, uint32_t u, uint32_t t)
{
    const struct plain_transaction_times *earlier = &oracle->times.transactions[u];
    const struct plain_transaction_times *later = &oracle->times.transactions[t];
    if (oracle->level != ISO_SER)
        return later->has_sts && later->sts < earlier->cts;
    bool both_points = earlier->point && later->point;
    return !position_below(oracle, u, t) && !(both_points && earlier->cts == later->cts);
}

static void judge_session(struct oracle *oracle, uint32_t t)
{
    struct instance instance = instance_of(ISO_SESSION, ISO_KIND_NONE, t);
    bool broken = false;
    for (uint32_t u = 0; u < oracle->history->transaction_count; u++) {
        if (!is_committed(oracle, u) || !session_precedes(oracle, u, t))
            continue;
        broken |= session_broken(oracle, u, t);
        uint32_t largest = instance.other;
        if (largest == NONE || position_below(oracle, largest, u) ||
            (!position_below(oracle, u, largest) && session_precedes(oracle, u, largest)))
            instance.other = u;
    }
    if (broken)
        instances_add(oracle->instances, &instance);
}

/* ---- NOCONFLICT ---- */

/* Both write the key, neither first under a mere lock, and neither is over before the other holds
 * the key. */
static bool conflict(const struct oracle *oracle, uint32_t t, uint32_t u,
                     const struct plain_text *key, uint64_t ots[2])
{
    uint32_t first_t = first_write(oracle, t, key), first_u = first_write(oracle, u, key);
    if (first_u == NONE)
        return false;
    const struct plain_operation_times *at = &oracle->times.transactions[t].operations[first_t];
    const struct plain_operation_times *au = &oracle->times.transactions[u].operations[first_u];
    ots[0] = at->ots;
    ots[1] = au->ots;
    return !at->lock && !au->lock && oracle->times.transactions[u].cts > at->ots &&
           oracle->times.transactions[t].cts > au->ots;
}

static void judge_pair(struct oracle *oracle, uint32_t t, uint32_t u, const struct plain_text *key)
{
    const struct plain_transaction_times *times = oracle->times.transactions;
    const struct plain_transaction *transactions = oracle->history->transactions;
    uint64_t ots[2];
    if (!conflict(oracle, t, u, key, ots))
        return;
    bool t_later = times[t].cts != times[u].cts ? times[t].cts > times[u].cts
                   : ots[0] != ots[1]
                       ? ots[0] > ots[1]
                       : plain_compare(&transactions[t].tid, &transactions[u].tid) > 0;
    struct instance instance = instance_of(ISO_NOCONFLICT, ISO_KIND_NONE, t_later ? t : u);
    instance.other = t_later ? u : t;
    strcpy(instance.key, key->text);
    instances_add(oracle->instances, &instance);
}

static void judge_conflicts(struct oracle *oracle, uint32_t t)
{
    const struct plain_transaction *transaction = &oracle->history->transactions[t];
    for (uint32_t i = 0; i < transaction->operation_count; i++) {
        const struct plain_text *key = &transaction->operations[i].key;
        if (first_write(oracle, t, key) != i)
            continue;
        oracle->instances->writes_unjudged += oracle->times.transactions[t].operations[i].lock;
        for (uint32_t u = 0; u < t; u++) {
            if (is_committed(oracle, u))
                judge_pair(oracle, t, u, key);
        }
    }
}

/* ---- all ---- */

static bool uses_operation_times(const struct oracle *oracle, uint32_t t)
{
    bool uses = false;
    for (uint32_t i = 0; i < oracle->history->transactions[t].operation_count; i++) {
        const struct plain_operation_times *operation =
            &oracle->times.transactions[t].operations[i];
        uses |= operation->own || operation->lock;
    }
    return uses;
}

bool timestamp_oracle(const struct plain_history *history, enum iso_level level, bool session_order,
                      struct instances *instances, bool refused[PLAIN_TRANSACTIONS])
{
    bool any = false;
    struct oracle oracle = {
        .history = history, .level = level, .session_order = session_order, .instances = instances};
    instances_clear(instances);
    plain_times_of(history, &oracle.times);
    oracle.positions = plain_clock(history) == ISO_CLOCK_SNAPSHOT;
    if (has_moments(&oracle) && plain_times_merge_gaps(history, &oracle.times))
        oracle.positions = oracle.has_log = true;
    for (uint32_t t = 0; t < history->transaction_count; t++)
        any |= refused[t] = lacks_times(&oracle, t);
    if (any)
        return false;
    judge_reads(&oracle);
    judge_timestamps(&oracle);
    for (uint32_t t = 0; t < history->transaction_count; t++) {
        if (!is_committed(&oracle, t))
            continue;
        if (has_knowledge(&oracle))
            judge_back(&oracle, t);
        else if (session_order && level != ISO_STALE_READS)
            judge_session(&oracle, t);
        if (level == ISO_SI)
            judge_conflicts(&oracle, t);
        if (level != ISO_SER)
            instances->per_operation |= uses_operation_times(&oracle, t);
    }
    instances_sort(instances);
    return true;
}
