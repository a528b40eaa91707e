/* Whether a consumer is what its files take it for: run in builds that validate (ISO_VALIDATE),
 * after each poll. */
#include <assert.h>

#include "connectors/kafka/consumer_private.h"

#ifdef ISO_VALIDATE

/* Each partition is one of one topic, and found by it. */
static void validate_topics(const struct iso_kafka_consumer *consumer)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < consumer->topic_count; t++) {
        const struct topic *topic = &consumer->topics[t];
        assert(topic->partition_count >= 0 && (uint32_t)topic->partition_count <= topic->capacity);
        for (int32_t p = 0; p < topic->partition_count; p++, count++) {
            assert(topic->index_of[p] < consumer->partition_count);
            assert(consumer->parts[topic->index_of[p]].topic == t);
            assert(consumer->partitions[topic->index_of[p]].partition == p);
        }
    }
    assert(count == consumer->partition_count && count <= consumer->partition_capacity);
}

/* Offsets handed out come before those that wait, and these before those still to be fetched. */
static void validate_partition(const struct iso_kafka_consumer *consumer, uint32_t index)
{
    const struct supply *supply = &consumer->parts[index].supply;
    const struct gaps *gaps = &consumer->parts[index].gaps;
    int64_t next = consumer->partitions[index].next;
    assert(next <= gaps->next && (uint64_t)(gaps->next - next) >= supply->buffer.count);
    assert(gaps->sought <= gaps->next);
    assert(supply->empty_at < 0 || (supply->empty_at == gaps->next && supply->buffer.count));
    assert(!supply->rests || supply->full);
    assert(!supply->failure || supply->full);
    iso_kafka_buffer_validate(&supply->buffer);
}

void kafka_consumer_validate(const struct iso_kafka_consumer *consumer)
{
    assert(consumer->batch.filled <= BATCH_MESSAGES);
    validate_topics(consumer);
    for (uint32_t i = 0; i < consumer->partition_count; i++)
        validate_partition(consumer, i);
}
#endif
