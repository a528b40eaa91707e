/* The application: a shop, its statements as people write them, and what each of them tells the
 * recorder.
 *
 * Keys and values are recorded as the change stream spells them: a table's primary key, and one
 * column of it. What triggers do, and columns besides that one, the application does not record.
 */
#define _GNU_SOURCE
#include "tests/system/postgres/session.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    KEY_BYTES = 96,
    PARTS_MOST = 2,
    STATEMENT_BYTES = 400,
    GOODS = 8,
    BULK = 20000,
    BULK_TIMES = 3
};

struct table {
    const char *name; /* as keys begin */
    unsigned parts;   /* of the primary key, the first columns of every result */
    const char *value;
};

static const struct table accounts = {"public.accounts", 1, "balance"},
                          orders = {"public.orders", 1, "status"},
                          order_items = {"public.order_items", 2, "qty"},
                          stock = {"public.stock", 1, "on_hand"};

static const char LIE[] = "-666.00"; /* no balance ever */

enum told { READ, WRITTEN, DELETED };

/* ---- statements ---- */

static PGresult *query(struct client *client, const char *format, va_list values)
{
    char statement[STATEMENT_BYTES];
    vsnprintf(statement, sizeof statement, format, values);
    return client_ask(client, statement, NULL);
}

static void tell(struct client *client, const struct table *table, const PGresult *rows, int row,
                 enum told told)
{
    const char *parts[PARTS_MOST];
    char key[KEY_BYTES];
    for (unsigned i = 0; i < table->parts; i++)
        parts[i] = PQgetvalue(rows, row, (int)i);
    iso_recorder_key(key, sizeof key, table->name, parts, table->parts);
    if (told == DELETED) {
        iso_recorder_delete(client->session, key);
        return;
    }
    const char *value = PQgetvalue(rows, row, PQfnumber(rows, table->value));
    if (told == READ)
        iso_recorder_read(client->session, key, value);
    else
        iso_recorder_write(client->session, key, value);
}

/* Runs a statement whose every row, of key columns and the value's, is told; NULL if PostgreSQL
 * refused it. */
static PGresult *run(struct client *client, const struct table *table, enum told told,
                     const char *format, ...)
{
    va_list values;
    va_start(values, format);
    PGresult *rows = query(client, format, values);
    va_end(values);
    for (int row = 0; rows && row < PQntuples(rows); row++)
        tell(client, table, rows, row, told);
    return rows;
}

/* The same where nobody looks at the rows again. */
#define DO(...) done(run(__VA_ARGS__))

static bool done(PGresult *rows)
{
    PQclear(rows);
    return rows != NULL;
}

/* A row by its key: that there is none is read, too. */
static bool look_up(struct client *client, const struct table *table, const char *key,
                    const char *format, ...)
{
    char name[KEY_BYTES];
    va_list values;
    va_start(values, format);
    PGresult *rows = query(client, format, values);
    va_end(values);
    if (rows && PQntuples(rows)) {
        tell(client, table, rows, 0, READ);
    } else if (rows) {
        iso_recorder_key(name, sizeof name, table->name, &key, 1);
        iso_recorder_read(client->session, name, NULL);
    }
    return done(rows);
}

/* ---- transactions ---- */

static unsigned busy_account(struct client *client)
{
    return 1 + (unsigned)client_draw(client, client->workload->keys);
}

static bool transfer(struct client *client)
{
    unsigned from = busy_account(client), to = busy_account(client),
             amount = 1 + (unsigned)client_draw(client, 20);
    return DO(client, &accounts, READ, "SELECT id, balance FROM accounts WHERE id = %u", from) &&
           DO(client, &accounts, READ, "SELECT id, balance, owner FROM accounts WHERE id = %u",
              to) &&
           DO(client, &accounts, WRITTEN,
              "UPDATE accounts SET balance = balance - %u WHERE id = %u RETURNING id, balance",
              amount, from) &&
           DO(client, &accounts, WRITTEN,
              "UPDATE accounts SET balance = balance + %u WHERE id = %u RETURNING id, balance",
              amount, to);
}

/* What was read is written back by the application, one more. */
static bool naive(struct client *client)
{
    unsigned account = busy_account(client);
    PGresult *rows =
        run(client, &accounts, READ, "SELECT id, balance FROM accounts WHERE id = %u", account);
    bool good =
        rows && DO(client, &accounts, WRITTEN,
                   "UPDATE accounts SET balance = %s + 1 WHERE id = %u RETURNING id, balance",
                   client_cell(rows, 1), account);
    PQclear(rows);
    return good;
}

static bool add_item(struct client *client, const char *order, unsigned line)
{
    unsigned sku = 1 + (unsigned)client_draw(client, GOODS),
             count = 1 + (unsigned)client_draw(client, 5);
    return DO(client, &order_items, WRITTEN,
              "INSERT INTO order_items VALUES (%s, %u, 'SKU,%u', %u) RETURNING order_id, line, qty",
              order, line, sku, count) &&
           DO(client, &stock, WRITTEN,
              "INSERT INTO stock VALUES ('SKU,%u', 1000) ON CONFLICT (sku) DO UPDATE SET on_hand = stock.on_hand - %u "
              "RETURNING sku, on_hand",
              sku, count);
}

