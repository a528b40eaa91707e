/* Counts the threads that the program and its libraries start. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <threads.h>

#include "tests/support/sanitized.h"
#include "tests/unit/unit.h"

static _Atomic uint32_t started;

uint32_t unit_threads_started(void)
{
    return started;
}

#if !SANITIZED
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    __typeof__(&pthread_create) next;
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    started++;
    return next(thread, attributes, start, argument);
}

int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
    __typeof__(&thrd_create) next;
    *(void **)&next = dlsym(RTLD_NEXT, "thrd_create");
    started++;
    return next(thread, start, argument);
}
#endif
