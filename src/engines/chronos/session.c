/* SESSION: at SI a transaction starts at or after every commit earlier in its session; at SER it
 * stands after all of them, where two points may tie. Only committed transactions count, judged or
 * looked back at. */
#include "chronos/chronos_private.h"

/* The committed transaction of the session with the largest position so far. */
struct latest {
    uint32_t transaction;
    uint64_t cts;
    bool point;
};

static bool follows_si(const struct iso_history *history, uint32_t t, const struct latest *latest)
{
    return history->txns.sts[t] >= latest->cts || !(history->txns.flags[t] & ISO_HAS_STS);
}

static bool follows_ser(const struct iso_history *history, uint32_t t, const struct latest *latest)
{
    bool point = history->txns.flags[t] & ISO_POINT;
    if (history->txns.cts[t] != latest->cts)
        return history->txns.cts[t] > latest->cts;
    return point;
}

static bool is_later(const struct chronos *check, uint32_t t, const struct latest *latest)
{
    const struct iso_history *history = check->history;
    if (latest->transaction == ISO_NONE || history->txns.cts[t] != latest->cts)
        return latest->transaction == ISO_NONE || history->txns.cts[t] > latest->cts;
    return !check->si && (history->txns.flags[t] & ISO_POINT) && !latest->point;
}

void chronos_add_session(struct iso_verdict *verdict, uint32_t transaction, uint32_t other)
{
    struct iso_violation violation = iso_violation_of(ISO_SESSION, transaction);
    violation.other = other;
    iso_verdict_add(verdict, &violation);
}

static void check_next(struct chronos *check, struct iso_verdict *verdict, uint32_t t,
                       struct latest *latest)
{
    const struct iso_history *history = check->history;
    if (iso_status_of(history, t) != ISO_COMMITTED)
        return;
    if (latest->transaction != ISO_NONE &&
        !(check->si ? follows_si(history, t, latest) : follows_ser(history, t, latest)))
        chronos_add_session(verdict, t, latest->transaction);
    if (is_later(check, t, latest))
        *latest = (struct latest){t, history->txns.cts[t], history->txns.flags[t] & ISO_POINT};
}

static bool in_input_order(const struct iso_history *history)
{
    bool ordered = true;
    for (uint32_t s = 0; s < history->sessions.count && ordered; s++) {
        for (uint32_t i = history->sessions.first[s] + 1; i < history->sessions.first[s + 1]; i++)
            ordered &= history->sessions.order[i - 1] < history->sessions.order[i];
    }
    return ordered;
}

/* All sessions side by side, so that the columns are read from front to back. */
static void check_in_input_order(struct chronos *check, struct iso_verdict *verdict, unsigned part)
{
    const struct iso_history *history = check->history;
    struct latest *latest = iso_allocate(((size_t)history->sessions.count + 1) * sizeof *latest);
    uint32_t first = (uint32_t)((uint64_t)history->sessions.count * part / check->shards),
             count =
                 (uint32_t)((uint64_t)history->sessions.count * (part + 1) / check->shards) - first;
    for (uint32_t s = 0; s < history->sessions.count; s++)
        latest[s] = (struct latest){.transaction = ISO_NONE};
    for (uint32_t t = 0; t < history->txns.count; t++) {
        if (history->txns.session[t] - first < count)
            check_next(check, verdict, t, &latest[history->txns.session[t]]);
    }
    iso_free(latest);
}

void chronos_check_sessions(struct chronos *check, struct iso_verdict *verdict, unsigned part)
{
    const struct iso_history *history = check->history;
    if (in_input_order(history)) {
        check_in_input_order(check, verdict, part);
        return;
    }
    for (uint32_t s = part; s < history->sessions.count; s += check->shards) {
        struct latest latest = {.transaction = ISO_NONE};
        ISO_EACH(i, history->sessions.first, s)
            check_next(check, verdict, history->sessions.order[i], &latest);
    }
}
