/* Clocks that jump: loaded before a program (LD_PRELOAD), it shifts what the program's own code is
 * told of the time.
 *
 *   SHIFTED_BY=FILE    16 bytes each: seconds that the wall clock, and the monotonic clock, are
 *                      ahead, as decimal text;
 *                      looked at with every reading, so that writing to FILE makes the clocks jump
 *
 * Libraries keep the machine's clocks: they wait by them. Threads: any.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include "tests/system/world/own_code.h"

enum { FIELD = 16 };

static struct {
    const volatile char *shifts;
    struct own_code own;
} world;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("SHIFTED_BY");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, 2 * FIELD, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED)
        abort();
    world.shifts = mapped;
    own_code_find(&world.own);
}

static time_t shift(int field, const void *caller)
{
    char text[FIELD + 1] = "";
    if (!world.shifts || !own_code_has(&world.own, caller))
        return 0;
    for (int i = 0; i < FIELD; i++)
        text[i] = world.shifts[field * FIELD + i];
    return (time_t)atoll(text);
}

#define CALLER __builtin_return_address(0)
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = NEXT(clock_gettime)(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC)
        now->tv_sec += shift(clock == CLOCK_MONOTONIC, CALLER);
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    int result = NEXT(gettimeofday)(now, zone);
    now->tv_sec += shift(0, CALLER);
    return result;
}

time_t time(time_t *now)
{
    time_t shifted = NEXT(time)(NULL) + shift(0, CALLER);
    if (now)
        *now = shifted;
    return shifted;
}
