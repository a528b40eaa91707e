/* The median of a few measurements: one that was disturbed does not move it. Threads: any. */
#pragma once

#include <stddef.h>

/* Of the numbers that are not NAN, which it sorts in place; NAN if there are none. Of an even
 * count: the mean of the two in the middle. */
double iso_median(double *numbers, size_t count);
