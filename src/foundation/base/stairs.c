#include "base/stairs.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

enum { PARTS = 64 };

static void make_room(struct iso_stairs *stairs)
{
    if (stairs->first && stairs->count == stairs->capacity) {
        stairs->count -= stairs->first;
        memmove(stairs->list, stairs->list + stairs->first, stairs->count * sizeof *stairs->list);
        stairs->first = 0;
    }
    ISO_GROW(stairs->list, stairs->count, stairs->capacity);
}

void iso_stairs_climb(struct iso_stairs *stairs, uint64_t lag, uint64_t time, uint64_t value)
{
    uint64_t grain = lag / PARTS + 1;
    time = (time + grain - 1) / grain * grain;
    uint32_t at = stairs->count;
    while (at > stairs->first && stairs->list[at - 1].time > time)
        at--;
    if (value <= stairs->reached || (at > stairs->first && stairs->list[at - 1].value >= value))
        return;
    if (at > stairs->first && stairs->list[at - 1].time == time) {
        stairs->list[at - 1].value = value;
    } else {
        at -= stairs->first;
        make_room(stairs);
        at += stairs->first;
        memmove(stairs->list + at + 1, stairs->list + at,
                (stairs->count - at) * sizeof *stairs->list);
        stairs->list[at++] = (struct iso_stair){time, value};
        stairs->count++;
    }
    uint32_t end = at; /* later ones that promise no more */
    while (end < stairs->count && stairs->list[end].value <= value)
        end++;
    memmove(stairs->list + at, stairs->list + end, (stairs->count - end) * sizeof *stairs->list);
    stairs->count -= end - at;
    assert(at == stairs->count || stairs->list[at].time > time);
}

void iso_stairs_reach(struct iso_stairs *stairs, uint64_t time)
{
    assert(stairs->first <= stairs->count);
    for (; stairs->first < stairs->count && stairs->list[stairs->first].time <= time;
         stairs->first++)
        stairs->reached = stairs->list[stairs->first].value;
}

void iso_stairs_archive(struct iso_archive *archive, struct iso_stairs *stairs)
{
    ISO_ARCHIVE_LIST(archive, "stairs", ISO_ARCHIVE_HEAP, *stairs);
    ISO_ARCHIVE_VALUE(archive, stairs->first);
    ISO_ARCHIVE_VALUE(archive, stairs->reached);
    iso_archive_expect(archive, stairs->first <= stairs->count);
}

void iso_stairs_validate(const struct iso_stairs *stairs)
{
    assert(stairs->first <= stairs->count && stairs->count <= stairs->capacity);
    for (uint32_t i = stairs->first; i < stairs->count; i++) {
        const struct iso_stair *stair = &stairs->list[i];
        assert(stair->value > stairs->reached);
        assert(i == stairs->first ||
               (stair[-1].time < stair->time && stair[-1].value < stair->value));
    }
}
