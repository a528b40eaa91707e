#include "proxy/cancel.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cancel_target *first;

void cancel_add(struct cancel_target *target, const uint8_t *key, uint32_t size)
{
    if (target->key.size || !size || size > CANCEL_KEY_MOST)
        return;
    memcpy(target->key.bytes, key, size);
    target->key.size = size;
    pthread_mutex_lock(&lock);
    target->next = first;
    target->previous = NULL;
    if (first)
        first->previous = target;
    first = target;
    pthread_mutex_unlock(&lock);
}

void cancel_remove(struct cancel_target *target)
{
    if (!target->key.size)
        return;
    pthread_mutex_lock(&lock);
    *(target->previous ? &target->previous->next : &first) = target->next;
    if (target->next)
        target->next->previous = target->previous;
    pthread_mutex_unlock(&lock);
    target->key.size = 0;
}

bool cancel_may_ask(struct cancel_target *target)
{
    atomic_store(&target->asks, true); /* before it looks: who comes now sees it, or is seen */
    return !atomic_load(&target->requests);
}

/* Under the lock. NULL: another proxy's, or nobody's. */
static struct cancel_target *find(const struct cancel_key *key)
{
    struct cancel_target *target = first;
    while (target &&
           (target->key.size != key->size || memcmp(target->key.bytes, key->bytes, key->size) != 0))
        target = target->next;
    return target;
}

static void count(const struct cancel_key *key, uint32_t more)
{
    pthread_mutex_lock(&lock);
    struct cancel_target *target = find(key);
    if (target)
        atomic_fetch_add(&target->requests, more);
    pthread_mutex_unlock(&lock);
}

void cancel_begins(const struct cancel_key *key)
{
    count(key, 1);
}

void cancel_ends(const struct cancel_key *key)
{
    count(key, UINT32_MAX); /* one less */
}

bool cancel_must_wait(const struct cancel_key *key)
{
    pthread_mutex_lock(&lock);
    struct cancel_target *target = find(key);
    bool waits = target && atomic_load(&target->asks);
    pthread_mutex_unlock(&lock);
    return waits;
}
