#include "base/shared_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

enum iso_status iso_shared_library_load(const struct iso_shared_library *library, void *into,
                                        struct iso_error *error)
{
    void *loaded = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    bool whole = loaded != NULL;
    for (uint32_t i = 0; i < library->count && whole; i++) {
        void *function = dlsym(loaded, library->functions[i].name);
        memcpy((char *)into + library->functions[i].offset, &function, sizeof function);
        whole = function != NULL;
    }
    if (whole)
        return ISO_OK;
    return iso_error_set(error, ISO_FAILED, "%s needs a library of Debian's package %s: %s",
                         library->purpose, library->package, dlerror());
}
