#include "aion/reorder/reorder_queue.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

void aion_reorder_queue_release(struct aion_reorder_queue *queue)
{
    ISO_FREE_ALL(queue->turns, queue->scratch);
    memset(queue, 0, sizeof *queue);
}

/* Room for one more: what is gone makes it, if that is at least half. */
void aion_reorder_queue_make_room(struct aion_reorder_queue *queue)
{
    uint32_t gone = queue->first;
    if (gone == queue->end) {
        queue->first = queue->sorted = queue->end = 0;
        queue->longest = 0;
    } else if (gone >= queue->capacity / 2) {
        memmove(queue->turns, queue->turns + gone,
                aion_reorder_queue_count(queue) * sizeof *queue->turns);
        queue->first = 0;
        queue->sorted -= gone;
        queue->end -= gone;
    }
    if (queue->end < queue->capacity)
        return;
    queue->capacity = queue->capacity ? queue->capacity * 2 : 256;
    queue->turns = iso_reallocate(queue->turns, queue->capacity * sizeof *queue->turns);
    queue->scratch = iso_reallocate(queue->scratch, queue->capacity * sizeof *queue->scratch);
}

void aion_reorder_queue_merge(struct aion_reorder_queue *queue)
{
    assert(queue->first <= queue->sorted && queue->sorted <= queue->end);
    struct aion_turn *turns = queue->turns;
    uint32_t old = queue->sorted, added = queue->end - old, to = queue->end;
    queue->sorted = queue->end;
    if (!added || old == queue->first || turns[old - 1].time <= turns[old].time)
        return;
    memcpy(queue->scratch, turns + old, added * sizeof *turns);
    while (added) {
        if (old > queue->first && turns[old - 1].time > queue->scratch[added - 1].time)
            turns[--to] = turns[--old];
        else
            turns[--to] = queue->scratch[--added];
    }
}

const struct aion_turn *aion_reorder_queue_take_started(struct aion_reorder_queue *queue,
                                                        uint64_t start, uint32_t *count)
{
    uint64_t last = start + queue->longest < start ? UINT64_MAX : start + queue->longest;
    uint32_t end = queue->first, kept = 0;
    assert(queue->sorted == queue->end);
    *count = 0;
    while (end < queue->end && queue->turns[end].time <= last)
        end++;
    for (uint32_t i = queue->first; i < end; i++)
        *count += queue->turns[i].start <= start;
    if (!*count)
        return queue->scratch;
    for (uint32_t i = end, taken = *count;
         i-- > queue->first;) { /* those that stay move up to `end` */
        struct aion_turn turn = queue->turns[i];
        if (turn.start <= start)
            queue->scratch[--taken] = turn;
        else
            queue->turns[end - ++kept] = turn;
    }
    queue->first += *count;
    return queue->scratch;
}
