/* Transactions that wait for their turn, as the front knows them: when it is, and what they bring to their session. */
#include <string.h>

#include "aion/engine_private.h"
#include "base/memory.h"

static uint32_t new_entrant(struct aion_apart *apart)
{
    if (apart->free_count)
        return apart->free[--apart->free_count];
    if (apart->entrant_count == apart->capacity) {
        apart->capacity = apart->capacity ? apart->capacity * 2 : 256;
        apart->entrants = iso_reallocate(apart->entrants, apart->capacity * sizeof *apart->entrants);
        apart->free = iso_reallocate(apart->free, apart->capacity * sizeof *apart->free);
    }
    return apart->entrant_count++;
}

/* `entrant` NULL: of no session. */
void aion_apart_add(struct iso_aion *engine, const struct aion_turn *turn, const struct aion_entrant *entrant)
{
    struct aion_apart *apart = &engine->apart;
    struct aion_turn added = *turn;
    added.subject = ISO_NONE;
    if (entrant) {
        added.subject = new_entrant(apart);
        apart->entrants[added.subject] = *entrant;
        engine->sessions.list[entrant->session].waiting++;
    }
    aion_queue_add(&apart->queue, &added);
}

static void go(struct iso_aion *engine, const struct aion_turn *turn)
{
    struct aion_apart *apart = &engine->apart;
    if (turn->subject == ISO_NONE)
        return;
    const struct aion_entrant *entrant = &apart->entrants[turn->subject];
    engine->sessions.list[entrant->session].waiting--;
    aion_session_add(engine, entrant);
    apart->free[apart->free_count++] = turn->subject;
}

void aion_apart_go(struct iso_aion *engine, uint64_t until, uint64_t start)
{
    struct aion_queue *queue = &engine->apart.queue;
    const struct aion_turn *turn;
    uint32_t count;
    if (!aion_queue_count(queue))
        return;
    turn = aion_queue_take(queue, until, &count);
    for (uint32_t i = 0; i < count; i++)
        go(engine, &turn[i]);
    turn = aion_queue_take_started(queue, start, &count);
    for (uint32_t i = 0; i < count; i++)
        go(engine, &turn[i]);
}

void aion_apart_release(struct aion_apart *apart)
{
    aion_queue_release(&apart->queue);
    iso_free(apart->entrants);
    iso_free(apart->free);
    memset(apart, 0, sizeof *apart);
}
