#define _GNU_SOURCE
#include "io/whole_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

static enum iso_status read_all(struct iso_whole_file *file, int descriptor, const char *path,
                                struct iso_error *error)
{
    size_t capacity = file->length;
    file->length = 0;
    for (;;) {
        ssize_t got = read(descriptor, file->bytes + file->length, capacity - file->length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return iso_error_set(error, errno == EISDIR ? ISO_BAD_INPUT : ISO_FAILED, "%s: %s", path,
                                 strerror(errno));
        file->length += (size_t)got;
        if (got == 0)
            break;
        if (file->length == capacity) { /* it grew, or is a pipe */
            capacity = capacity * 2 + 4096;
            file->bytes = iso_reallocate(file->bytes, capacity + ISO_WHOLE_FILE_PADDING);
        }
    }
    memset(file->bytes + file->length, 0, ISO_WHOLE_FILE_PADDING);
    return ISO_OK;
}

enum iso_status iso_whole_file_read(struct iso_whole_file *file, const char *path, struct iso_error *error)
{
    *file = (struct iso_whole_file){0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return iso_error_set(error, ISO_BAD_INPUT, "%s: %s", path, strerror(errno));
    struct stat status;
    if (fstat(descriptor, &status) == 0 && status.st_size > 0)
        file->length = (size_t)status.st_size;
    file->length += 1; /* one more than there is, so that the end is seen without growing */
    file->bytes = iso_allocate(file->length + ISO_WHOLE_FILE_PADDING);
    enum iso_status result = read_all(file, descriptor, path, error);
    close(descriptor);
    if (result != ISO_OK)
        iso_whole_file_release(file);
    return result;
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

enum iso_status iso_paths_list(struct iso_paths *paths, const char *directory, const char *suffix,
                               struct iso_error *error)
{
    *paths = (struct iso_paths){0};
    DIR *stream = opendir(directory);
    if (!stream)
        return iso_error_set(error, ISO_BAD_INPUT, "%s: %s", directory, strerror(errno));
    uint32_t capacity = 0;
    for (struct dirent *entry; (entry = readdir(stream));) {
        struct stat status;
        if (!ends_in(entry->d_name, suffix) || fstatat(dirfd(stream), entry->d_name, &status, 0) ||
            !S_ISREG(status.st_mode))
            continue;
        if (paths->count == capacity) {
            capacity = (uint32_t)iso_column_capacity(capacity, capacity + 1);
            paths->paths = iso_reallocate(paths->paths, capacity * sizeof *paths->paths);
        }
        size_t length = strlen(directory) + 1 + strlen(entry->d_name);
        paths->paths[paths->count] = iso_allocate(length + 1);
        snprintf(paths->paths[paths->count++], length + 1, "%s/%s", directory, entry->d_name);
    }
    closedir(stream);
    if (paths->count)
        qsort(paths->paths, paths->count, sizeof *paths->paths, compare_names);
    return ISO_OK;
}

void iso_paths_release(struct iso_paths *paths)
{
    for (uint32_t i = 0; i < paths->count; i++)
        iso_free(paths->paths[i]);
    iso_free(paths->paths);
    *paths = (struct iso_paths){0};
}

bool iso_path_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}
