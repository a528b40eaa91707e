#include <assert.h>
#include <string.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "database/database_private.h"

struct iso_database {
    const struct database_driver *driver;
    void *connection;
    struct database_rows rows;
    struct database_failure failure;
    enum iso_database_product product;
    char *version;
    int socket; /* what another thread cuts: the driver may have given up its own */
    bool is_lost;
};

/* ---- rows ---- */

void database_rows_clear(struct database_rows *rows, uint32_t columns)
{
    rows->bytes.used = 0;
    rows->offset_count = 0;
    rows->rows = 0;
    rows->columns = columns;
    rows->affected = 0;
}

void database_rows_add(struct database_rows *rows, const char *bytes, size_t size)
{
    ISO_GROW(rows->offsets, rows->offset_count, rows->offset_capacity);
    rows->offsets[rows->offset_count++] = bytes ? rows->bytes.used : SIZE_MAX;
    if (!bytes)
        return;
    iso_text_put_bytes(&rows->bytes, bytes, size);
    iso_text_put_bytes(&rows->bytes, "", 1);
}

void database_one_line(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        bool is_blank = (unsigned char)*from <= ' ';
        if (!is_blank)
            *to++ = *from;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    }
    while (to > text && to[-1] == ' ')
        to--;
    *to = 0;
}

/* ---- who it is ---- */

static const char *const product_names[] = {"PostgreSQL", "YugabyteDB", "CockroachDB",
                                            "MySQL",      "MariaDB",    "TiDB"};

const char *iso_database_product_name(enum iso_database_product product)
{
    return product_names[product];
}

static enum iso_database_product product_of(enum iso_database_protocol protocol,
                                            const char *version)
{
    if (protocol == ISO_PROTOCOL_POSTGRES)
        return strstr(version, "-YB-")          ? ISO_PRODUCT_YUGABYTE
               : strstr(version, "CockroachDB") ? ISO_PRODUCT_COCKROACH
                                                : ISO_PRODUCT_POSTGRES;
    return strstr(version, "TiDB")      ? ISO_PRODUCT_TIDB
           : strstr(version, "MariaDB") ? ISO_PRODUCT_MARIADB
                                        : ISO_PRODUCT_MYSQL;
}

static enum iso_status learn_product(struct iso_database *database, struct iso_error *error)
{
    const char *version = iso_database_ask(database, "SELECT version()");
    if (!version)
        return iso_error_set(error, ISO_FAILED, "the database does not say its version: %s",
                             iso_database_message(database));
    database->product = product_of(database->driver->protocol, version);
    /* "PostgreSQL 15.18 (Debian ...) on x86_64-..." */
    const char *number = database->driver->protocol == ISO_PROTOCOL_POSTGRES
                             ? strpbrk(version, "0123456789")
                             : version;
    number = number ? number : version;
    database->version = iso_copy_text(number, strcspn(number, " "));
    return ISO_OK;
}

/* ---- life ---- */

struct iso_database *iso_database_connect(const char *url, struct iso_error *error)
{
    struct database_address address = {0};
    struct iso_database *database = iso_allocate_zeroed(1, sizeof *database);
    database->socket = -1;
    if (database_parse(url, &address, &database->driver, error) == ISO_OK)
        database->connection = database->driver->connect(&address, error);
    database_address_release(&address);
    if (database->connection) {
        database->socket = database->driver->socket(database->connection);
        learn_product(database, error);
    }
    if (error->status == ISO_OK)
        return database;
    iso_database_close(database);
    return NULL;
}

void iso_database_close(struct iso_database *database)
{
    if (!database)
        return;
    if (database->connection)
        database->driver->close(database->connection);
    iso_text_release(&database->rows.bytes);
    iso_free(database->rows.offsets);
    iso_free(database->version);
    iso_free(database);
}

enum iso_database_protocol iso_database_protocol(const struct iso_database *database)
{
    return database->driver->protocol;
}

enum iso_database_product iso_database_product(const struct iso_database *database)
{
    return database->product;
}

const char *iso_database_version(const struct iso_database *database)
{
    return database->version;
}

uint64_t iso_database_session(const struct iso_database *database)
{
    return database->driver->session(database->connection);
}

char *iso_database_place(const struct iso_database *database)
{
    assert(database->driver->place);
    return database->driver->place(database->connection);
}

bool iso_database_is_lost(const struct iso_database *database)
{
    return database->is_lost;
}

/* ---- statements ---- */

enum iso_database_outcome iso_database_execute(struct iso_database *database, const char *sql)
{
    if (database->is_lost)
        return ISO_SQL_LOST;
    enum iso_database_outcome outcome =
        database->driver->execute(database->connection, sql, &database->rows, &database->failure);
    if (outcome != ISO_SQL_DONE)
        database_rows_clear(&database->rows, 0);
    database->is_lost = outcome == ISO_SQL_LOST;
    return outcome;
}

