/* Queries of tables, which an engine of their own judges (queries.c). */
#pragma once

#include "verdict/verdict.h"
#include "pipeline/report_state.h"

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
};

void queries_release(struct queries *queries);
