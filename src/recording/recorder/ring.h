/* A bounded ring of records between the application's threads and the one that writes.
 *
 * Producers copy a record in under `lock`, or are told that there is no room. The consumer reads
 * what lies between `tail` and a `head` that it saw under the lock without holding it: producers
 * never touch those bytes. Then it moves `tail` on. A record is its size (4 bytes) and its bytes,
 * wrapped at the end of the memory.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recorder_ring {
    char *bytes;
    size_t capacity;
    uint64_t head, tail; /* bytes ever put in and taken out */
    uint64_t awaited;    /* up to here somebody waits for `tail` */
    unsigned linger_ms;  /* how long the consumer waits for more: it is woken once, and not by each
                            record */
    pthread_mutex_t lock;
    pthread_cond_t filled, hurried, emptied;
    bool closed; /* nothing more will come */
};

bool recorder_ring_init(struct recorder_ring *ring, size_t capacity,
                        unsigned linger_ms); /* false: no memory */
void recorder_ring_release(struct recorder_ring *ring);

bool recorder_ring_put(struct recorder_ring *ring, const void *record,
                       size_t size); /* false: no room */

/* Waits for records, and for more of them until linger_ms are over, the ring is half full, or
 * somebody waits; returns the head up to which they may be read, or `tail` if the ring is closed
 * and empty. */
uint64_t recorder_ring_wait(struct recorder_ring *ring);
/* Size of the record at `offset`, and its bytes, `from` them on. */
size_t recorder_ring_size(const struct recorder_ring *ring, uint64_t offset);
void recorder_ring_copy(const struct recorder_ring *ring, uint64_t offset, size_t from, void *bytes,
                        size_t size);
uint64_t recorder_ring_next(const struct recorder_ring *ring, uint64_t offset);
/* Everything before `offset` is written or lost. */
void recorder_ring_done(struct recorder_ring *ring, uint64_t offset);

/* Waits until what is in the ring now is done, until `deadline` of the monotonic clock. */
bool recorder_ring_drained(struct recorder_ring *ring, const struct timespec *deadline);
void recorder_ring_close(struct recorder_ring *ring);
