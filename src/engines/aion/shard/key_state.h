/* Keys, as a shard keeps them: what every key has, in one cache line, and what few have. */
#pragma once

#include "base/index.h"
#include "base/memory.h"
#include "aion/structures/sorted_chunks.h"

/* A key: one cache line. The newest version stands in it, so that a read of it looks at nothing
 * else. */
struct aion_key {
    uint64_t newest_time; /* of the newest version; 0 if there is none */
    uint64_t span;        /* the most that a version's time is above its start */
    uint64_t last_read;   /* the largest bound among the open reads */
    struct aion_sorted_chunks versions, reads;
    uint32_t newest_value; /* of the newest version, or the initial value */
    uint32_t atom;         /* its name, among the values; of a free key: the next free one + 1 */
    uint32_t cold;         /* what few keys have; 0: nothing */
    uint32_t flags;
};
#define AION_KEY_USE 0x03u      /* ISO_KEY_SCALAR, ISO_KEY_LIST */
#define AION_KEY_DROPPED 0x04u  /* versions older than the first one here existed */
#define AION_KEY_OWN 0x08u      /* some open read is above its own transaction's version */
#define AION_KEY_ENTRIES 0x10u  /* some open read's value has to be let go (aion_value_drop) */
#define AION_KEY_FREE 0x20u     /* nobody's */
#define AION_KEY_PINNED 0x80u   /* evict.c: something that waits names it by its number */
#define AION_KEY_STORED 0x100u  /* the spill file has a record of it */
#define AION_KEY_CHANGED 0x200u /* and that lacks something */
/* never evicted: another key of the same digest has the place in the spill file */
#define AION_KEY_ALONE 0x400u
/* versions older than the first one here are in the spill file, in segments */
#define AION_KEY_PAGED 0x800u
#define AION_KEY_ASSUMED 0x4000u /* its initial value is what a read reported */
/* how often it was asked for again, less how often the hand of evict.c came by */
#define AION_KEY_QUERY 0x3000u
#define AION_KEY_QUERY_ONCE 0x1000u

/* Versions: time = cts, start = ots of the first write + 1 (under a lock: cts), detail =
 *   AION_VERSION_ bits;
 * lists: value is a list of the appended elements. Reads: time = bound (versions below it are
 * visible), start = `before` of the step, detail = the pending verdict + 1; operation: with
 * AION_READ_OWN. Lists: value is a list, or ISO_ABSENT if empty. */
#define AION_VERSION_UNJUDGED 0x01u
#define AION_READ_OWN 0x80000000u

struct aion_cold {
    /* writes that are no version: time = when they may go, see aion_unknown_time, start = sts + 1
     * or 0, detail = enum aion_nonversion */
    struct aion_sorted_chunks nonversions;
    uint32_t first_pending; /* + 1; pending verdicts of the key, chained */
    uint32_t initial;       /* a register's initial value */
    uint32_t base; /* a list's initial elements and those of dropped versions; ISO_ABSENT: none */
    struct aion_sorted_chunks pages; /* segments of older versions in the spill file (paging.c) */
    uint32_t listed;                 /* violations that were reported in full (aion_list) */
    bool crowded;                    /* writers are met by counting first (overlap_count.c) */
    bool unlisted;                   /* pairs of writers were counted that were not listed */
    struct aion_overlap_count
        *overlap_count; /* or NULL; made anew where it has not as many as there are versions */
    struct aion_sorted_chunks value_writers; /* who wrote which value; empty until some violation is
                                                not listed (value_writers.c) */
    uint32_t pending, stale; /* how many there are; what unknown ones wrote changed so often since
                                all were judged */
    struct aion_sorted_chunks idle; /* SER: [time, transaction] of reads that tired, for ties */
    uint64_t aged; /* up to here writes of unknown outcome may stand that were forgotten; 0: none */
};
enum aion_nonversion {
    AION_NONVERSION_ABORTED = 1,
    AION_NONVERSION_INTERMEDIATE,
    AION_NONVERSION_UNKNOWN,
    AION_NONVERSION_UNKNOWN_FINAL
};

/* The time of a non-version write whose transaction's outcome is unknown: behind all others, in the
 * order of values. */
static inline uint64_t aion_unknown_time(uint32_t value)
{
    return (uint64_t)UINT32_MAX << 32 | value;
}

static inline bool aion_is_unknown(const struct aion_entry *nonversion)
{
    return nonversion->detail >= AION_NONVERSION_UNKNOWN;
}

/* A shard's keys (key.c), and the hand that goes round them (trim.c). */
struct aion_keys {
    struct iso_index index; /* by name */
    struct aion_key *list;
    uint32_t count, capacity, in_use;
    uint32_t free;       /* + 1 */
    uint64_t known;      /* in memory or not */
    uint32_t initial;    /* of every register */
    uint32_t clock_hand; /* the key that the sweep looks at next */
    uint64_t work;       /* steps since the last sweep */
    bool have_cells;     /* some key was a cell's */
    /* Those whose run of reads began with one small chunk, which it gives back once no read in it
     * may change: nearly all keys of a large table are read once in a long time. */
    ISO_LIST(uint32_t) reading;
    uint32_t reading_left; /* of them when they were last gone through */
};

/* The cold parts of keys, which few keys have; the first is nobody's. */
struct aion_colds {
    struct aion_cold *list;
    uint32_t count, capacity, in_use;
    uint32_t free; /* chained by `first_pending`; 0: none */
};
