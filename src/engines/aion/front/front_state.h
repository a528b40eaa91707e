/* The parts of the engine's state that stand in front of the shards; each says who changes it. */
#pragma once

#include "aion/front/key_cache_state.h"
#include "base/error.h"
#include "base/radix.h"

/* ---- key accesses of the transaction at hand (access.c) ---- */

/* One transaction's use of one key. */
struct aion_access {
    uint32_t key;                     /* of the block */
    uint32_t last;                    /* value that was read or written last; lists: unused */
    uint64_t moment;                  /* of the read before: the last timestamp that it sees */
    uint64_t start_bound;             /* bound of the first write */
    uint32_t first_write, last_write; /* operations of the block */
    uint32_t writes, external;
    uint32_t first_step; /* of the external reads, in the shard's batch */
    uint64_t before;     /* lists: prefix of the read before, in `element` */
    uint32_t before_count;
    bool list, read, int_emitted, locked;
    bool unsure; /* below SI: an unjudged read was counted (deferred.c) */
};

struct aion_accesses {
    struct aion_access *list;
    uint32_t count, capacity;
    uint64_t *slots; /* for transactions with many keys: stamp << 32 | access */
    uint32_t mask, stamp;
};

/* ---- accepted and not taken yet (group.c) ---- */

/* A committed transaction's times, with defaults filled in. */
struct aion_times {
    uint64_t sts, cts;
    bool point;
};

/* One that was accepted and waits to be taken. */
struct aion_accepted {
    struct aion_times times;
    uint64_t sno;
    uint32_t transaction;
    uint32_t number; /* of all accepted ones, wraps */
    bool plain;      /* as in `struct aion_taking` */
};

struct aion_group {
    struct aion_accepted *accepted;
    struct iso_radix order, scratch; /* times, and numbers in `accepted` */
    uint32_t count, unreported; /* unreported: taken since the shards reported what is tentative */
    bool sorted;
    bool waits;       /* what is taken now waits for its turn */
    uint32_t number;  /* of those that were ever accepted, wraps */
    uint32_t misused; /* operation that uses its key as others do not, of the last that was refused;
                         or ISO_NONE */
};

/* ---- of unknown outcome (unknown.c) ---- */

/* An unknown transaction, kept whole until its outcome is reported. */
struct aion_unknown {
    uint64_t tid;         /* digest */
    uint64_t time;        /* when it started, or what had come when it did */
    uint32_t transaction; /* in `history` */
    bool open;
};

struct aion_unknowns {
    struct iso_history history; /* of all that are kept */
    struct aion_key_cache cache;
    struct aion_unknown *list;
    uint32_t count, capacity, open;
    struct iso_index by_tid; /* indexes in `list`; of this process */
    uint32_t clock_hand;     /* whose turn it was to age last */
    uint64_t due;            /* steps that the hand owes */
};

/* ---- SER: of one cts, until all of them are known (cycle.c) ---- */

struct aion_tie {
    uint64_t cts, sts, origin;
    uint32_t shard, key, tid, snapshot_violation;
    uint8_t what; /* AION_FOUND_READER, AION_FOUND_WRITER, AION_TIE_SNAPSHOT_ORDER */
};
#define AION_TIE_SNAPSHOT_ORDER 100

struct aion_ties {
    struct aion_tie *list;
    uint32_t count, capacity;
};

/* ---- where time has come, as watermarks, deadlines and arrivals say ---- */

struct aion_arrivals { /* where deadlines say how far time has come */
    struct aion_arrival {
        uint64_t arrival, cts;
    } * ring;
    uint32_t first, count, capacity;
};

struct aion_recent {
    uint64_t ring[1 << 10]; /* timestamps of what was accepted last */
    uint64_t count;
    uint64_t earliest; /* of all that was */
};

struct aion_time {
    uint64_t now;
    uint64_t limit, passed, floor; /* README.md */
    uint64_t expired;  /* the largest cts among transactions whose deadline has passed */
    uint64_t promised; /* as `limit`, by watermarks alone: that may have been moved where memory was
                          short (fit.c) */
    uint64_t retention; /* what the memory limit leaves of it */
    struct aion_arrivals arrivals;
    struct aion_recent recent;
};

/* ---- the share of the memory limit (spill.c, fit.c) ---- */

struct aion_budget {
    uint64_t limit; /* of anonymous memory; 0: none */
    uint64_t most;  /* bytes that were in use at some time: so much the process has taken for the
                       engine */
    uint64_t kept;  /* the same without the table of tids, which is given back (fit.c) */
    /* anonymous bytes of the process beside those, when they were looked at last */
    uint64_t beside;
    uint32_t looked; /* transactions accepted by then, wraps */
    /* bytes in use after an eviction that found too few keys: not tried again below */
    uint64_t useless;
    uint64_t needed;   /* bytes of the process, after the last look; 0: the limit is enough */
    uint32_t fitted;   /* transactions accepted when memory was looked at last (fit.c) */
    uint64_t given_up; /* as iso_aion_given_up says */
    struct iso_error failure;
};
