/* Histories to a Kafka topic, as clients would publish them: at a rate, with delays, repeats and
 * watermarks.
 *
 * A transaction is ready at its turn (number / rate); it is sent `delay` later, normally
 * distributed, so that records overtake each other as they do in life. Records go to the partition
 * of their session. Watermarks go to every partition, and are true: no record with a cts up to them
 * is sent later.
 */
#pragma once

#include "cli/options.h"
#include "connectors/kafka/producer.h"
#include "history/history.h"

struct app_publish_options {
    const char *topic;
    struct cli_texts properties;
    uint64_t partitions; /* of the topic, if it is new */
    uint64_t rate; /* transactions a second; 0: as fast as possible, and delays only reorder */
    uint64_t delay, deviation; /* milliseconds */
    uint64_t repeats;          /* share of records that are sent twice, in parts of 2^32 */
    /* one every so many transactions, which must then come in the order of cts */
    uint64_t watermarks;
    uint64_t seed;
};

struct app_publisher;

struct app_publisher *app_publisher_new(const struct app_publish_options *options,
                                        struct iso_error *error);

/* Takes transactions of a block that is not finished; sends what is due. */
enum iso_status app_publisher_add(struct app_publisher *publisher, const struct iso_history *block,
                                  struct iso_error *error);

/* Sends the rest, waits until all is delivered, and frees the publisher. */
enum iso_status app_publisher_close(struct app_publisher *publisher, uint64_t *sent,
                                    struct iso_error *error);
