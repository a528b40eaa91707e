/* What the status server answers: path in, bytes out. No socket, no thread, no clock: time is
 * passed in.
 *
 *   /             the live page
 *   /metrics      Prometheus's text
 *   /status       JSON: the same figures, how it stands, how ready, what waits; "violations" are
 *                 those that stand,
 *                 "tentative" those that may, "lines" the number of the newest verdict line
 *   /violations   JSON: the latest verdict lines; ?since=N only those behind number N; each with an
 *                 "explanation", if the owner explains lines; and the same two figures
 *   /livez        200 while the checker makes progress: its thread came by within LIVE_SECONDS
 *   /readyz       200 once it reads, and while nothing stands in its way; else 503 and why
 *
 * The checker's thread publishes a snapshot and adds verdict lines; another renders answers from
 * them. Both hold the caller's lock. At most ISO_WEB_LINES lines are kept and ISO_WEB_LINE_BYTES
 * together, numbered from 1. First to go are those of verdicts that were retracted, or that a later
 * line tells anew; then tentative ones; then the oldest.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "metrics/metrics.h"
#include "web/http.h"

enum { ISO_WEB_LINES = 1000, ISO_WEB_LINE_BYTES = 1 << 20, ISO_WEB_LIVE_SECONDS = 30 };

/* Which lines go first where there is no room for all. */
enum iso_web_rank { ISO_WEB_PAST, ISO_WEB_OPEN, ISO_WEB_STANDS };

struct iso_web_line {
    char *text;
    uint32_t length;
    enum iso_web_rank rank;
    uint64_t number, id; /* of the verdict; 0: none */
};

/* Adds to `text` a line's explanation as a JSON value, or nothing. Called on the server's
 * thread. */
typedef void iso_web_explainer(const char *line, size_t length, struct iso_text *text);

struct iso_web_state {
    iso_web_explainer *explain; /* NULL: lines are shown as they are */
    struct iso_metrics metrics;
    uint64_t published;   /* milliseconds; 0: never */
    char trouble[512];    /* what stands in the way; empty: nothing */
    char waiting[512];    /* what waits, in words; empty: nothing */
    char waits[4096];     /* the same class by class, a JSON list */
    char notes[8192];     /* what else is to be known, a line each; empty: nothing */
    bool ready;           /* it reads */
    uint64_t lines_added; /* the number of the newest line */
    uint32_t line_count;  /* in order */
    size_t line_bytes;
    struct iso_web_line lines[ISO_WEB_LINES];
};

void iso_web_state_release(struct iso_web_state *state); /* a zeroed one is empty */
void iso_web_state_add(struct iso_web_state *state, const char *line, size_t length);

void iso_web_answer(const struct iso_web_state *state, const struct iso_web_rules *rules,
                    uint64_t now, const struct iso_web_request *request,
                    struct iso_web_answer *answer);
