#define _GNU_SOURCE
#include "explain/wall.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define END_OF_9999 UINT64_C(253402300800) /* seconds since 1970 */

static const struct {
    unsigned counter_bits;
    uint64_t per_second;
    int digits; /* of the fraction */
} clocks[] = {
    [ISO_WALL_UNKNOWN] = {0, 0, 0},
    [ISO_WALL_COUNTER] = {0, 0, 0},
    [ISO_WALL_TSO] = {18, 1000, 3},
    [ISO_WALL_HYBRID] = {12, 1000000, 6},
    [ISO_WALL_SECONDS] = {0, 1, 0},
    [ISO_WALL_MILLISECONDS] = {0, 1000, 3},
    [ISO_WALL_MICROSECONDS] = {0, 1000000, 6},
    [ISO_WALL_NANOSECONDS] = {0, 1000000000, 9},
};

enum iso_wall iso_wall_of_source(const char *kind)
{
    if (!strcmp(kind, "ticdc"))
        return ISO_WALL_TSO;
    if (!strcmp(kind, "yugabyte"))
        return ISO_WALL_HYBRID;
    return strcmp(kind, "history") ? ISO_WALL_COUNTER : ISO_WALL_UNKNOWN;
}

bool iso_wall_text(enum iso_wall wall, const struct iso_history *history, uint64_t timestamp,
                   char text[ISO_WALL_TEXT])
{
    uint64_t physical = timestamp, counter = 0;
    unsigned bits = clocks[wall].counter_bits;
    if (!clocks[wall].per_second || history->clock == ISO_CLOCK_SNAPSHOT)
        return false;
    if (history->ranks.count)
        physical = history->ranks.physical[timestamp];
    if (history->ranks.count && history->ranks.logical) {
        counter = history->ranks.logical[timestamp];
    } else if (bits) {
        counter = physical & ((UINT64_C(1) << bits) - 1);
        physical >>= bits;
    }
    if (physical / clocks[wall].per_second >= END_OF_9999)
        return false;
    time_t seconds = (time_t)(physical / clocks[wall].per_second);
    struct tm day;
    if (!gmtime_r(&seconds, &day))
        return false;
    size_t used = strftime(text, ISO_WALL_TEXT, "%Y-%m-%dT%H:%M:%S", &day);
    if (clocks[wall].digits)
        used += (size_t)snprintf(text + used, ISO_WALL_TEXT - used, ".%0*" PRIu64,
                                 clocks[wall].digits, physical % clocks[wall].per_second);
    used += (size_t)snprintf(text + used, ISO_WALL_TEXT - used, "Z");
    if (counter)
        snprintf(text + used, ISO_WALL_TEXT - used, "+%" PRIu64, counter);
    return true;
}
