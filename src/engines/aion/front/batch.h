/* The parts, one a transaction, that a call brings to a shard, and their steps, one an operation or
 * less (access.c makes them). */
#pragma once

#include "history/history.h"

enum aion_step_kind { AION_READ, AION_READ_LIST, AION_VERSION, AION_VERSION_LIST, AION_NONVERSION };

/* flags of a step */
#define AION_OWN 0x01u /* a read above the transaction's own version, which it must not see */
/* one of several external reads of the key by the transaction: one instance */
#define AION_GROUP 0x02u
#define AION_UNJUDGED 0x04u /* a version not judged for NOCONFLICT: LOCK, or foreign */
/* a non-version write of an unknown transaction: it would be a version */
#define AION_FINAL_VALUE 0x08u
/* a non-version write of a committed transaction: it is no version */
#define AION_INTERMEDIATE 0x10u

struct aion_step {
    uint32_t key;       /* number in the shard */
    uint32_t value;     /* atom of the block; lists: first of `count` elements of the batch */
    uint32_t operation; /* position in the transaction; version: its first write of the key */
    uint32_t detail;    /* + 1; 0: a register, at the times of the part */
    uint8_t kind, flags;
    uint16_t newer; /* a read below SI: of the versions that it had to see so many of the newest cts
                       do not count */
};

/* The least time above all that one at `time` sees: a bound. There is none above the last timestamp
 * of all, 2^64-1: who reads there sees all versions but those of that same timestamp. */
static inline uint64_t aion_above(uint64_t time)
{
    return time + (time != UINT64_MAX);
}

/* Details that few steps have. */
struct aion_detail {
    uint64_t time;   /* read: versions below this are visible; version: those below this are not
                        overlapped */
    uint64_t before; /* read: an unknown writer that it may rest on started below this */
    uint32_t count, tail; /* list read: behind `count` elements of others stand `tail` of its own */
};

/* flags of a part: the status and ISO_HAS_STS, ISO_HAS_CTS, ISO_POINT as in a history, or this
 * one */
/* takes back the non-version writes of the unknown transaction of this tid */
#define AION_FORGET 0x10u

/* With AION_FORGET: for good, since nobody reported the outcome in time; it had one at or before
 * `cts`. */
#define AION_AGED 0x20u

struct aion_part {
    uint64_t sts, cts, origin;
    uint64_t arrival; /* ms */
    uint64_t visible_below, before,
        start_bound; /* `time` and `before` of reads, `time` of versions without a detail */
    uint32_t first_step, step_count;
    iso_atom tid; /* of the block */
    uint8_t flags;
};

struct aion_batch {
    const struct iso_atoms *atoms;
    struct aion_part *parts;
    struct aion_step *steps;
    struct aion_detail *details;
    iso_atom *elements;
    uint32_t part_count, part_capacity, step_count, step_capacity, detail_count, detail_capacity;
    uint32_t element_count, element_capacity;
};

/* batch.c */
void aion_batch_release(struct aion_batch *batch);
void aion_batch_widen(struct aion_batch *batch, uint32_t steps);
struct aion_part *aion_batch_part(struct aion_batch *batch); /* one more, unset */
struct aion_detail *aion_batch_detail(struct aion_batch *batch,
                                      struct aion_step *step); /* one more, zeroed */
uint32_t aion_batch_elements(struct aion_batch *batch, const iso_atom *elements,
                             uint32_t count); /* where they are */

static inline void aion_batch_reserve(struct aion_batch *batch, uint32_t steps)
{
    if (batch->step_count + steps > batch->step_capacity)
        aion_batch_widen(batch, steps);
}

static inline void aion_batch_clear(struct aion_batch *batch)
{
    batch->part_count = batch->step_count = batch->detail_count = batch->element_count = 0;
}
