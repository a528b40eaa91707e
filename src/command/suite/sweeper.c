#define _GNU_SOURCE
#include "suite/sweeper.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

enum { TRIES = 50, PAUSE_MS = 200 };

/* To the process that sweeps go paths, each with its zero byte; below 0: there is none. */
static int tell = -1;

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

void suite_folder_remove(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A server that ends meanwhile may still write there. */
static void sweep(const char *folder)
{
    for (int i = 0; i < TRIES && !access(folder, F_OK); i++) {
        suite_folder_remove(folder);
        if (!access(folder, F_OK))
            poll(NULL, 0, PAUSE_MS);
    }
}

static void wait_and_sweep(int told)
{
    struct iso_text paths = {0};
    ssize_t got;
    int nowhere = open("/dev/null", O_RDWR);
    for (int descriptor = 0; nowhere >= 0 && descriptor <= 2; descriptor++)
        dup2(nowhere, descriptor);
    while ((got = read(told, iso_text_reserve(&paths, 4096), 4096)) > 0 ||
           (got < 0 && errno == EINTR))
        paths.used += got > 0 ? (size_t)got : 0;
    for (size_t at = 0; at < paths.used; at += strlen(paths.bytes + at) + 1)
        sweep(paths.bytes + at);
}

/* A child of nobody: who waits for this process's children does not meet it. */
void suite_sweeper_start(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return;
    pid_t between = fork();
    if (!between) {
        if (fork())
            _exit(0);
        close(ends[1]);
        setsid();
        signal(SIGTERM, SIG_IGN);
        wait_and_sweep(ends[0]);
        _exit(0);
    }
    waitpid(between, NULL, 0);
    close(ends[0]);
    tell = ends[1];
}

void suite_sweeper_add(const char *folder)
{
    size_t size = strlen(folder) + 1;
    if (tell >= 0 && write(tell, folder, size) != (ssize_t)size)
        tell = -1;
}
