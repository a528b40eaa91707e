#define _GNU_SOURCE
#include "bytes/whole_file.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/memory.h"
#include "bytes/input.h"

enum iso_status iso_whole_file_read(struct iso_whole_file *file, const char *path,
                                    struct iso_error *error)
{
    struct iso_input *input;
    size_t got = 0;
    *file = (struct iso_whole_file){0};
    enum iso_status status = iso_input_open(&input, path, error);
    if (status != ISO_OK)
        return status;
    /* One byte more than there is, so that the end of a plain file is seen without growing. */
    size_t capacity = iso_input_size(path) + 1;
    file->bytes = iso_allocate(capacity + ISO_WHOLE_FILE_PADDING);
    while ((status = iso_input_read(input, file->bytes + file->length, capacity - file->length,
                                    &got, error)) == ISO_OK) {
        file->length += got;
        if (file->length < capacity)
            break;
        capacity = capacity * 2 + 4096;
        file->bytes = iso_reallocate(file->bytes, capacity + ISO_WHOLE_FILE_PADDING);
    }
    iso_input_free(input);
    memset(file->bytes + (status == ISO_OK ? file->length : 0), 0, ISO_WHOLE_FILE_PADDING);
    if (status != ISO_OK)
        iso_whole_file_release(file);
    return status;
}

void iso_whole_file_release(struct iso_whole_file *file)
{
    iso_free(file->bytes);
    *file = (struct iso_whole_file){0};
}

static int compare_names(const void *left, const void *right)
{
    return strverscmp(*(char *const *)left, *(char *const *)right);
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t length = strlen(name), tail = strlen(suffix);
    return length >= tail && strcmp(name + length - tail, suffix) == 0;
}

static void add_path(struct iso_paths *paths, uint32_t *capacity, const char *directory,
                     const char *name)
{
    ISO_GROW(paths->paths, paths->count, *capacity);
    size_t size = strlen(directory) + strlen(name) + 2;
    paths->paths[paths->count] = iso_allocate(size);
    snprintf(paths->paths[paths->count++], size, "%s/%s", directory, name);
}

/* One that cannot be looked at is an error, not left out: a history without one of its sessions is
 * another. */
static void add_paths(struct iso_paths *paths, DIR *stream, const char *directory,
                      const char *suffix, struct iso_error *error)
{
    struct dirent *entry;
    struct stat status;
    uint32_t capacity = 0;
    while (errno = 0, (entry = readdir(stream))) {
        if (!ends_in(entry->d_name, suffix))
            continue;
        if (fstatat(dirfd(stream), entry->d_name, &status, 0)) {
            iso_error_set(error, iso_error_of_open(errno), "%s/%s: cannot be examined: %s",
                          directory, entry->d_name, strerror(errno));
            return;
        }
        if (S_ISREG(status.st_mode))
            add_path(paths, &capacity, directory, entry->d_name);
    }
    if (errno)
        iso_error_set(error, ISO_FAILED, "%s: cannot be listed: %s", directory, strerror(errno));
}

enum iso_status iso_paths_list(struct iso_paths *paths, const char *directory, const char *suffix,
                               struct iso_error *error)
{
    *paths = (struct iso_paths){0};
    DIR *stream = opendir(directory);
    if (!stream)
        return iso_error_set(error, iso_error_of_open(errno), "%s: %s", directory, strerror(errno));
    add_paths(paths, stream, directory, suffix, error);
    closedir(stream);
    if (paths->count)
        qsort(paths->paths, paths->count, sizeof *paths->paths, compare_names);
    if (error->status != ISO_OK)
        iso_paths_release(paths);
    return error->status;
}

void iso_paths_release(struct iso_paths *paths)
{
    for (uint32_t i = 0; i < paths->count; i++)
        iso_free(paths->paths[i]);
    iso_free(paths->paths);
    *paths = (struct iso_paths){0};
}

enum iso_status iso_path_look(const char *path, bool *is_directory, struct iso_error *error)
{
    struct stat status;
    bool found = !stat(path, &status);
    *is_directory = found && S_ISDIR(status.st_mode);
    if (!found && iso_error_of_open(errno) == ISO_FAILED)
        iso_error_set(error, ISO_FAILED, "%s: cannot be examined: %s", path, strerror(errno));
    return error->status;
}

enum iso_status iso_whole_file_fail(const char *path, const struct iso_whole_file *file,
                                    const char *at, struct iso_error *error, const char *format,
                                    ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert(at >= file->bytes && at <= file->bytes + file->length + ISO_WHOLE_FILE_PADDING);
    const char *start = file->bytes;
    unsigned long long line = 1;
    for (const char *byte = start; byte < at; byte++) {
        if (*byte == '\n') {
            line++;
            start = byte + 1;
        }
    }
    return iso_error_set(error, ISO_BAD_INPUT, "%s:%llu: byte %zu: %s", path, line,
                         (size_t)(at - start) + 1, text);
}

enum iso_status iso_whole_file_json_fail(const char *path, const struct iso_whole_file *file,
                                         const struct iso_json *json, struct iso_error *error)
{
    char text[256];
    iso_json_describe(json, text, sizeof text);
    return iso_whole_file_fail(path, file, file->bytes + json->position, error, "%s", text);
}
