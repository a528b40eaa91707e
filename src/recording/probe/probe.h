/* A live database provoked and recorded: sessions run workloads on tables of their own, and what
 * each of them saw and wrote becomes a history.
 *
 *     iso_probe_prepare    connects, asks who answers and at which level, makes the tables
 *     iso_probe_run        the sessions, a thread each, until the time is over, somebody says stop,
 *                          or nothing works
 *     iso_probe_free       drops the tables
 *
 * A workload is a short transaction that some level forbids to go wrong (workload.c). All sessions
 * run the same one at a time, for some dozens of transactions, on few rows: so they meet. Rows come
 * in *groups*: after some hundred transactions a new group is made, as a recorded transaction of
 * its own, so that no key has a long past. Every value is written once in a run, which lets a
 * search tell who wrote what was read.
 *
 * What a record says is what the client knows: a statement's rows, the outcome of COMMIT. COMMIT
 * never sent is aborted; sent and not answered, unknown. A session that lost its connection goes on
 * under another name: nobody promised that two connections are one session.
 *
 * Positions. PostgreSQL at REPEATABLE READ and above: the snapshot behind BEGIN and the xid before
 * COMMIT. TiDB: its timestamps. Else none: the history is black-box.
 *
 * Ownership: the probe owns its connections and tables. Threads: iso_probe_run starts its own; its
 * callbacks are called one at a time, of any of them.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "database/database.h"
#include "history/history.h"

struct iso_probe_tally {
    uint64_t committed, aborted, unknown;
    uint64_t connections_lost;
    uint32_t never_connected; /* sessions, and what the server said to the last of them */
    char refusal[256];
};

struct iso_probe_options {
    const char *url;
    const char *isolation; /* by name; NULL: what the server takes by itself */
    const char *name;      /* of the tables, isochron_probe_NAME_*; NULL: drawn */
    uint64_t workloads;    /* a bit for each of iso_probe_workload_name; 0: all */
    uint32_t sessions;
    uint64_t milliseconds;
    uint64_t seed;
    bool chaos;      /* kills own connections */
    bool for_stream; /* keys are named as change streams name rows, and xids are recorded at every
                        level */
    const char *record; /* the records' input in reports */
    volatile sig_atomic_t *stopped;

    /* Each record, a line without its newline; false ends the run. */
    bool (*take)(void *context, const char *line, size_t length, uint32_t session);
    /* A few times a second. */
    void (*show)(void *context, uint64_t done_ms, uint64_t of_ms,
                 const struct iso_probe_tally *tally);
    void *context;
};

struct iso_probe;

/* NULL: no such workload. */
const char *iso_probe_workload_name(uint32_t index);
const char *iso_probe_workload_about(uint32_t index);
/* Whether a change stream shows what it writes as single values. */
bool iso_probe_workload_streams(uint32_t index);

/* "repeatable read", "REPEATABLE-READ", ... to SQL's words; NULL: no level. */
const char *iso_probe_isolation(const char *name);

/* Connects and makes the tables; NULL on error, and then there are none. */
struct iso_probe *iso_probe_prepare(const struct iso_probe_options *options,
                                    struct iso_error *error);

/* Adds what was recorded to the history. ISO_FAILED: it could not go on; what was recorded until
 * then is there. */
enum iso_status iso_probe_run(struct iso_probe *probe, struct iso_history *history,
                              struct iso_probe_tally *tally, struct iso_error *error);

/* Drops the tables and closes; names those that could not be dropped. */
void iso_probe_free(struct iso_probe *probe, struct iso_text *left);

struct iso_probe_facts {
    const struct iso_database *database;
    const char *level;           /* at which it runs, as the server says: "repeatable read" */
    const char *schema, *prefix; /* of the tables' names: "isochron_probe_3f9a" */
    bool has_positions;
};

struct iso_probe_facts iso_probe_facts(const struct iso_probe *probe);

/* Tables of runs that were not ended in order, a line each: those whose run has no connection any
 * more. Drops them too where `drop`. */
enum iso_status iso_probe_leftovers(struct iso_database *database, bool drop,
                                    struct iso_text *names, struct iso_error *error);
