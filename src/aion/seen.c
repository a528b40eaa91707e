/* Repeats: which tids came, and with what content.
 *
 * 24 bytes a transaction in open addressing, found by a digest of the tid's text: those of two natural
 * numbers differ, those of two other texts are equal with a chance of 2^-64, and then the second is refused
 * aloud as having other content, unless 64 more bits agree by chance. Bounded: when the table is full,
 * entries below the floor go (what comes again from there is not taken at all, see `beyond_retention`); only
 * if that does not make room it grows.
 */
#include <string.h>

#include "aion/engine_private.h"
#include "base/memory.h"

enum { FIRST_SLOTS = 1 << 12 };

static uint64_t find(const struct aion_seen *seen, uint64_t tid)
{
    uint64_t slot = tid & seen->mask;
    while (seen->slots[slot].tid && seen->slots[slot].tid != tid)
        slot = (slot + 1) & seen->mask;
    return slot;
}

void aion_seen_rebuild(struct aion_seen *seen, uint64_t floor)
{
    struct aion_sight *old = seen->slots;
    uint64_t old_count = old ? seen->mask + 1 : 0, kept = 0, count = FIRST_SLOTS;
    for (uint64_t i = 0; i < old_count; i++)
        kept += old[i].tid && old[i].stamp >= floor;
    while (count < kept * 2)
        count *= 2;
    seen->slots = iso_column_grow(NULL, 0, count * sizeof *seen->slots);
    memset(seen->slots, 0, count * sizeof *seen->slots);
    seen->mask = count - 1;
    seen->used = kept;
    for (uint64_t i = 0; i < old_count; i++) {
        if (old[i].tid && old[i].stamp >= floor)
            seen->slots[find(seen, old[i].tid)] = old[i];
    }
    iso_column_free(old, old_count * sizeof *old);
}

enum aion_seen_as aion_seen_note(struct aion_seen *seen, uint64_t tid, uint64_t content, uint64_t stamp, uint64_t floor)
{
    if (!seen->slots || seen->used >= seen->mask / 4 * 3)
        aion_seen_rebuild(seen, floor);
    struct aion_sight *sight = &seen->slots[find(seen, tid)];
    if (sight->tid)
        return sight->content == content ? AION_REPEAT : AION_OTHER_CONTENT;
    *sight = (struct aion_sight){tid, content, stamp};
    seen->used++;
    return AION_NEW;
}

void aion_seen_release(struct aion_seen *seen)
{
    iso_column_free(seen->slots, seen->slots ? (seen->mask + 1) * sizeof *seen->slots : 0);
    memset(seen, 0, sizeof *seen);
}
