/* What the Kafka consumer and producer share: properties, connecting, librdkafka's words for what
 * went wrong.
 *
 * Properties are librdkafka's own, passed through unread, but for secrets: those are refused from
 * the command line, where every user of the machine sees them, and belong into a file. Ownership:
 * the struct owns its texts. Threads: properties one at a time; a client's log arrives from
 * librdkafka's threads and is kept under a lock.
 */
#pragma once

#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"

struct iso_kafka_property {
    char *name, *value;
};

struct iso_kafka_properties {
    uint32_t count, capacity;
    struct iso_kafka_property *list;
};

void iso_kafka_properties_init(struct iso_kafka_properties *properties);
void iso_kafka_properties_release(struct iso_kafka_properties *properties);

/* Later ones win. */
void iso_kafka_properties_set(struct iso_kafka_properties *properties, const char *name,
                              const char *value);
/* NULL: not set. */
const char *iso_kafka_properties_get(const struct iso_kafka_properties *properties,
                                     const char *name);
/* "name=value" from the command line or the environment: no secrets. */
enum iso_status iso_kafka_properties_argument(struct iso_kafka_properties *properties,
                                              const char *text, struct iso_error *error);
/* Sets a property from a settings file, where secrets are allowed. */
enum iso_status iso_kafka_properties_configured(struct iso_kafka_properties *properties,
                                                const char *text, struct iso_error *error);
/* A file of such lines; empty ones and those that start with # are passed over. */
enum iso_status iso_kafka_properties_file(struct iso_kafka_properties *properties, const char *path,
                                          struct iso_error *error);

/* A librdkafka handle and what it said last. */
struct iso_kafka_client {
    rd_kafka_t *handle;
    pthread_mutex_t lock;
    char trouble[512]; /* guarded by `lock`: the latest log line about a broker; "": none since it
                          last worked */
    rd_kafka_resp_err_t fatal; /* set by callbacks inside poll: authentication, fatal errors */
    char fatal_text[512];
    uint64_t errors; /* error callbacks so far; the owner's thread only */
    char *brokers;   /* bootstrap.servers, for messages */
};

/* Fills `client` and creates the handle; `defaults` are pairs of name and value that properties
 * override, NULL at their end. `configure` may set more (callbacks) before the handle exists. The
 * client must not move. */
enum iso_status iso_kafka_client_open(struct iso_kafka_client *client, rd_kafka_type_t type,
                                      const struct iso_kafka_properties *properties,
                                      const char *const *defaults,
                                      void (*configure)(rd_kafka_conf_t *conf),
                                      struct iso_error *error);
void iso_kafka_client_close(struct iso_kafka_client *client);

/* "host:port did not answer within 10 s: Connection refused". */
enum iso_status iso_kafka_client_no_answer(struct iso_kafka_client *client, unsigned seconds,
                                           struct iso_error *error);

/* Copies the latest trouble with a broker into `text`; false if there is none. */
bool iso_kafka_client_trouble(struct iso_kafka_client *client, char *text, size_t size);
void iso_kafka_client_forget_trouble(struct iso_kafka_client *client);
