/* The keys and sessions of a batch, looked up once each (key_cache.c). */
#pragma once

#include "history/history.h"

/* A key of a block: where the engine knows it. */
struct aion_cached_key {
    uint32_t number; /* in its shard, + 1; 0: not looked up yet */
    uint8_t shard, use;
    uint16_t stamp;  /* of the transaction that named it last, see aion_key_cache_stamp */
    uint64_t digest; /* 0: not known yet */
};

/* A session of a block. */
struct aion_cached_session {
    uint64_t digest;       /* of its name; 0: not known yet */
    uint32_t number, life; /* where the engine keeps it, + 1, and which of those it kept there; 0:
                              not looked up yet */
};

/* A history that transactions are taken from. */
struct aion_key_cache {
    const struct iso_history *history;
    struct aion_cached_key *keys;
    uint32_t key_count; /* entries that exist; zeroed when new */
    uint32_t found;     /* keys that have been looked up */
    uint32_t ready;     /* all keys of the transactions to come below this one have been */
    uint16_t stamp;     /* of the transaction at hand */
    struct aion_cached_session *sessions;
    uint32_t session_count;
    uint32_t *snapshot_violation; /* by transaction, or NULL */
    uint32_t snapshot_violation_count;
};
