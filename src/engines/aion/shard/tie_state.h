/* SER: transactions that share a cts, until all of them are known (cycle.c). */
#pragma once

#include <stdint.h>

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
