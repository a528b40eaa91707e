#define _GNU_SOURCE
#include "connectors/kafka/waker.h"

#include <assert.h>
#include <time.h>

enum { ANSWER_MS = 100, PAUSE_MS = 5 };

static void *run_waker(void *context)
{
    static const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
    struct kafka_waker *waker = context;
    pthread_mutex_lock(&waker->lock);
    while (!waker->ending) {
        int64_t low, high;
        if (!waker->asked) {
            pthread_cond_wait(&waker->changed, &waker->lock);
            continue;
        }
        const char *topic = waker->topic;
        int32_t partition = waker->partition;
        pthread_mutex_unlock(&waker->lock);
        rd_kafka_query_watermark_offsets(waker->handle, topic, partition, &low, &high, ANSWER_MS);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&waker->lock);
        waker->asked = false;
    }
    pthread_mutex_unlock(&waker->lock);
    return NULL;
}

void kafka_waker_init(struct kafka_waker *waker, rd_kafka_t *handle)
{
    *waker = (struct kafka_waker){.handle = handle};
    pthread_mutex_init(&waker->lock, NULL);
    pthread_cond_init(&waker->changed, NULL);
}

void kafka_waker_release(struct kafka_waker *waker)
{
    if (!waker->handle)
        return;
    pthread_mutex_lock(&waker->lock);
    waker->ending = true;
    pthread_cond_signal(&waker->changed);
    pthread_mutex_unlock(&waker->lock);
    if (waker->started)
        pthread_join(waker->thread, NULL);
    pthread_cond_destroy(&waker->changed);
    pthread_mutex_destroy(&waker->lock);
    *waker = (struct kafka_waker){.handle = NULL};
}

void kafka_waker_ask(struct kafka_waker *waker, const char *topic, int32_t partition)
{
    assert(waker->handle && !waker->ending);
    if (!waker->started && pthread_create(&waker->thread, NULL, run_waker, waker))
        return; /* it goes on without, only slower */
    waker->started = true;
    pthread_mutex_lock(&waker->lock);
    if (!waker->asked) {
        waker->asked = true;
        waker->topic = topic;
        waker->partition = partition;
        pthread_cond_signal(&waker->changed);
    }
    pthread_mutex_unlock(&waker->lock);
}