static bool place_order(struct client *client)
{
    unsigned account = busy_account(client), items = 1 + (unsigned)client_draw(client, 4);
    if (!DO(client, &accounts, READ, "SELECT id, balance FROM accounts WHERE id = %u", account))
        return false;
    PGresult *rows =
        run(client, &orders, WRITTEN,
            "INSERT INTO orders (account_id, amount) VALUES (%u, %u) RETURNING id, status", account,
            1 + (unsigned)client_draw(client, 99));
    bool good = rows != NULL;
    for (unsigned line = 1; good && line <= items; line++)
        good = add_item(client, client_cell(rows, 0), line);
    PQclear(rows);
    return good;
}

static bool list_orders(struct client *client)
{
    unsigned first = 1 + (unsigned)client_draw(client, client->workload->rows);
    return DO(client, &orders, READ, "SELECT id, status FROM orders WHERE account_id = %u",
              busy_account(client)) &&
           DO(client, &accounts, READ,
              "SELECT id, balance FROM accounts WHERE id BETWEEN %u AND %u", first, first + 5);
}

static bool list_items(struct client *client)
{
    return DO(client, &order_items, READ,
              "SELECT order_id, line, qty FROM order_items WHERE order_id IN (SELECT id FROM orders ORDER BY id DESC "
              "LIMIT 5)") &&
           look_up(client, &stock, "none", "SELECT sku, on_hand FROM stock WHERE sku = 'none'");
}

static bool ship(struct client *client)
{
    return DO(
        client, &orders, WRITTEN,
        "UPDATE orders SET status = 'shipped' WHERE account_id = %u AND status = 'new' RETURNING id, status",
        busy_account(client));
}

static bool cancel(struct client *client)
{
    PGresult *rows = run(client, &orders, READ,
                         "SELECT id, status FROM orders WHERE account_id = %u ORDER BY id LIMIT 1",
                         busy_account(client));
    const char *order = rows ? client_cell(rows, 0) : NULL;
    bool good =
        rows &&
        (!order ||
         (DO(client, &order_items, DELETED,
             "DELETE FROM order_items WHERE order_id = %s RETURNING order_id, line", order) &&
          DO(client, &orders, DELETED, "DELETE FROM orders WHERE id = %s RETURNING id", order) &&
          look_up(client, &orders, order, "SELECT id, status FROM orders WHERE id = %s", order)));
    PQclear(rows);
    return good;
}

/* What a ROLLBACK TO takes back, the record leaves out, its reads too. */
static bool with_savepoint(struct client *client)
{
    unsigned account = busy_account(client);
    size_t mark = iso_recorder_mark(client->session);
    bool good =
        client_execute(client, "SAVEPOINT p") &&
        DO(client, &accounts, WRITTEN,
           "UPDATE accounts SET balance = balance + 100000 WHERE id = %u RETURNING id, balance",
           account) &&
        DO(client, &accounts, READ, "SELECT id, balance FROM accounts WHERE id = %u", account) &&
        client_execute(client, "ROLLBACK TO p");
    iso_recorder_rollback_to(client->session, mark);
    return good &&
           DO(client, &accounts, READ, "SELECT id, balance FROM accounts WHERE id = %u", account) &&
           DO(client, &accounts, WRITTEN,
              "UPDATE accounts SET note = NULL, balance = balance + 1 WHERE id = %u RETURNING id, balance",
              account);
}

static bool report(struct client *client)
{
    return DO(client, &accounts, READ, "SELECT id, balance FROM accounts WHERE id <= %lu",
              client->workload->keys) &&
           DO(client, &stock, READ, "SELECT sku, on_hand FROM stock WHERE sku LIKE 'SKU%%'");
}

/* ---- what befalls the tables ---- */

static bool elsewhere(const struct client *client, const char *statement)
{
    PGconn *connection = PQconnectdb(client->workload->connection);
    struct client other = {.workload = client->workload, .connection = connection};
    bool good = client_execute(&other, statement);
    PQfinish(connection);
    return good;
}

/* More rows than anyone records: the stream tells them. */
static bool bulk(struct client *client)
{
    char statement[STATEMENT_BYTES];
    snprintf(
        statement, sizeof statement,
        "INSERT INTO stock SELECT 'big' || i, i FROM generate_series(1, %d) i ON CONFLICT (sku) DO UPDATE SET on_hand = "
        "stock.on_hand + 1",
        BULK);
    iso_recorder_writes_from_stream(client->session);
    return client_execute(client, statement);
}

/* A snapshot from before sees the emptied table empty. */
static bool truncate(struct client *client)
{
    return elsewhere(client, "TRUNCATE stock") &&
           look_up(client, &stock, "SKU,1", "SELECT sku, on_hand FROM stock WHERE sku = 'SKU,1'");
}

static bool add_column(struct client *client)
{
    return elsewhere(client, "ALTER TABLE accounts ADD COLUMN tier text DEFAULT 'basic'") &&
           transfer(client);
}

