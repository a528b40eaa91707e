#define _GNU_SOURCE
#include "suite/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

enum { NOT_FOUND = 127, BY_SIGNAL = 128 };

/* The argument with each {URL} replaced. */
static char *with_url(const char *argument, const char *url)
{
    static const char mark[] = "{URL}";
    struct iso_text text = {0};
    for (const char *found; (found = strstr(argument, mark)) != NULL;
         argument = found + sizeof mark - 1) {
        iso_text_put_bytes(&text, argument, (size_t)(found - argument));
        iso_text_put(&text, url);
    }
    iso_text_put(&text, argument);
    *iso_text_reserve(&text, 1) = 0;
    return text.bytes;
}

/* In the child: becomes the command, or says through the pipe why not. */
static void become(char *const *arguments, const char *url, unsigned port, int tell)
{
    char number[16];
    sigset_t none;
    snprintf(number, sizeof number, "%u", port);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* its database goes with whoever started it */
    setenv("DATABASE_URL", url, 1);
    setenv("PGHOST", "127.0.0.1", 1);
    setenv("PGPORT", number, 1);
    setenv("PGSSLMODE", "disable", 1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    execvp(arguments[0], arguments);
    int reason = errno;
    ssize_t told = write(tell, &reason, sizeof reason);
    _exit(told == sizeof reason ? NOT_FOUND : NOT_FOUND - 1);
}

/* What asks this process to end asks the command; a terminal's interrupt reaches that by itself. */
static sigset_t requests(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    return signals;
}

void suite_command_guard(void)
{
    sigset_t signals = requests();
    signal(SIGINT, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

static void pass_on(const struct suite_command *command)
{
    sigset_t signals = requests();
    int signal = sigtimedwait(&signals, NULL, &(struct timespec){0});
    if (signal > 0)
        kill(command->process, signal);
}

enum iso_status suite_command_start(struct suite_command *command, char *const *arguments,
                                    const char *url, unsigned port, struct iso_error *error)
{
    int pipes[2], reason = 0;
    size_t count = 0;
    while (arguments[count])
        count++;
    char **replaced = iso_allocate_zeroed(count + 1, sizeof *replaced);
    for (size_t i = 0; i < count; i++)
        replaced[i] = with_url(arguments[i], url);
    *command = (struct suite_command){.process = -1};
    if (pipe2(pipes, O_CLOEXEC))
        iso_error_set(error, ISO_FAILED, "no pipe: %s", strerror(errno));
    else if ((command->process = fork()) == 0)
        become(replaced, url, port, pipes[1]);
    if (error->status == ISO_OK) {
        close(pipes[1]);
        if (command->process < 0)
            iso_error_set(error, ISO_FAILED, "no process: %s", strerror(errno));
        else if (read(pipes[0], &reason, sizeof reason) == sizeof reason)
            iso_error_set(error, ISO_BAD_INPUT, "%s: %s", arguments[0], strerror(reason));
        close(pipes[0]);
    }
    for (size_t i = 0; i < count; i++)
        iso_free(replaced[i]);
    iso_free(replaced);
    return error->status;
}

bool suite_command_has_ended(struct suite_command *command)
{
    pid_t ended = waitpid(command->process, &command->status, WNOHANG);
    if (ended == command->process || (ended < 0 && errno == ECHILD))
        return true;
    pass_on(command);
    return false;
}

int suite_command_exit(const struct suite_command *command)
{
    return WIFEXITED(command->status) ? WEXITSTATUS(command->status)
                                      : BY_SIGNAL + WTERMSIG(command->status);
}
