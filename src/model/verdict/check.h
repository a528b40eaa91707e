/* Options of a check, common to the engines. */
#pragma once

#include "verdict/verdict.h"

struct iso_check_options {
    enum iso_level level;
    bool session_order;      /* check SESSION; on by default */
    bool overlaps;           /* SI: writers of a key may overlap, NOCONFLICT is not checked */
    unsigned threads;        /* at least 1 */
    uint32_t max_violations; /* 0: all */
    uint32_t max_per_key;    /* listed of a key, and of a session; 0: all */
};
