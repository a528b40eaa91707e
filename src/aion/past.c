/* Sessions that were forgotten: the last 32,768 of them or so (AION_PAST_MOST), 32 bytes each.
 *
 * What a transaction needs that comes after all: whether it can stand before one that was let go of (`lost`), whether
 * it starts below one (`below`), and its place if it has none (`arrived`). A table of sets, doubled until it has its
 * full size; from then on the one of a set whose positions are lowest makes room.
 */
#include "aion/engine_private.h"
#include "base/memory.h"

enum { FIRST = 64 };

static struct aion_past *set_of(const struct aion_sessions *sessions, uint64_t name)
{
    return sessions->past + (name & (sessions->past_count - 1)) / AION_PAST_SET * AION_PAST_SET;
}

/* The one of the set that `name` may take: a free one, or that which lies furthest back. */
static struct aion_past *room_for(const struct aion_sessions *sessions, uint64_t name)
{
    struct aion_past *set = set_of(sessions, name), *room = set;
    for (struct aion_past *past = set; past < set + AION_PAST_SET && room->name; past++) {
        if (!past->name || past->below < room->below)
            room = past;
    }
    return room;
}

/* Each set becomes two, so that none overflows. */
static void grow(struct aion_sessions *sessions)
{
    struct aion_past *old = sessions->past;
    uint32_t old_count = sessions->past_count, count = old_count ? old_count * 2 : FIRST;
    sessions->past = iso_column_zeroed(count * sizeof *old);
    sessions->past_count = count;
    for (uint32_t i = 0; i < old_count; i++) {
        if (old[i].name)
            *room_for(sessions, old[i].name) = old[i];
    }
    iso_column_free(old, old_count * sizeof *old);
}

void aion_past_note(struct aion_sessions *sessions, const struct aion_past *past)
{
    if (!sessions->past_count)
        grow(sessions);
    while (room_for(sessions, past->name)->name && sessions->past_count < AION_PAST_MOST)
        grow(sessions);
    *room_for(sessions, past->name) = *past;
}

bool aion_past_take(struct aion_sessions *sessions, uint64_t name, struct aion_past *past)
{
    if (!sessions->past_count)
        return false;
    struct aion_past *set = set_of(sessions, name);
    for (uint32_t i = 0; i < AION_PAST_SET; i++) {
        if (set[i].name != name)
            continue;
        *past = set[i];
        set[i].name = 0;
        return true;
    }
    return false;
}
