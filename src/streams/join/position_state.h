/* PostgreSQL's positions (position.c), and what PostgreSQL calls the commits that stand there
 * (commit_name.c). */
#pragma once

#include "history/history.h"
#include "join/map.h"

struct join_commit {
    uint64_t xid, position;       /* UINT64_MAX: not delivered */
    uint32_t record, transaction; /* or ISO_NONE */
};

struct join_link { /* a snapshot that has no position yet */
    uint32_t record;
    uint32_t operation; /* of the record's transaction, from 0; ISO_NONE: its own snapshot */
    uint64_t seen;      /* commits without a position that it sees */
};

struct join_commit_name { /* 0: not known */
    uint64_t lsn;
    uint32_t xid, time; /* lower halves */
};

enum { JOIN_COUNTED, JOIN_AT_LSN };

enum { JOIN_COMMIT_NAMES = 1 << 18 };

struct join_commit_names {
    struct join_commit_name
        *list;       /* a ring of JOIN_COMMIT_NAMES, by position; NULL: none was taken */
    uint64_t taken;  /* the number of the latest, from 1; 0: none */
    uint64_t latest; /* time */
};

struct join_positions {
    struct join_commit *commits; /* by xid */
    uint32_t commit_first, commit_count,
        commit_capacity; /* those before the first have a position */
    struct join_link *links;
    uint32_t link_count, link_capacity;
    uint64_t position;  /* the last one given */
    uint64_t base;      /* commits up to it stand at their LSN; 0: there are none */
    uint64_t uncounted; /* the largest xid of these */
    uint64_t clients;   /* no later record has a snapshot with a smaller xmin */
    uint64_t reference; /* an xid of now: epochs */
    bool active;
    struct join_map placed; /* xids that have a position: JOIN_COUNTED, or JOIN_AT_LSN */
    struct join_commit_names names;
};
