#define _GNU_SOURCE
#include "base/clock.h"

int64_t iso_clock_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t iso_clock_nanoseconds(void)
{
    return iso_clock_of(CLOCK_MONOTONIC);
}

double iso_clock_seconds(void)
{
    return (double)iso_clock_nanoseconds() / 1e9;
}

int64_t iso_clock_ms(void)
{
    return iso_clock_nanoseconds() / 1000000;
}

int64_t iso_clock_since_1970(void)
{
    return iso_clock_of(CLOCK_REALTIME) / 1000000;
}
