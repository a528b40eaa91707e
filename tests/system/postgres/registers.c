/* The plain workload: registers whose every value is written once, and balances. */
#define _GNU_SOURCE
#include "tests/system/postgres/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BALANCE = 1000, KEY_BYTES = 64, VALUE_BYTES = 64 };

static void make_key(char key[KEY_BYTES], const char *table, const char *k)
{
    char name[KEY_BYTES];
    snprintf(name, sizeof name, "public.%s", table);
    iso_recorder_key(key, KEY_BYTES, name, &k, 1);
}

/* Reads a row's value in the statement's own snapshot; `value` gets "" for absent. */
static bool read_row(struct client *client, const char *table, const char *k,
                     char value[VALUE_BYTES])
{
    char statement[160], key[KEY_BYTES];
    snprintf(statement, sizeof statement,
             "SELECT pg_current_snapshot()::text, (SELECT v::text FROM %s WHERE k = $1::int)",
             table);
    PGresult *result = client_ask(client, statement, k);
    if (!result)
        return false;
    const char *read = client_cell(result, 1);
    make_key(key, table, k);
    if (client->workload->statement_snapshots)
        iso_recorder_statement_snapshot(client->session, client_cell(result, 0));
    iso_recorder_read(client->session, key, read);
    iso_recorder_statement(client->session);
    snprintf(value, VALUE_BYTES, "%s", read ? read : "");
    PQclear(result);
    return true;
}

/* With READ COMMITTED a writer may have waited for another: it has held the row for certain since
 * the next snapshot. */
static bool held_since(struct client *client)
{
    if (!client->workload->statement_snapshots)
        return true;
    PGresult *result = client_ask(client, "SELECT pg_current_snapshot()::text", NULL);
    if (result)
        iso_recorder_statement_snapshot(client->session, client_cell(result, 0));
    PQclear(result);
    return result != NULL;
}

static bool write_row(struct client *client, const char *table, const char *k, const char *value)
{
    char statement[200], key[KEY_BYTES];
    snprintf(
        statement, sizeof statement,
        "INSERT INTO %s (k, v) VALUES (%s, $1::bigint) ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v",
        table, k);
    PGresult *result = client_ask(client, statement, value);
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
    PGresult *result = client_ask(client, statement, k);
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
    const char *table = client_draw(client, 4) == 0 ? "plain" : "kv";
    char k[24], value[VALUE_BYTES];
    snprintf(k, sizeof k, "%" PRIu64, client_draw(client, workload->keys) + 1);
    if (client_draw(client, 2) == 0)
        return read_row(client, table, k, value);
    if (client_percent(client, workload->deletes))
        return delete_row(client, table, k);
    if (client_draw(client, 3) == 0 && !read_row(client, table, k, value))
        return false;
    snprintf(value, sizeof value, "%" PRIu64,
             (client->number + 1) * UINT64_C(1000000000) + ++client->written);
    return write_row(client, table, k, value);
}

static bool transfer(struct client *client)
{
    const struct workload *workload = client->workload;
    uint64_t accounts = workload->keys < 8 ? 2 : workload->keys / 4;
    uint64_t from = client_draw(client, accounts),
             to = (from + 1 + client_draw(client, accounts - 1)) % accounts;
    char k[2][24], balance[2][VALUE_BYTES], value[VALUE_BYTES];
    snprintf(k[0], sizeof k[0], "%" PRIu64, from + 1);
    snprintf(k[1], sizeof k[1], "%" PRIu64, to + 1);
    long long amount = 1 + (long long)client_draw(client, 20);
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
    if (!client_execute(client, "SAVEPOINT s") || !register_operation(client))
        return false;
    iso_recorder_rollback_to(client->session, mark);
    return client_execute(client, "ROLLBACK TO s");
}

static bool operate(struct client *client)
{
    const struct workload *workload = client->workload;
    if (client_percent(client, workload->transfers))
        return transfer(client);
    for (unsigned long i = 0, count = 1 + client_draw(client, 2 * workload->ops - 1); i < count;
         i++)
        if (client_percent(client, workload->savepoints) ? !taken_back(client)
                                                         : !register_operation(client))
            return false;
    return true;
}

static bool create(struct client *client)
{
    static const char tables[] = "CREATE TABLE kv (k int PRIMARY KEY, v bigint);"
                                 "CREATE TABLE plain (k int PRIMARY KEY, v bigint);"
                                 "CREATE TABLE acct (k int PRIMARY KEY, v bigint);"
                                 "ALTER TABLE kv REPLICA IDENTITY FULL;"
                                 "ALTER TABLE acct REPLICA IDENTITY FULL;";
    char rows[400];
    unsigned long keys = client->workload->keys;
    snprintf(rows, sizeof rows,
             "INSERT INTO acct SELECT k, %d FROM generate_series(1, %lu) k;"
             "INSERT INTO kv SELECT k, -k FROM generate_series(1, %lu) k;"
             "INSERT INTO plain SELECT k, -k FROM generate_series(1, %lu) k;",
             FIRST_BALANCE, keys < 8 ? 2 : keys / 4, keys / 2, keys / 2);
    return client_execute(client, tables) && client_execute(client, rows);
}

const struct tables registers = {create, operate};
