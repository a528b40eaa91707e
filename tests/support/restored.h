/* A pipeline that went through an archive, as a restart does. */
#ifndef TESTS_SUPPORT_RESTORED_H
#define TESTS_SUPPORT_RESTORED_H

#include "pipeline/pipeline.h"

/* Gives one that `open` made, with the state of the other one, which is gone. */
struct iso_pipeline *test_restored(struct iso_pipeline *pipeline,
                                   struct iso_pipeline *(*open)(void *context), void *context,
                                   struct iso_error *error);

#endif
