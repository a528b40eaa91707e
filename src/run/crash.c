#define _GNU_SOURCE
#include "run/crash.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void app_crash_init(struct app_crash *crash)
{
    const char *point = getenv("ISOCHRON_CRASH"), *number = point ? strchr(point, ':') : NULL;
    crash->point = point;
    crash->left = number ? strtoull(number + 1, NULL, 10) : 1;
    crash->process = getpid();
}

void app_crash_at(struct app_crash *crash, const char *point)
{
    size_t length = crash->point ? strcspn(crash->point, ":") : 0;
    if (!length || strlen(point) != length || strncmp(crash->point, point, length) || --crash->left)
        return;
    kill(crash->process, SIGKILL); /* a snapshot's child dies of that too */
    for (;;)
        pause();
}
