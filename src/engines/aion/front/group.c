/* What one iso_aion_add brings is judged in the order of commits, as far as it goes.
 *
 * Transactions overtake each other on their way by much less than what waits in front of a busy
 * engine. So those that were accepted wait in a group, which is sorted by cts (by radix, stable)
 * before it is taken: a version, a read or a member of a session is then late only where an earlier
 * group has overtaken it, and all others go to the end of their run. While all arrive in order a
 * group is only a batch, whose steps stay in the first level cache.
 */
#include <assert.h>
#include <string.h>

#include "aion/state_private.h"
#include "base/memory.h"

/* Transactions: of a batch for one shard, and for several, which share the cost of a run; of a
 * group. */
enum { BATCH = 128, BATCH_PARALLEL = 4096, GROUP = 4096 };

static void sort(struct aion_group *group)
{
    if (!group->sorted && iso_radix_sort(group->order, group->scratch, group->count)) {
        struct iso_radix sorted = group->scratch;
        group->scratch = group->order;
        group->order = sorted;
    }
    group->sorted = true;
    assert(!group->count || group->order.keys[0] <= group->order.keys[group->count - 1]);
}

/* Takes all of the group: judges it, or lets it wait. */
void aion_group_end(struct iso_aion *engine, bool emit)
{
    struct aion_group *group = &engine->group;
    uint64_t until = aion_reorder_window_until(&engine->reorder.window, engine->time.now);
    uint32_t batch = engine->shards.count > 1 ? BATCH_PARALLEL : BATCH;
    sort(group);
    group->waits = aion_reorder_queue_count(&engine->reorder.queue) ||
                   (group->count && group->order.keys[group->count - 1] > until);
    for (uint32_t i = 0; i < group->count; i++) {
        if (i && i % batch == 0)
            aion_run_task(engine,
                          (struct aion_task){.what = group->waits ? AION_KEEP : AION_APPLY});
        aion_take(engine, &engine->cache, &group->accepted[group->order.payloads[i]],
                  engine->time.now);
    }
    emit |= group->unreported + group->count >= GROUP;
    group->unreported = emit ? 0 : group->unreported + group->count;
    group->count = 0;
    if (group->waits) {
        aion_run_task(engine, (struct aion_task){.what = AION_KEEP});
        aion_reorder_queue_merge(&engine->reorder.queue);
        aion_let_go(engine, until, emit);
    } else {
        aion_run_task(engine, (struct aion_task){.what = AION_APPLY, .emit = emit});
    }
    group->waits = false;
    aion_spill(engine);
}

void aion_group_add(struct iso_aion *engine, const struct aion_accepted *accepted)
{
    assert(accepted->transaction != ISO_NONE && engine->group.count < GROUP);
    struct aion_group *group = &engine->group;
    uint32_t batch = engine->shards.count > 1 ? BATCH_PARALLEL : BATCH, number = group->count;
    if (!group->accepted) {
        group->accepted = iso_allocate(GROUP * sizeof *group->accepted);
        group->order = iso_radix_allocate(GROUP);
        group->scratch = iso_radix_allocate(GROUP);
    }
    uint64_t before = number ? group->order.keys[number - 1] : 0, time = accepted->times.cts;
    if (iso_status_of(engine->cache.history, accepted->transaction) != ISO_COMMITTED)
        time = before; /* stays where it arrived */
    else if (engine->reorder.window.wait_ms)
        aion_reorder_window_note(&engine->reorder.window, time);
    group->sorted = number ? group->sorted && time >= before : true;
    group->accepted[number] = *accepted;
    group->order.keys[number] = time;
    group->order.payloads[group->count++] = number;
    if (group->count < GROUP && (!group->sorted || group->count % batch))
        return;
    aion_group_end(engine, false);
    aion_reorder_window_begin(&engine->reorder.window, engine->time.now);
}

void aion_group_release(struct aion_group *group)
{
    assert(!group->count);
    ISO_FREE_ALL(group->accepted, group->order.keys, group->order.payloads, group->scratch.keys,
                 group->scratch.payloads);
    memset(group, 0, sizeof *group);
}
