/* How far the change streams have arrived, and what they have shown so far. */
#pragma once

#include "history/history.h"
#include "join/map.h"

/* Properties that the source has shown so far. */
struct join_source {
    bool expects_in_band, expects_ends, expects_statements; /* a topic of its own brings them */
    bool in_band;    /* records have arrived inside transactions */
    bool has_ends;   /* the source says where transactions end */
    bool has_starts; /* and when they started */
    bool numbered;   /* commits are, in `domain` */
    uint32_t domain;
    bool domains_differ; /* clients' commit timestamps are not the source's positions */
    uint32_t connector;  /* digest of its name; 0: no row has said it */
    uint8_t scales;      /* enum join_scale: what its transactions are numbered by (scale.c) */
    /* clients' records that came before it was known: by scale, the first and how many */
    uint64_t early[4], first_early[4];
};

struct join_input {               /* an input of rows */
    struct join_identity current; /* tag 0: none */
    uint64_t cts;
    uint32_t span;
    /* position in the log: all transactions that commit up to here have arrived */
    uint64_t reached;
    uint64_t number;   /* the largest number of a commit that it has delivered rows of ... */
    uint64_t position; /* ... and where in the log its last row stands */
    bool goes_back;    /* it repeats what it delivered, and has not yet reached a larger one */
    bool used, declared;
    bool begun;           /* its first message has arrived */
    bool beyond_snapshot; /* something that is no row of a snapshot has arrived */
    bool snapshot_again;  /* and then such rows, once more */
    bool at_end;          /* as it was set last, since the snapshot is over */
    bool left_behind;
    bool tells; /* of statements that change tables: a schema topic */
};

struct join_partitions {
    struct join_input *list; /* by input */
    uint32_t count;
};

/* The transaction whose BEGIN arrived last (aborted.c). */
struct join_begun {
    struct join_identity identity;
    uint64_t commit, origin;
    uint32_t input;
    bool open; /* its END has not come */
    bool of_domain;
};

/* The state before the stream (initial.c). */
/* Events of one message about a row and its cells: the last transaction of the block, and of the
 * joined history. */
struct join_started {
    uint64_t origin;
    uint32_t transaction[2]; /* its number + 1 */
};

struct join_start {
    bool streams;   /* changes stream: a first snapshot was sent whole */
    bool snapshots; /* rows of a first snapshot have arrived, or its end */
    bool ended;     /* its end has */
    bool complete;  /* nothing of it will arrive any more */
    bool proven; /* every partition was read up to behind it, and not only as far as the input goes
                  */
    bool marks;  /* its sender marks the last row of each table */
    bool begun; /* every partition has shown its first message: whether there is a snapshot is known
                 */
    uint64_t xid;     /* the least that took one; 0: not known */
    uint32_t asked;   /* keys that are JOIN_INITIAL_ASKED */
    uint32_t learned; /* keys that are JOIN_INITIAL_LEARNED */
    uint32_t missed; /* from this key on a cell may not say yet that its row is; ISO_NONE: all do */
    struct join_started last;
};

/* The cells that follow the row which arrived last, and what became of it. */
enum join_cells_disposition {
    JOIN_CELLS_DROPPED,
    JOIN_CELLS_NEW,
    JOIN_CELLS_AGAIN,
    JOIN_CELLS_INITIAL,
    JOIN_CELLS_ABORTED
};

struct join_cells {
    enum join_cells_disposition disposition;
    uint32_t left;
    uint32_t transaction; /* NEW, AGAIN */
    struct join_identity identity;
    uint64_t ordinal, rank;
    bool again;   /* the transaction wrote the row before, or may have */
    bool written; /* the columns that it shows it wrote itself */
};

/* The next END, of which collections have given `count` events that are covered. */
struct join_end {
    struct join_identity of;
    uint64_t count;
    bool collected;
    struct join_counted { /* of each covered table, until its message ends */
        uint32_t table;
        uint64_t count;
    } * counted;
    uint32_t counted_count, counted_capacity;
    uint64_t last; /* cdc mode: LSN of the last END */
};

/* ---- what happened to whole tables (change.c) ---- */

struct join_change {
    uint64_t position, origin;
    uint32_t table; /* number in `tables` */
    uint32_t from;  /* whose rows it has since then; ISO_NONE: nobody said it */
    /* LOST: how many there were: later ones get their version when they are asked for */
    uint32_t keys;
    uint8_t kind; /* enum iso_table_change */
    bool is_database;
    bool is_over; /* a watermark has closed it */
};

struct join_changes {
    struct join_change *list;
    uint32_t count, capacity;
};

/* ---- rows that have another name since (carry.c) ---- */

struct join_carried_row {
    uint64_t position, origin; /* of the statement */
    uint64_t since, was_since; /* from when the two values were */
    uint32_t to;               /* the key that has the row now */
    iso_atom value, was;       /* of `texts`: what it has, and what it had before */
};

struct join_carried {
    struct join_carried_row *list; /* of statements that no watermark has closed */
    uint32_t count, capacity;
    uint32_t pending; /* such statements */
};

/* ---- where in the binlog GTIDs stand (log.c) ---- */

struct join_log_position {
    uint64_t number, position;
};

struct join_log {
    struct join_log_position *list; /* both rise */
    uint32_t count, capacity;
    uint64_t *alone; /* numbers that had a BEGIN alone: the schema topic may still say where they
                        stand; sorted */
    uint32_t alone_count, alone_capacity;
    uint64_t first, begun; /* the least, and the largest, number of which BEGIN arrived; or 0 */
    uint64_t start;        /* the position of the connector's snapshot, or 0 */
    uint64_t told;         /* the largest number of a statement that the schema topic told */
    bool broken, forgot;   /* it is two servers' logs; the list lacks older ones */
    /* that wait for their position: those with ISO_MARK_LOG_START; others have left */
    struct iso_history records;
    uint32_t waiting;
    uint64_t reads; /* of those that wait */
};

/* ---- how far ---- */

struct join_progress {
    uint64_t largest;  /* timestamp that arrived */
    uint64_t closed;   /* one_group: every transaction up to it was sent, and whole */
    uint64_t clients;  /* no later record has a commit timestamp up to it */
    uint64_t promised; /* cdc mode: the watermark given */
    uint64_t now;
};

struct join_counters {
    uint32_t spans, marks, out_blocks, tallies, lacks;
    uint64_t arrivals; /* rows that arrived, where their order is all that there is */
    uint64_t taken;    /* records: a record's position in its session, where it does not say one */
    uint64_t work;     /* events since all that is open was checked: a check pays for itself */
};
