#include "aion/reorder/reorder_window.h"

#include <assert.h>
#include <string.h>

enum { PARTS = 16, MOST_WAITING = 8192 };

/* The weight at which old arrivals are halved; one arrival in so many may come too late. */
enum { MOST_WEIGHT = 8192, BEARABLE = 64 };

void aion_reorder_window_init(struct aion_reorder_window *window, uint64_t wait_ms, uint64_t least,
                              bool untimed)
{
    memset(window, 0, sizeof *window);
    window->wait_ms = wait_ms;
    window->untimed = untimed;
    window->least = window->distance = wait_ms ? least : 0;
}

/* ---- spans ---- */

static struct aion_span *span_at(struct aion_reorder_window *window, uint32_t index)
{
    return &window->spans[(window->first_span + index) % AION_SPANS];
}

/* Has the span lasted for one in `parts` of the longest wait? */
static bool is_as_old(const struct aion_reorder_window *window, const struct aion_span *span,
                      unsigned parts, bool timed)
{
    uint64_t ms = (window->wait_ms + parts - 1) / parts;
    return window->arrived - span->first >= MOST_WAITING / parts ||
           (timed && window->now - span->since >= ms);
}

/* Drops the spans that have waited long enough. */
static void drop_old(struct aion_reorder_window *window, bool timed)
{
    uint32_t before = window->span_count;
    while (window->span_count && is_as_old(window, span_at(window, 0), 1, timed)) {
        uint64_t highest = span_at(window, 0)->highest;
        window->reached = highest > window->reached ? highest : window->reached;
        window->first_span = (window->first_span + 1) % AION_SPANS;
        window->span_count--;
    }
    if (window->span_count == before)
        return;
    window->frontier = 0;
    for (uint32_t i = 0; i < window->span_count; i++) {
        uint64_t highest = span_at(window, i)->highest;
        window->frontier = highest > window->frontier ? highest : window->frontier;
    }
}

/* A new span, if the last one has lasted long enough, and has an heir: else it grows. */
static void open_span(struct aion_reorder_window *window)
{
    if (window->span_count &&
        (window->span_count == AION_SPANS ||
         !is_as_old(window, span_at(window, window->span_count - 1), PARTS, !window->untimed)))
        return;
    assert(window->span_count < AION_SPANS);
    *span_at(window, window->span_count++) =
        (struct aion_span){.since = window->now, .first = window->arrived};
}

void aion_reorder_window_begin(struct aion_reorder_window *window, uint64_t now)
{
    window->now = now;
    if (window->wait_ms)
        open_span(window);
}

/* ---- the distance ---- */

/* The class of a lateness, which is not 0; and the most that falls into it. */
static uint32_t class_of(uint64_t late)
{
    unsigned power = 63 - (unsigned)__builtin_clzll(late);
    return power * 4 +
           (power >= 2 ? (uint32_t)(late >> (power - 2)) & 3 : (uint32_t)(late << (2 - power)) & 3);
}

static uint64_t most_of(uint32_t class)
{
    uint64_t quarter = class % 4 + 5, least = (uint64_t)1 << class / 4;
    return least < 4 ? least * quarter / 4 : least / 4 * quarter - 1;
}

void aion_reorder_window_note_late(struct aion_reorder_window *window, uint64_t cts)
{
    assert(window->span_count && cts < window->frontier);
    struct aion_span *last = span_at(window, window->span_count - 1);
    last->highest = cts > last->highest ? cts : last->highest;
    if (window->span_count == 1 || cts >= span_at(window, 0)->highest)
        window->late[class_of(window->frontier - cts)]++;
}

static void estimate_distance(struct aion_reorder_window *window)
{
    uint64_t later = 0;
    uint32_t class = AION_LATENESS;
    window->weight += AION_LEARN_EVERY;
    while (class && (later += window->late[class - 1]) * BEARABLE <= window->weight)
        class --;
    window->distance = class ? most_of(class - 1) : 0;
    window->distance = window->distance > window->least ? window->distance : window->least;
}

void aion_reorder_window_learn(struct aion_reorder_window *window)
{
    estimate_distance(window);
    if (window->weight >= MOST_WEIGHT) {
        window->weight /= 2;
        for (uint32_t i = 0; i < AION_LATENESS; i++)
            window->late[i] /= 2;
    }
    drop_old(window, false);
    open_span(window);
}

uint64_t aion_reorder_window_until(struct aion_reorder_window *window, uint64_t now)
{
    if (!window->wait_ms)
        return UINT64_MAX;
    window->now = now;
    drop_old(window, !window->untimed);
    uint64_t until = window->frontier > window->distance ? window->frontier - window->distance : 0;
    until = until > window->reached ? until : window->reached;
    window->reached = 0;
    return until;
}
