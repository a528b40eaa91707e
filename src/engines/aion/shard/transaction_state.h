/* Transactions, as a shard keeps them while somebody names them (shard.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "aion/aion.h"

/* A transaction: one cache line, as long as a version, a non-version write, a pending verdict or,
 * until the watermark has passed it (see `readers`), a read names it. */
struct aion_transaction {
    uint64_t sts, cts, origin, arrival;
    uint32_t tid;
    uint32_t references; /* 0: free, `tid` is the next free one + 1 */
    uint32_t flips;
    uint32_t flags;
    uint64_t unused[2];
};

static inline void aion_note_oldest(struct iso_aion_oldest *oldest,
                                    const struct aion_transaction *transaction)
{
    if (transaction->arrival < oldest->since)
        *oldest = (struct iso_aion_oldest){transaction->arrival, transaction->origin};
}

enum { AION_LEAVING = 32 };

struct aion_transactions {
    struct aion_transaction *list;
    uint32_t count, capacity, in_use;
    uint32_t free;                  /* + 1 */
    uint32_t leaving[AION_LEAVING]; /* to be dropped, + 1 */
    uint32_t leaving_at;
};

/* Transactions that stay for their reads, in the order of arrival. */
struct aion_readers {
    struct aion_reader {
        uint64_t visible_below; /* the largest */
        uint32_t transaction;
    } * list;
    uint32_t count, capacity;
    uint32_t left;   /* of them when they were last gone through */
    uint64_t passed; /* the shard's at that time: what reads below it name is nobody any more */
    uint64_t last_visible_below; /* of the reads that the part at hand keeps */
    bool keeps_reads;            /* it does */
};
