/* A Kafka cluster inside this process, for tests and for a demonstration without Java: librdkafka's
 * mock brokers.
 *
 * They listen on loopback, speak the real protocol, so that other processes can use them too, and
 * can be told to misbehave. Each partition keeps the last 5 MiB only. librdkafka calls this
 * interface experimental: everything that knows it is here. Ownership: the cluster ends with
 * iso_kafka_mock_free. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct iso_kafka_mock;

struct iso_kafka_mock *iso_kafka_mock_new(unsigned brokers,
                                          struct iso_error *error); /* NULL on error */
void iso_kafka_mock_free(struct iso_kafka_mock *mock);

/* For bootstrap.servers. */
const char *iso_kafka_mock_address(const struct iso_kafka_mock *mock);

enum iso_status iso_kafka_mock_topic(struct iso_kafka_mock *mock, const char *topic,
                                     int32_t partitions, struct iso_error *error);

/* Faults. Brokers are numbered from 1. */
void iso_kafka_mock_down(struct iso_kafka_mock *mock, int32_t broker, bool down);
void iso_kafka_mock_latency(struct iso_kafka_mock *mock, int32_t broker, int milliseconds);
void iso_kafka_mock_leader(struct iso_kafka_mock *mock, const char *topic, int32_t partition,
                           int32_t broker);
/* The next `count` fetches, or questions about offsets, of whatever partition, fail with this error
 * of the protocol. */
void iso_kafka_mock_fail_offsets(struct iso_kafka_mock *mock, int16_t protocol_error,
                                 unsigned count);
void iso_kafka_mock_fail_fetches(struct iso_kafka_mock *mock, int16_t protocol_error,
                                 unsigned count);
