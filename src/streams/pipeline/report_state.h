/* What is, or was, reported (line.c, findings.c, unlisted.c). */
#pragma once

#include "base/text.h"
#include "pipeline/findings.h"
#include "pipeline/id_set.h"

/* Violations that the engine does not count as what they are: reported as final, and not
 * retracted. */
struct reported_ids {
    struct id_set ids;
    uint64_t from_engine; /* of them, those that the engine counts as EXT */
};

/* Counts of unlisted violations, by axiom and name. */
struct unlisted {
    struct iso_atoms atoms; /* of names */
    struct unlisted_count {
        enum iso_axiom axiom;
        iso_atom name; /* of the key, or the session */
        uint64_t violations;
    } * list;
    uint32_t count, capacity;
    struct iso_number_map by_name; /* axiom and name: its location in `list` */
};

struct reports {
    struct reported_ids cdc, snapshots; /* CDC; TIMESTAMP of snapshots */
    struct findings findings;
    struct unlisted unlisted;
    struct iso_atoms probe_names; /* of probes' transactions, one event long */
    struct iso_text line;
    struct iso_error failure;    /* of a sink, met inside the engine's callback */
    bool closed_early, given_up; /* that was reported */
};

/* Missing transactions in words (missing_rows.c). */
struct lost {
    struct iso_text lines; /* of the first ones, each with its end */
    uint64_t count;        /* of all */
    uint64_t first;        /* origin of the first read that waits for it (`stats.beyond`) */
    struct id_set beyond;  /* at the end: transactions that may rest on what did not come
                              (pipeline_beyond_id) */
    struct id_set last; /* ... and those of whose tables nothing proves that they were not emptied
                              before they were over (altered.c) */
};

void reports_init(struct reports *reports, uint32_t max_violations);
void reports_release(struct reports *reports);
