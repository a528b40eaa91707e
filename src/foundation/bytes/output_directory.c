#define _GNU_SOURCE
#include "bytes/output_directory.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

static char *join(const char *left, const char *middle, const char *right)
{
    size_t size = strlen(left) + strlen(middle) + strlen(right) + 1;
    char *joined = iso_allocate(size);
    snprintf(joined, size, "%s%s%s", left, middle, right);
    return joined;
}

static void release(struct iso_output_directory *directory)
{
    ISO_FREE_ALL(directory->path, directory->temporary, directory->file);
    *directory = (struct iso_output_directory){0};
}

enum iso_status iso_output_directory_open(struct iso_output_directory *directory, const char *path,
                                          struct iso_error *error)
{
    char suffix[48];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    *directory = (struct iso_output_directory){.path = iso_copy_text(path, length)};
    snprintf(suffix, sizeof suffix, ".partial-%ld", (long)getpid());
    directory->temporary = join(directory->path, suffix, "");
    if (mkdir(directory->temporary, 0777) == 0)
        return ISO_OK;
    iso_error_set(error, ISO_FAILED, "%s: %s", directory->temporary, strerror(errno));
    release(directory);
    return ISO_FAILED;
}

const char *iso_output_directory_file(struct iso_output_directory *directory, const char *name)
{
    iso_free(directory->file);
    directory->file = join(directory->temporary, "/", name);
    return directory->file;
}

enum iso_status iso_output_directory_close(struct iso_output_directory *directory,
                                           struct iso_error *error)
{
    if (rename(directory->temporary, directory->path) != 0) {
        int reason = errno;
        const char *what = reason == ENOTEMPTY || reason == EEXIST
                               ? "it is there already, and not empty"
                           : reason == ENOTDIR ? "a file has this name"
                                               : strerror(reason);
        iso_error_set(error, ISO_FAILED, "%s: %s", directory->path, what);
        iso_output_directory_discard(directory);
        return ISO_FAILED;
    }
    release(directory);
    return ISO_OK;
}

void iso_output_directory_discard(struct iso_output_directory *directory)
{
    struct dirent *entry;
    DIR *stream = directory->temporary ? opendir(directory->temporary) : NULL;
    while (stream && (entry = readdir(stream))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlink(iso_output_directory_file(directory, entry->d_name));
    }
    if (stream)
        closedir(stream);
    if (directory->temporary)
        rmdir(directory->temporary);
    release(directory);
}
