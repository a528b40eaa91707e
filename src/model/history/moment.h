/* Moments: which versions an operation has to see.
 *
 * Threads: pure functions of a history.
 */
#pragma once

#include <stdbool.h>

#include "history/history.h"

/* A moment at which something looks: all versions below `bound` are visible. */
struct iso_moment {
    uint64_t at;    /* the timestamp */
    bool inclusive; /* versions at `at` itself are visible too */
    bool own;       /* the operation's own timestamp, not its transaction's */
    bool lock;      /* just below the commit, since the operation held a lock */
};

/* Where an operation looks: at its ots (or sts); in commit order (`is_serial`) at its transaction's
 * commit. */
struct iso_moment iso_moment_of(const struct iso_history *history, uint32_t transaction,
                                uint32_t operation, bool is_serial);

/* The latest of the transaction's sts and its operations' and sets' own timestamps: the cts of one
 * that only read and has none. */
uint64_t iso_history_latest_time(const struct iso_history *history, uint32_t transaction);

static inline bool iso_moment_sees(const struct iso_moment *moment, uint64_t cts)
{
    return moment->inclusive ? cts <= moment->at : cts < moment->at;
}
