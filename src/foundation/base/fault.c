#define _GNU_SOURCE
#include "base/fault.h"

#ifdef ISO_FAULTS
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    const char *point; /* NULL: it lives */
    size_t length;
    _Atomic uint64_t left; /* times that it still passes, and the one at which it dies */
    pid_t process;
} crash;

__attribute__((constructor)) static void plan_crash(void)
{
    crash.point = getenv("ISOCHRON_CRASH");
    crash.length = crash.point ? strcspn(crash.point, ":") : 0;
    crash.left = crash.point && crash.point[crash.length]
                     ? strtoull(crash.point + crash.length + 1, NULL, 10)
                     : 1;
    crash.process = getpid();
}

void iso_fault_point(const char *point)
{
    if (!crash.length || strlen(point) != crash.length ||
        strncmp(crash.point, point, crash.length) || --crash.left)
        return;
    kill(crash.process, SIGKILL); /* a snapshot's child dies of that too */
    for (;;)
        pause();
}

bool iso_fault_spills_all(unsigned *bits)
{
    const char *text = getenv("ISOCHRON_SPILL_ALL");
    unsigned number = text ? (unsigned)atoi(text) : 0;
    *bits = number >= 12 && number <= 20 ? number : 0;
    return text != NULL;
}
#endif
