/* A queue in timestamp order, for what arrives nearly in that order: a sorted array with a head.
 *
 *   [ gone . . | first ... in order ... | settled ... what was added since, in order too ... | end
 *   ]
 *
 * Adding goes to the end, past the few of the same call that are later; aion_reorder_queue_merge
 * then merges both parts from their ends, which touches nothing but what the new ones have
 * overtaken. Taking from the front moves the head. Cost: 24 bytes an entry, moved once or twice.
 *
 * Equal times stand in the order of arrival. Entries are taken by their time, or earlier by their
 * `start`, which looks at those that are no further above it than the `longest` distance from start
 * to time. Plain columns without pointers into each other. Threads: one at a time.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aion_turn {
    uint64_t time, start;
    uint32_t subject; /* the caller's */
};

struct aion_reorder_queue {
    struct aion_turn *turns, *scratch; /* `scratch`: of the capacity of `turns` */
    uint32_t first, sorted, end, capacity;
    uint64_t longest; /* time less start, of what came since the queue was empty */
};

void aion_reorder_queue_validate(const struct aion_reorder_queue *queue); /* shard_validate.c */
/* reorder_queue.c */
void aion_reorder_queue_release(struct aion_reorder_queue *queue);

void aion_reorder_queue_make_room(struct aion_reorder_queue *queue);

static inline void aion_reorder_queue_add(struct aion_reorder_queue *queue,
                                          const struct aion_turn *turn)
{
    if (queue->end == queue->capacity || queue->first == queue->end)
        aion_reorder_queue_make_room(queue);
    struct aion_turn *at = &queue->turns[queue->end++], *least = &queue->turns[queue->sorted];
    for (; at > least && at[-1].time > turn->time; at--)
        *at = at[-1];
    *at = *turn;
    if (turn->time > turn->start && turn->time - turn->start > queue->longest)
        queue->longest = turn->time - turn->start;
}
/* after a few were added, before any is taken */
void aion_reorder_queue_merge(struct aion_reorder_queue *queue);

static inline uint32_t aion_reorder_queue_count(const struct aion_reorder_queue *queue)
{
    return queue->end - queue->first;
}

/* Takes all whose time is not above `until`, in order: `*count` of them, good until the next is
 * added. */
static inline const struct aion_turn *aion_reorder_queue_take(struct aion_reorder_queue *queue,
                                                              uint64_t until, uint32_t *count)
{
    assert(queue->sorted == queue->end);
    uint32_t first = queue->first;
    while (queue->first < queue->sorted && queue->turns[queue->first].time <= until)
        queue->first++;
    *count = queue->first - first;
    return queue->turns + first;
}

/* Takes all that start at or below `start`, in order: `*count` of them, good until the next
 * call. */
const struct aion_turn *aion_reorder_queue_take_started(struct aion_reorder_queue *queue,
                                                        uint64_t start, uint32_t *count);
