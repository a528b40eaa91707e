#define _GNU_SOURCE
#include "recorder/ring.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZE_BYTES = sizeof(uint32_t) };

bool recorder_ring_init(struct recorder_ring *ring, size_t capacity, unsigned linger_ms)
{
    memset(ring, 0, sizeof *ring);
    ring->linger_ms = linger_ms;
    ring->capacity = capacity + SIZE_BYTES;
    ring->bytes = malloc(ring->capacity);
    if (!ring->bytes)
        return false;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&ring->lock, NULL);
    pthread_cond_init(&ring->filled, &monotonic);
    pthread_cond_init(&ring->hurried, &monotonic);
    pthread_cond_init(&ring->emptied, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return true;
}

void recorder_ring_release(struct recorder_ring *ring)
{
    if (!ring->bytes)
        return;
    pthread_cond_destroy(&ring->emptied);
    pthread_cond_destroy(&ring->hurried);
    pthread_cond_destroy(&ring->filled);
    pthread_mutex_destroy(&ring->lock);
    free(ring->bytes);
}

static void copy_in(struct recorder_ring *ring, uint64_t offset, const void *bytes, size_t size)
{
    size_t start = offset % ring->capacity;
    size_t first = size < ring->capacity - start ? size : ring->capacity - start;
    memcpy(ring->bytes + start, bytes, first);
    memcpy(ring->bytes, (const char *)bytes + first, size - first);
}

static void copy_out(const struct recorder_ring *ring, uint64_t offset, void *bytes, size_t size)
{
    size_t start = offset % ring->capacity;
    size_t first = size < ring->capacity - start ? size : ring->capacity - start;
    memcpy(bytes, ring->bytes + start, first);
    memcpy((char *)bytes + first, ring->bytes, size - first);
}

bool recorder_ring_put(struct recorder_ring *ring, const void *record, size_t size)
{
    uint32_t length = (uint32_t)size;
    pthread_mutex_lock(&ring->lock);
    bool room =
        size <= UINT32_MAX && ring->capacity - (ring->head - ring->tail) >= size + SIZE_BYTES;
    if (room) {
        copy_in(ring, ring->head, &length, SIZE_BYTES);
        copy_in(ring, ring->head + SIZE_BYTES, record, size);
        ring->head += SIZE_BYTES + size;
    }
    bool is_half_full = ring->head - ring->tail > ring->capacity / 2;
    pthread_mutex_unlock(&ring->lock);
    if (room) /* costs nothing while the consumer does not wait for it */
        pthread_cond_signal(&ring->filled);
    if (is_half_full)
        pthread_cond_signal(&ring->hurried);
    return room;
}

static bool is_hurried(const struct recorder_ring *ring)
{
    return ring->closed || ring->awaited > ring->tail ||
           ring->head - ring->tail > ring->capacity / 2;
}

static struct timespec time_from_now(unsigned milliseconds)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += milliseconds / 1000;
    time.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

uint64_t recorder_ring_wait(struct recorder_ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    while (ring->head == ring->tail && !ring->closed)
        pthread_cond_wait(&ring->filled, &ring->lock);
    if (ring->linger_ms && !is_hurried(ring)) {
        struct timespec deadline = time_from_now(ring->linger_ms);
        int status = 0;
        while (!is_hurried(ring) && status != ETIMEDOUT)
            status = pthread_cond_timedwait(&ring->hurried, &ring->lock, &deadline);
    }
    uint64_t head = ring->head;
    pthread_mutex_unlock(&ring->lock);
    return head;
}

size_t recorder_ring_size(const struct recorder_ring *ring, uint64_t offset)
{
    uint32_t length;
    copy_out(ring, offset, &length, SIZE_BYTES);
    return length;
}

void recorder_ring_copy(const struct recorder_ring *ring, uint64_t offset, size_t from, void *bytes,
                        size_t size)
{
    copy_out(ring, offset + SIZE_BYTES + from, bytes, size);
}

uint64_t recorder_ring_next(const struct recorder_ring *ring, uint64_t offset)
{
    return offset + SIZE_BYTES + recorder_ring_size(ring, offset);
}

void recorder_ring_done(struct recorder_ring *ring, uint64_t offset)
{
    pthread_mutex_lock(&ring->lock);
    assert(offset >= ring->tail && offset <= ring->head);
    ring->tail = offset;
    pthread_cond_broadcast(&ring->emptied);
    pthread_mutex_unlock(&ring->lock);
}

bool recorder_ring_drained(struct recorder_ring *ring, const struct timespec *deadline)
{
    pthread_mutex_lock(&ring->lock);
    uint64_t head = ring->head;
    int status = 0;
    if (ring->awaited < head)
        ring->awaited = head;
    pthread_cond_signal(&ring->hurried);
    while (ring->tail < head && status != ETIMEDOUT)
        status = pthread_cond_timedwait(&ring->emptied, &ring->lock, deadline);
    bool drained = ring->tail >= head;
    pthread_mutex_unlock(&ring->lock);
    return drained;
}

void recorder_ring_close(struct recorder_ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->closed = true;
    pthread_cond_broadcast(&ring->filled);
    pthread_cond_broadcast(&ring->hurried);
    pthread_mutex_unlock(&ring->lock);
}
