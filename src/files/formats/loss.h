/* Losses: facts of a history that a format could not express. */
#pragma once

#include <stdint.h>

/* Counts of transactions or operations that lost something. */
struct iso_history_loss {
    uint64_t aborted, unknown;     /* transactions left out */
    uint64_t snapshots;            /* transactions whose snapshot became a pair of positions */
    uint64_t snos;                 /* explicit positions; their order is kept */
    uint64_t own_times;            /* ots, snapshot or lock of an operation dropped */
    uint64_t deletes;              /* written as writes of null */
    uint64_t timestamps;           /* transactions whose timestamps were left out */
    uint64_t clocks;               /* transactions whose clients' clocks were left out */
    uint64_t unknown_as_committed; /* of unknown outcome: written as committed, without reads */
    uint64_t unknown_moved; /* of unknown outcome: in a session of its own, since others follow it
                               in its own */
    uint64_t empty; /* transactions without operations, where a transaction is its operations */
    uint64_t tids;  /* transactions that got other ids */
    uint64_t renamed_keys, renamed_values; /* numbered instead */
    uint64_t queries;                      /* of tables: only what they returned is left */
    /* keys and values that are strings; TimeKiller's own tools read integers only */
    uint64_t strings;
};
