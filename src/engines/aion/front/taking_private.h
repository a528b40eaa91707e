/* A transaction that is being taken: shared by the files of the front. */
#pragma once

#include "aion/state_private.h"

struct aion_taking {
    struct iso_aion *engine;
    struct aion_key_cache *cache;
    const struct iso_history *history;
    uint32_t transaction;
    uint8_t flags; /* of the part */
    struct aion_times times;
    uint64_t arrival;
    bool plain; /* every operation reads or writes a register, at the transaction's times, and no
                   key twice */
    enum {
        AION_TAKE_ALL,
        AION_TAKE_WRITES,
        AION_TAKE_READS
    } what; /* deferred.h: its reads come later, or now */
};

/* Whether reads need a start to be judged by. */
static inline bool aion_needs_start(const struct iso_aion *engine)
{
    return !iso_aion_needs_no_start(engine->options.level);
}

/* A committed transaction of which nothing is known but its versions. */
static inline bool aion_is_foreign(const struct iso_aion *engine, uint8_t flags)
{
    return engine->options.level != ISO_SER && aion_needs_start(engine) && !(flags & ISO_HAS_STS);
}

/* access.c: judges INT and makes the steps for the shards, batch by batch. */
void aion_access_operations(const struct aion_taking *taking);

/* For a transaction that was held: its external reads, into the engine's `deferred.reads`; and one
 * of them that no choice explains, as a step (`is_group`: its key has several). */
void aion_access_reads(const struct aion_taking *taking);
void aion_access_flagged(const struct aion_taking *taking, const struct aion_deferred_read *read,
                         bool is_group);
