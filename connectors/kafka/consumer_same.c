/* Whether what is read is still of the topics that it was: which messages the witness is asked about, and when.
 *
 * Asking about the message that was read last would tell nothing once that is of the new topic. So two are remembered
 * of each partition: `anchor`, read some time ago, and `candidate`, read since the last answer. Where the anchor is
 * still the same, the candidate, read before that was asked, is of the same topic, and becomes the anchor. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "connectors/kafka/consumer_private.h"

enum { EVERY_MS = 60000, AFTER_SIGN_MS = 5000 };

void kafka_consumer_set_same(struct iso_kafka_consumer *consumer, const struct iso_kafka_properties *properties)
{
    const char *refresh = iso_kafka_properties_get(properties, "topic.metadata.refresh.interval.ms");
    int64_t every = refresh ? atoll(refresh) : 0;
    kafka_witness_init(&consumer->witness, properties);
    consumer->same.every_ms = every > 0 && every < EVERY_MS ? every : EVERY_MS;
    consumer->same.asked = iso_kafka_now();
}

void kafka_consumer_remember(struct iso_kafka_consumer *consumer, uint32_t index, const struct iso_message *message)
{
    struct memory *memory = &consumer->memories[index];
    struct remembered *place = memory->anchor.offset < 0 ? &memory->anchor : &memory->candidate;
    if (place->offset >= 0)
        return;
    *place = (struct remembered){message->offset, kafka_witness_digest(message)};
}

static void ask(struct iso_kafka_consumer *consumer)
{
    uint32_t count = 0;
    struct kafka_place *places = iso_allocate(((size_t)consumer->partition_count + 1) * sizeof *places);
    for (uint32_t i = 0; i < consumer->partition_count; i++) {
        const struct iso_kafka_partition *partition = &consumer->partitions[i];
        struct memory *memory = &consumer->memories[i];
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
    consumer->same.sign = false;
    consumer->same.asked = iso_kafka_now();
    if (count)
        kafka_witness_ask(&consumer->witness, places, count);
    else
        iso_free(places);
}

static enum iso_status take_answer(struct iso_kafka_consumer *consumer, uint32_t index, struct iso_error *error)
{
    const struct iso_kafka_partition *partition = &consumer->partitions[index];
    struct memory *memory = &consumer->memories[index];
    switch (consumer->witness.places[memory->place].testimony) {
    case KAFKA_UNKNOWN:
        return ISO_OK;
    case KAFKA_SAME:
        memory->anchor = memory->promised.offset < 0 ? memory->anchor : memory->promised;
        break;
    case KAFKA_GONE:
        memory->anchor = memory->candidate;
        break;
    case KAFKA_OTHER:
        return iso_error_set(error, ISO_FAILED,
                             "topic %s partition %" PRId32 " offset %" PRId64
                             ": is not the message that was read there before: the topic was created anew or altered",
                             partition->topic, partition->partition, memory->anchor.offset);
    }
    memory->candidate.offset = -1;
    return ISO_OK;
}

enum iso_status kafka_consumer_same(struct iso_kafka_consumer *consumer, struct iso_error *error)
{
    struct same *same = &consumer->same;
    bool answered = kafka_witness_answered(&consumer->witness);
    consumer->counters.looks += answered;
    if (answered)
        for (uint32_t i = 0; i < consumer->partition_count && error->status == ISO_OK; i++)
            if (consumer->memories[i].asked)
                take_answer(consumer, i, error);
    int64_t every = same->sign && AFTER_SIGN_MS < same->every_ms ? AFTER_SIGN_MS : same->every_ms;
    if (error->status == ISO_OK && !consumer->witness.started && iso_kafka_now() - same->asked >= every)
        ask(consumer);
    return error->status;
}
