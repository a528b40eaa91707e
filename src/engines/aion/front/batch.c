/* Batches of parts: columns that grow. */
#include <assert.h>
#include <string.h>

#include "aion/front/batch.h"
#include "base/memory.h"

void aion_batch_release(struct aion_batch *batch)
{
    ISO_FREE_ALL(batch->parts, batch->steps, batch->details, batch->elements);
    memset(batch, 0, sizeof *batch);
}

void aion_batch_widen(struct aion_batch *batch, uint32_t steps)
{
    assert(steps <= UINT32_MAX - batch->step_count);
    batch->step_capacity =
        (uint32_t)iso_column_capacity(batch->step_capacity, batch->step_count + steps);
    batch->steps = iso_reallocate(batch->steps, batch->step_capacity * sizeof *batch->steps);
}

struct aion_part *aion_batch_part(struct aion_batch *batch)
{
    ISO_GROW(batch->parts, batch->part_count, batch->part_capacity);
    return &batch->parts[batch->part_count++];
}

struct aion_detail *aion_batch_detail(struct aion_batch *batch, struct aion_step *step)
{
    ISO_GROW(batch->details, batch->detail_count, batch->detail_capacity);
    struct aion_detail *detail = &batch->details[batch->detail_count++];
    *detail = (struct aion_detail){0};
    step->detail = batch->detail_count;
    return detail;
}

uint32_t aion_batch_elements(struct aion_batch *batch, const iso_atom *elements, uint32_t count)
{
    if (batch->element_count + count > batch->element_capacity) {
        batch->element_capacity =
            (uint32_t)iso_column_capacity(batch->element_capacity, batch->element_count + count);
        batch->elements =
            iso_reallocate(batch->elements, batch->element_capacity * sizeof *batch->elements);
    }
    if (count)
        memcpy(batch->elements + batch->element_count, elements, count * sizeof *elements);
    batch->element_count += count;
    return batch->element_count - count;
}