/* Errors that say that the transaction was undone; after any other the outcome is unknown.
 * 40003: statement completion unknown. */
static bool says_undone(const struct iso_database *database)
{
    static const unsigned numbers[] = {1213, 1205, 1020, 1062, 9007, 8002, 8022, 8028};
    const char *state = database->failure.state;
    if (database->driver->protocol == ISO_PROTOCOL_POSTGRES)
        return (!strncmp(state, "40", 2) && strcmp(state, "40003")) || !strncmp(state, "23", 2);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (database->failure.number == numbers[i])
            return true;
    return false;
}

enum iso_database_end iso_database_commit(struct iso_database *database)
{
    if (database->is_lost)
        return ISO_END_ABORTED; /* it was never asked */
    enum iso_database_outcome outcome = iso_database_execute(database, "COMMIT");
    return outcome == ISO_SQL_DONE                               ? ISO_END_COMMITTED
           : outcome == ISO_SQL_REFUSED && says_undone(database) ? ISO_END_ABORTED
                                                                 : ISO_END_UNKNOWN;
}

void iso_database_send_and_cut(struct iso_database *database, const char *sql)
{
    database->driver->send(database->connection, sql);
    iso_database_cut(database);
    database->is_lost = true;
}

static enum iso_database_outcome note(struct iso_database *database,
                                      enum iso_database_outcome outcome)
{
    database->is_lost |= outcome == ISO_SQL_LOST;
    return outcome;
}

enum iso_database_outcome iso_database_stream(struct iso_database *database, const char *sql)
{
    const struct database_driver *driver = database->driver;
    if (driver->stream && !database->is_lost)
        return note(database, driver->stream(database->connection, sql, &database->failure));
    database->failure = (struct database_failure){.message = "there are no streams here"};
    return ISO_SQL_REFUSED;
}

enum iso_database_outcome iso_database_receive(struct iso_database *database, const char **message,
                                               size_t *size)
{
    *size = 0;
    return database->is_lost
               ? ISO_SQL_LOST
               : note(database, database->driver->receive(database->connection, message, size,
                                                          &database->failure));
}

enum iso_database_outcome iso_database_reply(struct iso_database *database, const void *message,
                                             size_t size)
{
    return database->is_lost ? ISO_SQL_LOST
                             : note(database, database->driver->reply(database->connection, message,
                                                                      size, &database->failure));
}

enum iso_database_outcome iso_database_end_stream(struct iso_database *database)
{
    return iso_database_reply(database, NULL, 0);
}

void iso_database_cut(struct iso_database *database)
{
    if (database->socket >= 0)
        shutdown(database->socket, SHUT_RDWR);
}

/* ---- what came back ---- */

uint32_t iso_database_rows(const struct iso_database *database)
{
    return database->rows.rows;
}

uint32_t iso_database_columns(const struct iso_database *database)
{
    return database->rows.columns;
}

uint64_t iso_database_affected(const struct iso_database *database)
{
    return database->rows.affected;
}

static const char *text_at(const struct database_rows *rows, size_t offset)
{
    assert(offset < rows->offset_count);
    return rows->offsets[offset] == SIZE_MAX ? NULL : rows->bytes.bytes + rows->offsets[offset];
}

const char *iso_database_value(const struct iso_database *database, uint32_t row, uint32_t column)
{
    return text_at(&database->rows, ((size_t)row + 1) * database->rows.columns + column);
}

const char *iso_database_ask(struct iso_database *database, const char *sql)
{
    bool is_done = iso_database_execute(database, sql) == ISO_SQL_DONE;
    return is_done && database->rows.rows ? iso_database_value(database, 0, 0) : NULL;
}

const char *iso_database_message(const struct iso_database *database)
{
    return database->failure.message;
}

/* PostgreSQL: a class of SQLSTATE, lock_not_available, query_canceled, unique_violation. MySQL:
 * deadlock, lock wait timeout, a row changed since it was read, interrupted, duplicate, Galera not
 * ready; TiDB's own. */
bool iso_database_is_conflict(const struct iso_database *database)
{
    static const char *const states[] = {"55P03", "57014", "23505"};
    static const unsigned numbers[] = {1213, 1205, 1020, 1317, 1062, 1047, 3024,
                                       3572, 1969, 8002, 8022, 8028, 9007};
    const struct database_failure *failure = &database->failure;
    if (database->driver->protocol == ISO_PROTOCOL_POSTGRES) {
        for (size_t i = 0; i < sizeof states / sizeof *states; i++)
            if (!strcmp(failure->state, states[i]))
                return true;
        return !strncmp(failure->state, "40", 2);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (failure->number == numbers[i])
            return true;
    return false;
}
