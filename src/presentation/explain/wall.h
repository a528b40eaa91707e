/* Timestamps as wall-clock times, for sources whose timestamps are clocks.
 *
 * A pair's physical half counts in the clock's own unit: milliseconds of tso, microseconds of
 * hybrid. Threads: constant.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "history/history.h"

enum iso_wall {
    ISO_WALL_UNKNOWN,
    ISO_WALL_COUNTER, /* no clock: they only count */
    ISO_WALL_TSO,     /* TiDB: milliseconds << 18 | a counter */
    ISO_WALL_HYBRID,  /* YugabyteDB: microseconds << 12 | a counter */
    ISO_WALL_SECONDS,
    ISO_WALL_MILLISECONDS,
    ISO_WALL_MICROSECONDS,
    ISO_WALL_NANOSECONDS
};

/* Meaning of the timestamps of a kind of source ("ticdc", ...). */
enum iso_wall iso_wall_of_source(const char *kind);

/* "2026-11-21T18:50:32.123Z", with as many digits as the clock has, and "+5" behind it for the
 * counter's 5; false if the clock is no wall clock, or shows no year of four digits. */
enum { ISO_WALL_TEXT = 64 };
bool iso_wall_text(enum iso_wall wall, const struct iso_history *history, uint64_t timestamp,
                   char text[ISO_WALL_TEXT]);
