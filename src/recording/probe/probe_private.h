/* What the files of probe share: a run, a session, and the transaction at hand. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/rng.h"
#include "native/native.h"
#include "probe/probe.h"

enum { PROBE_NAME = 64, PROBE_WORKLOADS = 7 };

/* A bank account's value is its balance in these units, plus a number that makes the value
 * unique. */
#define PROBE_BALANCE_UNIT 10000000000u

struct probe_session;

struct probe_workload {
    const char *name, *about;
    uint32_t keys;         /* of a group that are made with it */
    uint32_t transactions; /* for how many a group is used */
    uint32_t abort_share;  /* of 2^32: rolled back on purpose, after all was written */
    bool is_list;
    bool streams; /* see probe.h */
    /* One transaction, between its BEGIN and its end; false: a statement failed. */
    bool (*run)(struct probe_session *session);
};
extern const struct probe_workload probe_workloads[PROBE_WORKLOADS];

/* Rows that are in use now. */
struct probe_group {
    _Atomic uint32_t current; /* 0: none yet; group g has the keys from g * PROBE_GROUP on */
    _Atomic uint32_t used;    /* transactions */
    /* The group, and how many keys were handed out beyond those made with it: in one number, so
     * that a session that is still in the group before takes none. */
    _Atomic uint64_t inserted;
    uint32_t drawn; /* numbers that were tried; under `making` */
};
enum { PROBE_GROUP = 1000 };

/* Where records go. */
struct probe_journal {
    pthread_mutex_t lock;
    struct iso_history *history;
    struct iso_native native;
    uint32_t input;
    uint64_t lines;
    struct iso_probe_tally tally;
    struct iso_error error; /* the run's: whoever fails first */
};

/* A run's number in `inserted`. */
static inline uint64_t probe_first_insert(uint32_t group)
{
    return (uint64_t)group << 32;
}

struct iso_probe {
    struct iso_probe_options options;
    struct iso_database *control; /* of who prepared: tables, and who is killed */
    bool is_mysql;
    bool has_positions, has_tso;
    const char *isolation; /* SQL's words, or NULL */
    char level[PROBE_NAME], prefix[PROBE_NAME], schema[PROBE_NAME];
    char tables[PROBE_WORKLOADS][2 * PROBE_NAME]; /* with their schemas, "": none */
    uint32_t order[PROBE_WORKLOADS], workload_count;

    struct probe_group groups[PROBE_WORKLOADS];
    pthread_mutex_t making;
    _Atomic uint64_t next_value, begun;
    _Atomic bool stopping;
    _Atomic uint32_t running; /* sessions */
    struct probe_journal journal;
};

/* Transaction by transaction; the record grows as statements are done. */
struct probe_session {
    struct iso_probe *probe;
    uint32_t number, life; /* connections that it had */
    pthread_mutex_t lock;  /* of `database` as a pointer: who kills looks there */
    struct iso_database *database;
    uint64_t backend;
    struct iso_rng rng;
    uint64_t sno, started_ns;
    uint32_t group, workload;
    bool writes, is_broken;
    char refusal[256];      /* of the last connection that was not made */
    char snapshot[1 << 16]; /* or TiDB's start timestamp; "": none */
    char xid[24], end_stamp[24];
    struct iso_text operations, line, sql;
    bool pessimistic; /* TiDB's writes have timestamps of their own */
};

/* ---- journal.c ---- */

void journal_init(struct probe_journal *journal, struct iso_history *history, const char *input);
void journal_release(struct probe_journal *journal);
/* False: the run is to end. */
bool journal_take(struct iso_probe *probe, struct probe_session *session,
                  enum iso_database_end end);
void journal_fail(struct iso_probe *probe, enum iso_status status, const char *text);

/* ---- session.c: statements, each noted in the record ---- */

/* The value; 0: no such row. */
bool session_read(struct probe_session *session, uint64_t key, uint64_t *value);
bool session_read_list(struct probe_session *session, uint64_t key);
bool session_write(struct probe_session *session, uint64_t key, uint64_t value);
bool session_append(struct probe_session *session, uint64_t key);
bool session_insert(struct probe_session *session, uint64_t key, uint64_t value);
bool session_delete(struct probe_session *session, uint64_t key);
/* All rows from key to key, both inclusive. */
bool session_read_range(struct probe_session *session, uint64_t from, uint64_t to);
uint64_t session_new_value(struct probe_session *session);
static inline uint64_t session_draw(struct probe_session *session, uint64_t bound)
{
    return iso_rng_below(&session->rng, bound);
}
/* Key i of the transaction's group. */
static inline uint64_t session_key(const struct probe_session *session, uint64_t index)
{
    return (uint64_t)session->group * PROBE_GROUP + index;
}

void *session_run(void *session);

/* ---- tables.c ---- */

enum iso_status tables_create(struct iso_probe *probe, struct iso_error *error);
void tables_drop(struct iso_probe *probe, struct iso_database *database, struct iso_text *left);
/* Holds the name while the control connection lives. */
void tables_hold(struct iso_probe *probe);
