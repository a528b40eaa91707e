/* Wakes librdkafka's thread of a broker.
 *
 * That thread sleeps for up to a second once every partition's queue is full, however soon the
 * queues run empty again (2.0.2; later versions have the property fetch.queue.backoff.ms). Any
 * request that it has to send ends its sleep, so a question about a partition's offsets is put to
 * it; since librdkafka waits for the answer, a thread of ours does that. Threads: asking comes from
 * one thread at a time.
 */
#pragma once

#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct kafka_waker {
    rd_kafka_t *handle; /* borrowed */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started;
    bool asked, ending; /* from here on guarded by `lock` */
    const char *topic;
    int32_t partition;
};

void kafka_waker_init(struct kafka_waker *waker, rd_kafka_t *handle);
/* before the handle goes; a zeroed one may go too */
void kafka_waker_release(struct kafka_waker *waker);

/* Wakes the leader of the partition, soon; asking again before that changes nothing. `topic`
 * outlives the waker. */
void kafka_waker_ask(struct kafka_waker *waker, const char *topic, int32_t partition);
