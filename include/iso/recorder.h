/* The recorder: what an application links to say what its transactions did, so that Isochron can
 * check them.
 *
 *     struct iso_recorder *recorder = iso_recorder_new_file("history.jsonl", NULL, &error);
 *     struct iso_recorder_session *session = iso_recorder_session_new(recorder,
 *       "worker-3/2026-11-21T09:00");
 *
 *     iso_recorder_begin(session);                          around one transaction of the database:
 *     iso_recorder_snapshot(session, "745:750:747,748");      PostgreSQL: pg_current_snapshot()
 *     iso_recorder_read(session, "public.acct/7", "120");     each statement's reads and writes, as
 *                                                             they succeed
 *     iso_recorder_write(session, "public.acct/7", "90");
 *     iso_recorder_xid(session, "751");                       pg_current_xact_id_if_assigned(),
 *                                                             before COMMIT
 *     iso_recorder_commit(session);                           COMMIT was acknowledged; or _abort,
 *                                                             or _unknown
 *
 *     iso_recorder_session_free(session);
 *     iso_recorder_free(recorder);
 *
 * Every transaction becomes one record of the native history format: a line of a file, a message of
 * a Kafka topic, or a text that travels inside the transaction itself (PostgreSQL, *in-band*):
 *
 *     SELECT pg_logical_emit_message(true, 'isochron', $1)     $1 = iso_recorder_in_band(session),
 *                                                              just before COMMIT
 *
 * The database's timestamps or snapshots are what most checks rest on: README.md of each connector
 * says which statement asks for them. Say `_unknown` and never `_abort` if the connection was lost
 * while COMMIT was on its way: the change stream then shows what became of it. Keys are `table/pk`
 * as the change stream's source names them (`public.acct/7`), composite keys joined by `,`, with
 * `%`, `/` and `,` inside a part written as %25, %2F and %2C; iso_recorder_key does that.
 *
 * Rows of several columns, and what a query returned, where the change stream's source has
 * `cells=true` (FORMATS.md). Keys of rows come from iso_recorder_row_key, which writes `#` as %23,
 * too:
 *
 *     const char *columns[] = {"owner", "balance"}, *values[] = {"ann", "120"};        NULL: SQL's
 *                                                                                      NULL
 *     iso_recorder_read_row(session, "public.acct/7", columns, values, 2);
 *     iso_recorder_write_row(session, "public.acct/7", columns + 1, values + 1, 1);    the columns
 *                                                                                      that were
 *                                                                                      written
 *
 *     iso_recorder_query_begin(session, "public.acct", NULL, NULL, "owner = 'ann' and balance >
 *       10");
 *     while (...)                                                                      each row, as
 *                                                                                      it comes
 *         iso_recorder_query_row(session, "7", columns, values, 2);
 *     iso_recorder_query_end(session);                                                 that was the
 *                                                                                      whole result
 *
 * A query without its end is left out, as if it had not been asked: if the statement fails halfway,
 * do not call it.
 *
 * It never blocks and never breaks the application. Calls between begin and the end of a
 * transaction touch the session's memory only. The end copies the record into a buffer of bounded
 * size, under a lock that is held for that copy alone; a thread of the recorder writes it out, or
 * librdkafka sends it. What cannot be kept (buffer full, disk full, no memory, too large, not
 * UTF-8, a value that begins with U+0002, which the format reserves) is dropped whole and counted
 * by iso_recorder_statistics; no call waits for a disk or a broker but iso_recorder_flush and
 * iso_recorder_free, and those no longer than they are asked to. `sno` counts dropped transactions
 * too, so that a gap in a session's numbers shows where. How many there were is said, too: into a
 * topic by each session and, with all of them together, by the recorder, which also says every ten
 * seconds that it lives; of a file, with `totals`, in PATH.recorders beside it. So a
 * checker knows of what is missing: of records that were dropped, and of a recorder that was
 * killed.
 *
 * Watermarks. A checker that runs along with the database must know when no record can arrive any
 * more that matters for what it has. If a recorder is the only one of a topic and its transactions
 * have snapshots, it can say so (`watermark_ms`): into every partition it sends the least xmin that
 * a record may still have. Snapshots of PostgreSQL are known to have rising xmins, so that is the
 * least one of the transactions that are open, or the newest one seen. When no transaction runs,
 * say iso_recorder_progress from time to time.
 *
 * Files are appended to. A line is written whole: `kill -9` of the application leaves no part of a
 * line of up to ISO_RECORDER_WHOLE_LINE bytes. (Writes end at page boundaries, blank lines fill the
 * rest: a page is what a killed process writes whole or not at all.) Of a longer one a part may be
 * left; it is cut off when the file is opened again. One recorder has a file at a time: opening it
 * twice is an error. It gets mode 0600, also one that exists, since records hold people's data;
 * ISO_BAD_INPUT are a symbolic link, another user's file, and a folder that others may write to
 * (but /tmp and the like). A pipe of one's own will do.
 *
 * Ownership: strings are copied. A recorder outlives its sessions. Errors: opening gives ISO_FAILED
 * or ISO_BAD_INPUT with a text; afterwards there are none, only counts. A null recorder or session
 * is allowed everywhere and does nothing, so that an application whose recorder did not open runs
 * on without it. Threads: a session belongs to one thread at a time; different sessions run in
 * parallel. After fork() the child must not use its parent's recorder.
 */
