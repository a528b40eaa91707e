/* A sum of numbers, exact however long they are and however many.
 *
 * Integers of 64 bits are added in 128; all others to groups of nine digits around the decimal
 * point, each of which keeps what is beyond nine digits, with its sign, until the sum is asked for:
 *
 *     group    1          0     .     -1        -2
 *           000000012 345678901 . 250000000 000000000          carries wait in 64 bits: room for
 *                                                              2^33 additions
 *
 * Memory: 8 bytes for nine digits of the longest number. Ownership: a sum owns its groups. Threads:
 * one at a time.
 */
#pragma once

#include <stdint.h>

#include "base/text.h"
#include "predicate/scalar.h"

struct iso_sum {
    __int128 integers;
    int64_t *groups;          /* the least significant first */
    uint32_t whole, fraction; /* how many groups there are before the point, and behind it */
    uint32_t added;           /* since carries were carried */
};

/* ISO_SCALAR_INTEGER or ISO_SCALAR_DECIMAL. */
void iso_sum_add(struct iso_sum *sum, const struct iso_scalar *number);

void iso_sum_subtract(struct iso_sum *sum, const struct iso_scalar *number);

/* So many times, at most UINT32_MAX. */
void iso_sum_multiply(struct iso_sum *sum, uint64_t times);

/* Adds the canonical text, `12.5`; the sum stays as it is. */
void iso_sum_put(struct iso_sum *sum, struct iso_text *text);

void iso_sum_release(struct iso_sum *sum); /* a zeroed one is 0 */
