/* Columns whose values are spelt in several ways, reported with what to do. */
#pragma once

#include "pipeline/pipeline.h"

/* The first time. */
void run_log_spelling(const struct iso_pipeline_spelling *spelling);

/* At the end: how often it was each. */
void run_log_spellings(const struct iso_pipeline *pipeline);
