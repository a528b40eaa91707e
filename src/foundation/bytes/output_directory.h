/* A directory of files that appears whole under its name, or not at all: written beside it, then
 * renamed.
 *
 * The name must be free, or that of an empty directory. Ownership: the caller opens and closes the
 * files, by the paths that iso_output_directory_file gives. Threads: one at a time.
 */
#pragma once

#include "base/error.h"

struct iso_output_directory {
    char *path, *temporary; /* NULL: closed */
    char *file;             /* the path given last */
};

/* ISO_FAILED if it cannot be made. */
enum iso_status iso_output_directory_open(struct iso_output_directory *directory, const char *path,
                                          struct iso_error *error);

/* Where the file of that name is to be written; holds until the next call. */
const char *iso_output_directory_file(struct iso_output_directory *directory, const char *name);

/* Gives the directory its name. ISO_FAILED, and no directory, if that is taken. Released either
 * way. */
enum iso_status iso_output_directory_close(struct iso_output_directory *directory,
                                           struct iso_error *error);

/* Removes it with its files. A closed or zeroed one is left as it is. */
void iso_output_directory_discard(struct iso_output_directory *directory);
