#define _GNU_SOURCE
#include "run/signals.h"

#include <unistd.h>

#include "iso/error.h"

/* A signal handler has nothing else to write to, and to read from. */
static volatile sig_atomic_t stopped, patience;

/* The time runs from here on: the batch at hand may wait for a reader of its output that reads no more. */
static void on_signal(int number)
{
    (void)number;
    stopped = 1;
    alarm((unsigned)patience);
}

static void on_alarm(int number)
{
    static const char text[] = "isochron: not done within --shutdown-timeout\n";
    (void)number;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(ISO_FAILED); /* nobody hears it */
    _exit(ISO_FAILED);
}

volatile sig_atomic_t *app_catch_signals(uint64_t seconds)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND}, before;
    struct sigaction ending = {.sa_handler = on_alarm};
    patience = (sig_atomic_t)seconds;
    sigaction(SIGALRM, &ending, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, NULL, &before);
    if (before.sa_handler != SIG_IGN) /* as under nohup */
        sigaction(SIGHUP, &action, NULL);
    return &stopped;
}
