/* What `watch` and `capture` share: where to start in topics, and properties of librdkafka. */
#pragma once

#include "cli/options.h"
#include "connectors/kafka/consumer.h"

/* "beginning", "end", "stored", or milliseconds since 1970; the options' properties are set
 * already. */
enum iso_status run_consume_from(const char *text, struct iso_kafka_consumer_options *options,
                                 struct iso_error *error);

/* -X options as properties: name=value, or a file of them. */
enum iso_status run_properties(struct iso_kafka_properties *properties,
                               const struct cli_texts *texts, struct iso_error *error);
