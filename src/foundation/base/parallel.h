/* One piece of work in equal parts, a thread each.
 *
 * Calls work(context, part) for every part below `parts` and returns when all have returned. The
 * caller's own thread takes part 0, and any part for which no thread can be had.
 */
#pragma once

void iso_parallel(unsigned parts, void (*work)(void *context, unsigned part), void *context);
