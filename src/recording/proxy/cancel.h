/* Requests to cancel, and the questions of the proxy's own that they must not hit: a request waits
 * while the session that it is for has one out, and a session asks nothing while one is on its way.
 *
 *     session:   cancel_may_ask, ask, cancel_asks(waits) request: cancel_begins, cancel_must_wait
 *                ..., send, cancel_ends
 *
 * Sessions are known by what the server gave them for it (BackendKeyData). Threads: any; a session
 * is its loop's.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CANCEL_KEY_MOST = 260 };

struct cancel_key {
    uint8_t bytes[CANCEL_KEY_MOST];
    uint32_t size; /* 0: none is known */
};

/* Zeroed at first. */
struct cancel_target {
    struct cancel_key key;
    _Atomic uint32_t requests; /* on their way */
    _Atomic bool asks;
    struct cancel_target *previous, *next;
};

void cancel_add(struct cancel_target *target, const uint8_t *key, uint32_t size);
void cancel_remove(struct cancel_target *target); /* one that was not added is none */

/* Whether it may ask; it counts as asking until cancel_asks says otherwise. */
bool cancel_may_ask(struct cancel_target *target);
static inline void cancel_asks(struct cancel_target *target, bool asks)
{
    atomic_store(&target->asks, asks);
}

void cancel_begins(const struct cancel_key *key);
bool cancel_must_wait(const struct cancel_key *key);
void cancel_ends(const struct cancel_key *key);
