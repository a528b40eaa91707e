/* Sessions that ended (tombstone.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The rest of a session that was forgotten. */
struct aion_tombstone {
    uint64_t name; /* digest; 0: free */
    uint64_t arrived, lost, below;
};

/* The last that ended. */
struct aion_tombstones {
    struct aion_tombstone *list; /* sets of AION_TOMBSTONE_SET */
    uint32_t count;
    uint64_t gone;                    /* how many of them had to make room */
    uint64_t gone_lost, gone_arrived; /* the most of those */
};
enum { AION_TOMBSTONE_SET = 8, AION_TOMBSTONES_MOST = 1 << 18 };

void aion_tombstone_add(struct aion_tombstones *tombstones, const struct aion_tombstone *tombstone);
bool aion_tombstone_take(struct aion_tombstones *tombstones, uint64_t name,
                         struct aion_tombstone *tombstone); /* false: not known */
/* Assumed state of a session whose name is not known; true: it may be one that was forgotten for
 * lack of room. */
bool aion_tombstone_assume(const struct aion_tombstones *tombstones,
                           struct aion_tombstone *tombstone);
