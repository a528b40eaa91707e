/* Topics of a cluster, beside what consumer and producer do with them. Threads: any. */
#pragma once

#include "connectors/kafka/client.h"

/* Deletes a topic with all that is in it. ISO_FAILED if the broker does not, or does not answer
 * within ten seconds. */
enum iso_status iso_kafka_topic_delete(const struct iso_kafka_properties *properties,
                                       const char *topic, struct iso_error *error);
