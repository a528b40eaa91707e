/* What one iso_aion_add brings is judged in the order of commits, as far as it goes.
 *
 * Transactions overtake each other on their way by much less than what waits in front of a busy
 * engine. So those that were accepted wait in a group, which is sorted by cts (by radix, stable)
 * before it is taken: a version, a read or a member of a session is then late only where an earlier
 * group has overtaken it, and all others go to the end of their run. While all arrive in order a
 * group is only a batch, whose steps stay in the first level cache.
 */
#include <string.h>

#include "aion/state_private.h"
#include "base/memory.h"

/* Transactions: of a batch for one shard, and for several, which share the cost of a run; of a
 * group. */
enum { BATCH = 128, BATCH_PARALLEL = 4096, GROUP = 4096 };

/* Bits of a digit: of a small group and of a large one, so that counting costs no more than
 * placing. */
enum { DIGIT = 11, SMALL_DIGIT = 8, SMALL = 1024 };

static void sort_by_digit(const struct aion_place_in_time *from, struct aion_place_in_time *to,
                          uint32_t count, uint64_t least, unsigned shift, unsigned digit)
{
    uint32_t first[1 << DIGIT], sum = 0;
    const uint64_t mask = (1u << digit) - 1;
    memset(first, 0, sizeof *first << digit);
    for (uint32_t i = 0; i < count; i++)
        first[(from[i].time - least) >> shift & mask]++;
    for (uint32_t i = 0; i <= mask; i++) {
        uint32_t here = first[i];
        first[i] = sum;
        sum += here;
    }
    for (uint32_t i = 0; i < count; i++)
        to[first[(from[i].time - least) >> shift & mask]++] = from[i];
}

static void sort_group(struct aion_group *group)
{
    unsigned digit = group->count < SMALL ? SMALL_DIGIT : DIGIT;
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        uint64_t time = group->order[i].time;
        least = time < least ? time : least;
        most = time > most ? time : most;
    }
    for (unsigned shift = 0; shift < 64 && (most - least) >> shift; shift += digit) {
        sort_by_digit(group->order, group->scratch, group->count, least, shift, digit);
        struct aion_place_in_time *sorted = group->scratch;
        group->scratch = group->order;
        group->order = sorted;
    }
}

/* Takes all of the group: judges it, or lets it wait. The last batch stays with the shards' batches
 * until the next, or the end. */
static void take_batch(struct iso_aion *engine, uint32_t batch, uint64_t until)
{
    struct aion_group *group = &engine->group;
    if (!group->sorted)
        sort_group(group);
    bool some_wait = aion_reorder_queue_count(&engine->reorder.queue) > 0;
    group->waits = some_wait || (group->count && group->order[group->count - 1].time > until);
    for (uint32_t i = 0; i < group->count; i++) {
        aion_take(engine, &engine->cache, &group->accepted[group->order[i].number],
                  engine->time.now);
        if ((i + 1) % batch || i + 1 == group->count)
            continue;
        if (group->waits)
            aion_keep_batches(engine);
        else
            aion_sorted_chunks_batches(engine, false);
    }
    group->unreported += group->count;
    group->count = 0;
    group->sorted = true;
}

static void end_batch(struct iso_aion *engine, bool emit)
{
    struct aion_group *group = &engine->group;
    uint64_t until = aion_reorder_window_until(&engine->reorder.window, engine->time.now);
    take_batch(engine, engine->shards.count > 1 ? BATCH_PARALLEL : BATCH, until);
    emit |= group->unreported >= GROUP;
    group->unreported = emit ? 0 : group->unreported;
    if (group->waits) {
        aion_keep_batches(engine);
        aion_reorder_queue_merge(&engine->reorder.queue);
        aion_let_go(engine, until, emit);
    } else {
        aion_sorted_chunks_batches(engine, emit);
    }
    group->waits = false;
    aion_spill(engine);
}

void aion_group_add(struct iso_aion *engine, const struct aion_accepted *accepted)
{
    struct aion_group *group = &engine->group;
    uint32_t batch = engine->shards.count > 1 ? BATCH_PARALLEL : BATCH, number = group->count;
    if (!group->accepted) {
        group->accepted = iso_allocate(GROUP * sizeof *group->accepted);
        group->order = iso_allocate(GROUP * sizeof *group->order);
        group->scratch = iso_allocate(GROUP * sizeof *group->scratch);
    }
    uint64_t before = number ? group->order[number - 1].time : 0, time = accepted->times.cts;
    if (iso_status_of(engine->cache.history, accepted->transaction) != ISO_COMMITTED)
        time = before; /* stays where it arrived */
    else if (engine->reorder.window.wait_ms)
        aion_reorder_window_note(&engine->reorder.window, time);
    group->sorted = number ? group->sorted && time >= before : true;
    group->accepted[number] = *accepted;
    group->order[group->count++] = (struct aion_place_in_time){time, number};
    if (group->count < GROUP && (!group->sorted || group->count % batch))
        return;
    end_batch(engine, false);
    aion_reorder_window_begin(&engine->reorder.window, engine->time.now);
}

void aion_group_end(struct iso_aion *engine)
{
    end_batch(engine, true);
}

void aion_group_release(struct aion_group *group)
{
    iso_free(group->accepted);
    iso_free(group->order);
    iso_free(group->scratch);
    memset(group, 0, sizeof *group);
}
