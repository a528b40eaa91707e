/* MySQL's protocol, by libmariadb. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mariadb/mysql.h>

#include "base/memory.h"
#include "base/redact.h"
#include "base/shared_library.h"
#include "database/database_private.h"

/* From where the server is gone, or never was; also what libmariadb says of a connection that it
 * cannot read. */
enum { CLIENT_ERRORS = 2000, CLIENT_ERRORS_END = 3000, SHUTDOWN = 1053, KILLED = 1927 };

/* The functions of libmariadb that are called. */
/* clang-format off */
#define FUNCTIONS(X) \
    X(affected_rows) X(close) X(errno) X(error) X(fetch_fields) X(fetch_lengths) X(fetch_row) \
    X(field_count) X(free_result) X(get_socket) X(init) X(num_fields) X(num_rows) X(options) \
    X(real_connect) X(real_query) X(send_query) X(sqlstate) X(store_result) X(thread_id)
/* clang-format on */
#undef mysql_errno
#define MEMBER(name) __typeof__(mysql_##name) *call_##name;
#define NAME(name) {"mysql_" #name, offsetof(struct libmariadb, call_##name)},
struct libmariadb {
    FUNCTIONS(MEMBER)
};
static const struct iso_shared_function functions[] = {FUNCTIONS(NAME)};
static const struct iso_shared_library libmariadb = {
    "libmariadb.so.3", "libmariadb3", "a connection to MySQL, MariaDB or TiDB", functions,
    sizeof functions / sizeof *functions};

struct connection {
    struct libmariadb my;
    MYSQL *handle;
};

static void mysql_driver_close(void *context)
{
    struct connection *connection = context;
    if (connection->handle)
        connection->my.call_close(connection->handle);
    iso_free(connection);
}

/* A port says TCP, also to the library, for which "localhost" is a socket. */
static void set_options(struct connection *connection, const struct database_address *address)
{
    unsigned connect_seconds = 10, tcp = MYSQL_PROTOCOL_TCP;
    connection->my.call_options(connection->handle, MYSQL_OPT_CONNECT_TIMEOUT, &connect_seconds);
    connection->my.call_options(connection->handle, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    connection->my.call_options(connection->handle, MYSQL_READ_DEFAULT_GROUP, "client");
    if (address->port)
        connection->my.call_options(connection->handle, MYSQL_OPT_PROTOCOL, &tcp);
}

static void *mysql_driver_connect(const struct database_address *address, struct iso_error *error)
{
    struct connection *connection = iso_allocate_zeroed(1, sizeof *connection);
    if (iso_shared_library_load(&libmariadb, &connection->my, error) != ISO_OK) {
        iso_free(connection);
        return NULL;
    }
    connection->handle = connection->my.call_init(NULL);
    if (!connection->handle)
        iso_out_of_memory(sizeof(MYSQL));
    set_options(connection, address);
    /* FOUND_ROWS: rows that a change met count, also those that it left as they were. */
    const char *password = address->password ? address->password : getenv("MYSQL_PWD");
    if (connection->my.call_real_connect(connection->handle, address->host, address->user, password,
                                         address->name, address->port, address->socket,
                                         CLIENT_FOUND_ROWS))
        return connection;
    char *shown = iso_redacted(address->url), message[512];
    snprintf(message, sizeof message, "%s", connection->my.call_error(connection->handle));
    database_one_line(message);
    iso_error_set(error, ISO_FAILED, "%s: no connection: %s", shown, message);
    iso_free(shown);
    mysql_driver_close(connection);
    return NULL;
}

static void copy_rows(struct connection *connection, MYSQL_RES *result, struct database_rows *rows)
{
    unsigned columns = connection->my.call_num_fields(result);
    const MYSQL_FIELD *fields = connection->my.call_fetch_fields(result);
    database_rows_clear(rows, columns);
    for (unsigned column = 0; column < columns; column++)
        database_rows_add(rows, fields[column].name, strlen(fields[column].name));
    for (MYSQL_ROW row; (row = connection->my.call_fetch_row(result)); rows->rows++) {
        const unsigned long *lengths = connection->my.call_fetch_lengths(result);
        for (unsigned column = 0; column < columns; column++)
            database_rows_add(rows, row[column], lengths[column]);
    }
}

static enum iso_database_outcome fail(struct connection *connection,
                                      struct database_failure *failure)
{
    unsigned number = connection->my.call_errno(connection->handle);
    snprintf(failure->state, sizeof failure->state, "%s",
             connection->my.call_sqlstate(connection->handle));
    snprintf(failure->message, sizeof failure->message, "error %u: %s", number,
             connection->my.call_error(connection->handle));
    database_one_line(failure->message);
    failure->number = number;
    bool is_lost = (number >= CLIENT_ERRORS && number < CLIENT_ERRORS_END) || number == SHUTDOWN ||
                   number == KILLED;
    return is_lost ? ISO_SQL_LOST : ISO_SQL_REFUSED;
}

static enum iso_database_outcome mysql_driver_execute(void *context, const char *sql,
                                                      struct database_rows *rows,
                                                      struct database_failure *failure)
{
    struct connection *connection = context;
    if (connection->my.call_real_query(connection->handle, sql, strlen(sql)))
        return fail(connection, failure);
    database_rows_clear(rows, 0);
    MYSQL_RES *result = connection->my.call_store_result(connection->handle);
    if (!result && connection->my.call_field_count(connection->handle))
        return fail(connection, failure);
    if (result) {
        copy_rows(connection, result, rows);
        connection->my.call_free_result(result);
    } else {
        rows->affected = connection->my.call_affected_rows(connection->handle);
    }
    return ISO_SQL_DONE;
}

static bool mysql_driver_send(void *context, const char *sql)
{
    struct connection *connection = context;
    return !connection->my.call_send_query(connection->handle, sql, strlen(sql));
}

static int mysql_driver_socket(void *context)
{
    struct connection *connection = context;
    return (int)connection->my.call_get_socket(connection->handle);
}

static uint64_t mysql_driver_session(void *context)
{
    struct connection *connection = context;
    return connection->my.call_thread_id(connection->handle);
}

const struct database_driver database_mysql = {.protocol = ISO_PROTOCOL_MYSQL,
                                               .connect = mysql_driver_connect,
                                               .close = mysql_driver_close,
                                               .execute = mysql_driver_execute,
                                               .send = mysql_driver_send,
                                               .socket = mysql_driver_socket,
                                               .session = mysql_driver_session};
