/* The monotonic clock, unless another is named: for limits, waits and figures. What judges reads
 * none (aion, join, pipeline): time is passed in. */
#pragma once

#include <stdint.h>
#include <time.h>

int64_t iso_clock_of(clockid_t clock); /* nanoseconds */
int64_t iso_clock_nanoseconds(void);
double iso_clock_seconds(void);
int64_t iso_clock_ms(void);
int64_t iso_clock_since_1970(void); /* milliseconds of the wall clock */
