/* `--history FILE` of `watch` and `replay`: client records from a file, one input beside the topics. */
#pragma once

#include "pipeline/pipeline.h"

struct app_records {
    const char *path;            /* NULL: none */
    struct iso_history *history; /* read, and not given to the pipeline yet; or NULL */
};

void app_records_release(struct app_records *records);

/* Reads the file's transactions, and numbers it among the pipeline's inputs; then gives them to the pipeline. Nothing
 * without a file. */
enum iso_status app_records_read(struct app_records *records, struct iso_pipeline *pipeline, struct iso_error *error);
enum iso_status app_records_give(struct app_records *records, struct iso_pipeline *pipeline, struct iso_error *error);
