/* A connection to a database that speaks PostgreSQL's or MySQL's protocol: one interface over two
 * drivers.
 *
 *     postgresql://[USER[:PASSWORD]@][HOST[:PORT]][/DATABASE][?NAME=VALUE...]       as libpq reads
 *                                                                                   it, with its
 *                                                                                   environment
 *     mysql://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE[?socket=PATH]                  also mariadb://
 *                                                                                   and tidb://
 *
 * Passwords need not stand there: libpq reads PGPASSWORD and ~/.pgpass, libmariadb the group
 * [client] of ~/.my.cnf, and MYSQL_PWD is read here. A driver's library is loaded by the first
 * connection that needs it (base/shared_library.h).
 *
 * A statement ends in one of three ways: it is done, the server refused it and says why, or the
 * connection was lost and nobody knows. COMMIT is asked by a function of its own, since only there
 * it matters what a refusal means: aborted for certain, or unknown. Connection faults are outcomes,
 * never crashes.
 *
 * Ownership: a connection owns the rows of its last statement. Threads: one at a time; only
 * iso_database_cut may be called by another thread while a statement runs. Whoever connects ignores
 * SIGPIPE.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum iso_database_protocol { ISO_PROTOCOL_POSTGRES, ISO_PROTOCOL_MYSQL };

/* The product that answers: several speak one protocol. */
enum iso_database_product {
    ISO_PRODUCT_POSTGRES,
    ISO_PRODUCT_YUGABYTE,
    ISO_PRODUCT_COCKROACH,
    ISO_PRODUCT_MYSQL,
    ISO_PRODUCT_MARIADB,
    ISO_PRODUCT_TIDB
};

enum iso_database_outcome {
    ISO_SQL_DONE,
    ISO_SQL_REFUSED, /* the server said why: iso_database_message */
    ISO_SQL_LOST     /* no answer: nobody knows what became of it */
};

enum iso_database_end { ISO_END_COMMITTED, ISO_END_ABORTED, ISO_END_UNKNOWN };

struct iso_database;

/* ISO_BAD_INPUT: the URL is none of these. Messages never contain its password. */
struct iso_database *iso_database_connect(const char *url, struct iso_error *error);
void iso_database_close(struct iso_database *database);

/* Whether a text is such a URL, and of which protocol. */
bool iso_database_is_url(const char *text, enum iso_database_protocol *protocol);

enum iso_database_protocol iso_database_protocol(const struct iso_database *database);
enum iso_database_product iso_database_product(const struct iso_database *database);
const char *iso_database_product_name(enum iso_database_product product);
/* "15.18 (Debian ...)" as the server says it */
const char *iso_database_version(const struct iso_database *database);
/* the server's number of this connection */
uint64_t iso_database_session(const struct iso_database *database);
/* PostgreSQL's server, "HOST:PORT" or the path of its socket; the caller frees it. */
char *iso_database_place(const struct iso_database *database);
bool iso_database_is_lost(const struct iso_database *database);

/* One statement, or in PostgreSQL several with semicolons, of which the last one's rows are
 * kept. */
enum iso_database_outcome iso_database_execute(struct iso_database *database, const char *sql);

/* COMMIT. A refusal that does not say that everything was undone is unknown. */
enum iso_database_end iso_database_commit(struct iso_database *database);

/* Sends a statement, and loses the connection before the answer comes. */
void iso_database_send_and_cut(struct iso_database *database, const char *sql);

/* A stream of PostgreSQL's replication (START_REPLICATION): both sides send messages until it is
 * ended; then statements follow again. */
enum iso_database_outcome iso_database_stream(struct iso_database *database, const char *sql);
/* Its next message, kept until the next call; *size 0: none is there now. */
enum iso_database_outcome iso_database_receive(struct iso_database *database, const char **message,
                                               size_t *size);
enum iso_database_outcome iso_database_reply(struct iso_database *database, const void *message,
                                             size_t size);
enum iso_database_outcome iso_database_end_stream(struct iso_database *database);

/* From any thread: the connection is lost. */
void iso_database_cut(struct iso_database *database);

/* Results of the last statement that succeeded: rows, columns, and the number of rows that a
 * change met. */
uint32_t iso_database_rows(const struct iso_database *database);
uint32_t iso_database_columns(const struct iso_database *database);
uint64_t iso_database_affected(const struct iso_database *database);
/* A value as text, with NUL; NULL: SQL's NULL. */
const char *iso_database_value(const struct iso_database *database, uint32_t row, uint32_t column);

/* The first value of a query's first row; NULL: none, NULL, or it failed. */
const char *iso_database_ask(struct iso_database *database, const char *sql);

/* Message of the last statement that was refused or lost, in one line. */
const char *iso_database_message(const struct iso_database *database);

/* Whether the refusal is one that isolation is made of: a conflict, a deadlock, a wait that took
 * too long. */
bool iso_database_is_conflict(const struct iso_database *database);