#ifndef ISO_RECORDER_H
#define ISO_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iso/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ISO_RECORDER_WHOLE_LINE = 4096 };

struct iso_recorder;
struct iso_recorder_session;

struct iso_recorder_options {
    size_t buffer_bytes;   /* what may wait to be written; 0: 16 MiB */
    size_t record_bytes;   /* the largest record, at most the buffer; 0: 1 MiB */
    unsigned watermark_ms; /* Kafka, the topic's only recorder: watermarks so often; 0: none */
    unsigned linger_ms; /* file: how long a record may wait for others, to be written with them; 0:
                           not at all */
    bool totals;        /* file: say in PATH.recorders, beside it, how many records there were */
    bool from_stream; /* say, too, that what rows had before, and what else was written, is a change
                         stream's to say: without one nothing that the records read is judged */
};

/* Counts since the recorder was opened. Every ended transaction is in one of `recorded` and the
 * dropped ones.
 */
struct iso_recorder_statistics {
    uint64_t recorded;     /* taken into the buffer, or given in-band */
    uint64_t written;      /* and written to the file, or acknowledged by the broker */
    uint64_t dropped_full; /* the buffer was full */
    /* too large, not UTF-8, a value that begins with U+0002, or no memory */
    uint64_t dropped_refused;
    uint64_t lost;          /* taken, but the file or the broker failed */
    uint64_t waiting_bytes; /* in the buffer now */
    char trouble[256];      /* why records were lost, the latest reason; "": none were */
};

/* Opens a recorder; NULL on error. `options` NULL: the defaults. */
ISO_API struct iso_recorder *iso_recorder_new_file(const char *path,
                                                   const struct iso_recorder_options *options,
                                                   struct iso_error *error);
/* `properties` are librdkafka's: name, value, name, value, ..., NULL; "bootstrap.servers" at least.
 * Messages have the session's id as key, so that a session stays in one partition, in order. */
ISO_API struct iso_recorder *iso_recorder_new_kafka(const char *topic,
                                                    const char *const *properties,
                                                    const struct iso_recorder_options *options,
                                                    struct iso_error *error);
/* Writes nowhere: for records that travel in-band only. */
ISO_API struct iso_recorder *iso_recorder_new_in_band(const struct iso_recorder_options *options,
                                                      struct iso_error *error);

/* Waits until everything recorded so far is written or lost, `seconds` at most; true if nothing
 * waits any more. */
ISO_API bool iso_recorder_flush(struct iso_recorder *recorder, unsigned seconds);
/* Flushes for up to five seconds; what still waits then is gone. Sessions must have been freed. */
ISO_API void iso_recorder_free(struct iso_recorder *recorder);

/* A snapshot that was just taken, by any connection and outside of the sessions' transactions:
 * watermarks rise to its xmin. */
ISO_API void iso_recorder_progress(struct iso_recorder *recorder, const char *snapshot);

ISO_API void iso_recorder_statistics(struct iso_recorder *recorder,
                                     struct iso_recorder_statistics *statistics);

/* A session: transactions one after the other, each of which sees the ones before. `sid` must be
 * unique among all sessions ever checked together: name the process and its start too. NULL without
 * memory, or if `sid` is not UTF-8. */
ISO_API struct iso_recorder_session *iso_recorder_session_new(struct iso_recorder *recorder,
                                                              const char *sid);
