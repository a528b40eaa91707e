#include "recorder/recorder_private.h"

#include <stdlib.h>

void recorder_floors_add(struct recorder_floors *floors, struct recorder_floor *floor)
{
    atomic_init(&floor->xmin, UINT64_MAX);
    pthread_mutex_lock(&floors->lock);
    floor->next = floors->first;
    floors->first = floor;
    pthread_mutex_unlock(&floors->lock);
}

void recorder_floors_remove(struct recorder_floors *floors, struct recorder_floor *floor)
{
    pthread_mutex_lock(&floors->lock);
    struct recorder_floor **place = &floors->first;
    while (*place && *place != floor)
        place = &(*place)->next;
    if (*place)
        *place = floor->next;
    pthread_mutex_unlock(&floors->lock);
}

/* `floor` NULL: of no transaction. A text that is no snapshot says nothing. */
void recorder_floors_saw(struct recorder_floors *floors, const char *snapshot,
                         struct recorder_floor *floor)
{
    char *end;
    uint64_t xmin = strtoull(snapshot, &end, 10);
    if (end == snapshot || *end != ':')
        return;
    uint64_t newest = atomic_load(&floors->newest);
    while (xmin > newest && !atomic_compare_exchange_weak(&floors->newest, &newest, xmin))
        ;
    if (floor)
        atomic_store(&floor->xmin, xmin);
}

/* `newest` is read before the floors. A session without one now begins later, and so takes a
 * snapshot later than the one whose xmin was read: its own is no smaller. */
uint64_t recorder_floors_least(struct recorder_floors *floors)
{
    uint64_t least = atomic_load(&floors->newest);
    pthread_mutex_lock(&floors->lock);
    for (struct recorder_floor *floor = floors->first; floor; floor = floor->next) {
        uint64_t xmin = atomic_load(&floor->xmin);
        least = xmin < least ? xmin : least;
    }
    pthread_mutex_unlock(&floors->lock);
    return least;
}
