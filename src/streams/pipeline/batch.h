/* The messages that are being fed, which are the caller's, and the events that they were decoded
 * to. */
#pragma once

#include "base/number_map.h"
#include "values/source.h"

struct pipeline_batch {
    const struct iso_message *messages;
    uint32_t count;
    struct iso_number_map numbers; /* by origin, once one was looked for */
    struct iso_events events;
};

void pipeline_batch_init(struct pipeline_batch *batch);
void pipeline_batch_release(struct pipeline_batch *batch);

void pipeline_batch_start(struct pipeline_batch *batch, const struct iso_message *messages,
                          uint32_t count);
void pipeline_batch_end(struct pipeline_batch *batch);

/* The first message of that origin, or NULL. */
const struct iso_message *pipeline_batch_find(struct pipeline_batch *batch, uint64_t origin);

static inline uint64_t pipeline_origin_of(const struct iso_message *message)
{
    return iso_origin(message->input, (uint64_t)message->offset);
}
