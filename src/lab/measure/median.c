#include "measure/percentile.h"

#include <math.h>

double iso_median(double *numbers, size_t count)
{
    size_t sorted = 0;
    for (size_t i = 0; i < count; i++) {
        double number = numbers[i];
        if (isnan(number))
            continue;
        size_t at = sorted++;
        for (; at > 0 && numbers[at - 1] > number; at--)
            numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
    if (!sorted)
        return NAN;
    return (numbers[(sorted - 1) / 2] + numbers[sorted / 2]) / 2;
}
