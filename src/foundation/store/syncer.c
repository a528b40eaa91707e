#define _GNU_SOURCE
#include "store/syncer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "base/clock.h"

static void *run_syncer(void *argument)
{
    struct syncer *syncer = argument;
    pthread_mutex_lock(&syncer->lock);
    for (;;) {
        while (syncer->file < 0 && !syncer->ends)
            pthread_cond_wait(&syncer->changed, &syncer->lock);
        int file = syncer->file;
        if (file < 0)
            break;
        pthread_mutex_unlock(&syncer->lock);
        int failure = fsync(file) ? errno : 0;
        close(file);
        if (!failure && syncer->then)
            syncer->then(syncer->context);
        pthread_mutex_lock(&syncer->lock);
        syncer->failure = syncer->failure ? syncer->failure : failure;
        if (!failure && !syncer->then) {
            syncer->reached = syncer->started;
            syncer->took = (uint64_t)iso_clock_nanoseconds() / 1000 - syncer->started;
        }
        syncer->file = -1;
        pthread_cond_broadcast(&syncer->changed);
    }
    pthread_mutex_unlock(&syncer->lock);
    return NULL;
}

void syncer_init(struct syncer *syncer)
{
    *syncer = (struct syncer){.file = -1};
    pthread_mutex_init(&syncer->lock, NULL);
    pthread_cond_init(&syncer->changed, NULL);
}

void syncer_release(struct syncer *syncer)
{
    if (syncer->runs) {
        pthread_mutex_lock(&syncer->lock);
        syncer->ends = true;
        pthread_cond_broadcast(&syncer->changed);
        pthread_mutex_unlock(&syncer->lock);
        pthread_join(syncer->thread, NULL);
    }
    pthread_cond_destroy(&syncer->changed);
    pthread_mutex_destroy(&syncer->lock);
}

/* Signals are for the thread that waits for them. */
static bool start_thread(struct syncer *syncer)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    errno = pthread_create(&syncer->thread, NULL, run_syncer, syncer);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    syncer->runs = !errno;
    return syncer->runs;
}

bool syncer_start(struct syncer *syncer, int file, void (*then)(void *context), void *context)
{
    if (!syncer->runs && !start_thread(syncer))
        return false;
    int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return false;
    pthread_mutex_lock(&syncer->lock);
    assert(syncer->file < 0);
    syncer->file = copy;
    syncer->then = then;
    syncer->context = context;
    syncer->started = (uint64_t)iso_clock_nanoseconds() / 1000;
    pthread_cond_broadcast(&syncer->changed);
    pthread_mutex_unlock(&syncer->lock);
    return true;
}

bool syncer_busy(struct syncer *syncer)
{
    pthread_mutex_lock(&syncer->lock);
    bool busy = syncer->file >= 0;
    pthread_mutex_unlock(&syncer->lock);
    return busy;
}

void syncer_wait(struct syncer *syncer)
{
    pthread_mutex_lock(&syncer->lock);
    while (syncer->file >= 0)
        pthread_cond_wait(&syncer->changed, &syncer->lock);
    pthread_mutex_unlock(&syncer->lock);
}

int syncer_failure(struct syncer *syncer)
{
    pthread_mutex_lock(&syncer->lock);
    int failure = syncer->failure;
    pthread_mutex_unlock(&syncer->lock);
    return failure;
}

bool syncer_last(struct syncer *syncer, uint64_t *started, uint64_t *took)
{
    pthread_mutex_lock(&syncer->lock);
    *started = syncer->reached;
    *took = syncer->took;
    pthread_mutex_unlock(&syncer->lock);
    return *started != 0;
}
