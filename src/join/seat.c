/* What PostgreSQL calls the commits that were given a place: xid, LSN, time. For the words of findings; nothing is
 * judged by it. The latest ones only, 16 bytes each: the lower halves of xid and of milliseconds, which the rest is
 * known of. LSN and time come with the connector's transaction topic.
 */
#include "base/memory.h"
#include "join/join_private.h"

static uint64_t number_of(uint64_t cts)
{
    return (cts - ISO_JOIN_START) / 2;
}

/* The number with these lower 32 bits that is nearest to another. */
static uint64_t whole(uint32_t low, uint64_t near)
{
    return near + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)near);
}

void join_seat_take(struct iso_join *join, uint64_t cts, uint64_t xid, uint32_t transaction)
{
    struct join_seats *seats = &join->places.seats;
    struct join_seat *seat;
    if (!seats->list)
        seats->list = iso_column_zeroed(JOIN_SEATS * sizeof *seats->list);
    seats->taken = number_of(cts) + 1;
    seat = &seats->list[number_of(cts) % JOIN_SEATS];
    *seat = (struct join_seat){.xid = (uint32_t)xid};
    if (transaction == ISO_NONE || !(join->open.list[transaction].flags & JOIN_COMMIT_SAID))
        return;
    seat->lsn = join->open.list[transaction].position;
    seat->time = (uint32_t)join->open.list[transaction].committed;
    if (join->open.list[transaction].committed > seats->latest)
        seats->latest = join->open.list[transaction].committed;
}

bool iso_join_commit(const struct iso_join *join, uint64_t cts, struct iso_join_commit *commit)
{
    const struct join_places *places = &join->places;
    uint64_t newest = number_of(places->position);
    if (!places->seats.list || cts <= ISO_JOIN_START || cts > places->position || (cts - ISO_JOIN_START) % 2 ||
        newest - number_of(cts) >= JOIN_SEATS)
        return false;
    const struct join_seat *seat = &places->seats.list[number_of(cts) % JOIN_SEATS];
    *commit = (struct iso_join_commit){.xid = seat->xid ? whole(seat->xid, places->reference) : 0,
                                       .lsn = seat->lsn,
                                       .time = seat->time ? whole(seat->time, places->seats.latest) : 0};
    return commit->xid || commit->lsn;
}
