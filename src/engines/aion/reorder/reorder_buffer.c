/* Parts that wait in a shard until their turn: whole, in the shard's own values, so that nothing
 * refers to the block that they came from.
 *
 *   waiting.pages   batches as they came, in exchange for empty ones; small ones share a page
 *   waiting.queue   whose turn it is: a subject is a page and the number of a part in it
 *
 * Only committed transactions wait. Nothing is copied but what came in small batches; a page is
 * free again when the last of its parts has gone, which is bounded as each wait is.
 */
#include <assert.h>

#include "aion/shard/shard_private.h"
#include "base/memory.h"

/* Parts: a batch of so many is a page of its own; a shared page takes no more from so many on. */
enum { SMALL = 64, FULL = 128 };

static bool is_list(const struct aion_step *step)
{
    return step->kind == AION_READ_LIST || step->kind == AION_VERSION_LIST;
}

/* ---- pages ---- */

static uint32_t new_page(struct aion_reorder_buffer *waiting)
{
    if (waiting->free_count)
        return waiting->free[--waiting->free_count];
    if (waiting->page_count == waiting->page_capacity) {
        uint32_t next = waiting->page_capacity ? waiting->page_capacity * 2 : 16;
        waiting->pages = iso_reallocate(waiting->pages, next * sizeof *waiting->pages);
        waiting->free = iso_reallocate(waiting->free, next * sizeof *waiting->free);
        waiting->page_capacity = next;
    }
    waiting->pages[waiting->page_count] = (struct aion_reorder_page){0};
    return waiting->page_count++;
}

static void free_page(struct aion_reorder_buffer *waiting, uint32_t number)
{
    assert(!waiting->pages[number].left);
    aion_batch_clear(&waiting->pages[number].batch);
    waiting->free[waiting->free_count++] = number;
    if (waiting->shared == number + 1)
        waiting->shared = 0;
}

/* ---- keeping ---- */

/* The values of a part become the shard's, referred to once. */
static void take_values(struct iso_aion_shard *shard, struct aion_batch *batch,
                        struct aion_part *part)
{
    part->tid = aion_values_take(&shard->values, batch->atoms, part->tid);
    for (uint32_t i = part->first_step; i < part->first_step + part->step_count; i++) {
        struct aion_step *step = &batch->steps[i];
        if (!step->detail && !aion_value_is_entry(step->value))
            continue;
        if (!is_list(step)) {
            step->value = aion_values_take(&shard->values, batch->atoms, step->value);
            continue;
        }
        const struct aion_detail *detail = &batch->details[step->detail - 1];
        for (uint32_t e = step->value; e < step->value + detail->count + detail->tail; e++)
            batch->elements[e] = aion_values_take(&shard->values, batch->atoms, batch->elements[e]);
    }
}

static void copy_detail(struct aion_batch *into, const struct aion_batch *from,
                        struct aion_step *step)
{
    const struct aion_detail *detail = &from->details[step->detail - 1];
    uint32_t elements = step->value;
    *aion_batch_detail(into, step) = *detail;
    if (is_list(step))
        step->value = aion_batch_elements(into, from->elements ? from->elements + elements : NULL,
                                          detail->count + detail->tail);
}

static void copy_part(struct aion_batch *into, const struct aion_batch *from,
                      const struct aion_part *part)
{
    struct aion_part *copy = aion_batch_part(into);
    aion_batch_reserve(into, part->step_count);
    *copy = *part;
    copy->first_step = into->step_count;
    for (uint32_t i = part->first_step; i < part->first_step + part->step_count; i++) {
        struct aion_step *step = &into->steps[into->step_count++];
        *step = from->steps[i];
        if (step->detail)
            copy_detail(into, from, step);
    }
}

static void add_turn(struct iso_aion_shard *shard, const struct aion_part *part, uint32_t page,
                     uint32_t number)
{
    assert(number < 1u << AION_REORDER_PAGE_BITS);
    bool by_start = shard->options.level != ISO_SER && part->flags & ISO_HAS_STS;
    aion_reorder_queue_add(&shard->reorder.queue,
                           &(struct aion_turn){.time = part->cts,
                                               .start = by_start ? part->sts : part->cts,
                                               .subject = page << AION_REORDER_PAGE_BITS | number});
    shard->reorder.pages[page].left++;
}

/* The page that the batch becomes, or, if it is small, is copied to. */
static uint32_t page_for(struct aion_reorder_buffer *waiting, bool small)
{
    if (small && waiting->shared)
        return waiting->shared - 1;
    uint32_t page = new_page(waiting);
    waiting->shared = small ? page + 1 : waiting->shared;
    return page;
}

