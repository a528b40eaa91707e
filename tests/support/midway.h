/* A pipeline in the middle of a stream, small: Dgraph's rows joined with records of clients, some
 * of which wait for the other; verdicts that were told, and such that are open. For tests of what
 * is saved of it.
 */
#ifndef TESTS_SUPPORT_MIDWAY_H
#define TESTS_SUPPORT_MIDWAY_H

#include "pipeline/pipeline.h"

/* Empty; the caller frees it. */
struct iso_pipeline *midway_new(void);
void midway_fill(struct iso_pipeline *pipeline);

#endif
