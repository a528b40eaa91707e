/* The pipeline's time, in milliseconds: what deadlines are counted in.
 *
 * It stands still while a topic has not appeared or a broker is away: what waits for their records
 * is not to be judged without them, by a deadline that none of them could meet. Nor does it pass
 * between a run and its restart, or when the machine's clock jumps. That brokers are silent is
 * remarked on, if it takes a while, and so is that they answer again.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "connectors/kafka/consumer.h"

/* `now` is iso_clock_ms's everywhere. */
struct run_clock {
    int64_t looked;        /* when it last looked whether time passes */
    int64_t skew;          /* what the pipeline's time has beyond the clock's */
    int64_t silent_since;  /* since when it is not known what the topics hold; 0: it is */
    bool reported_silence; /* that was remarked on */
    bool was_known;        /* it was, once */
    /* when it last looked the machine's clock had jumped, or the process stood still */
    bool jumped;
};

void run_clock_init(struct run_clock *clock, int64_t now);

/* Goes on from this time of the pipeline; whatever happened since it last looked took none. */
void run_clock_resume(struct run_clock *clock, uint64_t time, int64_t now);
void run_clock_skip(struct run_clock *clock, int64_t now);

uint64_t run_clock_time(struct run_clock *clock, struct iso_kafka_consumer *consumer, int64_t now);

/* For how many milliseconds a broker has not answered, once that was remarked on; else 0. */
uint64_t run_clock_silence(const struct run_clock *clock, int64_t now);
