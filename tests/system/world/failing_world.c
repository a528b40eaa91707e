/* A world that fails on demand: loaded before a program (LD_PRELOAD), it makes the n-th call of one
 * kind go wrong.
 *
 *   FAILING_CALL=KIND                  which calls may go wrong: the name of a row of `kinds`;
 *                                      unset: none, only counted
 *   FAILING_AT=N                       the one that goes wrong, from 1
 *   FAILING_HOW=fail|short|interrupt   an error; half of the bytes; EINTR
 *   FAILING_COUNT=FILE                 how many there were of each kind is written there when the
 *                                      process ends: lines
 *                                      "KIND N"
 *
 * Only what the program's own code calls is counted, not what libraries do for themselves: the
 * caller's address says which. Sockets are the exception: there it is the Kafka client that calls.
 * Threads: any, the count is atomic.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/system/world/own_code.h"

enum kind {
    OPEN,
    READ,
    WRITE,
    FSYNC,
    RENAME,
    UNLINK,
    FOLDER,
    CUT,
    LOOK,
    LIST,
    CLOSE,
    MEMORY,
    MAP,
    THREAD,
    PROCESS,
    SEND,
    RECEIVE,
    KINDS
};
enum how { FAIL, SHORT, INTERRUPT };

/* What a failed call of each kind says. */
static const struct {
    const char *name;
    int error;
} kinds[KINDS] = {
    [OPEN] = {"open", EMFILE},
    [READ] = {"read", EIO},
    [WRITE] = {"write", ENOSPC},
    [FSYNC] = {"fsync", EIO},
    [RENAME] = {"rename", EIO},
    [UNLINK] = {"unlink", EIO},
    [FOLDER] = {"folder", ENOSPC},
    [CUT] = {"cut", EIO},
    [LOOK] = {"look", EIO},
    [LIST] = {"list", EIO},
    [CLOSE] = {"close", EIO},
    [MEMORY] = {"memory", ENOMEM},
    [MAP] = {"map", ENOMEM},
    [THREAD] = {"thread", EAGAIN},
    [PROCESS] = {"process", EAGAIN},
    [SEND] = {"send", EPIPE},
    [RECEIVE] = {"receive", ECONNRESET},
};

static struct {
    enum kind kind;
    enum how how;
    uint64_t at;
    const char *count_file;
    struct own_code own;
    atomic_uint_fast64_t *calls; /* of each kind; of children too */
} world = {.kind = KINDS};

