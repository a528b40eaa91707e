#include "web/guard.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

static uint64_t peer_of(const struct sockaddr *address)
{
    uint64_t peer = 0;
    if (address && address->sa_family == AF_INET)
        peer = UINT64_C(1) << 32 |
               ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr;
    else if (address && address->sa_family == AF_INET6)
        memcpy(&peer, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
               sizeof peer);
    return peer;
}

/* Nothing more is read of it, nothing written; its owner finds that out and closes it. */
static void end_entry(struct guard_entry *entry)
{
    shutdown(entry->descriptor, SHUT_RDWR);
    entry->ended = true;
}

static uint32_t count_of(const struct guard *guard, uint64_t peer)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < guard->count; i++)
        count += !guard->entries[i].ended && guard->entries[i].peer == peer;
    return count;
}

static void end_oldest(struct guard *guard, uint64_t peer)
{
    for (uint32_t i = 0; i < guard->count; i++)
        if (!guard->entries[i].ended && guard->entries[i].peer == peer) {
            end_entry(&guard->entries[i]);
            return;
        }
}

/* The peer with the most connections, and how many there are of all. */
static uint64_t find_greediest(const struct guard *guard, uint32_t *all)
{
    uint64_t greediest = 0;
    uint32_t most = 0;
    *all = 0;
    for (uint32_t i = 0; i < guard->count; i++) {
        const struct guard_entry *entry = &guard->entries[i];
        uint32_t count = entry->ended ? 0 : count_of(guard, entry->peer);
        *all += !entry->ended;
        if (count > most) {
            most = count;
            greediest = entry->peer;
        }
    }
    return greediest;
}

#ifdef ISO_VALIDATE
static void validate_guard(const struct guard *guard)
{
    uint32_t all;
    find_greediest(guard, &all);
    assert(guard->count <= GUARD_ROOM && all <= GUARD_ALL);
    for (uint32_t i = 0; i < guard->count; i++) {
        assert(count_of(guard, guard->entries[i].peer) <= GUARD_PEER);
        assert(!i || guard->entries[i - 1].since <= guard->entries[i].since);
    }
}
#else
static void validate_guard(const struct guard *guard)
{
    (void)guard;
}
#endif

void guard_begin(struct guard *guard, int descriptor, const struct sockaddr *address, uint64_t now)
{
    uint64_t peer = peer_of(address);
    uint32_t all;
    assert(guard->count < GUARD_ROOM);
    if (count_of(guard, peer) >= GUARD_PEER)
        end_oldest(guard, peer);
    uint64_t greediest = find_greediest(guard, &all);
    if (all >= GUARD_ALL)
        end_oldest(guard, greediest);
    guard->entries[guard->count++] =
        (struct guard_entry){.descriptor = descriptor, .since = now, .peer = peer};
    validate_guard(guard);
}

void guard_end(struct guard *guard, int descriptor)
{
    for (uint32_t i = 0; i < guard->count; i++)
        if (guard->entries[i].descriptor == descriptor) {
            memmove(&guard->entries[i], &guard->entries[i + 1],
                    (--guard->count - i) * sizeof *guard->entries);
            return;
        }
}

uint64_t guard_look(struct guard *guard, uint64_t now)
{
    uint64_t next = GUARD_DEADLINE_MS;
    for (uint32_t i = 0; i < guard->count; i++) {
        struct guard_entry *entry = &guard->entries[i];
        uint64_t age = now - entry->since;
        assert(now >= entry->since);
        if (entry->ended)
            continue;
        if (age >= GUARD_DEADLINE_MS)
            end_entry(entry);
        else if (GUARD_DEADLINE_MS - age < next)
            next = GUARD_DEADLINE_MS - age;
    }
    return next;
}
