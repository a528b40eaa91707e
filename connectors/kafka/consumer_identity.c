/* Whether what is read is still of the topics that it was: which messages the probe is asked about,
 * and when.
 *
 * Asking about the message that was read last would tell nothing once that is of the new topic. So
 * two are remembered of each partition: `anchor`, read some time ago, and `candidate`, read since
 * the last answer. Where the anchor is still the same, the candidate, read before that was asked,
 * is of the same topic, and becomes the anchor. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "connectors/kafka/consumer_private.h"

enum { EVERY_MS = 60000, AFTER_SIGN_MS = 5000 };

void kafka_consumer_set_identity(struct iso_kafka_consumer *consumer,
                                 const struct iso_kafka_properties *properties)
{
    const char *refresh =
        iso_kafka_properties_get(properties, "topic.metadata.refresh.interval.ms");
    int64_t every = refresh ? atoll(refresh) : 0;
    kafka_probe_init(&consumer->probe, properties);
    consumer->identity.every_ms = every > 0 && every < EVERY_MS ? every : EVERY_MS;
    consumer->identity.asked = iso_clock_ms();
}

void kafka_consumer_remember(struct iso_kafka_consumer *consumer, uint32_t index,
                             const struct iso_message *message)
{
    struct memory *memory = &consumer->parts[index].memory;
    struct remembered *place = memory->anchor.offset < 0 ? &memory->anchor : &memory->candidate;
    if (place->offset >= 0)
        return;
    *place = (struct remembered){message->offset, kafka_probe_digest(message)};
}

static void ask_probe(struct iso_kafka_consumer *consumer)
{
    uint32_t count = 0;
    struct kafka_place *places =
        iso_allocate(((size_t)consumer->partition_count + 1) * sizeof *places);
    for (uint32_t i = 0; i < consumer->partition_count; i++) {
        const struct iso_kafka_partition *partition = &consumer->partitions[i];
        struct memory *memory = &consumer->parts[i].memory;
        memory->asked = memory->anchor.offset >= 0;
        if (!memory->asked)
            continue;
        memory->place = count;
        memory->promised = memory->candidate;
        places[count++] = (struct kafka_place){.topic = partition->topic,
                                               .partition = partition->partition,
                                               .offset = memory->anchor.offset,
                                               .digest = memory->anchor.digest};
    }
    consumer->identity.sign = false;
    consumer->identity.asked = iso_clock_ms();
    if (count)
        kafka_probe_ask(&consumer->probe, places, count);
    else
        iso_free(places);
}

static enum iso_status take_answer(struct iso_kafka_consumer *consumer, uint32_t index,
                                   struct iso_error *error)
{
    const struct iso_kafka_partition *partition = &consumer->partitions[index];
    struct memory *memory = &consumer->parts[index].memory;
    switch (consumer->probe.places[memory->place].answer) {
    case KAFKA_PROBE_UNKNOWN:
        return ISO_OK;
    case KAFKA_PROBE_SAME:
        memory->anchor = memory->promised.offset < 0 ? memory->anchor : memory->promised;
        break;
    case KAFKA_PROBE_GONE:
        memory->anchor = memory->candidate;
        break;
    case KAFKA_PROBE_OTHER:
        return iso_error_set(
            error, ISO_FAILED,
            "topic %s partition %" PRId32 " offset %" PRId64
            ": is not the message that was read there before: the topic was created anew or altered",
            partition->topic, partition->partition, memory->anchor.offset);
    }
    memory->candidate.offset = -1;
    return ISO_OK;
}

enum iso_status kafka_consumer_check_identity(struct iso_kafka_consumer *consumer,
                                              struct iso_error *error)
{
    struct identity *identity = &consumer->identity;
    bool answered = kafka_probe_answered(&consumer->probe);
    consumer->counters.looks += answered;
    if (answered)
        for (uint32_t i = 0; i < consumer->partition_count && error->status == ISO_OK; i++)
            if (consumer->parts[i].memory.asked)
                take_answer(consumer, i, error);
    int64_t every =
        identity->sign && AFTER_SIGN_MS < identity->every_ms ? AFTER_SIGN_MS : identity->every_ms;
    if (error->status == ISO_OK && !consumer->probe.started &&
        iso_clock_ms() - identity->asked >= every)
        ask_probe(consumer);
    return error->status;
}