__attribute__((constructor)) static void begin(void)
{
    const char *kind = getenv("FAILING_CALL"), *how = getenv("FAILING_HOW"),
               *at = getenv("FAILING_AT");
    own_code_find(&world.own);
    world.calls = mmap(NULL, KINDS * sizeof *world.calls, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (world.calls == MAP_FAILED)
        abort();
    world.count_file = getenv("FAILING_COUNT");
    world.at = at ? strtoull(at, NULL, 10) : 0;
    world.how = how && !strcmp(how, "short")       ? SHORT
                : how && !strcmp(how, "interrupt") ? INTERRUPT
                                                   : FAIL;
    for (int i = 0; i < KINDS && kind; i++)
        if (!strcmp(kind, kinds[i].name))
            world.kind = (enum kind)i;
}

__attribute__((destructor)) static void end(void)
{
    FILE *file = world.count_file ? fopen(world.count_file, "w") : NULL;
    if (!file)
        return;
    for (int i = 0; i < KINDS; i++)
        fprintf(file, "%s %lu\n", kinds[i].name, (unsigned long)world.calls[i]);
    fclose(file);
}

/* Whether the call that returns to `caller` is the one that goes wrong. */
static bool goes_wrong(enum kind kind, const void *caller)
{
    if (!world.calls || !(kind == SEND || kind == RECEIVE || own_code_has(&world.own, caller)))
        return false;
    return atomic_fetch_add(&world.calls[kind], 1) + 1 == world.at && kind == world.kind;
}

static bool fails(enum kind kind, const void *caller)
{
    if (!goes_wrong(kind, caller))
        return false;
    errno = kinds[kind].error;
    return true;
}

/* For calls that move bytes: false if it is over with -1, else `*size` is what may be moved. */
static bool moves(enum kind kind, const void *caller, size_t *size)
{
    if (!goes_wrong(kind, caller))
        return true;
    if (world.how == SHORT) {
        *size = *size > 1 ? *size / 2 : *size;
        return true;
    }
    errno = world.how == INTERRUPT ? EINTR : kinds[kind].error;
    return false;
}

#define CALLER __builtin_return_address(0)
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static mode_t mode_of(int flags, va_list rest)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? (mode_t)va_arg(rest, int) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return fails(OPEN, CALLER) ? -1 : NEXT(open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return fails(OPEN, CALLER) ? -1 : NEXT(openat)(folder, path, flags, mode);
}

int mkostemp(char *path, int flags)
{
    return fails(OPEN, CALLER) ? -1 : NEXT(mkostemp)(path, flags);
}

DIR *opendir(const char *path)
{
    return fails(OPEN, CALLER) ? NULL : NEXT(opendir)(path);
}

DIR *fdopendir(int descriptor)
{
    return fails(OPEN, CALLER) ? NULL : NEXT(fdopendir)(descriptor);
}

struct dirent *readdir(DIR *folder)
{
    return fails(LIST, CALLER) ? NULL : NEXT(readdir)(folder);
}

FILE *fopen(const char *path, const char *mode)
{
    return fails(OPEN, CALLER) ? NULL : NEXT(fopen)(path, mode);
}

int close(int descriptor)
{
    bool wrong = fails(CLOSE, CALLER);
    int result = NEXT(close)(descriptor);
    if (wrong)
        errno = kinds[CLOSE].error;
    return wrong ? -1 : result;
}

ssize_t read(int descriptor, void *bytes, size_t size)
{
    return moves(READ, CALLER, &size) ? NEXT(read)(descriptor, bytes, size) : -1;
}

ssize_t pread(int descriptor, void *bytes, size_t size, off_t offset)
{
    return moves(READ, CALLER, &size) ? NEXT(pread)(descriptor, bytes, size, offset) : -1;
}

ssize_t write(int descriptor, const void *bytes, size_t size)
{
    return moves(WRITE, CALLER, &size) ? NEXT(write)(descriptor, bytes, size) : -1;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset)
{
    return moves(WRITE, CALLER, &size) ? NEXT(pwrite)(descriptor, bytes, size, offset) : -1;
}

int fsync(int descriptor)
{
    return fails(FSYNC, CALLER) ? -1 : NEXT(fsync)(descriptor);
}

int fdatasync(int descriptor)
{
    return fails(FSYNC, CALLER) ? -1 : NEXT(fdatasync)(descriptor);
}

int rename(const char *from, const char *to)
{
    return fails(RENAME, CALLER) ? -1 : NEXT(rename)(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return fails(RENAME, CALLER) ? -1 : NEXT(renameat)(from_folder, from, to_folder, to);
}

int unlink(const char *path)
{
    return fails(UNLINK, CALLER) ? -1 : NEXT(unlink)(path);
}

int unlinkat(int folder, const char *path, int flags)
{
    return fails(UNLINK, CALLER) ? -1 : NEXT(unlinkat)(folder, path, flags);
}

int mkdir(const char *path, mode_t mode)
{
    return fails(FOLDER, CALLER) ? -1 : NEXT(mkdir)(path, mode);
}

int ftruncate(int descriptor, off_t size)
{
    return fails(CUT, CALLER) ? -1 : NEXT(ftruncate)(descriptor, size);
}

int truncate(const char *path, off_t size)
{
    return fails(CUT, CALLER) ? -1 : NEXT(truncate)(path, size);
}

int fstat(int descriptor, struct stat *status)
{
    return fails(LOOK, CALLER) ? -1 : NEXT(fstat)(descriptor, status);
}

int stat(const char *path, struct stat *status)
{
    return fails(LOOK, CALLER) ? -1 : NEXT(stat)(path, status);
}

int fstatat(int folder, const char *path, struct stat *status, int flags)
{
    return fails(LOOK, CALLER) ? -1 : NEXT(fstatat)(folder, path, status, flags);
}

int faccessat(int folder, const char *path, int mode, int flags)
{
    return fails(LOOK, CALLER) ? -1 : NEXT(faccessat)(folder, path, mode, flags);
}

off_t lseek(int descriptor, off_t offset, int whence)
{
    return fails(LOOK, CALLER) ? -1 : NEXT(lseek)(descriptor, offset, whence);
}

pid_t fork(void)
{
    return fails(PROCESS, CALLER) ? -1 : NEXT(fork)();
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    return fails(RENAME, CALLER) ? -1 : NEXT(linkat)(from_folder, from, to_folder, to, flags);
}

void *mmap(void *place, size_t size, int protection, int flags, int descriptor, off_t offset)
{
    return fails(MAP, CALLER) ? MAP_FAILED
                              : NEXT(mmap)(place, size, protection, flags, descriptor, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *context)
{
    return fails(THREAD, CALLER) ? EAGAIN : NEXT(pthread_create)(thread, attributes, run, context);
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    return fails(SEND, CALLER) ? -1 : NEXT(sendmsg)(socket, message, flags);
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags)
{
    return fails(RECEIVE, CALLER) ? -1 : NEXT(recvmsg)(socket, message, flags);
}

#ifndef SANITIZED /* whose leak detector wants to see who allocates */
/* The allocator of the program, found once: it is called too often to be looked up each time. */
#define ALLOCATE(name, ...)                                                                        \
    static __typeof__(&name) next;                                                                 \
    if (!next)                                                                                     \
        next = NEXT(name);                                                                         \
    return fails(MEMORY, CALLER) ? NULL : next(__VA_ARGS__)

void *malloc(size_t size)
{
    ALLOCATE(malloc, size);
}

void *calloc(size_t count, size_t size)
{
    ALLOCATE(calloc, count, size);
}

void *realloc(void *memory, size_t size)
{
    ALLOCATE(realloc, memory, size);
}

#endif
