/* The monotonic clock: for limits, waits and figures. What judges reads none (aion, join,
 * pipeline): time is passed in. */
#pragma once

#include <stdint.h>

double iso_clock_seconds(void);
int64_t iso_clock_ms(void);
int64_t iso_clock_nanoseconds(void);
