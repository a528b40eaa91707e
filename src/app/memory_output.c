#define _GNU_SOURCE
#include "app/memory_output.h"

#include <sys/mman.h>
#include <unistd.h>

enum iso_status app_memory_output_open(struct app_memory_output *memory, struct iso_error *error)
{
    memory->descriptor = memfd_create("report", MFD_CLOEXEC);
    if (memory->descriptor < 0)
        return iso_error_set(error, ISO_FAILED, "a file in memory could not be created");
    iso_output_to(&memory->output, memory->descriptor, "memory");
    return ISO_OK;
}

enum iso_status app_memory_output_take(struct app_memory_output *memory, struct iso_text *text, struct iso_error *error)
{
    enum iso_status status = iso_output_close(&memory->output, error);
    off_t size = lseek(memory->descriptor, 0, SEEK_END);
    if (status == ISO_OK && size > 0) {
        char *at = iso_text_reserve(text, (size_t)size);
        if (pread(memory->descriptor, at, (size_t)size, 0) == size)
            text->used += (size_t)size;
    }
    close(memory->descriptor);
    return status;
}
