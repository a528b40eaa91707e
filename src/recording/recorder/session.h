/* A session and its open transaction, for the files that add operations to its record.
 *
 *     struct recorder_text *record = recorder_start(session, 'r', "k", key);     {"t":"r","k":"..."
 *     if (record) {
 *         recorder_put(record, ",\"v\":null");
 *         recorder_end_operation(session);                                       ,"snapshot":"..."}
 *     }
 *
 * An *open query* is the unfinished end of the record. Whatever comes before its own end cuts it
 * off, so that a record has whole operations only.
 */
#pragma once

#include "recorder/recorder_private.h"

/* Kinds of results of a query. */
enum recorder_shape { RECORDER_NOTHING, RECORDER_ROWS, RECORDER_AGGREGATES, RECORDER_BAG };

struct recorder_query {
    size_t first;    /* where it begins in `record`; 0: none is open */
    bool had_failed; /* the record, before it */
    bool is_partial;
    enum recorder_shape shape;
    size_t count;   /* rows or aggregates so far */
    size_t columns; /* of rows without keys */
};

struct iso_recorder_session {
    struct iso_recorder *recorder;
    struct recorder_floor floor;
    char *sid;
    /* {"sid":"SID","tid":"SID : what all records of the session start with */
    struct recorder_text head;
    struct recorder_text record; /* head, number, operations */
    /* what every operation of the statement ends with: ,"snapshot":"..." */
    struct recorder_text statement;
    struct recorder_text snapshot, xid; /* of the transaction; empty: not known */
    struct recorder_text test;          /* the same */
    struct recorder_text sql;           /* of the statement, until an operation has it */
    size_t tid_first, tid_length;       /* where in `record` the tid is, with its quotes */
    size_t operations;                  /* where they begin */
    struct recorder_query query;
    uint64_t sno;
    uint64_t sts, cts;
    uint64_t sent, answered; /* COMMIT; 0: not known */
    const char *level;       /* NULL: not known */
    bool has_sts, has_cts, writes_from_stream;
    bool holds, lists_writes;
    bool is_told; /* that its records are counted */
    struct recorder_text held,
        bare; /* whole lines that wait, and the same without operations: empty ones are left out */
    uint64_t held_total, let_go_total; /* records that ever waited, and that do no longer */
    uint64_t skipped; /* of those, transactions of which nothing was left to say: they have no
                         number */
    bool open;        /* between begin and end */
    bool given;       /* in-band, and counted */
};

/* Begins an operation; returns the record, to which the caller adds the rest. NULL: no transaction
 * is open. */
struct recorder_text *recorder_start(struct iso_recorder_session *session, char type,
                                     const char *member, const char *name);
void recorder_end_operation(struct iso_recorder_session *session);

void recorder_put_value(struct recorder_text *text, const char *value); /* NULL: null */

/* Cuts an open query off, and what was wrong with it. */
void recorder_drop_query(struct iso_recorder_session *session);
