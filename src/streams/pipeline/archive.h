/* A pipeline's state as an archive (base/archive.h): one walk saves and restores.
 *
 * Inputs and their watermarks, counts, what the summary lists, what decoders have learned, the
 * join, and the engine.
 */
#pragma once

#include "base/archive.h"
#include "pipeline/pipeline.h"

/* Between calls to the pipeline. Restoring: into a new one of the same options, with the same
 * routes in the same order, whose table of inputs is empty. */
void iso_pipeline_archive(struct iso_archive *archive, struct iso_pipeline *pipeline);

/* As iso_aion_fork and iso_aion_commit. */
void iso_pipeline_fork(struct iso_pipeline *pipeline);
void iso_pipeline_commit(struct iso_pipeline *pipeline);