void iso_aion_shard_keep(struct iso_aion_shard *shard, struct aion_batch *batch)
{
    struct aion_reorder_buffer *waiting = &shard->reorder;
    bool small = batch->part_count < SMALL;
    if (!batch->part_count)
        return;
    assert(batch->part_count <= 1u << AION_REORDER_PAGE_BITS);
    uint32_t number = page_for(waiting, small);
    struct aion_reorder_page *page = &waiting->pages[number];
    for (uint32_t i = 0; i < batch->part_count; i++) {
        struct aion_part *part = &batch->parts[i];
        if ((part->flags & ISO_STATUS_MASK) != ISO_COMMITTED) {
            aion_apply_part(shard, batch, part);
            continue;
        }
        take_values(shard, batch, part);
        add_turn(shard, part, number, small ? page->batch.part_count : i);
        if (small)
            copy_part(&page->batch, batch, part);
    }
    if (!small) {
        struct aion_batch empty = page->batch;
        page->batch = *batch;
        *batch = empty;
    }
    page->batch.atoms = &shard->values.atoms;
    if (!page->left)
        free_page(waiting, number);
    else if (small && page->batch.part_count >= FULL)
        waiting->shared = 0;
    aion_reorder_queue_merge(&waiting->queue);
}

/* ---- going ---- */

static void apply_turns(struct iso_aion_shard *shard, const struct aion_turn *turns, uint32_t count)
{
    struct aion_reorder_buffer *waiting = &shard->reorder;
    if (count)
        iso_aion_shard_apply(
            shard, (struct aion_march){.pages = waiting->pages, .turns = turns, .count = count});
    for (uint32_t i = 0; i < count; i++) {
        uint32_t page = turns[i].subject >> AION_REORDER_PAGE_BITS;
        assert(waiting->pages[page].left);
        if (!--waiting->pages[page].left)
            free_page(waiting, page);
    }
}

void iso_aion_shard_release(struct iso_aion_shard *shard, uint64_t until, uint64_t start,
                            uint64_t now)
{
    struct aion_reorder_queue *queue = &shard->reorder.queue;
    uint32_t count;
    shard->time.now = now > shard->time.now ? now : shard->time.now;
    if (!aion_reorder_queue_count(queue))
        return;
    const struct aion_turn *turns = aion_reorder_queue_take(queue, until, &count);
    apply_turns(shard, turns, count);
    turns = aion_reorder_queue_take_started(queue, start, &count);
    apply_turns(shard, turns, count);
}

void aion_reorder_buffer_release(struct aion_reorder_buffer *waiting)
{
    for (uint32_t i = 0; i < waiting->page_count; i++)
        aion_batch_release(&waiting->pages[i].batch);
    ISO_FREE_ALL(waiting->pages, waiting->free);
    aion_reorder_queue_release(&waiting->queue);
}

uint64_t aion_reorder_buffer_bytes(const struct aion_reorder_buffer *waiting)
{
    uint64_t bytes =
        (uint64_t)aion_reorder_queue_count(&waiting->queue) * sizeof *waiting->queue.turns;
    for (uint32_t i = 0; i < waiting->page_count; i++) {
        const struct aion_batch *batch = &waiting->pages[i].batch;
        bytes += (uint64_t)batch->part_count * sizeof *batch->parts +
                 (uint64_t)batch->step_count * sizeof *batch->steps +
                 (uint64_t)batch->detail_count * sizeof *batch->details +
                 (uint64_t)batch->element_count * sizeof *batch->elements;
    }
    return bytes;
}

/* ---- looking in ---- */

void aion_reorder_count_waiting(const struct iso_aion_shard *shard,
                                struct iso_aion_waiting *counted)
{
    const struct aion_reorder_buffer *waiting = &shard->reorder;
    for (uint32_t i = waiting->queue.first; i < waiting->queue.end; i++) {
        uint32_t subject = waiting->queue.turns[i].subject;
        const struct aion_batch *batch = &waiting->pages[subject >> AION_REORDER_PAGE_BITS].batch;
        const struct aion_part *part =
            &batch->parts[subject & ((1u << AION_REORDER_PAGE_BITS) - 1)];
        if (part->arrival < counted->overtaken.since)
            counted->overtaken = (struct iso_aion_oldest){part->arrival, part->origin};
        for (uint32_t s = part->first_step; s < part->first_step + part->step_count; s++)
            counted->reads +=
                batch->steps[s].kind == AION_READ || batch->steps[s].kind == AION_READ_LIST;
    }
}