ISO_API void iso_recorder_session_free(struct iso_recorder_session *session);

/* Starts a transaction; one that was not ended is dropped as if it had never begun. */
ISO_API void iso_recorder_begin(struct iso_recorder_session *session);

/* The name by which the change stream knows the transaction, while it is open; else its record
 * makes one up. Of MySQL and MariaDB: the marker that it writes, or, after COMMIT and before
 * iso_recorder_commit, its GTID. */
ISO_API void iso_recorder_tid(struct iso_recorder_session *session, const char *tid);

/* What the database says of the transaction, at any time before its end; the last one counts. */
ISO_API void iso_recorder_start_timestamp(struct iso_recorder_session *session, uint64_t sts);
ISO_API void iso_recorder_commit_timestamp(struct iso_recorder_session *session, uint64_t cts);
ISO_API void iso_recorder_xid(struct iso_recorder_session *session,
                              const char *xid); /* NULL or "": none assigned */
/* PostgreSQL's, or MariaDB's: "mariadb-bin.000012:4711" (binlog_snapshot_file, _position), or a
 * GTID. */
ISO_API void iso_recorder_snapshot(struct iso_recorder_session *session, const char *snapshot);

/* The level at which it ran, in SQL's words; at any time before its end. When its COMMIT was sent,
 * and answered, by the clock of iso_recorder_statement_during. */
ISO_API void iso_recorder_level(struct iso_recorder_session *session, const char *level);
/* Which test it belongs to; at any time before its end, the last one counts. For people. */
ISO_API void iso_recorder_test(struct iso_recorder_session *session, const char *test);
ISO_API void iso_recorder_commit_during(struct iso_recorder_session *session, uint64_t sent,
                                        uint64_t answered);

/* What the transaction wrote beyond what is recorded the change stream knows (`"writes":"cdc"`); at
 * any time before its end. For statements whose rows the application does not see (UPDATE ...
 * WHERE, a procedure). The checker has to read a change stream of the tables: without one it
 * refuses such a record. */
ISO_API void iso_recorder_writes_from_stream(struct iso_recorder_session *session);

/* Of the operations from here to the next iso_recorder_statement or the end: their own snapshot or
 * timestamp, for statements that do not run at the transaction's (PostgreSQL's READ COMMITTED,
 * TiDB's for_update_ts), or `lock`: under a lock held until commit. */
ISO_API void iso_recorder_statement_snapshot(struct iso_recorder_session *session,
                                             const char *snapshot);
ISO_API void iso_recorder_statement_timestamp(struct iso_recorder_session *session, uint64_t ots);
ISO_API void iso_recorder_statement_lock(struct iso_recorder_session *session);
/* When their statement was sent to the server, and that its answer had come by then: nanoseconds of
 * one clock of all sessions. `own`: it may have read what the transaction itself wrote. */
ISO_API void iso_recorder_statement_during(struct iso_recorder_session *session, uint64_t sent,
                                           uint64_t answered, bool own);
/* The text of the statement that the next operation is of, and those behind it, until the next one
 * has another. For people. */
ISO_API void iso_recorder_statement_text(struct iso_recorder_session *session, const char *sql);
/* at the transaction's own again */
ISO_API void iso_recorder_statement(struct iso_recorder_session *session);

/* Operations, in the order in which they ran. A NULL value is *absent*: no such row. */
ISO_API void iso_recorder_read(struct iso_recorder_session *session, const char *key,
                               const char *value);
ISO_API void iso_recorder_write(struct iso_recorder_session *session, const char *key,
                                const char *value);
ISO_API void iso_recorder_delete(struct iso_recorder_session *session, const char *key);
ISO_API void iso_recorder_append(struct iso_recorder_session *session, const char *key,
                                 const char *element);
ISO_API void iso_recorder_read_list(struct iso_recorder_session *session, const char *key,
                                    const char *const *elements, size_t count);

/* Rows with cells: `values[i]` is that of `columns[i]`, NULL is SQL's NULL; each column once. A row
 * that was deleted is recorded by iso_recorder_delete. */
ISO_API void iso_recorder_read_row(struct iso_recorder_session *session, const char *row,
                                   const char *const *columns, const char *const *values,
                                   size_t count);
ISO_API void iso_recorder_read_no_row(struct iso_recorder_session *session,
                                      const char *row); /* there was none */
