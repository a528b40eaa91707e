/* Who is connected, since when, and who has to go: a request has a deadline as a whole, however
 * lively its bytes drip, and nobody holds so many connections that others find none.
 *
 * Of one peer GUARD_PEER connections stay, of all GUARD_ALL; one more ends the oldest of that peer,
 * or of the peer with the most. The newest always stays: what asks at once is answered, however
 * many others say nothing. A peer is an IPv4 address, or an IPv6 network of 64 bits, or all that is
 * neither. It knows descriptors, and closes none: their owner sees them end. Time is passed in.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { GUARD_PEER = 32, GUARD_ALL = 128, GUARD_ROOM = 512, GUARD_DEADLINE_MS = 10000 };

struct guard_entry {
    int descriptor;
    bool ended; /* it was told to go, and is not gone yet */
    uint64_t since, peer;
};

struct guard {
    uint32_t count;
    struct guard_entry entries[GUARD_ROOM]; /* in the order of their coming */
};

/* A connection that was accepted, and one that is about to be closed. */
void guard_begin(struct guard *guard, int descriptor, const struct sockaddr *address, uint64_t now);
void guard_end(struct guard *guard, int descriptor);

/* Ends those that are older than the deadline. Returns in how many milliseconds to look again. */
uint64_t guard_look(struct guard *guard, uint64_t now);
