/* C11 threads by POSIX ones, for programs under the thread sanitizer: it follows pthread_create and
 * the locks of POSIX, and knows nothing of thrd_create and mtx_lock, by which librdkafka works. A
 * thread that it did not see start crashes it, and a lock that it did not see taken looks like a
 * race.
 *
 * Linked into each program of that flavour, before the C library, whose types these are: glibc's
 * mtx_t and cnd_t have the size of its POSIX ones, or more.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t), "mtx_t is a mutex");
static_assert(sizeof(cnd_t) >= sizeof(pthread_cond_t), "cnd_t is a condition");
static_assert(sizeof(thrd_t) == sizeof(pthread_t), "thrd_t is a thread");

struct start {
    thrd_start_t function;
    void *argument;
};

static void *run(void *context)
{
    struct start start = *(struct start *)context;
    free(context);
    return (void *)(intptr_t)start.function(start.argument);
}

static int result(int number)
{
    return !number               ? thrd_success
           : number == EBUSY     ? thrd_busy
           : number == ETIMEDOUT ? thrd_timedout
                                 : thrd_error;
}

int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
    struct start *start = malloc(sizeof *start);
    if (!start)
        return thrd_nomem;
    *start = (struct start){function, argument};
    int number = pthread_create(thread, NULL, run, start);
    if (number)
        free(start);
    return result(number);
}

int thrd_join(thrd_t thread, int *status)
{
    void *returned;
    int number = pthread_join(thread, &returned);
    if (!number && status)
        *status = (int)(intptr_t)returned;
    return result(number);
}

int mtx_init(mtx_t *mutex, int type)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE
                                                                : PTHREAD_MUTEX_NORMAL);
    int number = pthread_mutex_init((pthread_mutex_t *)mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return result(number);
}

int mtx_lock(mtx_t *mutex)
{
    return result(pthread_mutex_lock((pthread_mutex_t *)mutex));
}

int mtx_trylock(mtx_t *mutex)
{
    return result(pthread_mutex_trylock((pthread_mutex_t *)mutex));
}

int mtx_unlock(mtx_t *mutex)
{
    return result(pthread_mutex_unlock((pthread_mutex_t *)mutex));
}

void mtx_destroy(mtx_t *mutex)
{
    pthread_mutex_destroy((pthread_mutex_t *)mutex);
}

int cnd_init(cnd_t *condition)
{
    return result(pthread_cond_init((pthread_cond_t *)condition, NULL));
}

int cnd_signal(cnd_t *condition)
{
    return result(pthread_cond_signal((pthread_cond_t *)condition));
}

int cnd_broadcast(cnd_t *condition)
{
    return result(pthread_cond_broadcast((pthread_cond_t *)condition));
}

int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
    return result(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex));
}

int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *until)
{
    return result(
        pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, until));
}

void cnd_destroy(cnd_t *condition)
{
    pthread_cond_destroy((pthread_cond_t *)condition);
}
