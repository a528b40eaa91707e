/* Parts in a shard, and members in front of the shards, wait here for their turn. */
#pragma once

#include "aion/front/batch.h"
#include "aion/reorder/reorder_queue.h"
#include "aion/reorder/reorder_window.h"

/* Parts that wait (reorder_buffer.c), in values of the shard. */
struct aion_reorder_page {
    struct aion_batch batch;
    uint32_t left; /* parts that have not gone */
};

struct aion_reorder_buffer {
    struct aion_reorder_page *pages;
    uint32_t *free; /* a stack of pages */
    uint32_t page_count, page_capacity, free_count;
    uint32_t shared; /* + 1; the page that small batches are copied to */
    /* subjects: page << AION_REORDER_PAGE_BITS | part of its batch */
    struct aion_reorder_queue queue;
};
enum { AION_REORDER_PAGE_BITS = 16 };

/* A member on its way into its session. */
struct aion_entrant {
    uint64_t sno;
    uint32_t session, member;
    uint32_t number; /* of all accepted ones, wraps */
};

/* Committed transactions whose parts wait in the shards, and whose members wait here (group.c). */
struct aion_reorder_front {
    struct aion_reorder_window window;
    struct aion_reorder_queue queue; /* subjects: entrants, or ISO_NONE: of no session */
    struct aion_entrant *entrants;
    uint32_t *free; /* a stack */
    uint32_t entrant_count, capacity, free_count;
};
