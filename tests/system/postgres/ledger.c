/* The ledger: entries of accounts, asked for by condition, by range and in sums; each column is
 * judged by itself.
 *
 * Ids are never used again: a snapshot that misses a delete could insert the key a second time.
 * Every second write of a row leaves its cells to the change stream. Amounts are many, so that two
 * entries seldom share the greatest: then it is not known which of them a max has read.
 */
#define _GNU_SOURCE
#include "tests/system/postgres/session.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char TABLE[] = "public.entries";
enum {
    COLUMNS = 4,
    KEY_BYTES = 64,
    STATEMENT_BYTES = 300,
    PER_ACCOUNT = 5,
    SPAN = 30,
    AMOUNTS = 1000000
};

static PGresult *ask(struct client *client, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static PGresult *ask(struct client *client, const char *format, ...)
{
    char statement[STATEMENT_BYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(statement, sizeof statement, format, values);
    va_end(values);
    return client_ask(client, statement, NULL);
}

/* The columns of a result behind its first one, the id, and what a row has there. */
struct cells {
    const char *columns[COLUMNS], *values[COLUMNS];
    size_t count;
};

static struct cells cells_of(const PGresult *rows, int row)
{
    struct cells cells = {.count = (size_t)PQnfields(rows) - 1};
    for (size_t i = 0; i < cells.count; i++) {
        cells.columns[i] = PQfname(rows, (int)i + 1);
        cells.values[i] =
            PQgetisnull(rows, row, (int)i + 1) ? NULL : PQgetvalue(rows, row, (int)i + 1);
    }
    return cells;
}

static void tell_rows(struct client *client, const PGresult *rows)
{
    for (int row = 0; row < PQntuples(rows); row++) {
        struct cells cells = cells_of(rows, row);
        iso_recorder_query_row(client->session, PQgetvalue(rows, row, 0), cells.columns,
                               cells.values, cells.count);
    }
    iso_recorder_query_end(client->session);
}

/* The rows that a statement wrote, and RETURNs: its first column is the id. */
static bool tell_written(struct client *client, PGresult *rows)
{
    char key[KEY_BYTES];
    for (int row = 0; rows && row < PQntuples(rows); row++) {
        struct cells cells = cells_of(rows, row);
        const char *id = PQgetvalue(rows, row, 0);
        iso_recorder_row_key(key, sizeof key, TABLE, &id, 1);
        iso_recorder_write_row(client->session, key, cells.columns, cells.values,
                               ++client->written % 2 ? cells.count : 0);
    }
    PQclear(rows);
    return rows != NULL;
}

/* ---- questions ---- */

static PGresult *find_entries(struct client *client, unsigned account)
{
    char where[60];
    snprintf(where, sizeof where, "account = %u and amount >= 0", account);
    iso_recorder_query_begin(client->session, TABLE, NULL, NULL, where);
    PGresult *rows = ask(client, "SELECT id, amount, status FROM entries WHERE %s", where);
    if (rows)
        tell_rows(client, rows);
    return rows;
}

static bool sum_up(struct client *client, unsigned account)
{
    char where[60];
    snprintf(where, sizeof where, "account = %u", account);
    PGresult *rows =
        ask(client, "SELECT count(*), sum(amount), max(amount) FROM entries WHERE %s", where);
    iso_recorder_query_begin(client->session, TABLE, NULL, NULL, where);
    if (rows) {
        iso_recorder_query_aggregate(client->session, "count", client_cell(rows, 0));
        iso_recorder_query_aggregate(client->session, "sum(amount)", client_cell(rows, 1));
        iso_recorder_query_aggregate(client->session, "max(amount)", client_cell(rows, 2));
        iso_recorder_query_end(client->session);
    }
    PQclear(rows);
    return rows != NULL;
}

static bool list_range(struct client *client)
{
    char from[24], to[24];
    uint64_t first = client_draw(client, client->workload->keys * PER_ACCOUNT);
    snprintf(from, sizeof from, "%" PRIu64, first);
    snprintf(to, sizeof to, "%" PRIu64, first + SPAN);
    iso_recorder_query_begin(client->session, TABLE, from, to, NULL);
    PGresult *rows =
        ask(client, "SELECT id, account, note FROM entries WHERE id BETWEEN %s AND %s", from, to);
    if (rows)
        tell_rows(client, rows);
    PQclear(rows);
    return rows != NULL;
}

static bool list_newest(struct client *client)
{
    PGresult *rows = ask(
        client, "SELECT id, amount FROM entries WHERE status = 'open' ORDER BY id DESC LIMIT 5");
    iso_recorder_query_begin(client->session, TABLE, NULL, NULL, "status = 'open'");
    iso_recorder_query_partial(client->session);
    if (rows)
        tell_rows(client, rows);
    PQclear(rows);
    return rows != NULL;
}

static bool look_up(struct client *client)
{
    char key[KEY_BYTES], id[24];
    const char *part = id;
    snprintf(id, sizeof id, "%" PRIu64,
             1 + client_draw(client, client->workload->keys * PER_ACCOUNT));
    iso_recorder_row_key(key, sizeof key, TABLE, &part, 1);
    PGresult *rows = ask(client, "SELECT id, account, amount, note FROM entries WHERE id = %s", id);
    if (rows && PQntuples(rows)) {
        struct cells cells = cells_of(rows, 0);
        iso_recorder_read_row(client->session, key, cells.columns, cells.values, cells.count);
    } else if (rows) {
        iso_recorder_read_no_row(client->session, key);
    }
    PQclear(rows);
    return rows != NULL;
}

/* ---- transactions ---- */

static unsigned draw_account(struct client *client)
{
    return 1 + (unsigned)client_draw(client, client->workload->keys);
}

static bool add_entry(struct client *client, unsigned account)
{
    return tell_written(
        client,
        ask(client,
            "INSERT INTO entries (account, amount, note) VALUES (%u, %u, NULLIF('n%u', 'n3')) "
            "RETURNING id, account, amount, status, note",
            account, (unsigned)client_draw(client, AMOUNTS), (unsigned)client_draw(client, 6)));
}

static bool remove_entry(struct client *client, const char *id)
{
    char key[KEY_BYTES];
    PGresult *rows = ask(client, "DELETE FROM entries WHERE id = %s RETURNING id", id);
    iso_recorder_row_key(key, sizeof key, TABLE, &id, 1);
    if (rows && PQntuples(rows))
        iso_recorder_delete(client->session, key);
    PQclear(rows);
    return rows != NULL;
}

/* One of the account's entries changes, goes, or moves to another account, or there is a new
 * one. */
static bool change_entries(struct client *client, unsigned account)
{
    PGresult *found = find_entries(client, account);
    if (!found)
        return false;
    int count = PQntuples(found);
    const char *id = count ? PQgetvalue(found, (int)client_draw(client, (uint64_t)count), 0) : NULL;
    uint64_t lot = client_draw(client, 10);
    bool good;
    if (!id || lot < 3)
        good = add_entry(client, account);
    else if (lot < 5 && count > 2)
        good = remove_entry(client, id);
    else if (lot < 7)
        good = tell_written(
            client,
            ask(client, "UPDATE entries SET account = %u WHERE id = %s RETURNING id, account",
                draw_account(client), id));
    else
        good = tell_written(
            client,
            ask(client,
                "UPDATE entries SET amount = amount + 1, status = CASE status WHEN 'open' THEN "
                "'paid' ELSE 'open' END WHERE id = %s RETURNING id, amount, status",
                id));
    PQclear(found);
    return good;
}

static bool audit(struct client *client, unsigned account)
{
    PGresult *found = sum_up(client, account) ? find_entries(client, account) : NULL;
    PQclear(found);
    return found && sum_up(client, account);
}

static bool operate(struct client *client)
{
    unsigned account = draw_account(client);
    uint64_t lot = client_draw(client, 10);
    if (lot < 6)
        return change_entries(client, account) &&
               (lot % 2 ? audit(client, account) : list_range(client));
    return lot < 8
               ? audit(client, account)
               : list_range(client) && look_up(client) && list_newest(client) && look_up(client);
}

static bool create(struct client *client)
{
    char rows[200];
    snprintf(
        rows, sizeof rows,
        "INSERT INTO entries (account, amount) SELECT 1 + i %% %lu, i FROM generate_series(1, %lu) i",
        client->workload->keys, client->workload->keys * PER_ACCOUNT);
    return client_execute(
               client,
               "CREATE TABLE entries (id serial PRIMARY KEY, account int NOT NULL, amount bigint, "
               "status text COLLATE \"C\" DEFAULT 'open', note text COLLATE \"C\");"
               "ALTER TABLE entries REPLICA IDENTITY FULL;"
               "CREATE INDEX ON entries (account)") &&
           client_execute(client, rows);
}

const struct tables ledger = {create, operate};
