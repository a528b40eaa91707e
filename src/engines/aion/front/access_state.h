/* Key accesses: what the transaction at hand did to each of its keys (access.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
