/* What there is on a broker: topics with their partitions, and a topic's latest messages. For who
 * looks once, and judges nothing.
 *
 * Ownership: the survey owns its client and names. Threads: one at a time.
 */
#pragma once

#include "connectors/kafka/client.h"
#include "base/message.h"

struct iso_kafka_surveyed {
    char *name;
    int32_t partitions;
};

struct iso_kafka_survey {
    struct iso_kafka_client client;
    struct iso_kafka_surveyed *topics; /* by name, without the broker's own */
    uint32_t count;
};

/* Within ten seconds. Release in any case. */
enum iso_status iso_kafka_survey(struct iso_kafka_survey *survey,
                                 const struct iso_kafka_properties *properties,
                                 struct iso_error *error);
void iso_kafka_survey_release(struct iso_kafka_survey *survey);

/* NULL: no such topic. */
const struct iso_kafka_surveyed *iso_kafka_survey_find(const struct iso_kafka_survey *survey,
                                                       const char *topic);

/* The last messages of each partition, `most` of each, as far as they come within some seconds.
 * What has no payload is left out. */
void iso_kafka_survey_last(struct iso_kafka_survey *survey, const struct iso_kafka_surveyed *topic,
                           int64_t most,
                           void (*take)(void *context, const void *payload, size_t size),
                           void *context);
