/* Sessions, as the engine keeps them in front of the shards (session.c, sessions.c, disorder.c). */
#pragma once

#include "base/index.h"
#include "aion/structures/sorted_chunks.h"
#include "aion/sessions/tombstone.h"
#include "aion/structures/values.h"

/* A committed transaction, as its session keeps it: two in a cache line. */
struct aion_member {
    uint64_t sts, cts, origin;
    uint32_t tid; /* value of the front */
    bool point, emitted;
    uint8_t uses; /* in a session out of order (disorder.c) */
};

/* Entries by sno, equal ones as they were accepted (their `operation`): start = largest cts up to
 * and including it, detail = the member that has it, transaction = its own. */
struct aion_session {
    struct aion_sorted_chunks members; /* none if it is out of order */
    uint32_t disorder;                 /* + 1; 0: in order, but for little (disorder.c) */
    uint32_t rescan_cost;              /* entries that were gone through for others */
    uint32_t pinned;  /* + 1; a member without an entry that the first entries name */
    uint64_t arrived; /* transactions of any status: the sno where none is given */
    uint64_t latest;  /* timestamp of all that came: once the floor is above it the session may be
                         forgotten */
    uint64_t lost; /* sno of the last one that is not known any more: what comes to stand before is
                      undecided */
    /* the positions of all that is not known any more, or may not be, are below this */
    uint64_t below;
    uint32_t name;        /* value of `names`; ISO_ABSENT: nobody's */
    uint32_t waiting;     /* members on their way (reorder_front.c) */
    uint32_t life;        /* how many were kept here, wraps; never 0 */
    uint32_t listed : 24; /* violations that were reported in full; never more */
    uint32_t unsure : 8;  /* not 0: it may have had more, `lost` is a bound (tombstone.c); + 1:
                             undecided for that */
};

/* A session out of order (disorder.c). Entries: time = sno, operation = as they were accepted,
 * transaction = member. */
struct aion_disorder {
    /* whose positions are larger than those of all before; start = cts */
    struct aion_sorted_chunks records;
    /* that follow all before; start = the least cts of one before that breaks it */
    struct aion_sorted_chunks unreported;
    uint32_t next_free; /* + 1 */
};

struct aion_members {
    struct aion_member *list;
    uint32_t count, capacity;
    uint32_t *free; /* a stack */
    uint32_t free_count;
};

/* All that are known (sessions.c), and those that ended lately (tombstone.c). */
struct aion_sessions {
    struct aion_session *list;
    uint32_t *free; /* a stack */
    uint32_t count, capacity, free_count;
    struct aion_values names;
    struct iso_index by_name;
    uint32_t clock_hand; /* whose turn it was to let go last */
    uint64_t due;        /* steps that the hand owes */
    uint64_t different;
    struct aion_tombstones ended;
    struct aion_pool pool; /* of runs of members */
    struct aion_members members;
    struct aion_disorder *disorders;
    uint32_t disorder_count, disorder_capacity, free_disorder;
};
