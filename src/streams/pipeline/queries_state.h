/* Queries of tables, which an engine of their own judges (queries.c). */
#pragma once

#include <pthread.h>

#include "base/number_map.h"
#include "verdict/verdict.h"
#include "pipeline/report_state.h"

/* Conditions that no index serves, by shape: from the shards' threads. */
struct scans {
    pthread_mutex_t adding;
    struct iso_atoms shapes;
    struct iso_number_map by_shape;
    struct iso_pipeline_scan *list;
    uint32_t count, capacity;
};

struct queries {
    struct iso_rowsets_shards *engine; /* NULL: nothing has needed one */
    bool is_whole;  /* it has been told that all that was there at first has been said; not saved */
    bool of_ranges; /* row sets of plain keys may come: all keys are kept for them */
    struct reported_ids reported;
    uint64_t *again; /* ids, once for each further query that shows the instance: those found by a
                        deadline */
    uint32_t again_count, again_capacity;
    uint64_t found[ISO_AXIOMS];
    struct iso_atoms texts; /* of a finding, one event long */
    struct scans *scans;    /* NULL: nobody asks for them; not saved */
};

void queries_release(struct queries *queries);
void queries_note_scan(struct queries *queries, struct iso_json_text table,
                       struct iso_json_text where, uint64_t rows);
void scans_free(struct scans *scans);
