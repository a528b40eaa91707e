#define _GNU_SOURCE
#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { GROUPS_MOST = 1024 };

/* ---- folders ---- */

static bool is_in_group(gid_t group)
{
    gid_t groups[GROUPS_MOST];
    int count = getgroups(GROUPS_MOST, groups);
    for (int i = 0; i < count; i++)
        if (groups[i] == group)
            return true;
    return group == getegid();
}

bool iso_own_folder_is(const char *path, const struct stat *status, bool alone,
                       struct iso_error *error)
{
    bool sticky = (status->st_mode & S_ISVTX) && !alone;
    if (status->st_uid != geteuid() && status->st_uid != 0)
        iso_error_set(
            error, ISO_BAD_INPUT,
            "%s: belongs to user %u, who could replace what is written there: expected a folder of this user's",
            path, (unsigned)status->st_uid);
    else if ((status->st_mode & S_IWOTH) && !sticky)
        iso_error_set(
            error, ISO_BAD_INPUT,
            "%s: every user may write there, and replace what is this user's: expected a folder that is safe "
            "(chmod o-w)",
            path);
    else if ((status->st_mode & S_IWGRP) && !sticky && !is_in_group(status->st_gid))
        iso_error_set(
            error, ISO_BAD_INPUT,
            "%s: group %u may write there, which this process is not in: expected a folder that is safe "
            "(chmod g-w)",
            path, (unsigned)status->st_gid);
    return error->status == ISO_OK;
}

bool iso_own_folder(const char *path, struct iso_error *error)
{
    struct stat status;
    return stat(path, &status) || iso_own_folder_is(path, &status, false, error);
}

char *iso_own_folder_of(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    while (length && path[length - 1] != '/')
        length--;
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length ? iso_copy_text(path, length) : iso_copy_text(".", 1);
}

/* ---- files ---- */

bool iso_own_is_device_name(const char *path)
{
    static const char *const open_to_all[] = {"/dev/shm/", "/dev/mqueue/"};
    for (size_t i = 0; i < sizeof open_to_all / sizeof *open_to_all; i++)
        if (!strncmp(path, open_to_all[i], strlen(open_to_all[i])))
            return false;
    return !strncmp(path, "/dev/", 5) && !strstr(path, "/../");
}

static enum iso_status check_file(const char *path, const struct stat *status,
                                  struct iso_error *error)
{
    bool regular = S_ISREG(status->st_mode), mine = status->st_uid == geteuid();
    if (S_ISLNK(status->st_mode))
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "%s: a symbolic link, which may lead anywhere: expected the file itself", path);
    if (!mine && (regular || status->st_uid != 0))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "%s: belongs to user %u: expected a file of this user's, or none",
                             path, (unsigned)status->st_uid);
    if (regular && status->st_nlink > 1)
        return iso_error_set(
            error, ISO_BAD_INPUT,
            "%s: has another name, under which it may be something else: expected a file with one",
            path);
    if (regular && (status->st_mode & S_IWOTH))
        return iso_error_set(error, ISO_BAD_INPUT,
                             "%s: every user may write to it: expected chmod o-w", path);
    return ISO_OK;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The file is examined before it is opened, since opening a pipe waits, and again afterwards. */
static int open_existing(int folder, const char *name, const char *path, int flags,
                         struct iso_error *error)
{
    struct stat before, after;
    if (fstatat(folder, name, &before, AT_SYMLINK_NOFOLLOW) ||
        check_file(path, &before, error) != ISO_OK)
        return -1;
    int file = openat(folder, name, (flags & ~(O_CREAT | O_EXCL)) | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return -1;
    bool looked = !fstat(file, &after);
    int reason = errno;
    if (looked && is_same(&before, &after))
        return file;
    if (looked)
        iso_error_set(error, ISO_BAD_INPUT, "%s: was replaced while it was opened", path);
    close(file);
    errno = reason;
    return -1;
}

static int open_in(int folder, const char *name, const char *path, int flags,
                   struct iso_error *error)
{
    int file = -1;
    errno = ENOENT;
    if (flags & O_CREAT)
        file = openat(folder, name, flags | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0 && (errno == EEXIST || !(flags & O_CREAT)))
        file = open_existing(folder, name, path, flags, error);
    return file;
}

const char *iso_own_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The part of the path before its name; false: it is too long for any. */
static bool put_folder(const char *path, char folder[PATH_MAX])
{
    size_t length = (size_t)(iso_own_name_of(path) - path);
    if (length >= PATH_MAX)
        return false;
    memcpy(folder, length ? path : ".", length ? length : 1);
    folder[length ? length : 1] = 0;
    for (length = strlen(folder); length > 1 && folder[length - 1] == '/';)
        folder[--length] = 0;
    return true;
}

int iso_own_folder_for(const char *path, struct iso_error *error)
{
    char at[PATH_MAX];
    struct stat status;
    errno = ENAMETOOLONG;
    int folder = put_folder(path, at) ? open(at, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder >= 0 && !fstat(folder, &status) && iso_own_folder_is(at, &status, false, error))
        return folder;
    int reason = errno;
    if (folder >= 0)
        close(folder);
    errno = reason;
    return -1;
}

bool iso_own_may_replace(int folder, const char *path, mode_t *mode, struct iso_error *error)
{
    struct stat status;
    *mode = 0600;
    if (fstatat(folder, iso_own_name_of(path), &status, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT;
    *mode = status.st_mode & 0777;
    return check_file(path, &status, error) == ISO_OK;
}

int iso_own_open(const char *path, int flags, struct iso_error *error)
{
    int file = -1;
    if (iso_own_is_device_name(path)) {
        file = open(path, flags | O_CLOEXEC, 0600);
    } else {
        int folder = iso_own_folder_for(path, error);
        file = folder < 0 ? -1 : open_in(folder, iso_own_name_of(path), path, flags, error);
        int reason = errno;
        if (folder >= 0)
            close(folder);
        errno = reason;
    }
    if (file < 0)
        iso_error_set(error, ISO_FAILED, "%s: %s", path, strerror(errno));
    return file;
}

bool iso_own_hide(int file)
{
    struct stat status;
    if (fstat(file, &status))
        return false;
    return !S_ISREG(status.st_mode) || !(status.st_mode & 077) || !fchmod(file, 0600);
}

int iso_own_open_in(int folder, const char *name, int flags)
{
    struct stat status;
    int file = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (file < 0 || (!fstat(file, &status) && S_ISREG(status.st_mode)))
        return file;
    close(file);
    errno = EINVAL;
    return -1;
}

int iso_own_unnamed(const char *folder, const char *name, struct iso_error *error)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s-XXXXXX", folder, name);
    errno = ENAMETOOLONG;
    if (length >= (int)sizeof path || !iso_own_folder(folder, error))
        return -1;
    int file = mkostemp(path, O_CLOEXEC);
    if (file < 0 || !unlink(path))
        return file;
    int reason = errno;
    close(file);
    errno = reason;
    return -1;
}
