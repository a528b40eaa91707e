/* A shared library that few runs need, loaded by the run that does: loading libcurl, with all that
 * it needs itself, takes longer than a short run.
 *
 * What a module calls of it stands in a struct of pointers, which have the types of the library's
 * own header:
 *
 *     #define FUNCTIONS(X) X(easy_init) X(easy_cleanup)
 *     #define MEMBER(name) __typeof__(curl_##name) *name;
 *     #define NAME(name) {"curl_" #name, offsetof(struct curl, name)},
 *     struct curl { FUNCTIONS(MEMBER) };
 *     static const struct iso_shared_function functions[] = {FUNCTIONS(NAME)};
 *
 * No tool sees in the program that it needs such a library, so that packages name it by hand:
 * deploy/debian. What was loaded stays. Threads: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct iso_shared_function {
    const char *name;
    size_t offset; /* of its pointer in the struct */
};

struct iso_shared_library {
    const char *file;    /* as the linker would note it: "libcurl.so.4" */
    const char *package; /* Debian's, for the message */
    const char *purpose; /* what needs it, for the message: "a schema registry" */
    const struct iso_shared_function *functions;
    uint32_t count;
};

/* Fills in the pointers of the struct `into`. ISO_FAILED: it is not installed, or lacks a
 * function. */
enum iso_status iso_shared_library_load(const struct iso_shared_library *library, void *into,
                                        struct iso_error *error);
