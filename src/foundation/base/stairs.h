/* What was so at which time: a staircase of (time, value), both rising. What is asked for is the
 * highest step up to a time that rises, too; steps that promise no more than one before them are
 * left out.
 *
 * Memory: times are rounded up to a part of `lag`, which the asked time is behind those that are
 * noted, so that the number of steps does not grow with how much is noted. Threads: the caller's.
 */
#pragma once

#include "base/archive.h"

struct iso_stairs {
    struct iso_stair {
        uint64_t time, value;
    } * list;
    uint32_t first, count, capacity; /* those before the first were passed */
    uint64_t reached;                /* the value of the last of these; 0: none was */
};

/* `value` was so at `time`, or a little earlier. */
void iso_stairs_climb(struct iso_stairs *stairs, uint64_t lag, uint64_t time, uint64_t value);
/* Moves to the step that stands at `time`, or before. */
void iso_stairs_reach(struct iso_stairs *stairs, uint64_t time);
void iso_stairs_archive(struct iso_archive *archive, struct iso_stairs *stairs);
void iso_stairs_validate(const struct iso_stairs *stairs);
