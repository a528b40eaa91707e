/* The monotonic clock: for limits, waits and figures. What judges reads none (aion, join, pipeline): time is passed in. */
#ifndef ISO_BASE_CLOCK_H
#define ISO_BASE_CLOCK_H

#include <stdint.h>

double iso_clock_seconds(void);
int64_t iso_clock_ms(void);

#endif
