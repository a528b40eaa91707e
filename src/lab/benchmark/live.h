/* Latency of the whole way: a client that publishes transactions at a rate, a topic, and what
 * `watch` does with it.
 *
 * From the moment that the client sends a record to the one at which it is judged (tentatively: the
 * pipeline has taken it) and to the one at which the watermark has passed its commit timestamp
 * (final). The client is a thread of its own and sends a watermark into every partition every
 * WATERMARK_MS.
 */
#pragma once

#include "benchmark/messages.h"
#include "connectors/kafka/client.h"

struct bench_live {
    double tentative_50, tentative_99, final_50, final_99; /* milliseconds */
};

/* The topic is made by this, if it does not exist, and holds nothing yet. `rate`: transactions a
 * second. */
enum iso_status bench_live_measure(const struct iso_kafka_properties *properties, const char *topic,
                                   int32_t partitions, const struct bench_messages *messages,
                                   const struct bench *bench, struct bench_live *live,
                                   struct iso_error *error);

/* A pipeline as `watch` has it, for records in JSON. */
struct iso_pipeline *bench_pipeline_new(const struct bench *bench, const char *topic,
                                        struct iso_error *error);
