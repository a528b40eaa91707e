/* Where time has come, as watermarks, deadlines and arrivals say. */
#pragma once

#include <stdint.h>

struct aion_arrivals { /* where deadlines say how far time has come */
    struct aion_arrival {
        uint64_t arrival, cts;
    } * ring;
    uint32_t first, count, capacity;
};

struct aion_recent {
    uint64_t ring[1 << 10]; /* timestamps of what was accepted last */
    uint64_t count;
    uint64_t earliest; /* of all that was */
};

struct aion_time {
    uint64_t now;
    uint64_t limit, passed, floor; /* README.md */
    uint64_t expired;  /* the largest cts among transactions whose deadline has passed */
    uint64_t promised; /* as `limit`, by watermarks alone: that may have been moved where memory was
                          short (fit.c) */
    uint64_t retention; /* what the memory limit leaves of it */
    struct aion_arrivals arrivals;
    struct aion_recent recent;
};
