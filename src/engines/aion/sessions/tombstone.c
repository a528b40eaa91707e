/* Sessions that were forgotten: the last 262,144 of them or so (AION_TOMBSTONES_MOST), 32 bytes
 * each.
 *
 * What a transaction needs that comes after all: whether it can stand before one that was let go of
 * (`lost`), whether it starts below one (`below`), and its position if it has none (`arrived`). A
 * table of sets, doubled until it has its full size; from then on the one of a set whose positions
 * are lowest makes room.
 *
 * Of those that made room the largest `lost` and `arrived` are known. A session of a name that is
 * not known may then be one of them: it is taken to have had as much as any of them. One that gives
 * no positions follows by its arrival; one that begins with the first position, 0 or 1, is a new
 * session by definition (session.c), since to have been silent for the whole retention ended it;
 * what claims a later position below that bound is undecided.
 */
#include <assert.h>

#include "aion/sessions/tombstone.h"
#include "base/memory.h"

enum { FIRST = 64 };

static struct aion_tombstone *set_of_name(const struct aion_tombstones *tombstones, uint64_t name)
{
    return tombstones->list +
           (name & (tombstones->count - 1)) / AION_TOMBSTONE_SET * AION_TOMBSTONE_SET;
}

/* The one of the set that `name` may take: a free one, or that which lies furthest back. */
static struct aion_tombstone *room_for(const struct aion_tombstones *tombstones, uint64_t name)
{
    struct aion_tombstone *set = set_of_name(tombstones, name), *room = set;
    for (struct aion_tombstone *tombstone = set; tombstone < set + AION_TOMBSTONE_SET && room->name;
         tombstone++) {
        if (!tombstone->name || tombstone->below < room->below)
            room = tombstone;
    }
    return room;
}

/* Each set becomes two, so that none overflows. */
static void grow_sets(struct aion_tombstones *tombstones)
{
    assert(tombstones->count < AION_TOMBSTONES_MOST);
    struct aion_tombstone *old = tombstones->list;
    uint32_t old_count = tombstones->count, count = old_count ? old_count * 2 : FIRST;
    tombstones->list = iso_column_zeroed(count * sizeof *old);
    tombstones->count = count;
    for (uint32_t i = 0; i < old_count; i++) {
        if (old[i].name)
            *room_for(tombstones, old[i].name) = old[i];
    }
    ISO_FREE_COLUMN(old, old_count);
}

void aion_tombstone_add(struct aion_tombstones *tombstones, const struct aion_tombstone *tombstone)
{
    assert(tombstone->name);
    if (!tombstones->count)
        grow_sets(tombstones);
    while (room_for(tombstones, tombstone->name)->name && tombstones->count < AION_TOMBSTONES_MOST)
        grow_sets(tombstones);
    struct aion_tombstone *room = room_for(tombstones, tombstone->name);
    if (room->name) {
        tombstones->gone++;
        tombstones->gone_lost =
            room->lost > tombstones->gone_lost ? room->lost : tombstones->gone_lost;
        tombstones->gone_arrived =
            room->arrived > tombstones->gone_arrived ? room->arrived : tombstones->gone_arrived;
    }
    *room = *tombstone;
}

bool aion_tombstone_assume(const struct aion_tombstones *tombstones,
                           struct aion_tombstone *tombstone)
{
    uint64_t lost = tombstones->gone_lost;
    tombstone->lost = lost;
    tombstone->arrived = tombstones->gone_arrived > lost ? tombstones->gone_arrived : lost;
    return tombstones->gone;
}

bool aion_tombstone_take(struct aion_tombstones *tombstones, uint64_t name,
                         struct aion_tombstone *tombstone)
{
    assert(name);
    if (!tombstones->count)
        return false;
    struct aion_tombstone *set = set_of_name(tombstones, name);
    for (uint32_t i = 0; i < AION_TOMBSTONE_SET; i++) {
        if (set[i].name != name)
            continue;
        *tombstone = set[i];
        set[i].name = 0;
        return true;
    }
    return false;
}
