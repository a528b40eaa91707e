/* A witness of what goes to the device, and when: loaded before a program (LD_PRELOAD), it writes
 * down the calls of the program's own code on files, of children too, so that somebody can see what
 * a loss of power at any moment would have left.
 *
 *   WITNESS=FILE    lines are added to it: "write PATH", "sync PATH" and "synced PATH" (when it
 *                   begins and has ended
 * well), "make PATH", "rename PATH NEW-NAME" and "renamed PATH", "unlink NAME", "fork"
 *
 *   WITNESS_HOLD=FILE
 *                   while that is there, no sync begins: a device that hangs
 *
 * What endangers is written down before it is done, what saves, afterwards. Threads: any, a line is
 * one write.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/system/world/own_code.h"

static struct own_code own;
static int file = -1;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("WITNESS");
    file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (file < 0)
        abort();
    own_code_find(&own);
}

static void put(const void *caller, const char *what, const char *path, const char *more)
{
    char line[2 * PATH_MAX];
    if (!own_code_has(&own, caller))
        return;
    int length = snprintf(line, sizeof line, "%s%s%s%s%s\n", what, *path ? " " : "", path,
                          *more ? " " : "", more);
    if (length >= (int)sizeof line || syscall(SYS_write, file, line, length) != length)
        abort();
}

static void put_file(const void *caller, const char *what, int descriptor)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    put(caller, what, path, "");
}

#define CALLER __builtin_return_address(0)
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int openat(int folder, const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int opened = NEXT(openat)(folder, path, flags, flags & O_CREAT ? va_arg(rest, mode_t) : 0);
    va_end(rest);
    if (opened >= 0 && flags & O_CREAT)
        put_file(CALLER, "make", opened);
    return opened;
}

ssize_t write(int descriptor, const void *bytes, size_t size)
{
    put_file(CALLER, "write", descriptor);
    return NEXT(write)(descriptor, bytes, size);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset)
{
    put_file(CALLER, "write", descriptor);
    return NEXT(pwrite)(descriptor, bytes, size, offset);
}

static void hold(const void *caller)
{
    const char *path = getenv("WITNESS_HOLD");
    while (path && own_code_has(&own, caller) && access(path, F_OK) == 0)
        usleep(10000);
}

int fsync(int descriptor)
{
    hold(CALLER);
    put_file(CALLER, "sync", descriptor);
    int result = NEXT(fsync)(descriptor);
    if (!result)
        put_file(CALLER, "synced", descriptor);
    return result;
}

int fdatasync(int descriptor)
{
    put_file(CALLER, "sync", descriptor);
    int result = NEXT(fdatasync)(descriptor);
    if (!result)
        put_file(CALLER, "synced", descriptor);
    return result;
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    put(CALLER, "rename", from, to);
    int result = NEXT(renameat)(from_folder, from, to_folder, to);
    if (!result)
        put(CALLER, "renamed", to, "");
    return result;
}

int unlinkat(int folder, const char *path, int flags)
{
    put(CALLER, "unlink", path, "");
    return NEXT(unlinkat)(folder, path, flags);
}

pid_t fork(void)
{
    put(CALLER, "fork", "", "");
    return NEXT(fork)();
}
