/* The batch at hand: messages by origin, for what is told of single records. Most batches have none to tell of, so they
 * are put into a table when the first is looked for. */
#include "pipeline/pipeline_private.h"

static void index_messages(struct pipeline_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        uint64_t origin = pipeline_origin_of(&batch->messages[i]);
        if (iso_number_map_get(&batch->places, origin) == ISO_NUMBER_NONE)
            iso_number_map_put(&batch->places, origin, i);
    }
}

void pipeline_batch_start(struct pipeline_batch *batch, const struct iso_message *messages, uint32_t count)
{
    batch->messages = messages;
    batch->count = count;
}

void pipeline_batch_end(struct pipeline_batch *batch)
{
    batch->count = 0;
    iso_number_map_clear(&batch->places);
}

const struct iso_message *pipeline_batch_find(struct pipeline_batch *batch, uint64_t origin)
{
    if (batch->count && !batch->places.count)
        index_messages(batch);
    uint32_t place = iso_number_map_get(&batch->places, origin);
    return place == ISO_NUMBER_NONE ? NULL : &batch->messages[place];
}
