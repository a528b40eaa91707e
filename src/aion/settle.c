#include "aion/settle.h"

#include <string.h>

enum { PARTS = 16, MOST_WAITING = 8192 };

/* Arrivals between two estimates; the weight at which the old ones are halved; one in so many may come too late. */
enum { ESTIMATE_EVERY = 256, MOST_WEIGHT = 8192, BEARABLE = 64 };

void aion_settle_init(struct aion_settle *settle, uint64_t wait_ms, uint64_t least)
{
    memset(settle, 0, sizeof *settle);
    settle->wait_ms = wait_ms;
    settle->least = settle->distance = wait_ms ? least : 0;
}

/* ---- spans ---- */

static struct aion_span *span_at(struct aion_settle *settle, uint32_t index)
{
    return &settle->spans[(settle->first_span + index) % AION_SPANS];
}

static uint64_t drop_span(struct aion_settle *settle)
{
    uint64_t highest = span_at(settle, 0)->highest;
    settle->first_span = (settle->first_span + 1) % AION_SPANS;
    settle->span_count--;
    return highest;
}

/* Drops the spans that have waited long enough; says up to where that is. */
static uint64_t drop_old(struct aion_settle *settle, uint64_t now)
{
    uint64_t reached = 0;
    bool dropped = false;
    while (settle->span_count) {
        const struct aion_span *span = span_at(settle, 0);
        if (now - span->since < settle->wait_ms && settle->arrived - span->first < MOST_WAITING)
            break;
        uint64_t highest = drop_span(settle);
        reached = highest > reached ? highest : reached;
        dropped = true;
    }
    if (!dropped)
        return 0;
    settle->frontier = 0;
    for (uint32_t i = 0; i < settle->span_count; i++) {
        uint64_t highest = span_at(settle, i)->highest;
        settle->frontier = highest > settle->frontier ? highest : settle->frontier;
    }
    return reached;
}

void aion_settle_begin(struct aion_settle *settle, uint64_t now)
{
    if (!settle->wait_ms)
        return;
    if (settle->span_count) {
        const struct aion_span *span = span_at(settle, settle->span_count - 1);
        if (settle->span_count == AION_SPANS)
            return; /* nothing was judged since: the last span grows */
        if (now - span->since < (settle->wait_ms + PARTS - 1) / PARTS &&
            settle->arrived - span->first < MOST_WAITING / PARTS)
            return;
    }
    *span_at(settle, settle->span_count++) = (struct aion_span){.since = now, .first = settle->arrived};
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
    unsigned power = class / 4;
    uint64_t quarter = class % 4 + 5, least = (uint64_t)1 << power;
    if (power < 2)
        return least * quarter / 4;
    return least / 4 * quarter - 1;
}

void aion_settle_note_late(struct aion_settle *settle, uint64_t cts)
{
    struct aion_span *last = span_at(settle, settle->span_count - 1);
    last->highest = cts > last->highest ? cts : last->highest;
    if (settle->span_count == 1 || cts >= span_at(settle, 0)->highest)
        settle->late[class_of(settle->frontier - cts)]++;
}

static void halve(struct aion_settle *settle)
{
    settle->weight /= 2;
    for (uint32_t i = 0; i < AION_LATENESS; i++)
        settle->late[i] /= 2;
}

static void estimate(struct aion_settle *settle)
{
    uint64_t later = 0;
    uint32_t class = AION_LATENESS;
    settle->weight += settle->arrived - settle->estimated_at;
    settle->estimated_at = settle->arrived;
    while (class && (later += settle->late[class - 1]) * BEARABLE <= settle->weight)
        class --;
    settle->distance = class ? most_of(class - 1) : 0;
    settle->distance = settle->distance > settle->least ? settle->distance : settle->least;
    if (settle->weight >= MOST_WEIGHT)
        halve(settle);
}

uint64_t aion_settle_until(struct aion_settle *settle, uint64_t now)
{
    if (!settle->wait_ms)
        return UINT64_MAX;
    uint64_t reached = drop_old(settle, now);
    if (settle->arrived - settle->estimated_at >= ESTIMATE_EVERY)
        estimate(settle);
    uint64_t until = settle->frontier > settle->distance ? settle->frontier - settle->distance : 0;
    return until > reached ? until : reached;
}
