/* What `watch` and `capture` share: where to start in topics, and stopping on a signal. */
#ifndef ISO_APP_CONSUME_H
#define ISO_APP_CONSUME_H

#include <signal.h>

#include "app/options.h"
#include "connectors/kafka/consumer.h"

/* "beginning", "end", "stored", or milliseconds since 1970; the options' properties are set already. */
enum iso_status app_consume_from(const char *text, struct iso_kafka_consumer_options *options, struct iso_error *error);

/* -X options as properties: name=value, or a file of them. */
enum iso_status app_properties(struct iso_kafka_properties *properties, const struct app_texts *texts,
                               struct iso_error *error);

/* From now on SIGINT, SIGTERM and (unless it is ignored) SIGHUP set the flag, a second one ends the process; so does
 * one, with status 4, if the process has not ended by itself `seconds` later (0: it takes the time that it takes). */
volatile sig_atomic_t *app_catch_signals(uint64_t seconds);

#endif
