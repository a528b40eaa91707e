/* Levels below SI: transactions whose reads are judged once all is there that they may rest on
 * (deferred.c). */
#pragma once

#include "aion/front/front_state.h"
#include "aion/front/key_cache_state.h"
#include "aion/levels/query.h"
#include "base/number_map.h"

/* A committed transaction, in its session's order. */
struct aion_deferred_member {
    uint64_t sno, origin;
    uint64_t moment; /* it is complete once the watermark is here */
    struct aion_times times;
    uint32_t number;      /* as it was accepted */
    uint32_t transaction; /* in `history`; ISO_NONE: nothing of it waits */
    uint32_t tid;         /* value of the front */
    /* ISO_HAS_STS, ISO_WRITES of a history; ISO_HAS_CTS: it has any time of its own */
    uint8_t flags;
    bool judged, queued; /* queued: it waits for its session's next one, or for the floor */
};

/* A writer that later reads of the session have to know of. */
struct aion_known {
    uint64_t cts;
    uint32_t tid;  /* value of the front */
    bool is_guess; /* mr: only if reads are of whom they seem to be */
};

/* A session, or a transaction without one. */
struct aion_deferred_session {
    uint64_t digest; /* of its name; 0: it has none, or nobody has it */
    struct aion_deferred_member *members;
    uint32_t count, capacity;
    uint32_t writers, starts; /* members that are, or have a start */
    uint32_t waiting;         /* dues that name it */
    uint64_t written;         /* rc: cts of the last writer that was let go, + 1; 0: none */
    uint64_t latest;          /* timestamp of all that came */
    /* ryw, mr */
    /* the writer with the largest cts; `number` ISO_NONE: there was none */
    struct aion_deferred_member last;
    struct aion_known *known; /* by cts */
    uint32_t known_count, known_capacity;
    uint64_t forgotten; /* those below are not known any more */
};

struct aion_deferred_due {
    uint64_t time, sno;
    uint32_t session, number; /* of the member */
};

struct aion_deferred_dues { /* a heap, the earliest at its root */
    struct aion_deferred_due *list;
    uint32_t count, capacity;
};

/* A read of the transaction at hand. */
struct aion_deferred_read {
    uint32_t operation, key; /* of the block */
    uint32_t access;         /* of the transaction, to its key */
    uint32_t prefix;         /* a list: what others appended; else ISO_NONE */
    bool has_own;            /* its transaction writes the key */
    enum {
        AION_DEFERRED_RIGHT,
        AION_DEFERRED_WRONG,
        AION_DEFERRED_UNSURE,
        AION_DEFERRED_LOST
    } outcome;
    enum iso_unjudged reason; /* UNSURE */
    uint64_t moment, before;  /* WRONG: what it had to see lies below; transactions that it
                                        may rest on began below */
    uint16_t newer;           /* as a step's */
};

struct aion_deferred_reads {
    struct aion_deferred_read *list;
    uint32_t count, capacity;
};

struct aion_holding {
    bool is_on; /* else nothing is held */
    bool are_positions;
    struct iso_history history; /* of those that wait */
    struct aion_key_cache cache;
    uint32_t dead;      /* transactions of it that wait no more */
    uint64_t forgotten; /* sessions that were let go are known to have ended below */
    struct aion_deferred_session *sessions;
    uint32_t count, capacity;
    uint32_t free; /* + 1, chained by `waiting` */
    struct iso_number_map by_digest;
    struct aion_deferred_dues moments, floors; /* by watermarks; by the floor */
    struct iso_boundaries boundaries;
    struct aion_deferred_reads reads;
    uint32_t waiting; /* members that were not judged */
    bool ended;
};
