#define _GNU_SOURCE
#include "tests/postgres/client.h"

#include <inttypes.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_BALANCE = 1000, KEY_BYTES = 64, VALUE_BYTES = 64 };

struct client {
    const struct workload *workload;
    struct iso_recorder *recorder;
    struct iso_recorder_session *session;
    PGconn *connection;
    unsigned number;      /* of the session */
    unsigned connections; /* made so far: each is a session of its own to the recorder */
    uint64_t random;
    uint64_t written; /* values so far */
};

static uint64_t draw(struct client *client, uint64_t below)
{
    client->random ^= client->random << 13;
    client->random ^= client->random >> 7;
    client->random ^= client->random << 17;
    return (client->random >> 11) % below;
}

static bool percent(struct client *client, unsigned long share)
{
    return draw(client, 100) < share;
}

/* A statement without rows that must succeed. */
static bool execute(struct client *client, const char *statement)
{
    PGresult *result = PQexec(client->connection, statement);
    bool good = PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;
    PQclear(result);
    return good;
}

/* Runs a statement with one parameter or none; NULL if it failed. */
static PGresult *ask(struct client *client, const char *statement, const char *parameter)
{
    if (client->workload->pause > 0)
        usleep((useconds_t)draw(client, 2 * client->workload->pause));
    PGresult *result = PQexecParams(client->connection, statement, parameter ? 1 : 0, NULL, &parameter, NULL, NULL, 0);
    if (PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK)
        return result;
    PQclear(result);
    return NULL;
}

static const char *cell(const PGresult *result, int column)
{
    return PQntuples(result) == 1 && !PQgetisnull(result, 0, column) ? PQgetvalue(result, 0, column) : NULL;
}

static void make_key(char key[KEY_BYTES], const char *table, const char *k)
{
    char name[KEY_BYTES];
    snprintf(name, sizeof name, "public.%s", table);
    iso_recorder_key(key, KEY_BYTES, name, &k, 1);
}

/* Reads a row's value in the statement's own snapshot; `value` gets "" for absent. */
static bool read_row(struct client *client, const char *table, const char *k, char value[VALUE_BYTES])
{
    char statement[160], key[KEY_BYTES];
    snprintf(statement, sizeof statement,
             "SELECT pg_current_snapshot()::text, (SELECT v::text FROM %s WHERE k = $1::int)", table);
    PGresult *result = ask(client, statement, k);
    if (!result)
        return false;
    const char *read = cell(result, 1);
    make_key(key, table, k);
    if (client->workload->statement_snapshots)
        iso_recorder_statement_snapshot(client->session, cell(result, 0));
    iso_recorder_read(client->session, key, read);
    iso_recorder_statement(client->session);
    snprintf(value, VALUE_BYTES, "%s", read ? read : "");
    PQclear(result);
    return true;
}

/* With READ COMMITTED a writer may have waited for another: it has held the row for certain since the next
 * snapshot. */
static bool held_since(struct client *client)
{
    if (!client->workload->statement_snapshots)
        return true;
    PGresult *result = ask(client, "SELECT pg_current_snapshot()::text", NULL);
    if (result)
        iso_recorder_statement_snapshot(client->session, cell(result, 0));
    PQclear(result);
    return result != NULL;
}

static bool write_row(struct client *client, const char *table, const char *k, const char *value)
{
    char statement[200], key[KEY_BYTES];
    snprintf(statement, sizeof statement,
             "INSERT INTO %s (k, v) VALUES (%s, $1::bigint) ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v", table, k);
    PGresult *result = ask(client, statement, value);
    PQclear(result);
    if (!result || !held_since(client))
        return false;
    make_key(key, table, k);
    iso_recorder_write(client->session, key, value);
    iso_recorder_statement(client->session);
    return true;
}

/* A delete that finds no row has read that there is none. */
static bool delete_row(struct client *client, const char *table, const char *k)
{
    char statement[160], key[KEY_BYTES];
    snprintf(statement, sizeof statement, "DELETE FROM %s WHERE k = $1::int", table);
    PGresult *result = ask(client, statement, k);
    bool found = result && strcmp(PQcmdTuples(result), "1") == 0;
    PQclear(result);
    if (!result || !held_since(client))
        return false;
    make_key(key, table, k);
    if (found)
        iso_recorder_delete(client->session, key);
    else if (!client->workload->statement_snapshots)
        iso_recorder_read(client->session, key, NULL);
    iso_recorder_statement(client->session);
    return true;
}

