/* Transactions that wait for their turn, as the front knows them: when it is, and what they bring
 * to their session. */
#include <assert.h>
#include <string.h>

#include "aion/state_private.h"
#include "base/memory.h"

static uint32_t new_entrant(struct aion_reorder_front *reorder)
{
    if (reorder->free_count)
        return reorder->free[--reorder->free_count];
    if (reorder->entrant_count == reorder->capacity) {
        reorder->capacity = reorder->capacity ? reorder->capacity * 2 : 256;
        reorder->entrants =
            iso_reallocate(reorder->entrants, reorder->capacity * sizeof *reorder->entrants);
        reorder->free = iso_reallocate(reorder->free, reorder->capacity * sizeof *reorder->free);
    }
    return reorder->entrant_count++;
}

/* `entrant` NULL: of no session. */
void aion_reorder_add(struct iso_aion *engine, const struct aion_turn *turn,
                      const struct aion_entrant *entrant)
{
    struct aion_reorder_front *reorder = &engine->reorder;
    struct aion_turn added = *turn;
    added.subject = ISO_NONE;
    if (entrant) {
        added.subject = new_entrant(reorder);
        reorder->entrants[added.subject] = *entrant;
        engine->sessions.list[entrant->session].waiting++;
    }
    aion_reorder_queue_add(&reorder->queue, &added);
}

static void enter_sessions(struct iso_aion *engine, const struct aion_turn *turn)
{
    struct aion_reorder_front *reorder = &engine->reorder;
    if (turn->subject == ISO_NONE)
        return;
    assert(turn->subject < reorder->entrant_count);
    const struct aion_entrant *entrant = &reorder->entrants[turn->subject];
    assert(engine->sessions.list[entrant->session].waiting);
    engine->sessions.list[entrant->session].waiting--;
    aion_session_add(engine, entrant);
    reorder->free[reorder->free_count++] = turn->subject;
}

void aion_reorder_go(struct iso_aion *engine, uint64_t until, uint64_t start)
{
    struct aion_reorder_queue *queue = &engine->reorder.queue;
    const struct aion_turn *turn;
    uint32_t count;
    if (!aion_reorder_queue_count(queue))
        return;
    turn = aion_reorder_queue_take(queue, until, &count);
    for (uint32_t i = 0; i < count; i++)
        enter_sessions(engine, &turn[i]);
    turn = aion_reorder_queue_take_started(queue, start, &count);
    for (uint32_t i = 0; i < count; i++)
        enter_sessions(engine, &turn[i]);
}

void aion_reorder_front_release(struct aion_reorder_front *reorder)
{
    aion_reorder_queue_release(&reorder->queue);
    ISO_FREE_ALL(reorder->entrants, reorder->free);
    memset(reorder, 0, sizeof *reorder);
}
