/* Numbers by 32 bits of a hash: what base/index.h works on. */
#ifndef ISO_INDEX_H
#define ISO_INDEX_H

#include <stdint.h>

struct iso_index {
    uint64_t *slots;     /* 0: free, else hash << 32 | number + 1 */
    uint32_t mask, used; /* mask: slots - 1, a power of two less one */
};

#endif