static bool register_operation(struct client *client)
{
    const struct workload *workload = client->workload;
    const char *table = draw(client, 4) == 0 ? "plain" : "kv";
    char k[24], value[VALUE_BYTES];
    snprintf(k, sizeof k, "%" PRIu64, draw(client, workload->keys) + 1);
    if (draw(client, 2) == 0)
        return read_row(client, table, k, value);
    if (percent(client, workload->deletes))
        return delete_row(client, table, k);
    if (draw(client, 3) == 0 && !read_row(client, table, k, value))
        return false;
    snprintf(value, sizeof value, "%" PRIu64, (client->number + 1) * UINT64_C(1000000000) + ++client->written);
    return write_row(client, table, k, value);
}

static bool transfer(struct client *client)
{
    const struct workload *workload = client->workload;
    uint64_t accounts = workload->keys < 8 ? 2 : workload->keys / 4;
    uint64_t from = draw(client, accounts), to = (from + 1 + draw(client, accounts - 1)) % accounts;
    char k[2][24], balance[2][VALUE_BYTES], value[VALUE_BYTES];
    snprintf(k[0], sizeof k[0], "%" PRIu64, from + 1);
    snprintf(k[1], sizeof k[1], "%" PRIu64, to + 1);
    long long amount = 1 + (long long)draw(client, 20);
    for (int i = 0; i < 2; i++)
        if (!read_row(client, "acct", k[i], balance[i]))
            return false;
    for (int i = 0; i < 2; i++) {
        snprintf(value, sizeof value, "%lld", atoll(balance[i]) + (i == 0 ? -amount : amount));
        if (!write_row(client, "acct", k[i], value))
            return false;
    }
    return true;
}

/* An operation that a ROLLBACK TO takes back, and so does the record. */
static bool taken_back(struct client *client)
{
    size_t mark = iso_recorder_mark(client->session);
    if (!execute(client, "SAVEPOINT s") || !register_operation(client))
        return false;
    iso_recorder_rollback_to(client->session, mark);
    return execute(client, "ROLLBACK TO s");
}

static bool start(struct client *client)
{
    char statement[80];
    snprintf(statement, sizeof statement, "BEGIN ISOLATION LEVEL %s", client->workload->isolation);
    iso_recorder_begin(client->session);
    if (!execute(client, statement))
        return false;
    PGresult *result = ask(client, "SELECT pg_current_snapshot()::text", NULL);
    if (result)
        iso_recorder_snapshot(client->session, cell(result, 0));
    PQclear(result);
    return result != NULL;
}

static bool run_operations(struct client *client)
{
    const struct workload *workload = client->workload;
    if (percent(client, workload->transfers))
        return transfer(client);
    for (unsigned long i = 0, count = 1 + draw(client, 2 * workload->ops - 1); i < count; i++)
        if (percent(client, workload->savepoints) ? !taken_back(client) : !register_operation(client))
            return false;
    return true;
}

/* What must be asked before COMMIT, and what travels with it. */
static bool prepare(struct client *client)
{
    PGresult *result = ask(client, "SELECT pg_current_xact_id_if_assigned()::text", NULL);
    if (!result)
        return false;
    iso_recorder_xid(client->session, cell(result, 0));
    PQclear(result);
    if (!client->workload->in_band)
        return true;
    const char *record = iso_recorder_in_band(client->session);
    if (!record)
        return false;
    result = ask(client, "SELECT pg_logical_emit_message(true, 'isochron', $1)", record);
    PQclear(result);
    return result != NULL;
}

static bool connect_session(struct client *client)
{
    char sid[128];
    PQfinish(client->connection);
    client->connection = PQconnectdb(client->workload->connection);
    if (PQstatus(client->connection) != CONNECTION_OK) {
        fprintf(stderr, "postgres-workload: %s", PQerrorMessage(client->connection));
        return false;
    }
    iso_recorder_session_free(client->session);
    snprintf(sid, sizeof sid, "%s%u-%u", client->workload->sid, client->number, client->connections++);
    client->session = iso_recorder_session_new(client->recorder, sid);
    return true;
}

/* The connection goes away around COMMIT: just before it is sent, or just after. Nobody heard what became of
 * it. */
static bool lose_connection(struct client *client, struct tally *tally)
{
    if (draw(client, 2) == 0)
        PQsendQuery(client->connection, "COMMIT");
    iso_recorder_unknown(client->session);
    tally->unknown++;
    return connect_session(client);
}

