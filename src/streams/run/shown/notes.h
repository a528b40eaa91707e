/* What the person on call is to know besides what waits: in words, what happened and what to do
 * about it.
 *
 * Some things happen and are over (a table was dropped, messages could not be read): they are
 * reported for an hour, with how often they came and when last. Others last (clients are silent,
 * messages pile up, memory is short): they are reported while they do. Looked at a few times a
 * second; time is passed in. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "pipeline/pipeline.h"

enum run_happening {
    RUN_BAD_RECORDS = ISO_TABLE_NEWS, /* those before: what befell tables */
    RUN_LATE_TRANSACTIONS,
    RUN_MISSING_OFFSETS,
    RUN_SNAPSHOTS_AGAIN,
    RUN_HAPPENINGS
};

/* Facts to be looked at. Times are milliseconds since 1970. */
struct run_notes_facts {
    uint64_t count[RUN_HAPPENINGS];     /* so far */
    const char *latest[ISO_TABLE_NEWS]; /* tables */
    uint64_t messages, behind;          /* taken so far; wait in Kafka */
    uint64_t memory, in_use, limit,
        needed;          /* bytes; limit 0: none; needed 0: no more than the limit */
    const char *awaited; /* a topic that does not exist yet; NULL: all do */
    double clients_time,
        changes_time; /* of the last message, in seconds since 1970; below 0: there are none */
};

struct run_notes {
    struct {
        uint64_t count, time;
    } happened[RUN_HAPPENINGS];
    uint64_t looked, messages,
        behind;           /* at the beginning of the stretch over which speed is measured */
    uint64_t rate;        /* messages a second, in the stretch before */
    bool grows;           /* what waited in Kafka, in that */
    struct iso_text text; /* a line each, the last too ends in one; a zero byte behind them */
};

/* Starts from `before`: events of an earlier process are not reported again. */
void run_notes_init(struct run_notes *notes, const struct run_notes_facts *before, uint64_t now);
void run_notes_release(struct run_notes *notes);

/* Fills in `text`. */
void run_notes_look(struct run_notes *notes, const struct run_notes_facts *facts, uint64_t now);
