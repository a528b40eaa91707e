/* Parts that wait in a shard until their turn: whole, in the shard's own values, so that nothing refers to the block
 * that they came from.
 *
 *   waiting.batch   parts and steps as they came, those that are gone between those that are left
 *   waiting.queue   which is next
 *
 * Only committed transactions wait. Each part is copied when it comes, and at most once more, on average, when what is
 * gone is cleared away: that is done once it is more than what is left.
 */
#include <assert.h>
#include <string.h>

#include "aion/shard_private.h"
#include "base/memory.h"

enum { CLEAR_FROM = 1024 };

static bool is_list(const struct aion_step *step)
{
    return step->kind == AION_READ_LIST || step->kind == AION_VERSION_LIST;
}

/* The steps stand at the end of `into`, their details and elements are not copied yet. */
static inline struct aion_part *copy_part(struct aion_batch *into, const struct aion_batch *from,
                                          const struct aion_part *part, bool *rare)
{
    struct aion_part *copy = aion_batch_part(into);
    aion_batch_reserve(into, part->step_count);
    const struct aion_step *steps = from->steps + part->first_step;
    uint32_t details = 0, entries = 0;
    for (uint32_t i = 0; i < part->step_count; i++) {
        details |= steps[i].detail;
        entries |= aion_value_is_entry(steps[i].value);
    }
    *rare = details | entries;
    memcpy(into->steps + into->step_count, steps, part->step_count * sizeof *steps);
    *copy = *part;
    copy->first_step = into->step_count;
    into->step_count += part->step_count;
    return copy;
}

/* A step's detail and its elements. */
static void copy_rare(struct aion_batch *into, const struct aion_batch *from, struct aion_step *step)
{
    if (!step->detail)
        return;
    const struct aion_detail *detail = &from->details[step->detail - 1];
    uint32_t elements = step->value;
    *aion_batch_detail(into, step) = *detail;
    if (is_list(step))
        step->value =
            aion_batch_elements(into, from->elements ? from->elements + elements : NULL, detail->count + detail->tail);
}

/* ---- keeping ---- */

/* The values of a step become the shard's, held once. */
static void take_values(struct iso_aion_shard *shard, const struct aion_batch *from, struct aion_step *step)
{
    struct aion_batch *kept = &shard->waiting.batch;
    copy_rare(kept, from, step);
    if (!is_list(step)) {
        step->value = aion_values_take(&shard->values, from->atoms, step->value);
        return;
    }
    const struct aion_detail *detail = &kept->details[step->detail - 1];
    for (uint32_t e = step->value; e < step->value + detail->count + detail->tail; e++)
        kept->elements[e] = aion_values_take(&shard->values, from->atoms, kept->elements[e]);
}

static void keep(struct iso_aion_shard *shard, const struct aion_batch *batch, const struct aion_part *part)
{
    struct aion_waiting *waiting = &shard->waiting;
    bool by_start = shard->level == ISO_SI && part->flags & ISO_HAS_STS, rare;
    struct aion_part *kept = copy_part(&waiting->batch, batch, part, &rare);
    kept->tid = aion_values_take(&shard->values, batch->atoms, part->tid);
    for (uint32_t i = kept->first_step; rare && i < waiting->batch.step_count; i++)
        take_values(shard, batch, &waiting->batch.steps[i]);
    waiting->steps += part->step_count;
    aion_queue_add(&waiting->queue, &(struct aion_turn){.time = part->cts,
                                                        .start = by_start ? part->sts : part->cts,
                                                        .subject = waiting->batch.part_count - 1});
}

void iso_aion_shard_keep(struct iso_aion_shard *shard, const struct aion_batch *batch)
{
    for (uint32_t i = 0; i < batch->part_count; i++) {
        const struct aion_part *part = &batch->parts[i];
        if ((part->flags & ISO_STATUS_MASK) == ISO_COMMITTED)
            keep(shard, batch, part);
        else
            aion_apply_part(shard, batch, part);
    }
    aion_queue_merge(&shard->waiting.queue);
}

/* ---- clearing away ---- */

static void copy_waiting(struct aion_waiting *waiting, struct aion_batch *into)
{
    bool rare;
    for (uint32_t i = waiting->queue.first; i < waiting->queue.end; i++) {
        struct aion_turn *turn = &waiting->queue.turns[i];
        const struct aion_part *part = copy_part(into, &waiting->batch, &waiting->batch.parts[turn->subject], &rare);
        for (uint32_t s = part->first_step; rare && s < into->step_count; s++)
            copy_rare(into, &waiting->batch, &into->steps[s]);
        turn->subject = into->part_count - 1;
    }
}

static void clear_away(struct aion_waiting *waiting)
{
    struct aion_batch *batch = &waiting->batch;
    if (!aion_queue_count(&waiting->queue)) {
        aion_batch_clear(batch);
        return;
    }
    if (batch->step_count - waiting->steps < waiting->steps + CLEAR_FROM &&
        batch->part_count < 2 * aion_queue_count(&waiting->queue) + CLEAR_FROM)
        return;
    struct aion_batch old = *batch;
    aion_batch_clear(&waiting->other);
    copy_waiting(waiting, &waiting->other);
    *batch = waiting->other;
    waiting->other = old;
}

/* ---- going ---- */

static void go(struct iso_aion_shard *shard, const struct aion_turn *turns, uint32_t count)
{
    struct aion_waiting *waiting = &shard->waiting;
    for (uint32_t i = 0; i < count; i++)
        waiting->steps -= waiting->batch.parts[turns[i].subject].step_count;
    waiting->batch.atoms = &shard->values.atoms;
    if (count)
        aion_apply_parts(shard, &waiting->batch, turns, count);
}

void iso_aion_shard_release(struct iso_aion_shard *shard, uint64_t until, uint64_t start, uint64_t now)
{
    struct aion_queue *queue = &shard->waiting.queue;
    uint32_t count;
    shard->now = now > shard->now ? now : shard->now;
    if (!aion_queue_count(queue))
        return;
    const struct aion_turn *turns = aion_queue_take(queue, until, &count);
    go(shard, turns, count);
    turns = aion_queue_take_started(queue, start, &count);
    go(shard, turns, count);
    clear_away(&shard->waiting);
}

void aion_waiting_release(struct aion_waiting *waiting)
{
    aion_batch_release(&waiting->batch);
    aion_batch_release(&waiting->other);
    aion_queue_release(&waiting->queue);
}

uint64_t aion_waiting_bytes(const struct aion_waiting *waiting)
{
    const struct aion_batch *batch = &waiting->batch;
    return (uint64_t)batch->part_count * sizeof *batch->parts + (uint64_t)batch->step_count * sizeof *batch->steps +
           (uint64_t)batch->detail_count * sizeof *batch->details +
           (uint64_t)batch->element_count * sizeof *batch->elements +
           (uint64_t)aion_queue_count(&waiting->queue) * sizeof *waiting->queue.turns;
}
