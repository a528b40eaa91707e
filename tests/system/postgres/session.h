/* What kinds of workload share: a session's connection, its random numbers, its statements. Private
 * to the workload program.
 *
 * Threads: a client is its own thread's.
 */
#ifndef TESTS_POSTGRES_SESSION_H
#define TESTS_POSTGRES_SESSION_H

#include <libpq-fe.h>

#include "tests/system/postgres/client.h"

struct client {
    const struct workload *workload;
    struct iso_recorder *recorder;
    struct iso_recorder_session *session;
    PGconn *connection;
    unsigned number;       /* of the session */
    unsigned connections;  /* made so far: each is a session of its own to the recorder */
    unsigned long started; /* transactions so far */
    unsigned long planned; /* in all */
    uint64_t random;
    uint64_t written; /* values so far */
};

/* A kind of workload: its tables with what they hold at first, and the statements of one random
 * transaction, which tell the recorder what they saw and did. False: PostgreSQL refused something;
 * the transaction is rolled back. */
struct tables {
    bool (*create)(struct client *client);
    bool (*operate)(struct client *client);
};

uint64_t client_draw(struct client *client, uint64_t below);
bool client_percent(struct client *client, unsigned long share);

/* Connects, again or for the first time: a new session to the recorder. */
bool client_connect(struct client *client);

/* BEGIN and the snapshot; false: PostgreSQL refused. */
bool client_begin(struct client *client);

/* The xid, COMMIT, and what became of it, which `*tally` counts. False: PostgreSQL refused the
 * former, or cannot be reached any more. */
bool client_commit(struct client *client, struct tally *tally);

void client_disconnect(struct client *client);

/* A statement without rows that must succeed. */
bool client_execute(struct client *client, const char *statement);

/* Runs a statement with one parameter or none; NULL if it failed. */
PGresult *client_ask(struct client *client, const char *statement, const char *parameter);

/* A column of a result's only row; NULL: there is none, or it is null. */
const char *client_cell(const PGresult *result, int column);

#endif
