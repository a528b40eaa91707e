/* Pending EXT verdicts, as a shard keeps them (pending.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/index.h"

enum aion_state { AION_RIGHT, AION_WRONG, AION_DEFERRED, AION_UNDECIDED };

/* A read as a pending verdict keeps it. */
struct aion_observed {
    uint64_t visible_below, before;
    uint32_t value, operation;
    uint8_t state;
    bool own;
    bool row_is_wrong; /* of a cell: so is the read of its row, at the same bound: it is held, not
                          wrong */
    uint16_t newer;    /* as a step's */
};

/* A pending verdict: one instance (EXT, transaction, key) that was wrong at some time, or has
 * several reads. */
struct aion_pending {
    uint32_t key, transaction;
    uint32_t next,
        previous; /* + 1; of the same key; `next` of a free pending verdict: the next free one */
    uint32_t observed_count; /* 0: the pending verdict is free */
    struct aion_observed observed;
    struct aion_observed *more; /* all observed reads, if there are several */
    uint64_t visible_below;     /* the largest of its observed reads */
    uint64_t wrong_since, deadline;
    uint32_t generation;
    uint8_t state;
    bool emitted, emitted_final,
        waiting;     /* tentative or final; final; past the watermark, and waits */
    uint32_t listed; /* reported in full: what it takes of its key's list */
    bool initial; /* waiting: for what stood there before the stream begins, else for an outcome */
    bool fresh, queued; /* among `fresh`; its times stand in `finals` and `deadlines` */
    bool throttled; /* it was judged again so often that it waits until it is final (throttled.c) */
    uint8_t tentatives; /* reported, up to AION_TENTATIVES */
    uint32_t rechecks;
    uint32_t row;                    /* + 1: among `rows`; 0: there are no cells */
    uint32_t row_next, row_previous; /* + 1: is_cell: of the same row */
    bool is_cell;
};

/* Pending verdicts of one transaction on one row (row.c). */
struct aion_row {
    uint32_t itself; /* + 1: the pending verdict on the row's key */
    uint32_t cells;  /* + 1: those on cells, chained; of a free one: the next free one */
};

struct aion_rows {
    struct aion_row *list;
    uint32_t count, capacity;
    uint32_t free; /* + 1 */
    struct iso_index index;
};

/* A moment at which a pending verdict has to be looked at. */
struct aion_due {
    uint64_t time;
    uint32_t subject, generation;
};

struct aion_dues {
    struct aion_due *heap;
    uint32_t count, capacity;
};

struct aion_pendings {
    struct aion_pending *list;
    uint32_t count, capacity;
    uint32_t free; /* + 1 */
    struct aion_dues finals, deadlines;
    struct aion_dues fresh; /* a list: new ones and those gone wrong: most are right again before
                               they are reported */
    struct aion_rows rows;
    uint32_t *groups; /* those of the part at hand that have several reads */
    uint32_t group_count, group_capacity;
};
