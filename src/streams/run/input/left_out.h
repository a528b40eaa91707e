/* Tables without a source: how often clients operated on them, reported at the end of a run and
 * shown while it runs. */
#pragma once

#include "pipeline/pipeline.h"

enum { RUN_TABLES_NAMED = 10 };

/* `*count` tables, those with the most operations first; the caller frees the list. */
struct iso_join_left_out *run_left_out(const struct iso_pipeline *pipeline, uint32_t *count);

void run_log_left_out(const struct iso_pipeline *pipeline);
