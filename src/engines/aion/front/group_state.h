/* Transactions that were accepted and are not taken yet (group.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/radix.h"

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

/* Transactions that iso_aion_add has accepted and not yet taken (group.c). */
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
