/* What is doubtful (doubt.c). */
#pragma once

#include <stddef.h>

#include "pipeline/id_set.h"

/* Why a verdict is doubtful. */
enum pipeline_doubt {
    PIPELINE_CERTAIN,
    PIPELINE_CONTRADICTION,
    PIPELINE_SKIPPED,
    PIPELINE_LATE,
    PIPELINE_BEFORE_START,
    PIPELINE_MEMORY,
    PIPELINE_LOST
};

enum { PIPELINE_DOUBTED_MOST = 1 << 19 };

struct doubts {
    struct id_set doubted; /* digests of transactions, keys and writes */
    bool all;              /* there was no room for more */
    bool midway;           /* some input's first messages were not read */
    bool lacks, late;      /* some input does, or is */
    bool loses;            /* no stream, and clients' records that were counted did not come */
    /* Keys whose pairs the engine has just counted as doubtful: digests, for as long as a
     * contradiction is reported. */
    uint64_t *counted;
    size_t counted_count, counted_capacity;
};

void doubts_release(struct doubts *doubts);
