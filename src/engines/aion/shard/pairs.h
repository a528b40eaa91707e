/* Pairs of writers of a key that overlap, as they are counted (overlap_count.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Pairs of writers that overlap. */
struct aion_pairs {
    uint64_t count;
    uint64_t excused;  /* of them, by what lies between the two commits: no violations */
    uint64_t doubtful; /* of the others: one of the two is contradicted */
};

/* Commits with which one at `cts` may be in conflict over the key: those from `from` to `to`. */
struct aion_commits {
    uint64_t from, to;
};

/* A version in the table of who writes crowded keys, by tid: made when the first contradiction
 * comes. */
struct aion_overlap_count_writer {
    uint64_t tid; /* digest; 0: free */
    uint64_t time, start;
    uint32_t key, transaction;
};

struct aion_overlap_count_writers {
    struct aion_overlap_count_writer *slots;
    uint32_t mask, used;
    bool ready; /* all that there are stand in it */
};
