/* What PostgreSQL calls the commits that were given a position: xid, LSN, time. For the words of
 * findings; nothing is judged by it. The latest ones only, 16 bytes each: the lower halves of xid
 * and of milliseconds, which the rest is known of. LSN and time arrive with the connector's
 * transaction topic.
 */
#include <assert.h>

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

void join_commit_names_start(struct join_commit_names *names, uint64_t base)
{
    assert(!names->taken && base % 2 == ISO_JOIN_START % 2);
    names->list = iso_column_zeroed(JOIN_COMMIT_NAMES * sizeof *names->list);
    names->taken = number_of(base) + 1;
}

void join_commit_name_note(struct iso_join *join, uint64_t cts, uint64_t xid, uint32_t transaction)
{
    struct join_commit_names *names = &join->positions.names;
    struct join_commit_name *name;
    if (!names->list)
        names->list = iso_column_zeroed(JOIN_COMMIT_NAMES * sizeof *names->list);
    /* each commit in its turn */
    assert(number_of(cts) == (names->taken ? names->taken : 1));
    names->taken = number_of(cts) + 1;
    name = &names->list[number_of(cts) % JOIN_COMMIT_NAMES];
    *name = (struct join_commit_name){.xid = (uint32_t)xid};
    if (transaction == ISO_NONE || !(join->open.list[transaction].flags & JOIN_COMMIT_GIVEN))
        return;
    name->lsn = join->open.list[transaction].position;
    name->time = (uint32_t)join->open.list[transaction].committed;
    if (join->open.list[transaction].committed > names->latest)
        names->latest = join->open.list[transaction].committed;
}

bool iso_join_commit(const struct iso_join *join, uint64_t cts, struct iso_join_commit *commit)
{
    const struct join_positions *positions = &join->positions;
    uint64_t newest = number_of(positions->position);
    if (!positions->names.list || cts <= (positions->base | ISO_JOIN_START) ||
        cts > positions->position || (cts - ISO_JOIN_START) % 2 ||
        newest - number_of(cts) >= JOIN_COMMIT_NAMES)
        return false;
    const struct join_commit_name *name =
        &positions->names.list[number_of(cts) % JOIN_COMMIT_NAMES];
    *commit = (struct iso_join_commit){
        .xid = name->xid ? whole(name->xid, positions->reference) : 0,
        .lsn = name->lsn,
        .time = name->time ? whole(name->time, positions->names.latest) : 0};
    return commit->xid || commit->lsn;
}
