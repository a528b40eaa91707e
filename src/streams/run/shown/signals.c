#define _GNU_SOURCE
#include "run/shown/signals.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

/* Processor milliseconds a second of a process that is judging, on a machine that is busy with
 * other things. */
enum { WORKING_MS = 30, SAY_SECONDS = 5, ONE_SIGNAL_MS = 500 };

/* A signal handler has nothing else to write to, and to read from. */
static volatile sig_atomic_t stopped, stopped_at, patience, waited, ticks, used, is_loud;

enum { WRAP_MS = 1000000000 };

static sig_atomic_t milliseconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (sig_atomic_t)((time.tv_sec * 1000 + time.tv_nsec / 1000000) % WRAP_MS);
}

static sig_atomic_t used_ms(void)
{
    return milliseconds(CLOCK_PROCESS_CPUTIME_ID);
}

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        waited = patience + 1; /* nobody hears it */
}

/* The time runs from here on: the batch at hand may wait for a reader of its output that reads no
 * more. timeout(1) signals the process and then its group: two signals at one moment are one. */
static void on_signal(int number)
{
    sig_atomic_t now = milliseconds(CLOCK_MONOTONIC);
    if (stopped && (now - stopped_at + WRAP_MS) % WRAP_MS >= ONE_SIGNAL_MS) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    if (stopped)
        return;
    stopped = 1;
    stopped_at = now;
    used = used_ms();
    alarm(patience > 0);
}

static void say_how_far(void)
{
    char text[] =
        "isochron: stopping: judging what has come, for     0 s; a second signal ends it at once\n";
    char *digit = strchr(text, '0');
    for (unsigned seconds = (unsigned)ticks; seconds && *digit != 'r'; seconds /= 10)
        *digit-- = (char)('0' + seconds % 10);
    say(text);
}

/* Once a second. */
static void on_alarm(int number)
{
    sig_atomic_t now = used_ms();
    bool is_working = now < used || now - used >= WORKING_MS;
    (void)number;
    used = now;
    ticks++;
    waited += !is_working;
    if (waited > patience) { /* the first second had begun before it waited */
        say("isochron: undecided; reason: waiting: a broker, a device, or who reads the output took nothing for as long as "
            "--shutdown-timeout; what was emitted is right, and not all\n");
        _exit(ISO_UNDECIDED);
    }
    if (is_loud && is_working && !(ticks % SAY_SECONDS))
        say_how_far();
    alarm(1);
}

volatile sig_atomic_t *run_catch_signals(uint64_t seconds, bool is_quiet)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    struct sigaction ticking = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    patience = (sig_atomic_t)seconds;
    is_loud = !is_quiet;
    sigaction(SIGALRM, &ticking, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, NULL, &before);
    if (before.sa_handler != SIG_IGN) /* as under nohup */
        sigaction(SIGHUP, &action, NULL);
    return &stopped;
}

void run_signals_note_step(void)
{
    waited = 0;
}
