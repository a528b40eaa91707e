#include "base/radix.h"

enum { DIGIT_BITS = 11, DIGIT_VALUES = 1 << DIGIT_BITS };

/* The smallest and the largest key; true if they are in order already. */
static bool find_range(const uint64_t *keys, size_t count, uint64_t *smallest, uint64_t *largest)
{
    bool sorted = true;
    *smallest = *largest = keys[0];
    for (size_t i = 1; i < count; i++) {
        sorted &= keys[i - 1] <= keys[i];
        *smallest = keys[i] < *smallest ? keys[i] : *smallest;
        *largest = keys[i] > *largest ? keys[i] : *largest;
    }
    return sorted;
}

static inline unsigned digit_of(uint64_t key, uint64_t smallest, unsigned shift)
{
    return (key - smallest) >> shift & (DIGIT_VALUES - 1);
}

/* Moves all items to where their digit belongs; false, and nothing moved, if all have the same
 * digit. */
static bool distribute(struct iso_radix from, struct iso_radix to, size_t count, uint64_t smallest,
                       unsigned shift)
{
    size_t place[DIGIT_VALUES] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++)
        place[digit_of(from.keys[i], smallest, shift)]++;
    if (place[digit_of(from.keys[0], smallest, shift)] == count)
        return false;
    for (unsigned digit = 0; digit < DIGIT_VALUES; digit++) {
        size_t here = place[digit];
        place[digit] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = place[digit_of(from.keys[i], smallest, shift)]++;
        to.keys[at] = from.keys[i];
        to.payloads[at] = from.payloads[i];
    }
    return true;
}

bool iso_radix_sort(struct iso_radix items, struct iso_radix other, size_t count)
{
    uint64_t smallest, largest;
    bool in_other = false;
    if (count == 0 || find_range(items.keys, count, &smallest, &largest))
        return false;
    for (unsigned shift = 0; shift < 64 && (largest - smallest) >> shift; shift += DIGIT_BITS) {
        struct iso_radix from = in_other ? other : items, to = in_other ? items : other;
        if (distribute(from, to, count, smallest, shift))
            in_other = !in_other;
    }
    return in_other;
}
