/* What waits: rows, transactions of the stream, records of clients (pool.c). */
#pragma once

#include "history/history.h"
#include "join/map.h"

/* ---- rows ---- */

#define JOIN_ROW_BEFORE 0x01u /* `before` is known */
#define JOIN_ROW_AFTER 0x02u  /* `after` is known */
#define JOIN_ROW_WITHOUT                                                                           \
    0x04u /* a conditional delete whose condition was not true: changes nothing; a record's        \
             write: of a cell that it may have overwritten itself, so that it is not compared */
#define JOIN_ROW_CLAIMED 0x08u    /* final: a client says that it wrote the key */
#define JOIN_ROW_DROPPED 0x10u    /* the whole table went: no client lists its keys */
#define JOIN_ROW_UNREPORTED 0x20u /* of a table of which clients do not say what they write */
/* an update of columns, which are what the source locks: no write of the row */
#define JOIN_ROW_UNTOUCHED 0x40u
#define JOIN_ROW_WRITTEN 0x80u /* its transaction surely wrote what is in it (image.c) */

struct join_row {
    uint32_t next;
    uint32_t key;           /* number in `keys` */
    iso_atom before, after; /* of `texts` */
    uint64_t ordinal;       /* with the key: the row's identity within its transaction */
    uint64_t rank;          /* the highest of a key is its final row */
    uint64_t origin;
    /* digest of all that it says; of a record's write, how often it writes the key */
    uint32_t content;
    uint8_t operation, flags;
};

struct join_chain {
    uint32_t first, last, count;
};

/* ---- a transaction as the source delivers it ---- */

#define JOIN_CLOSED 0x01u
#define JOIN_COMPLETE 0x02u /* nothing can be added */
#define JOIN_ENDED 0x04u    /* END arrived, with `expected` */
#define JOIN_HAS_STS 0x08u
#define JOIN_HAS_CTS 0x10u
#define JOIN_HAS_POSITION 0x20u
#define JOIN_IN_BAND 0x40u
#define JOIN_PLACING 0x80u       /* finished, waits for its position */
#define JOIN_COMMIT_GIVEN 0x100u /* `position` is the commit's own: END said it */
#define JOIN_SHARED 0x200u       /* markers say that it is several */
/* END says of which tables its events are: `expected` counts those of covered ones */
#define JOIN_COLLECTED 0x400u
/* some of its rows stand behind others of their key, and their images were not weighed (image.c) */
#define JOIN_UNWEIGHED 0x1000u

struct join_transaction {
    struct join_identity identity; /* tag 0: free */
    struct join_chain rows;
    struct join_chain markers; /* `after` is a client's tid */
    uint32_t older, newer;     /* by arrival; `newer` also chains free ones */
    uint32_t stamp;            /* its number among all, see struct join_key */
    uint32_t cursor;           /* row behind the one found last */
    uint32_t others;           /* events that END counts and that are no rows ... */
    uint32_t covered_others;   /* ... of them, those of a table that is covered */
    uint32_t unreported;       /* rows of tables of which clients do not say what they write */
    struct join_chain altered; /* tables that it dropped rows of, or that have other columns from it
                                  on, and these columns (`content` is their table): `key` */
    /* the position of the last of them in each input, which is its `key` */
    struct join_chain last_others;
    struct join_chain counted; /* by END, of each covered table, `key`: `ordinal`; `rank`: events
                                  that are no rows */
    uint32_t flags;
    uint64_t expected;
    uint64_t collected; /* of covered tables, by the collections of the next END */
    uint64_t sts, cts;
    uint64_t position;  /* of the commit; without END one above the commit before */
    uint64_t committed; /* milliseconds since 1970, as END says; 0: it does not */
    uint32_t dropped;   /* rows that no message is about */
    uint32_t cells;     /* rows that are columns of another one's */
    uint32_t uncovered; /* rows that messages are about, of tables that are not covered any more */
    uint64_t origin, arrived;
    uint64_t ended; /* the origin of END */
};

/* ---- what a client said ---- */

#define JOIN_RECORD_STS 0x01u
#define JOIN_RECORD_CTS 0x02u
#define JOIN_RECORD_GIVEN 0x04u  /* the engine has it */
#define JOIN_RECORD_PLACED 0x08u /* gets its position by snapshots */
#define JOIN_RECORD_LISTS 0x10u  /* appends: not compared */
#define JOIN_RECORD_FREE 0x20u
#define JOIN_RECORD_COMMITTED                                                                      \
    0x40u                            /* placed: its commit is among those that wait for a position \
                                      */
#define JOIN_RECORD_BOUND 0x80u      /* a marker has given its identity, the first one */
#define JOIN_RECORD_TAKES 0x100u     /* what it wrote, beyond what it lists, the stream knows */
#define JOIN_RECORD_DELIVERED 0x400u /* placed: rows of it arrived */
/* it writes rows whose columns are cells: the stream knows those it does not list */
#define JOIN_RECORD_ROWS 0x800u
/* nothing more arrives, and what it rests on, or it itself, did not (extent.h) */
#define JOIN_RECORD_BEYOND 0x1000u
#define JOIN_RECORD_BEFORE 0x200u /* it read from a snapshot of before the stream's start */
/* its snapshot may lack a commit that stands at its LSN (position.c): its reads are not judged */
#define JOIN_RECORD_UNSURE 0x2000u

/* nothing more arrives, and it may have written: it is judged, and waits (extent.h) */
#define JOIN_RECORD_MISSING 0x4000u

enum { JOIN_RECORD_IDENTITIES = 3 };

struct join_record {
    iso_atom tid;
    struct join_chain writes; /* final ones, one a key */
    uint32_t identity_count;
    struct join_identity identity[JOIN_RECORD_IDENTITIES];
    uint32_t next_equal; /* the next record of an equal identity */
    uint32_t older, newer;
    uint32_t kept;     /* transaction of `kept`, or ISO_NONE */
    uint32_t unplaced; /* its snapshots and its commit that have no position yet */
    uint32_t reads;    /* that may still be judged */
    uint8_t status;
    uint16_t flags;
    uint64_t sts, cts, xid;
    uint64_t origin, arrived;
    uint64_t taken;   /* how many came before it */
    uint64_t horizon; /* the largest timestamp that had arrived when it arrived */
};

/* ---- all of them ---- */

/* Rows of open transactions, and whatever else is chained: positions in one list, the free ones
 * chained too. */
struct join_rows {
    struct join_row *list;
    uint32_t count, capacity, free, in_use;
};

/* Transactions of the stream that are not finished, by arrival and by identity. */
struct join_open {
    struct join_transaction *list;
    uint32_t count, capacity, free;
    struct join_map by_identity;
    uint32_t oldest, newest, waiting;
    uint32_t stamps; /* how many there ever were */
};

/* Clients' records that wait for their rows or their position, by arrival and by the identities
 * that they claim. */
struct join_records {
    struct join_record *list;
    uint32_t count, capacity, free;
    struct join_map by_claim;
    uint32_t oldest, newest, waiting;
    uint32_t aborted;
    uint32_t unknown;        /* of those that wait: of unknown outcome without an id */
    struct iso_history kept; /* their transactions */
    uint32_t kept_open;
};
