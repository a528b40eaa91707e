/* Parts that wait in a shard until their turn: whole, in the shard's own values, so that nothing refers to the block that
 * they came from.
 *
 *   kept  ──►  waiting.batch   parts and steps as they came, those that are gone between those that are left
 *              waiting.queue   which is next
 *   due   ──►  waiting.ready   some at a time, side by side, so that what they need can be fetched ahead
 *
 * Only committed transactions wait. Each part is copied twice, and once more by every second time at most that what is
 * gone is cleared away.
 */
#include <assert.h>
#include <string.h>

#include "aion/shard_private.h"
#include "base/memory.h"

enum { READY = 128, CLEAR_FROM = 1024 };

/* A step's detail and its elements. */
static void copy_rare(struct aion_batch *into, const struct aion_batch *from, struct aion_step *step)
{
    if (!step->detail)
        return;
    const struct aion_detail *detail = &from->details[step->detail - 1];
    uint32_t elements = step->value;
    *aion_batch_detail(into, step) = *detail;
    if (step->kind == AION_READ_LIST || step->kind == AION_VERSION_LIST)
        step->value = aion_batch_elements(into, from->elements ? from->elements + elements : NULL,
                                          detail->count + detail->tail);
}

static struct aion_part *copy_part(struct aion_batch *into, const struct aion_batch *from, const struct aion_part *part)
{
    struct aion_part *copy = aion_batch_part(into);
    aion_batch_reserve(into, part->step_count);
    *copy = *part;
    copy->first_step = into->step_count;
    memcpy(into->steps + into->step_count, from->steps + part->first_step, part->step_count * sizeof *into->steps);
    into->step_count += part->step_count;
    return copy;
}

/* ---- keeping ---- */

/* The values of a part that has just been copied become the shard's, held once. */
static void take_values(struct iso_aion_shard *shard, const struct aion_batch *from, struct aion_part *part)
{
    struct aion_batch *kept = &shard->waiting.batch;
    part->tid = aion_values_take(&shard->values, from->atoms, part->tid);
    for (uint32_t i = part->first_step; i < part->first_step + part->step_count; i++) {
        struct aion_step *step = &kept->steps[i];
        if (step->kind == AION_READ_LIST || step->kind == AION_VERSION_LIST) {
            copy_rare(kept, from, step);
            const struct aion_detail *detail = &kept->details[step->detail - 1];
            for (uint32_t e = step->value; e < step->value + detail->count + detail->tail; e++)
                kept->elements[e] = aion_values_take(&shard->values, from->atoms, kept->elements[e]);
        } else {
            copy_rare(kept, from, step);
            step->value = aion_values_take(&shard->values, from->atoms, step->value);
        }
    }
}

static void keep(struct iso_aion_shard *shard, const struct aion_batch *batch, const struct aion_part *part)
{
    struct aion_waiting *waiting = &shard->waiting;
    bool by_start = shard->level == ISO_SI && part->flags & ISO_HAS_STS;
    take_values(shard, batch, copy_part(&waiting->batch, batch, part));
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
    for (uint32_t i = waiting->queue.first; i < waiting->queue.end; i++) {
        struct aion_turn *turn = &waiting->queue.turns[i];
        const struct aion_part *part = copy_part(into, &waiting->batch, &waiting->batch.parts[turn->subject]);
        for (uint32_t s = part->first_step; s < part->first_step + part->step_count; s++)
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

static void make_ready(struct aion_waiting *waiting, const struct aion_turn *turn)
{
    struct aion_batch *ready = &waiting->ready;
    struct aion_part *part = copy_part(ready, &waiting->batch, &waiting->batch.parts[turn->subject]);
    for (uint32_t i = part->first_step; i < ready->step_count; i++)
        ready->steps[i].part = (uint16_t)(ready->part_count - 1);
    waiting->steps -= part->step_count;
}

static void apply_ready(struct iso_aion_shard *shard)
{
    struct aion_batch *ready = &shard->waiting.ready;
    const struct aion_batch *kept = &shard->waiting.batch;
    if (!ready->part_count)
        return;
    struct aion_batch view = *ready;
    view.atoms = &shard->values.atoms;
    view.details = kept->details;
    view.elements = kept->elements;
    iso_aion_shard_apply(shard, &view);
    aion_batch_clear(ready);
}

void iso_aion_shard_release(struct iso_aion_shard *shard, uint64_t until, uint64_t start, uint64_t now)
{
    struct aion_waiting *waiting = &shard->waiting;
    const struct aion_turn *turn;
    uint32_t count;
    shard->now = now > shard->now ? now : shard->now;
    if (!aion_queue_count(&waiting->queue))
        return;
    while ((turn = aion_queue_take(&waiting->queue, until))) {
        make_ready(waiting, turn);
        if (waiting->ready.part_count == READY)
            apply_ready(shard);
    }
    turn = aion_queue_take_started(&waiting->queue, start, &count);
    for (uint32_t i = 0; i < count; i++) {
        make_ready(waiting, &turn[i]);
        if (waiting->ready.part_count == READY)
            apply_ready(shard);
    }
    apply_ready(shard);
    clear_away(waiting);
}

void aion_waiting_release(struct aion_waiting *waiting)
{
    aion_batch_release(&waiting->batch);
    aion_batch_release(&waiting->other);
    aion_batch_release(&waiting->ready);
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
