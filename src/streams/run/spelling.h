/* Columns whose values are spelt in several ways, reported with what to do. */
#pragma once

#include "pipeline/pipeline.h"

/* The first time. */
void app_log_spelling(const struct iso_pipeline_spelling *spelling);

/* At the end: how often it was each. */
void app_log_spellings(const struct iso_pipeline *pipeline);
