/* One session of a workload: a connection to PostgreSQL, random transactions, and what the recorder
 * is told of them.
 *
 * `registers`: tables `kv` (registers, REPLICA IDENTITY FULL), `plain` (registers, default
 * identity) and `acct` (balances, FULL), each with a primary key `k` and a value `v`. Registers get
 * values that nothing else writes; transfers read two balances and write both.
 *
 * `application`: a shop as people write one: `accounts`, `orders`, `order_items`, `stock` with
 * serials, composite keys and both replica identities, `audit_log` written by a trigger, orders
 * that read ranges and delete what they find.
 *
 * `ledger`: entries of accounts, recorded as rows with cells and as what queries returned, for a
 * source with cells=true.
 *
 * Threads: a client is its own thread's.
 */
#ifndef TESTS_POSTGRES_CLIENT_H
#define TESTS_POSTGRES_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "iso/recorder.h"

struct tables;
extern const struct tables registers, application, ledger;

/* Whether `name` may be a workload's `event`. */
bool application_has_event(const char *name);

struct workload {
    const struct tables *tables;
    const char *connection;
    const char *isolation; /* as BEGIN takes it */
    const char *sid;       /* what session ids start with */
    unsigned long sessions, transactions, keys, ops, seed;
    unsigned long deletes, transfers, savepoints, aborts, lost; /* percent */
    unsigned long pause; /* microseconds between statements */
    bool in_band;
    bool statement_snapshots;
    unsigned long rows; /* of the application's accounts, of which the first `keys` are busy */
    const char *event;  /* what befalls the application's tables in the middle of the first session;
                           NULL: nothing */
};

struct tally {
    uint64_t committed, aborted, unknown;
};

/* Creates the tables, and what they hold at first. False: said why on stderr. */
bool workload_create(const struct workload *workload);

/* Tells the recorder that no older snapshot will come, when the sessions have ended. */
void workload_finish(const struct workload *workload, struct iso_recorder *recorder);

/* In-band watermarks: until `*ended`, a few times a second and once more. */
void workload_tick(const struct workload *workload, const _Atomic bool *ended);

/* Runs a session's `count` transactions; false if PostgreSQL cannot be reached any more. */
bool client_run(const struct workload *workload, struct iso_recorder *recorder, unsigned number,
                unsigned long count, struct tally *tally);

#endif