/* The columns that an INSERT or UPDATE wrote; none (`count` 0): the change stream knows them. */
ISO_API void iso_recorder_write_row(struct iso_recorder_session *session, const char *row,
                                    const char *const *columns, const char *const *values,
                                    size_t count);

/* A query of one table, named as keys of its rows begin. `from` and `to` are inclusive bounds of
 * the key, as it stands behind the table's name and `/` ("100", "7,b"; one with fewer parts is a
 * prefix); NULL: open. `where`, NULL: each row, are comparisons, AND, OR, NOT, IN, BETWEEN, IS
 * NULL, IS DISTINCT FROM and LIKE. One is open at a time, and nothing else comes before its end:
 * another operation, a mark that is returned to, or the transaction's end leave it out. */
ISO_API void iso_recorder_query_begin(struct iso_recorder_session *session, const char *table,
                                      const char *from, const char *to, const char *where);
/* What it returned is one of three; nothing at all is no rows.
 * Rows: each key once, as behind the table's name and `/`, with the cells that were returned. */
ISO_API void iso_recorder_query_row(struct iso_recorder_session *session, const char *key,
                                    const char *const *columns, const char *const *values,
                                    size_t count);
/* Aggregates: "count", "count(c)", "sum(c)", "min(c)", "max(c)". */
ISO_API void iso_recorder_query_aggregate(struct iso_recorder_session *session, const char *name,
                                          const char *value);
/* Rows without keys: first which columns they have, then a value for each of these. Without columns
 * (`count` 0) a row says no more than that it was there. */
ISO_API void iso_recorder_query_columns(struct iso_recorder_session *session,
                                        const char *const *columns, size_t count);
ISO_API void iso_recorder_query_values(struct iso_recorder_session *session,
                                       const char *const *values);
/* At any time before its end: there may have been more rows (LIMIT, SKIP LOCKED, row security). */
ISO_API void iso_recorder_query_partial(struct iso_recorder_session *session);
ISO_API void iso_recorder_query_end(struct iso_recorder_session *session);

/* SAVEPOINT: remember the mark; ROLLBACK TO: what was recorded after it is left out. */
ISO_API size_t iso_recorder_mark(const struct iso_recorder_session *session);
ISO_API void iso_recorder_rollback_to(struct iso_recorder_session *session, size_t mark);

/* The record so far as that of a committed transaction, to be emitted within it; NULL if it cannot
 * be recorded. It stays until the session's next call; end the transaction as usual afterwards. */
ISO_API const char *iso_recorder_in_band(struct iso_recorder_session *session);

/* For who learns only afterwards whether what it recorded was right: from here on the session's
 * records wait, up to record_bytes of them, and their floor with them, until they are let go. If
 * they are not `right` they are written without operations: their writes, where they have an xid,
 * as the change stream knows them; those that list writes, have no xid and did not abort are left
 * out, and counted as refused; others without xid and snapshot, of which nothing would be said, are
 * as if they had not been. `until`: those that were held first, up to as many of all that ever
 * were as iso_recorder_held said. */
ISO_API void iso_recorder_hold(struct iso_recorder_session *session);
ISO_API uint64_t iso_recorder_held(const struct iso_recorder_session *session);
ISO_API void iso_recorder_let_go(struct iso_recorder_session *session, uint64_t until, bool right);

/* The transaction ended, and what it did is not known well enough to be recorded: counted as
 * refused. */
ISO_API void iso_recorder_drop(struct iso_recorder_session *session);

/* The outcome, as the database acknowledged it. */
ISO_API void iso_recorder_commit(struct iso_recorder_session *session);
ISO_API void iso_recorder_abort(struct iso_recorder_session *session);
ISO_API void iso_recorder_unknown(struct iso_recorder_session *session);

/* Writes `table/part,part...` with what must be escaped in parts escaped; false if it does not fit
 * `size` bytes with NUL. */
ISO_API bool iso_recorder_key(char *key, size_t size, const char *table, const char *const *parts,
                              size_t count);
/* The same for rows with cells: `#` becomes %23. `table` NULL: the parts alone, for queries' rows
 * and bounds; no parts: the table's name alone. */
ISO_API bool iso_recorder_row_key(char *key, size_t size, const char *table,
                                  const char *const *parts, size_t count);

#ifdef __cplusplus
}
#endif

#endif
