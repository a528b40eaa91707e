/* Comparisons for qsort: of numbers, and of structs by the numbers in them. Threads: constant. */
#pragma once

#include <stdint.h>

#define ISO_ORDER(one, other) (((one) > (other)) - ((one) < (other)))

/* Defines `static int name(...)`: structs by one member, or where that is equal by another. */
#define ISO_ORDER_BY(name, type, member)                                                           \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        return ISO_ORDER(((const type *)left)->member, ((const type *)right)->member);             \
    }
#define ISO_ORDER_BY_TWO(name, type, first, then)                                                  \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *one = left, *other = right;                                                    \
        return one->first != other->first ? ISO_ORDER(one->first, other->first)                    \
                                          : ISO_ORDER(one->then, other->then);                     \
    }

static inline int iso_order_u32(const void *left, const void *right)
{
    return ISO_ORDER(*(const uint32_t *)left, *(const uint32_t *)right);
}

static inline int iso_order_u64(const void *left, const void *right)
{
    return ISO_ORDER(*(const uint64_t *)left, *(const uint64_t *)right);
}
