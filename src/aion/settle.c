#include "aion/settle.h"

#include <string.h>

enum { PARTS = 16, MOST_WAITING = 8192 };

/* The weight at which old arrivals are halved; one arrival in so many may come too late. */
enum { MOST_WEIGHT = 8192, BEARABLE = 64 };

void aion_settle_init(struct aion_settle *settle, uint64_t wait_ms, uint64_t least, bool untimed)
{
    memset(settle, 0, sizeof *settle);
    settle->wait_ms = wait_ms;
    settle->untimed = untimed;
    settle->least = settle->distance = wait_ms ? least : 0;
}

/* ---- spans ---- */

static struct aion_span *span_at(struct aion_settle *settle, uint32_t index)
{
    return &settle->spans[(settle->first_span + index) % AION_SPANS];
}

/* Has the span lasted for one in `parts` of the longest wait? */
static bool is_as_old(const struct aion_settle *settle, const struct aion_span *span, unsigned parts, bool timed)
{
    uint64_t ms = (settle->wait_ms + parts - 1) / parts;
    return settle->arrived - span->first >= MOST_WAITING / parts || (timed && settle->now - span->since >= ms);
}

/* Drops the spans that have waited long enough. */
static void drop_old(struct aion_settle *settle, bool timed)
{
    uint32_t before = settle->span_count;
    while (settle->span_count && is_as_old(settle, span_at(settle, 0), 1, timed)) {
        uint64_t highest = span_at(settle, 0)->highest;
        settle->reached = highest > settle->reached ? highest : settle->reached;
        settle->first_span = (settle->first_span + 1) % AION_SPANS;
        settle->span_count--;
    }
    if (settle->span_count == before)
        return;
    settle->frontier = 0;
    for (uint32_t i = 0; i < settle->span_count; i++) {
        uint64_t highest = span_at(settle, i)->highest;
        settle->frontier = highest > settle->frontier ? highest : settle->frontier;
    }
}

/* A new span, if the last one has lasted long enough, and has an heir: else it grows. */
static void open_span(struct aion_settle *settle)
{
    if (settle->span_count && (settle->span_count == AION_SPANS ||
                               !is_as_old(settle, span_at(settle, settle->span_count - 1), PARTS, !settle->untimed)))
        return;
    *span_at(settle, settle->span_count++) = (struct aion_span){.since = settle->now, .first = settle->arrived};
}

void aion_settle_begin(struct aion_settle *settle, uint64_t now)
{
    settle->now = now;
    if (settle->wait_ms)
        open_span(settle);
}

/* ---- the distance ---- */

/* The class of a lateness, which is not 0; and the most that falls into it. */
static uint32_t class_of(uint64_t late)
{
    unsigned power = 63 - (unsigned)__builtin_clzll(late);
    return power * 4 + (power >= 2 ? (uint32_t)(late >> (power - 2)) & 3 : (uint32_t)(late << (2 - power)) & 3);
}

static uint64_t most_of(uint32_t class)
{
    uint64_t quarter = class % 4 + 5, least = (uint64_t)1 << class / 4;
    return least < 4 ? least * quarter / 4 : least / 4 * quarter - 1;
}

void aion_settle_note_late(struct aion_settle *settle, uint64_t cts)
{
    struct aion_span *last = span_at(settle, settle->span_count - 1);
    last->highest = cts > last->highest ? cts : last->highest;
    if (settle->span_count == 1 || cts >= span_at(settle, 0)->highest)
        settle->late[class_of(settle->frontier - cts)]++;
}

static void estimate(struct aion_settle *settle)
{
    uint64_t later = 0;
    uint32_t class = AION_LATENESS;
    settle->weight += AION_LEARN_EVERY;
    while (class && (later += settle->late[class - 1]) * BEARABLE <= settle->weight)
        class --;
    settle->distance = class ? most_of(class - 1) : 0;
    settle->distance = settle->distance > settle->least ? settle->distance : settle->least;
}

void aion_settle_learn(struct aion_settle *settle)
{
    estimate(settle);
    if (settle->weight >= MOST_WEIGHT) {
        settle->weight /= 2;
        for (uint32_t i = 0; i < AION_LATENESS; i++)
            settle->late[i] /= 2;
    }
    drop_old(settle, false);
    open_span(settle);
}

uint64_t aion_settle_until(struct aion_settle *settle, uint64_t now)
{
    if (!settle->wait_ms)
        return UINT64_MAX;
    settle->now = now;
    drop_old(settle, !settle->untimed);
    uint64_t until = settle->frontier > settle->distance ? settle->frontier - settle->distance : 0;
    until = until > settle->reached ? until : settle->reached;
    settle->reached = 0;
    return until;
}
