#define _GNU_SOURCE
#include "tests/system/postgres/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t client_draw(struct client *client, uint64_t below)
{
    client->random ^= client->random << 13;
    client->random ^= client->random >> 7;
    client->random ^= client->random << 17;
    return (client->random >> 11) % below;
}

bool client_percent(struct client *client, unsigned long share)
{
    return client_draw(client, 100) < share;
}

bool client_execute(struct client *client, const char *statement)
{
    PGresult *result = PQexec(client->connection, statement);
    bool good =
        PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;
    PQclear(result);
    return good;
}

PGresult *client_ask(struct client *client, const char *statement, const char *parameter)
{
    if (client->workload->pause > 0)
        usleep((useconds_t)client_draw(client, 2 * client->workload->pause));
    PGresult *result = PQexecParams(client->connection, statement, parameter ? 1 : 0, NULL,
                                    &parameter, NULL, NULL, 0);
    if (PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK)
        return result;
    PQclear(result);
    return NULL;
}

const char *client_cell(const PGresult *result, int column)
{
    return PQntuples(result) == 1 && !PQgetisnull(result, 0, column) ? PQgetvalue(result, 0, column)
                                                                     : NULL;
}

bool client_begin(struct client *client)
{
    char statement[80];
    snprintf(statement, sizeof statement, "BEGIN ISOLATION LEVEL %s", client->workload->isolation);
    iso_recorder_begin(client->session);
    if (!client_execute(client, statement))
        return false;
    PGresult *result = client_ask(client, "SELECT pg_current_snapshot()::text", NULL);
    if (result)
        iso_recorder_snapshot(client->session, client_cell(result, 0));
    PQclear(result);
    return result != NULL;
}

/* What must be asked before COMMIT, and what travels with it. */
static bool prepare(struct client *client)
{
    PGresult *result = client_ask(client, "SELECT pg_current_xact_id_if_assigned()::text", NULL);
    if (!result)
        return false;
    iso_recorder_xid(client->session, client_cell(result, 0));
    PQclear(result);
    if (!client->workload->in_band)
        return true;
    const char *record = iso_recorder_in_band(client->session);
    if (!record)
        return false;
    result = client_ask(client, "SELECT pg_logical_emit_message(true, 'isochron', $1)", record);
    PQclear(result);
    return result != NULL;
}

bool client_connect(struct client *client)
{
    char sid[128];
    PQfinish(client->connection);
    client->connection = PQconnectdb(client->workload->connection);
    if (PQstatus(client->connection) != CONNECTION_OK) {
        fprintf(stderr, "postgres-workload: %s", PQerrorMessage(client->connection));
        return false;
    }
    iso_recorder_session_free(client->session);
    snprintf(sid, sizeof sid, "%s%u-%u", client->workload->sid, client->number,
             client->connections++);
    client->session = iso_recorder_session_new(client->recorder, sid);
    return true;
}

void client_disconnect(struct client *client)
{
    PQfinish(client->connection);
    iso_recorder_session_free(client->session);
}

/* The connection goes away around COMMIT: just before it is sent, or just after. Nobody heard what
 * became of it. */
static bool lose_connection(struct client *client, struct tally *tally)
{
    if (client_draw(client, 2) == 0)
        PQsendQuery(client->connection, "COMMIT");
    iso_recorder_unknown(client->session);
    tally->unknown++;
    return client_connect(client);
}

static void abort_transaction(struct client *client, struct tally *tally)
{
    client_execute(client, "ROLLBACK");
    iso_recorder_abort(client->session);
    tally->aborted++;
}

/* False: the connection is gone, and there is no other. */
static bool commit(struct client *client, struct tally *tally)
{
    PGresult *result = PQexec(client->connection, "COMMIT");
    bool lost = PQstatus(client->connection) != CONNECTION_OK;
    bool committed =
        PQresultStatus(result) == PGRES_COMMAND_OK && strcmp(PQcmdStatus(result), "COMMIT") == 0;
    PQclear(result);
    if (lost) {
        iso_recorder_unknown(client->session);
        tally->unknown++;
        return client_connect(client);
    }
    if (committed)
        iso_recorder_commit(client->session);
    else
        iso_recorder_abort(client->session);
    tally->committed += committed;
    tally->aborted += !committed;
    return true;
}

bool client_commit(struct client *client, struct tally *tally)
{
    return prepare(client) && commit(client, tally);
}

static bool run_transaction(struct client *client, struct tally *tally)
{
    bool good =
        client_begin(client) && client->workload->tables->operate(client) && prepare(client);
    if (!good || client_percent(client, client->workload->aborts)) {
        abort_transaction(client, tally);
        return PQstatus(client->connection) == CONNECTION_OK || client_connect(client);
    }
    if (client_percent(client, client->workload->lost))
        return lose_connection(client, tally);
    return commit(client, tally);
}

bool client_run(const struct workload *workload, struct iso_recorder *recorder, unsigned number,
                unsigned long count, struct tally *tally)
{
    struct client client = {
        .workload = workload, .recorder = recorder, .number = number, .planned = count};
    client.random =
        (workload->seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + number * UINT64_C(0xbf58476d1ce4e5b9);
    client.random |= 1;
    bool good = client_connect(&client);
    for (; client.started < count && good; client.started++)
        good = run_transaction(&client, tally);
    client_disconnect(&client);
    return good;
}

void workload_finish(const struct workload *workload, struct iso_recorder *recorder)
{
    PGconn *connection = PQconnectdb(workload->connection);
    PGresult *result = PQexec(connection, "SELECT pg_current_snapshot()::text");
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        iso_recorder_progress(recorder, client_cell(result, 0));
    PQclear(result);
    PQfinish(connection);
}

void workload_tick(const struct workload *workload, const _Atomic bool *ended)
{
    /* The least xmin that any open transaction has, with all its 64 bits; no later one has a
     * smaller one. */
    static const char statement[] =
        "WITH now AS MATERIALIZED (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xmax),"
        " least AS (SELECT min(xmax - (xmax - backend_xmin::text::bigint << 32 >> 32)) AS xmin FROM now, "
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
    PGconn *connection = PQconnectdb(workload->connection);
    struct client client = {.workload = workload, .connection = connection};
    bool good = PQstatus(connection) == CONNECTION_OK && workload->tables->create(&client);
    if (!good)
        fprintf(stderr, "postgres-workload: %s", PQerrorMessage(connection));
    PQfinish(connection);
    return good;
}
