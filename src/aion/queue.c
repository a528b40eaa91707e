#include "aion/queue.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

void aion_queue_release(struct aion_queue *queue)
{
    iso_free(queue->turns);
    iso_free(queue->spare);
    memset(queue, 0, sizeof *queue);
}

/* Room for one more: what is gone makes it, if that is at least half. */
void aion_queue_make_room(struct aion_queue *queue)
{
    uint32_t gone = queue->first;
    if (gone == queue->end) {
        queue->first = queue->settled = queue->end = 0;
        queue->least_start = UINT64_MAX;
    } else if (gone >= queue->capacity / 2) {
        memmove(queue->turns, queue->turns + gone, aion_queue_count(queue) * sizeof *queue->turns);
        queue->first = 0;
        queue->settled -= gone;
        queue->end -= gone;
    }
    if (queue->end < queue->capacity)
        return;
    queue->capacity = queue->capacity ? queue->capacity * 2 : 256;
    queue->turns = iso_reallocate(queue->turns, queue->capacity * sizeof *queue->turns);
    queue->spare = iso_reallocate(queue->spare, queue->capacity * sizeof *queue->spare);
}

void aion_queue_merge(struct aion_queue *queue)
{
    struct aion_turn *turns = queue->turns;
    uint32_t old = queue->settled, added = queue->end - old, to = queue->end;
    queue->settled = queue->end;
    if (!added || old == queue->first || turns[old - 1].time <= turns[old].time)
        return;
    memcpy(queue->spare, turns + old, added * sizeof *turns);
    while (added) {
        if (old > queue->first && turns[old - 1].time > queue->spare[added - 1].time)
            turns[--to] = turns[--old];
        else
            turns[--to] = queue->spare[--added];
    }
}

const struct aion_turn *aion_queue_take_started(struct aion_queue *queue, uint64_t start, uint32_t *count)
{
    uint32_t to = queue->first;
    uint64_t least = UINT64_MAX;
    assert(queue->settled == queue->end);
    *count = 0;
    if (queue->first == queue->end || queue->least_start > start)
        return queue->spare;
    for (uint32_t i = queue->first; i < queue->end; i++) {
        struct aion_turn turn = queue->turns[i];
        if (turn.start <= start) {
            queue->spare[(*count)++] = turn;
            continue;
        }
        queue->turns[to++] = turn;
        least = turn.start < least ? turn.start : least;
    }
    queue->settled = queue->end = to;
    queue->least_start = least;
    return queue->spare;
}
