#define _GNU_SOURCE
#include "tests/support/restored.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pipeline/archive.h"

struct iso_pipeline *test_restored(struct iso_pipeline *pipeline,
                                   struct iso_pipeline *(*open)(void *context), void *context,
                                   struct iso_error *error)
{
    struct iso_archive archive;
    int state = memfd_create("state", MFD_CLOEXEC);
    iso_archive_save(&archive, state, "state", error);
    iso_pipeline_archive(&archive, pipeline);
    iso_archive_close(&archive);
    iso_pipeline_free(pipeline);
    pipeline = open(context);
    if (lseek(state, 0, SEEK_SET) < 0)
        abort();
    iso_archive_restore(&archive, state, "state", error);
    iso_pipeline_archive(&archive, pipeline);
    iso_archive_close(&archive);
    close(state);
    return pipeline;
}