static void abort_transaction(struct client *client, struct tally *tally)
{
    execute(client, "ROLLBACK");
    iso_recorder_abort(client->session);
    tally->aborted++;
}

static bool run_transaction(struct client *client, struct tally *tally)
{
    bool good = start(client) && run_operations(client) && prepare(client);
    if (!good || percent(client, client->workload->aborts)) {
        abort_transaction(client, tally);
        return PQstatus(client->connection) == CONNECTION_OK || connect_session(client);
    }
    if (percent(client, client->workload->lost))
        return lose_connection(client, tally);
    PGresult *result = PQexec(client->connection, "COMMIT");
    bool lost = PQstatus(client->connection) != CONNECTION_OK;
    bool committed = PQresultStatus(result) == PGRES_COMMAND_OK && strcmp(PQcmdStatus(result), "COMMIT") == 0;
    PQclear(result);
    if (lost) {
        iso_recorder_unknown(client->session);
        tally->unknown++;
        return connect_session(client);
    }
    if (committed)
        iso_recorder_commit(client->session);
    else
        iso_recorder_abort(client->session);
    tally->committed += committed;
    tally->aborted += !committed;
    return true;
}

bool client_run(const struct workload *workload, struct iso_recorder *recorder, unsigned number, unsigned long count,
                struct tally *tally)
{
    struct client client = {.workload = workload, .recorder = recorder, .number = number};
    client.random = (workload->seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + number * UINT64_C(0xbf58476d1ce4e5b9);
    client.random |= 1;
    bool good = connect_session(&client);
    for (unsigned long i = 0; i < count && good; i++)
        good = run_transaction(&client, tally);
    PQfinish(client.connection);
    iso_recorder_session_free(client.session);
    return good;
}

void workload_finish(const struct workload *workload, struct iso_recorder *recorder)
{
    PGconn *connection = PQconnectdb(workload->connection);
    PGresult *result = PQexec(connection, "SELECT pg_current_snapshot()::text");
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        iso_recorder_progress(recorder, cell(result, 0));
    PQclear(result);
    PQfinish(connection);
}

void workload_tick(const struct workload *workload, const _Atomic bool *ended)
{
    /* The least xmin that any open transaction has, with all its 64 bits; no later one has a smaller one. */
    static const char statement[] =
        "WITH now AS MATERIALIZED (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xmax),"
        " least AS (SELECT min(xmax - ((xmax - backend_xmin::text::bigint) & 4294967295)) AS xmin FROM now, "
        "pg_stat_activity"
        " WHERE backend_xmin IS NOT NULL AND backend_type = 'client backend')"
        "SELECT pg_logical_emit_message(false, 'isochron', json_build_object('watermark', xmin::text)::text) "
        "FROM least";
    PGconn *connection = PQconnectdb(workload->connection);
    for (bool last = false; !last;) {
        last = *ended;
        PQclear(PQexec(connection, statement));
        usleep(100000);
    }
    PQfinish(connection);
}

bool workload_create(const struct workload *workload)
{
    static const char tables[] = "CREATE TABLE kv (k int PRIMARY KEY, v bigint);"
                                 "CREATE TABLE plain (k int PRIMARY KEY, v bigint);"
                                 "CREATE TABLE acct (k int PRIMARY KEY, v bigint);"
                                 "ALTER TABLE kv REPLICA IDENTITY FULL;"
                                 "ALTER TABLE acct REPLICA IDENTITY FULL;";
    char rows[400];
    unsigned long keys = workload->keys;
    snprintf(rows, sizeof rows,
             "INSERT INTO acct SELECT k, %d FROM generate_series(1, %lu) k;"
             "INSERT INTO kv SELECT k, -k FROM generate_series(1, %lu) k;"
             "INSERT INTO plain SELECT k, -k FROM generate_series(1, %lu) k;",
             FIRST_BALANCE, keys < 8 ? 2 : keys / 4, keys / 2, keys / 2);
    PGconn *connection = PQconnectdb(workload->connection);
    struct client client = {.connection = connection};
    bool good = PQstatus(connection) == CONNECTION_OK && execute(&client, tables) && execute(&client, rows);
    if (!good)
        fprintf(stderr, "postgres-workload: %s", PQerrorMessage(connection));
    PQfinish(connection);
    return good;
}
