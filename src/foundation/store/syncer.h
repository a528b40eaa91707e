/* A thread that syncs files, and may do something once one is on the device, so that nobody waits
 * for that. One file at a time. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct syncer {
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    int file;                    /* that is being synced, the syncer's own duplicate; -1: none */
    void (*then)(void *context); /* NULL: nothing */
    void *context;
    int failure; /* errno of the first that failed */
    uint64_t started, reached,
        took; /* microseconds: when the sync at hand began; the last that came to its end */
    bool runs, ends;
};

void syncer_init(struct syncer *syncer);
void syncer_release(struct syncer *syncer);

/* Starts to sync a file, and calls `then` on its thread if that succeeds; false (errno) if it
 * cannot. It must not be busy, and is so until `then` has returned. */
bool syncer_start(struct syncer *syncer, int file, void (*then)(void *context), void *context);
bool syncer_busy(struct syncer *syncer);
void syncer_wait(struct syncer *syncer);
int syncer_failure(struct syncer *syncer);

/* Microseconds of the monotonic clock: when the last sync that succeeded was started, and how long
 * it took. Of those with nothing to follow; false: there was none. */
bool syncer_last(struct syncer *syncer, uint64_t *started, uint64_t *took);
