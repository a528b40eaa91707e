/* Whose a state is: the program's version, and every option that decides what verdicts are and
 * where they go, as text.
 */
#pragma once

#include "run/options.h"
#include "base/archive.h"

/* `record`: the file of --record, or NULL. */
void run_configuration_put(struct iso_text *text, const struct run_stream_options *options,
                           const char *record);

/* Restoring: ISO_FAILED if another version wrote it, ISO_BAD_INPUT if its configuration is another,
 * and says which. */
void run_configuration_archive(struct iso_archive *archive, const struct iso_text *configuration);

/* Checks the item that a state begins with: its name, and whether its content is of this
 * version; else ISO_FAILED. */
#define RUN_CONFIGURATION_VERSION "isochron state"
void run_configuration_check_version(const void *bytes, size_t size, const char *name,
                                     struct iso_error *error);
