/* A restart of `watch --state`: what the journal says was done since the snapshot is done again. */
#pragma once

#include <signal.h>

#include "run/durable/durable.h"

/* Reads the messages of all recorded steps from Kafka once more, in their batches, and feeds them
 * at their times. The durable's progress is then that of the last record. `*stopped`: it ends
 * early, and `durable->catching_up` stays set. ISO_FAILED: the messages, or the verdicts on them,
 * are not what they were. */
enum iso_status run_catch_up(struct run_durable *durable,
                             const struct iso_kafka_consumer_options *settings,
                             volatile sig_atomic_t *stopped, struct iso_error *error);
