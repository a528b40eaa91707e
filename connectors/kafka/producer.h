/* A Kafka producer for one topic: idempotent, in order, and never faster than the broker.
 *
 * A full queue makes iso_kafka_producer_send wait, serving deliveries, until there is room: that is
 * the back-pressure. The first message that could not be delivered is the producer's error from
 * then on. Ownership: key, payload and headers are copied. Threads: one at a time.
 */
#pragma once

#include "connectors/kafka/client.h"
#include "base/message.h"

struct iso_kafka_producer;

enum { ISO_KAFKA_ANY_PARTITION = -1 }; /* by the key's hash; without a key at random */

/* Connects, and creates the topic with `partitions` partitions if it does not exist (0: it must
 * exist, or the broker creates it by itself). NULL on error, within ten seconds. */
struct iso_kafka_producer *iso_kafka_producer_new(const struct iso_kafka_properties *properties,
                                                  const char *topic, int32_t partitions,
                                                  struct iso_error *error);
/* what was not flushed may be lost */
void iso_kafka_producer_free(struct iso_kafka_producer *producer);

/* Number of partitions that the topic has. */
int32_t iso_kafka_producer_partitions(const struct iso_kafka_producer *producer);

/* Sends message->key, payload and headers to message->partition; its timestamp if it has one, else
 * now. */
enum iso_status iso_kafka_producer_send(struct iso_kafka_producer *producer,
                                        const struct iso_message *message, struct iso_error *error);

/* Serves deliveries without waiting. */
enum iso_status iso_kafka_producer_poll(struct iso_kafka_producer *producer,
                                        struct iso_error *error);

/* Waits until everything is delivered; ISO_FAILED after `seconds` or if something could not be. */
enum iso_status iso_kafka_producer_flush(struct iso_kafka_producer *producer, unsigned seconds,
                                         struct iso_error *error);

/* Sent and not delivered yet. */
uint64_t iso_kafka_producer_waiting(const struct iso_kafka_producer *producer);

/* Delivered so far. */
uint64_t iso_kafka_producer_delivered(const struct iso_kafka_producer *producer);

/* Sets a mark behind all that was sent so far, in place of the one before, which must have been
 * reached: everything before it is delivered. */
void iso_kafka_producer_mark(struct iso_kafka_producer *producer);
bool iso_kafka_producer_reached_mark(const struct iso_kafka_producer *producer);
