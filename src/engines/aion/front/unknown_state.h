/* Transactions of unknown outcome (unknown.c). */
#pragma once

#include "aion/front/key_cache_state.h"

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
    struct iso_index by_tid; /* places in `list`; of this process */
    uint32_t clock_hand;     /* whose turn it was to age last */
    uint64_t due;            /* steps that the hand owes */
};
