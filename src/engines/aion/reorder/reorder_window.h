/* Settling: how long transactions wait in front of the engine, so that neighbours which overtook
 * each other on their way are judged in the order of their commits.
 *
 *        arrived:   ... 41 39 44 42 | 47 40 46 | 49 45 48 frontier: 49, the latest commit that
 *                   arrived
 *        judged:    ... 39 40 41 42 44 45                            distance: 4
 *        waiting:   46 47 48 49                                      until: 45
 *
 * A transaction waits until the frontier is `distance` above its cts. The distance is what the
 * disorder lately seen asks for: each arrival is so far behind the frontier, and of the last few
 * thousand all but one in BEARABLE are no further behind than the distance. That is the idea of a
 * watermark with bounded disorder (MillWheel, Flink), with the bound learned from the stream. In a
 * stream that comes in order it is 0, and nothing waits or is copied.
 *
 * No one waits longer than `wait_ms`, nor for more than MOST_WAITING arrivals: the stream is cut
 * into spans of a sixteenth of either, and what arrived in a span goes, with all before it, once
 * the span is so old. What is further behind than could have been waited for teaches nothing:
 * waiting would not have helped it. The frontier is that of the spans that are left, so that a
 * timestamp from a far future is forgotten with its span.
 *
 * Time is passed in; where it stands still (replay), or has no say (`untimed`), the number of
 * arrivals alone bounds the wait, and what is judged by the time that a watermark comes follows
 * from the order of arrival alone. State: a few plain columns. Cost: in order about ten
 * instructions an arrival, out of order thirty. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { AION_SPANS = 32, AION_LATENESS = 64 * 4 };

/* Arrivals of a short time. */
struct aion_span {
    uint64_t since;   /* when it began: ms */
    uint64_t first;   /* number of its first arrival */
    uint64_t highest; /* cts */
};

struct aion_reorder_window {
    uint64_t wait_ms, now;
    bool untimed;
    uint64_t least;                     /* distance below which it never goes */
    struct aion_span spans[AION_SPANS]; /* a ring */
    uint32_t first_span, span_count;
    uint64_t arrived;  /* of all */
    uint64_t frontier; /* the highest cts of the spans */
    uint64_t reached;  /* that of spans that are gone, until it is reported */
    uint64_t distance; /* in units of the timestamps */
    uint64_t weight;   /* arrivals that `late` stands for: old ones count half, and half again */
    uint32_t late[AION_LATENESS]; /* arrivals by how far they were behind: four classes for each
                                     power of two */
};

/* `wait_ms` 0: nothing ever waits. */
void aion_reorder_window_init(struct aion_reorder_window *window, uint64_t wait_ms, uint64_t least,
                              bool untimed);

/* Time has come to `now`. Before arrivals are noted. */
void aion_reorder_window_begin(struct aion_reorder_window *window, uint64_t now);

void aion_reorder_window_note_late(struct aion_reorder_window *window, uint64_t cts);
void aion_reorder_window_learn(struct aion_reorder_window *window);
enum { AION_LEARN_EVERY = 256 };

/* A committed transaction has arrived. */
static inline void aion_reorder_window_note(struct aion_reorder_window *window, uint64_t cts)
{
    if (cts < window->frontier) {
        aion_reorder_window_note_late(window, cts);
    } else {
        window->frontier = cts;
        window->spans[(window->first_span + window->span_count - 1) % AION_SPANS].highest = cts;
    }
    if (++window->arrived % AION_LEARN_EVERY == 0)
        aion_reorder_window_learn(window);
}

/* Everything up to this cts is to be judged now. */
uint64_t aion_reorder_window_until(struct aion_reorder_window *window, uint64_t now);
