/* Random small histories, the same ones for the same seed.
 *
 * About two thirds are runs of a simulated multi-version store (reads at sts, or just before the
 * commit) with no to a few planted faults; the others are random in every respect. Together they
 * cover what the axioms distinguish: ties, sts = cts, sts > cts, points, operation timestamps in
 * and out of range, locks, deletes, null reads, intermediate writes, repeated values, lists,
 * aborted and unknown transactions, snos, initial values, pairs, the largest 64-bit timestamp, xids
 * and snapshots whole and breached, texts that look like numbers, and missing timestamps.
 */
#ifndef TESTS_RANDOM_HISTORY_H
#define TESTS_RANDOM_HISTORY_H

#include "tests/support/plain_history.h"

struct random_history_options {
    uint32_t max_transactions; /* at most PLAIN_TRANSACTIONS */
    uint32_t max_keys, max_sessions;
    uint32_t max_operations; /* of a transaction, at most PLAIN_OPERATIONS */
    bool timestamps;         /* false: black-box, no timestamps or snapshots at all */
    bool complete;           /* no committed transaction lacks timestamps */
    bool plain_sessions;     /* the order of the file is every session's order, no sno */
    bool cells;              /* keys of some are a row's, and its cells': "t/0", "t/0#c1" */
    bool unsigned_streams; /* no -1 and -0 beside 2^64 - 1 and 0: a stream of a database that knows
                            * unsigned integers may mean either by one */
};

/* 10 transactions, 4 keys, 4 sessions, 5 operations, timestamps, not always complete. */
struct random_history_options random_history_defaults(void);

void random_history(uint64_t seed, const struct random_history_options *options,
                    struct plain_history *history);

#endif
