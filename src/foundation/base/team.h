/* Threads that stay, for work in parts that comes again and again: to start a thread costs more
 * than a small batch's work takes.
 *
 * A team of n has n - 1 threads of its own, which take no signals. iso_team_run calls work(context,
 * part) for every part below `parts` and returns when all have returned: part p is that of member p
 * % n, always the same, and member 0 is the caller's own thread, which also takes the parts of
 * members for which no thread can be had. Who waits looks again for some microseconds and sleeps
 * then.
 *
 * Threads: calls from one thread at a time. A forked child has none of them: it must not run or
 * free a team.
 */
#pragma once

#include <stdint.h>

struct iso_team;

/* 0 counts as 1; the threads start when they are needed */
struct iso_team *iso_team_new(uint32_t members);
void iso_team_free(struct iso_team *team);

/* `team` is a struct iso_team, so that this is a function that runs an engine's shards
 * (aion/aion.h). */
void iso_team_run(void *team, void (*work)(void *context, uint32_t part), void *context,
                  uint32_t parts);

/* The same once, with a thread for each part. */
void iso_parallel(uint32_t parts, void (*work)(void *context, uint32_t part), void *context);
