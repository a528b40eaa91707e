/* The engine's share of the memory limit (spill.c, fit.c). */
#pragma once

#include "base/error.h"

/* The engine's share of the memory limit (spill.c). */
struct aion_budget {
    uint64_t limit; /* of anonymous memory; 0: none */
    uint64_t most;  /* bytes that were in use at some time: so much the process has taken for the
                       engine */
    uint64_t kept;  /* the same without the table of tids, which is given back (fit.c) */
    /* anonymous bytes of the process beside those, when they were looked at last */
    uint64_t beside;
    uint32_t looked; /* transactions accepted by then, wraps */
    /* bytes in use after an eviction that found too few keys: not tried again below */
    uint64_t useless;
    uint64_t needed;   /* bytes of the process, after the last look; 0: the limit is enough */
    uint32_t fitted;   /* transactions accepted when memory was looked at last (fit.c) */
    uint64_t given_up; /* as iso_aion_given_up says */
    struct iso_error failure;
};
