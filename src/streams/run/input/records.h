/* `--history FILE` of `watch` and `replay`: client records from a file, one input beside the
 * topics. */
#pragma once

#include "pipeline/pipeline.h"

struct run_records {
    const char *path;            /* NULL: none */
    struct iso_history *history; /* read, and not given to the pipeline yet; or NULL */
};

void run_records_release(struct run_records *records);

/* Reads the file's transactions, and numbers it among the pipeline's inputs; then gives them to the
 * pipeline. Nothing without a file. */
enum iso_status run_records_read(struct run_records *records, struct iso_pipeline *pipeline,
                                 struct iso_error *error);
enum iso_status run_records_give(struct run_records *records, struct iso_pipeline *pipeline,
                                 struct iso_error *error);
