#define _GNU_SOURCE
#include "measure/child.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The answer that the child writes into the pipe, once. */
struct answer {
    struct iso_error error;
    double numbers[ISO_CHILD_NUMBERS];
};

static bool write_all(int descriptor, const void *bytes, size_t size)
{
    for (const char *at = bytes; size > 0;) {
        ssize_t written = write(descriptor, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

/* Whether all of it came before the other end was closed. */
static bool read_all(int descriptor, void *bytes, size_t size)
{
    for (char *at = bytes; size > 0;) {
        ssize_t got = read(descriptor, at, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static _Noreturn void be_child(iso_child_run *run, void *context, int descriptor)
{
    struct answer answer = {.error = {.status = ISO_OK}};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < ISO_CHILD_NUMBERS; i++)
        answer.numbers[i] = NAN;
    run(context, answer.numbers, &answer.error);
    _exit(write_all(descriptor, &answer, sizeof answer) ? 0 : ISO_FAILED);
}

static enum iso_status put_death(int status, struct iso_error *error)
{
    if (WIFSIGNALED(status))
        return iso_error_set(error, ISO_FAILED, "a measured run was killed by signal %d (%s)%s",
                             WTERMSIG(status), strsignal(WTERMSIG(status)),
                             WTERMSIG(status) == SIGKILL ? ": too little memory for this size?"
                                                         : "");
    return iso_error_set(error, ISO_FAILED,
                         "a measured run ended with status %d and without figures",
                         WEXITSTATUS(status));
}

static enum iso_status await_child(pid_t child, int descriptor, struct answer *answer,
                                   uint64_t *peak_bytes, struct iso_error *error)
{
    struct rusage usage;
    int status;
    bool answered = read_all(descriptor, answer, sizeof *answer);
    pid_t waited;
    while ((waited = wait4(child, &status, 0, &usage)) < 0 && errno == EINTR)
        continue;
    if (waited < 0)
        return iso_error_set(error, ISO_FAILED, "a measured run was lost: %s", strerror(errno));
    if (!answered)
        return put_death(status, error);
    if (peak_bytes)
        *peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
    if (answer->error.status != ISO_OK)
        return iso_error_set(error, answer->error.status, "%s", answer->error.text);
    return ISO_OK;
}

enum iso_status iso_child_measure(iso_child_run *run, void *context, double *numbers, size_t count,
                                  uint64_t *peak_bytes, struct iso_error *error)
{
    struct answer answer;
    int ends[2];
    assert(count <= ISO_CHILD_NUMBERS);
    if (pipe(ends) < 0)
        return iso_error_set(error, ISO_FAILED, "a measured run could not be started: %s",
                             strerror(errno));
    fflush(NULL); /* else the child would have it too */
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        be_child(run, context, ends[1]);
    }
    int failure = errno;
    close(ends[1]);
    if (child < 0)
        iso_error_set(error, ISO_FAILED, "a measured run could not be started: %s",
                      strerror(failure));
    else if (await_child(child, ends[0], &answer, peak_bytes, error) == ISO_OK)
        memcpy(numbers, answer.numbers, count * sizeof *numbers);
    close(ends[0]);
    return error->status;
}
