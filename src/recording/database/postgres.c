/* PostgreSQL's protocol, by libpq. */
#include <stdio.h>
#include <string.h>

#include <postgresql/libpq-fe.h>

#include "base/memory.h"
#include "base/redact.h"
#include "base/shared_library.h"
#include "database/database_private.h"

/* The functions of libpq that are called. */
/* clang-format off */
#define FUNCTIONS(X) \
    X(backendPID) X(clear) X(cmdStatus) X(cmdTuples) X(connectdbParams) X(consumeInput) \
    X(errorMessage) X(exec) X(finish) X(flush) X(fname) X(freemem) X(getCopyData) X(getResult) \
    X(getisnull) X(getlength) X(getvalue) X(host) X(nfields) X(ntuples) X(port) X(putCopyData) \
    X(putCopyEnd) X(resultErrorField) X(resultErrorMessage) X(resultStatus) X(sendQuery) \
    X(setNoticeProcessor) X(socket) X(status)
/* clang-format on */
#define MEMBER(name) __typeof__(PQ##name) *name;
#define NAME(name) {"PQ" #name, offsetof(struct libpq, name)},
struct libpq {
    FUNCTIONS(MEMBER)
};
static const struct iso_shared_function functions[] = {FUNCTIONS(NAME)};
static const struct iso_shared_library libpq = {"libpq.so.5", "libpq5",
                                                "a connection to PostgreSQL", functions,
                                                sizeof functions / sizeof *functions};

struct connection {
    struct libpq pq;
    PGconn *handle;
    char *message; /* of a stream, the last one */
};

static void hear_nothing(void *context, const char *message)
{
    (void)context;
    (void)message;
}

static enum iso_status refuse_connection(const struct database_address *address, const char *said,
                                         struct iso_error *error)
{
    char *shown = iso_redacted(address->url), message[512];
    snprintf(message, sizeof message, "%s", said);
    database_one_line(message);
    iso_error_set(error, ISO_FAILED, "%s: no connection: %s", shown, message);
    iso_free(shown);
    return error->status;
}

static void postgres_close(void *context)
{
    struct connection *connection = context;
    if (connection->message)
        connection->pq.freemem(connection->message);
    if (connection->handle)
        connection->pq.finish(connection->handle);
    iso_free(connection);
}

static void *postgres_connect(const struct database_address *address, struct iso_error *error)
{
    /* Parameters in the URL win: it comes last. */
    const char *const names[] = {"connect_timeout", "fallback_application_name", "dbname", NULL};
    const char *const values[] = {"10", "isochron", address->url, NULL};
    struct connection *connection = iso_allocate_zeroed(1, sizeof *connection);
    if (iso_shared_library_load(&libpq, &connection->pq, error) != ISO_OK) {
        iso_free(connection);
        return NULL;
    }
    connection->handle = connection->pq.connectdbParams(names, values, 1);
    if (connection->pq.status(connection->handle) == CONNECTION_OK) {
        connection->pq.setNoticeProcessor(connection->handle, hear_nothing, NULL);
        return connection;
    }
    refuse_connection(address, connection->pq.errorMessage(connection->handle), error);
    postgres_close(connection);
    return NULL;
}

static void copy_rows(const struct libpq *pq, const PGresult *result, struct database_rows *rows)
{
    int columns = pq->nfields(result), count = pq->ntuples(result);
    database_rows_clear(rows, (uint32_t)columns);
    for (int column = 0; column < columns; column++)
        database_rows_add(rows, pq->fname(result, column), strlen(pq->fname(result, column)));
    for (int row = 0; row < count; row++)
        for (int column = 0; column < columns; column++)
            database_rows_add(
                rows, pq->getisnull(result, row, column) ? NULL : pq->getvalue(result, row, column),
                (size_t)pq->getlength(result, row, column));
    rows->rows = (uint32_t)count;
    rows->affected = 0;
    for (const char *digit = pq->cmdTuples((PGresult *)result); *digit; digit++)
        rows->affected = rows->affected * 10 + (uint64_t)(*digit - '0');
}

static void note_failure(const struct connection *connection, const PGresult *result,
                         struct database_failure *failure)
{
    const struct libpq *pq = &connection->pq;
    const char *state = result ? pq->resultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *message =
        result ? pq->resultErrorMessage(result) : pq->errorMessage(connection->handle);
    snprintf(failure->state, sizeof failure->state, "%s", state ? state : "");
    snprintf(failure->message, sizeof failure->message, "%s", message);
    failure->number = 0;
    database_one_line(failure->message);
}

static enum iso_database_outcome fail(const struct connection *connection, const PGresult *result,
                                      struct database_failure *failure)
{
    note_failure(connection, result, failure);
    return connection->pq.status(connection->handle) == CONNECTION_OK ? ISO_SQL_REFUSED
                                                                      : ISO_SQL_LOST;
}

