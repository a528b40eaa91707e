/* Columns whose values are spelt in several ways, reported with what to do. */
#ifndef ISO_RUN_SPELLING_H
#define ISO_RUN_SPELLING_H

#include "pipeline/pipeline.h"

/* The first time. */
void app_log_spelling(const struct iso_pipeline_spelling *spelling);

/* At the end: how often it was each. */
void app_log_spellings(const struct iso_pipeline *pipeline);

#endif
