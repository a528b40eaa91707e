/* How far a live run is, for who looks on: a line that is drawn over and over on a terminal, else
 * the periodic log.
 *
 * Threads: one at a time.
 */
#pragma once

#include "connectors/kafka/consumer.h"
#include "run/shown/periodic_log.h"
#include "run/stream.h"

struct run_display {
    bool draws;                           /* on a terminal */
    struct run_periodic_log periodic_log; /* else */
    int64_t started, updated;             /* iso_clock_ms's, as `now` below */
};

void run_display_init(struct run_display *display, bool draws, int64_t now);

/* A few times a second. `silent`: brokers do not answer, so that it is not known what is there. */
void run_display_update(struct run_display *display, const struct run_stream *stream,
                        struct iso_kafka_consumer *consumer, bool silent, int64_t now);

/* Wipes what was drawn. */
void run_display_end(const struct run_display *display);
