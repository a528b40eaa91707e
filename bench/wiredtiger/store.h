/* WiredTiger with explicit timestamps, used well and misused.
 *
 * One counter is the clock. A transaction reads at `sts` and commits at `cts`, both drawn from it;
 * what a mode gets right or wrong is how drawing a timestamp and telling it to the store go
 * together.
 *
 * Correct:
 *   correct       one mutex held around choosing the read timestamp with begin, and again around
 *                 choosing the commit
 *                 timestamp with commit: whoever sees the counter at c sees every commit up to c.
 *   all-durable   commits run outside the mutex, so the counter may be ahead of them; reads go to
 *                 the store's
 *                 all_durable timestamp, below which there are no holes, once it covers the
 *                   session's last commit.
 * Misused, as real systems have:
 *   snapshot-holes            reads at the counter while commits below it are still on their way
 *   read-committed            each read sees the newest commit; timestamps are recorded, never told
 *                             to the store
 *   no-read-timestamp         the start timestamp is recorded, the store reads its newest snapshot,
 *                             a little later
 *   commit-out-of-order       both timestamps are drawn ahead, so that a key's commits come in
 *                             another order than theirs
 *   missing-commit-timestamp  as all-durable, but one commit in 16 is not given its timestamp
 *
 * Threads: a store is shared, a store_session is one thread's.
 */
#ifndef BENCH_WIREDTIGER_STORE_H
#define BENCH_WIREDTIGER_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <wiredtiger.h>

enum store_mode {
    MODE_CORRECT,
    MODE_ALL_DURABLE,
    MODE_SNAPSHOT_HOLES,
    MODE_READ_COMMITTED,
    MODE_NO_READ_TIMESTAMP,
    MODE_COMMIT_OUT_OF_ORDER,
    MODE_MISSING_COMMIT_TIMESTAMP,
    STORE_MODES
};

extern const char *const store_mode_names[STORE_MODES];

struct store {
    enum store_mode mode;
    WT_CONNECTION *connection;
    /* held to draw a timestamp, and for what must happen together with that */
    pthread_mutex_t clock;
    atomic_uint_fast64_t counter; /* the last timestamp drawn; moves only under `clock` */
};

struct store_session {
    struct store *store;
    WT_SESSION *session;
    WT_CURSOR *cursor;
    uint64_t sts, cts; /* of the running transaction; cts 0: none drawn yet */
    uint64_t covered;  /* the session's last commit that the store knows the timestamp of */
    uint64_t commits, steps;
};

/* All but store_read and store_write return 0 or an error of WiredTiger's, to be told by
 * wiredtiger_strerror. */
int store_open(struct store *store, const char *home, enum store_mode mode);
void store_close(struct store *store);

int store_session_open(struct store_session *session, struct store *store);

int store_begin(struct store_session *session);

/* 0, WT_ROLLBACK if the transaction must be rolled back, or another error. */
int store_read(struct store_session *session, uint64_t key, bool *found, uint64_t *value);
int store_write(struct store_session *session, uint64_t key, uint64_t value);

int store_rollback(struct store_session *session);

/* `wrote`: false for a read-only transaction, whose cts is its sts. *committed is false if the
 * store refused. */
int store_commit(struct store_session *session, bool wrote, bool *committed);

#endif