static enum iso_database_outcome postgres_execute(void *context, const char *sql,
                                                  struct database_rows *rows,
                                                  struct database_failure *failure)
{
    struct connection *connection = context;
    const struct libpq *pq = &connection->pq;
    PGresult *result = pq->exec(connection->handle, sql);
    ExecStatusType status = result ? pq->resultStatus(result) : PGRES_FATAL_ERROR;
    enum iso_database_outcome outcome = ISO_SQL_DONE;
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        copy_rows(pq, result, rows);
        /* COMMIT of what had failed is answered, too. */
        if (!strcmp(sql, "COMMIT") && strcmp(pq->cmdStatus(result), "COMMIT")) {
            *failure = (struct database_failure){.state = "40000",
                                                 .message = "COMMIT was answered by a rollback"};
            outcome = ISO_SQL_REFUSED;
        }
    } else {
        outcome = fail(connection, result, failure);
    }
    if (result)
        pq->clear(result);
    return outcome;
}

static bool postgres_send(void *context, const char *sql)
{
    struct connection *connection = context;
    return connection->pq.sendQuery(connection->handle, sql);
}

/* ---- a stream ---- */

static enum iso_database_outcome postgres_stream(void *context, const char *sql,
                                                 struct database_failure *failure)
{
    struct connection *connection = context;
    PGresult *result = connection->pq.exec(connection->handle, sql);
    enum iso_database_outcome outcome = ISO_SQL_DONE;
    if (!result || connection->pq.resultStatus(result) != PGRES_COPY_BOTH)
        outcome = fail(connection, result, failure);
    if (result)
        connection->pq.clear(result);
    return outcome;
}

/* Why the server ended the stream. */
static enum iso_database_outcome take_end(struct connection *connection,
                                          struct database_failure *failure)
{
    PGresult *result = connection->pq.getResult(connection->handle);
    enum iso_database_outcome outcome = fail(connection, result, failure);
    if (result)
        connection->pq.clear(result);
    return outcome;
}

static enum iso_database_outcome postgres_receive(void *context, const char **message, size_t *size,
                                                  struct database_failure *failure)
{
    struct connection *connection = context;
    const struct libpq *pq = &connection->pq;
    if (connection->message)
        pq->freemem(connection->message);
    connection->message = NULL;
    int got = pq->getCopyData(connection->handle, &connection->message, true);
    if (!got && !pq->consumeInput(connection->handle))
        return fail(connection, NULL, failure);
    if (!got)
        got = pq->getCopyData(connection->handle, &connection->message, true);
    *message = connection->message;
    *size = got > 0 ? (size_t)got : 0;
    return got < 0 ? take_end(connection, failure) : ISO_SQL_DONE;
}

static enum iso_database_outcome end_stream(struct connection *connection,
                                            struct database_failure *failure)
{
    const struct libpq *pq = &connection->pq;
    char *message;
    if (pq->putCopyEnd(connection->handle, NULL) < 1)
        return fail(connection, NULL, failure);
    while (pq->getCopyData(connection->handle, &message, false) > 0)
        pq->freemem(message);
    for (PGresult *result; (result = pq->getResult(connection->handle)) != NULL;)
        pq->clear(result);
    return pq->status(connection->handle) == CONNECTION_OK ? ISO_SQL_DONE
                                                           : fail(connection, NULL, failure);
}

static enum iso_database_outcome postgres_reply(void *context, const void *message, size_t size,
                                                struct database_failure *failure)
{
    struct connection *connection = context;
    if (!size)
        return end_stream(connection, failure);
    bool is_sent = connection->pq.putCopyData(connection->handle, message, (int)size) == 1 &&
                   !connection->pq.flush(connection->handle);
    return is_sent ? ISO_SQL_DONE : fail(connection, NULL, failure);
}

static int postgres_socket(void *context)
{
    struct connection *connection = context;
    return connection->pq.socket(connection->handle);
}

static uint64_t postgres_session(void *context)
{
    struct connection *connection = context;
    return (uint64_t)connection->pq.backendPID(connection->handle);
}

static char *postgres_place(void *context)
{
    struct connection *connection = context;
    const char *host = connection->pq.host(connection->handle),
               *port = connection->pq.port(connection->handle);
    struct iso_text text = {0};
    iso_text_format(&text,
                    *host == '/'        ? "%s/.s.PGSQL.%s"
                    : strchr(host, ':') ? "[%s]:%s"
                                        : "%s:%s",
                    host, port);
    *iso_text_reserve(&text, 1) = 0;
    return text.bytes;
}

const struct database_driver database_postgres = {.protocol = ISO_PROTOCOL_POSTGRES,
                                                  .connect = postgres_connect,
                                                  .close = postgres_close,
                                                  .execute = postgres_execute,
                                                  .send = postgres_send,
                                                  .socket = postgres_socket,
                                                  .stream = postgres_stream,
                                                  .receive = postgres_receive,
                                                  .reply = postgres_reply,
                                                  .session = postgres_session,
                                                  .place = postgres_place};
