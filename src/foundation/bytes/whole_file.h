/* A file's bytes at once (unpacked, if it is packed; "-" is stdin), and a directory's files by
 * suffix: for readers of small, finished histories.
 *
 * The bytes are followed by ISO_WHOLE_FILE_PADDING zero bytes, so that a scanner may look ahead.
 * Errors name the path: ISO_BAD_INPUT for what a user can mend, ISO_FAILED for a device that fails.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { ISO_WHOLE_FILE_PADDING = 64 };

struct iso_whole_file {
    char *bytes;
    size_t length;
};

enum iso_status iso_whole_file_read(struct iso_whole_file *file, const char *path,
                                    struct iso_error *error);
void iso_whole_file_release(struct iso_whole_file *file);

/* ISO_BAD_INPUT: "FILE:LINE: byte N: what is wrong"; `at` lies in the file. */
struct iso_json;
enum iso_status iso_whole_file_fail(const char *path, const struct iso_whole_file *file,
                                    const char *at, struct iso_error *error, const char *format,
                                    ...) __attribute__((format(printf, 5, 6)));
enum iso_status iso_whole_file_json_fail(const char *path, const struct iso_whole_file *file,
                                         const struct iso_json *json, struct iso_error *error);

/* Paths of the regular files of a directory whose names end in `suffix`, in the order of names
 * ("T2" before "T10"). */
struct iso_paths {
    char **paths;
    uint32_t count;
};

enum iso_status iso_paths_list(struct iso_paths *paths, const char *directory, const char *suffix,
                               struct iso_error *error);
void iso_paths_release(struct iso_paths *paths);

/* Whether there is a directory. That nothing is there is no error: whoever opens it says so. */
enum iso_status iso_path_look(const char *path, bool *is_directory, struct iso_error *error);
