/* An argument's time line arranged for a picture: who was at work from when to when, in which
 * session, and what happened to the key (or whatever the argument is about) meanwhile.
 *
 *     session 1   T3 = 3 |====|        8 |====|   T2 = 8 |====|
 *     session 2                                                  T1 = 9 |====|
 *     key x                   o 3 (found)     o 7             o 8       v T1: found 3, expected 8
 *                        6    7        14    15           16  17        20   21
 *
 * Lanes are sessions, bars transactions, points the argument's rows, and all of them stand at
 * instants, which are in order and have no distance: the picture decides on that. What is more than
 * the limits below is left out and counted.
 *
 * Texts are those of an argument: UTF-8, NUL-terminated, hostile. Ownership: a time line owns its
 * texts and keeps nothing else. Threads: one at a time.
 */
#pragma once

#include "explain/argument.h"

enum {
    ISO_TIMELINE_BARS = 12,
    ISO_TIMELINE_POINTS = 24,
    ISO_TIMELINE_INSTANTS = 2 * ISO_TIMELINE_BARS + ISO_TIMELINE_POINTS + 2
};

struct iso_timeline_instant {
    uint64_t when;
    bool is_timed; /* `when` is its timestamp; else it only has a place in the order */
    uint32_t label;
};

struct iso_timeline_bar {
    uint32_t transaction; /* ISO_NONE: not in the history */
    uint32_t lane;
    uint32_t from,
        to; /* instants; ISO_NONE: not known. A broken clock may have them the wrong way round */
    uint8_t status;           /* ISO_COMMITTED, ... */
    bool is_blamed, is_found; /* found: it wrote what was read and is no version */
    uint32_t name, words;     /* "T1 = 9, aborted"; everything that is known of it */
};

struct iso_timeline_point {
    uint32_t instant, bar; /* bar ISO_NONE: nobody's */
    int side;              /* -1: just before the instant, 1: just after all that happens at it */
    enum iso_mark mark;
    uint32_t name, words; /* "T2: 8"; "17: T2 wrote x = 8" */
};

struct iso_timeline {
    struct iso_text text;
    uint32_t title, track; /* "stale read of key x by transaction 9"; of the points: "key x" */
    uint32_t note;         /* what was left out; an empty text: nothing */
    uint32_t lane_count, instant_count, bar_count, point_count;
    uint32_t lanes[ISO_TIMELINE_BARS]; /* names */
    struct iso_timeline_instant instants[ISO_TIMELINE_INSTANTS];
    struct iso_timeline_bar bars[ISO_TIMELINE_BARS];
    struct iso_timeline_point points[ISO_TIMELINE_POINTS]; /* in order */
    uint32_t overlap_from, overlap_to;                     /* instants; equal: none */
};

/* False if the argument is not by timestamps, or has nothing that stands in time. Release in any
 * case. */
bool iso_timeline_init(struct iso_timeline *timeline, const struct iso_argument *argument);
void iso_timeline_release(struct iso_timeline *timeline);

static inline const char *iso_timeline_text(const struct iso_timeline *timeline, uint32_t offset)
{
    return timeline->text.bytes + offset;
}
