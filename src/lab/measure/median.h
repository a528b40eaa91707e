/* The median of a few measurements: one that was disturbed does not move it. Threads: any. */
#pragma once

#include <stddef.h>

/* The median of the numbers that are not NAN, which are sorted in place; NAN if there are none. The
 * mean of the two in the middle where their count is even. */
double iso_median(double *numbers, size_t count);
