/* Finding where elements of a top-level JSON array end, without parsing them.
 *
 * Looks at 64 bytes at a time as bit masks: escaped bytes, quotes, from those what lies inside
 * strings, then brackets; most blocks cannot bring the depth to zero and cost only two counts. What
 * is found is right for well-formed text; for any other, the parser of the piece in which the text
 * first goes wrong says so, and no later piece counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iso_split {
    size_t scanned;     /* bytes done: a multiple of 64 but at the end */
    uint64_t in_string; /* all ones: inside a string */
    uint64_t escape;    /* 1: the next byte is escaped */
    uint64_t depth;     /* brackets open */
    size_t last; /* behind the last element that ended, or behind the array's end; 0: none yet */
    bool closed; /* the array's end was seen: `last` is behind it */
};

/* Goes on with text[scanned .. length); the text stays the same from its start. `final`: no more
 * will follow, so that also the last bytes are looked at. The text has 64 readable bytes after its
 * end. Stops at the array's end. */
void iso_split_scan(struct iso_split *split, const char *text, size_t length, bool final);