/* Of a row that is there, another value than PostgreSQL showed. */
static bool lie(struct client *client)
{
    char key[KEY_BYTES];
    const char *account = "1";
    iso_recorder_key(key, sizeof key, accounts.name, &account, 1);
    iso_recorder_read(client->session, key, LIE);
    return true;
}

static bool look_at_pair(struct client *client)
{
    return DO(client, &stock, READ,
              "SELECT sku, on_hand FROM stock WHERE sku IN ('left', 'right')");
}

static bool sell(struct client *client, const char *sku)
{
    return DO(client, &stock, WRITTEN,
              "UPDATE stock SET on_hand = 0 WHERE sku = '%s' RETURNING sku, on_hand", sku);
}

/* Two sessions, each of which sells one of a pair since the other one is there, at a level that
 * lets them. Nobody else looks at the pair. */
static bool skew(struct client *client)
{
    struct workload lax = *client->workload;
    struct tally tally = {0};
    lax.isolation = "repeatable read";
    struct client a = {.workload = &lax,
                       .recorder = client->recorder,
                       .number = (unsigned)lax.sessions},
                  b = a;
    b.number++;
    bool good = client_connect(&a) && client_connect(&b) && client_begin(&a) && client_begin(&b) &&
                look_at_pair(&a) && look_at_pair(&b) && sell(&a, "left") && sell(&b, "right") &&
                client_commit(&a, &tally) && client_commit(&b, &tally) && tally.committed == 2;
    client_disconnect(&a);
    client_disconnect(&b);
    return good;
}

static const struct event {
    const char *name;
    bool (*befall)(struct client *client);
    unsigned times; /* more than once for the case that the first is rolled back */
} events[] = {{"bulk", bulk, BULK_TIMES},
              {"column", add_column, 1},
              {"truncate", truncate, 1},
              {"lie", lie, 1},
              {"skew", skew, 1}};

static const struct event *find_event(const char *name)
{
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (!strcmp(events[i].name, name))
            return &events[i];
    return NULL;
}

bool application_has_event(const char *name)
{
    return find_event(name) != NULL;
}

/* The event that this transaction is, if it is one. */
static const struct event *due(const struct client *client)
{
    const struct event *event =
        client->workload->event ? find_event(client->workload->event) : NULL;
    unsigned long middle = client->planned / 2;
    bool is_due = event && !client->number && client->started >= middle &&
                  client->started - middle < event->times;
    return is_due ? event : NULL;
}

static bool operate(struct client *client)
{
    static const struct {
        bool (*operate)(struct client *client);
        unsigned share;
    } kinds[] = {{transfer, 30},    {naive, 10},         {place_order, 20},
                 {list_orders, 12}, {list_items, 9},     {ship, 5},
                 {cancel, 5},       {with_savepoint, 5}, {report, 4}};
    const struct event *event = due(client);
    if (event)
        return event->befall(client);
    unsigned at = 0;
    for (uint64_t left = client_draw(client, 100); left >= kinds[at].share; at++)
        left -= kinds[at].share;
    return kinds[at].operate(client);
}

static bool create(struct client *client)
{
    static const char tables[] =
        "CREATE TABLE accounts (id int PRIMARY KEY, owner text NOT NULL, balance numeric(12,2) NOT NULL DEFAULT 0, note text,"
        " updated_at timestamptz NOT NULL DEFAULT now());"
        "CREATE TABLE orders (id serial PRIMARY KEY, account_id int NOT NULL REFERENCES accounts (id),"
        " amount numeric(12,2) NOT NULL, status text NOT NULL DEFAULT 'new', placed_at timestamptz NOT NULL DEFAULT now());"
        "CREATE TABLE order_items (order_id int NOT NULL REFERENCES orders (id), line int NOT NULL, sku text NOT NULL,"
        " qty int NOT NULL, PRIMARY KEY (order_id, line));"
        "CREATE TABLE stock (sku text PRIMARY KEY, on_hand int NOT NULL);"
        "CREATE TABLE audit_log (id bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), what text);"
        "CREATE INDEX ON orders (account_id);"
        "ALTER TABLE accounts REPLICA IDENTITY FULL;"
        "ALTER TABLE order_items REPLICA IDENTITY FULL;"
        "ALTER TABLE stock REPLICA IDENTITY FULL;"
        "CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN NEW.updated_at = now(); RETURN NEW; END $$;"
        "CREATE TRIGGER touch BEFORE UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION touch();"
        "CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN INSERT INTO audit_log (what) VALUES (OLD.balance || ' to ' || NEW.balance); RETURN NULL; END $$;"
        "CREATE TRIGGER audit AFTER UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION audit();"
        "INSERT INTO stock SELECT 'SKU,' || i, 100000 FROM generate_series(1, 6) i;"
        "INSERT INTO stock VALUES ('left', 1), ('right', 1);";
    char rows[200];
    snprintf(
        rows, sizeof rows,
        "INSERT INTO accounts SELECT i, 'owner \"' || i || '\"', 1000 FROM generate_series(1, %lu) i",
        client->workload->rows);
    return client_execute(client, tables) && client_execute(client, rows);
}

const struct tables application = {create, operate};
