/* Whether topics still hold what was read of them.
 *
 * librdkafka (2.0.2) knows topics by name alone: where one is deleted and made anew with more
 * messages than were read, reading goes on in the new one without a word. So of each partition one
 * message that was read is remembered by its offset and a digest, and now and then read again, by a
 * client and a thread of its own that live as long as that takes: one fetch a partition, off the
 * way of the stream. A message that is another now is reported; one that is no longer there
 * (removed by retention, compacted away) says nothing, and nor does a broker that does not answer.
 * Threads: one asks; the answer is looked up without waiting for it.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "connectors/kafka/client.h"
#include "base/message.h"

enum kafka_probe_answer {
    KAFKA_PROBE_UNKNOWN, /* no answer */
    KAFKA_PROBE_GONE,    /* the broker has no such message any more */
    KAFKA_PROBE_SAME,
    KAFKA_PROBE_OTHER
};

struct kafka_place {
    const char *topic; /* borrowed; outlives the probe */
    int32_t partition;
    int64_t offset; /* -1: none */
    uint64_t digest;
    enum kafka_probe_answer answer;
};

struct kafka_probe {
    struct iso_kafka_properties properties; /* own */
    uint32_t count;
    struct kafka_place *places; /* own; the thread's while it works */
    pthread_t thread;
    bool started;
    atomic_bool working, ending;
};

void kafka_probe_init(struct kafka_probe *probe, const struct iso_kafka_properties *properties);
void kafka_probe_release(struct kafka_probe *probe); /* a zeroed one may go too */

/* Asks for messages at these places, whose list it takes; false: no thread could be started. Not
 * while it works. */
bool kafka_probe_ask(struct kafka_probe *probe, struct kafka_place *places, uint32_t count);

/* True once after each asking: the answers are in `places`, until the next. */
bool kafka_probe_answered(struct kafka_probe *probe);

/* Digest of a message's key, payload and creation time. */
uint64_t kafka_probe_digest(const struct iso_message *message);
