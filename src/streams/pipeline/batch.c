/* Messages by origin, for what is reported of single records. Most batches have none to report, so
 * they are put into a table when the first is looked for. */
#include "pipeline/batch.h"

#include <assert.h>

void pipeline_batch_init(struct pipeline_batch *batch)
{
    *batch = (struct pipeline_batch){.count = 0};
    iso_events_init(&batch->events);
}

void pipeline_batch_release(struct pipeline_batch *batch)
{
    iso_events_release(&batch->events);
    iso_number_map_release(&batch->numbers);
}

static void index_messages(struct pipeline_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        uint64_t origin = pipeline_origin_of(&batch->messages[i]);
        if (iso_number_map_get(&batch->numbers, origin) == ISO_NUMBER_NONE)
            iso_number_map_put(&batch->numbers, origin, i);
    }
}

void pipeline_batch_start(struct pipeline_batch *batch, const struct iso_message *messages,
                          uint32_t count)
{
    assert(!batch->count && !batch->numbers.count); /* the one before has ended */
    batch->messages = messages;
    batch->count = count;
}

void pipeline_batch_end(struct pipeline_batch *batch)
{
    batch->count = 0;
    iso_number_map_clear(&batch->numbers);
}

const struct iso_message *pipeline_batch_find(struct pipeline_batch *batch, uint64_t origin)
{
    if (batch->count && !batch->numbers.count)
        index_messages(batch);
    uint32_t number = iso_number_map_get(&batch->numbers, origin);
    return number == ISO_NUMBER_NONE ? NULL : &batch->messages[number];
}
