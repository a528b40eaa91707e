#include "base/radix.h"

#include <string.h>

#include "base/memory.h"

/* Bits of a digit: fewer for a few items, so that counting costs no more than moving them. */
enum { DIGIT_BITS = 11, SMALL_DIGIT_BITS = 8, SMALL = 1024 };

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

struct digit {
    uint64_t smallest; /* of all keys */
    unsigned shift, bits;
};

static inline unsigned digit_of(uint64_t key, struct digit digit)
{
    return (key - digit.smallest) >> digit.shift & ((1u << digit.bits) - 1);
}

/* Moves all items to where their digit belongs; false, and nothing moved, if all have the same
 * digit. */
static bool distribute(struct iso_radix from, struct iso_radix to, size_t count, struct digit digit)
{
    size_t starts[1 << DIGIT_BITS], sum = 0;
    memset(starts, 0, sizeof *starts << digit.bits);
    for (size_t i = 0; i < count; i++)
        starts[digit_of(from.keys[i], digit)]++;
    if (starts[digit_of(from.keys[0], digit)] == count)
        return false;
    for (unsigned value = 0; value < 1u << digit.bits; value++) {
        size_t here = starts[value];
        starts[value] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = starts[digit_of(from.keys[i], digit)]++;
        to.keys[at] = from.keys[i];
        to.payloads[at] = from.payloads[i];
    }
    return true;
}

bool iso_radix_sort(struct iso_radix items, struct iso_radix other, size_t count)
{
    struct digit digit = {.bits = count < SMALL ? SMALL_DIGIT_BITS : DIGIT_BITS};
    uint64_t largest;
    bool in_other = false;
    if (count == 0 || find_range(items.keys, count, &digit.smallest, &largest))
        return false;
    for (; digit.shift < 64 && (largest - digit.smallest) >> digit.shift;
         digit.shift += digit.bits) {
        struct iso_radix from = in_other ? other : items, to = in_other ? items : other;
        if (distribute(from, to, count, digit))
            in_other = !in_other;
    }
    return in_other;
}

struct iso_radix iso_radix_allocate(size_t count)
{
    return (struct iso_radix){iso_allocate((count + 1) * sizeof(uint64_t)),
                              iso_allocate((count + 1) * sizeof(uint32_t))};
}

struct iso_radix iso_radix_sorted(struct iso_radix items, size_t count)
{
    struct iso_radix other = iso_radix_allocate(count);
    bool in_other = iso_radix_sort(items, other, count);
    struct iso_radix rest = in_other ? items : other;
    ISO_FREE_ALL(rest.keys, rest.payloads);
    return in_other ? other : items;
}

uint32_t *iso_radix_order(struct iso_radix items, size_t count)
{
    items = iso_radix_sorted(items, count);
    iso_free(items.keys);
    return items.payloads;
}
