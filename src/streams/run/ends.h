/* Ends of partitions, and how far message time has come: what a live run reports to its pipeline
 * between batches, and writes into its recording and its journal, so that who judges it again
 * learns the same (pipeline/pipeline.h).
 *
 * An end is reported once a partition has stood there for a second of the pipeline's time, while
 * brokers answer: partitions that get messages all the time are at their ends between any two.
 */
#pragma once

#include "run/durable/durable.h"
#include "connectors/kafka/consumer.h"

struct run_ends {
    struct run_ends_position {
        int64_t next;   /* the offset at which it stands */
        uint64_t since; /* the pipeline's time */
    } * positions;      /* by the consumer's partitions */
    uint32_t count;
    bool ends_alone; /* message times are not reported */
};

void run_ends_release(struct run_ends *ends);

/* After a step, at its time. `durable` NULL: nothing is remembered. */
enum iso_status run_ends_report(struct run_ends *ends, struct run_stream *stream,
                                struct run_durable *durable,
                                const struct iso_kafka_consumer *consumer, uint64_t time,
                                struct iso_error *error);
