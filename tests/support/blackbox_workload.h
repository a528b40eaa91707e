/* Black-box workloads of earlier work, made in memory, for tests and for timing polygraph.
 *
 * Names: blindw (write-only or read-only transactions, unique values); bl, rh, wh, hd (50, 95, 30,
 *   50% reads;
 * half of the keys take values from 100, drawn by zipf 0.5, hd by 1.5; keys by zipf 0.99); rmw
 * (every write after a read). A toy database runs the sessions side by side with snapshots;
 * `serial` aborts what a serial order does not allow (first committer wins, reads validated), else
 * only concurrent writers of a key abort. Aborted ones are left out. So every history holds: at
 * `ser` if serial, at `si` in any case.
 */
#ifndef ISO_TESTS_BLACKBOX_WORKLOAD_H
#define ISO_TESTS_BLACKBOX_WORKLOAD_H

#include "history/history.h"

struct blackbox_workload {
    const char *name;
    uint32_t transactions, keys, sessions, operations; /* operations a transaction, at most 64 */
    uint64_t seed;
    bool serial;
};

/* Fills an empty history, unfinished. False: no workload of that name. */
bool blackbox_workload_make(const struct blackbox_workload *workload, struct iso_history *history);

#endif
