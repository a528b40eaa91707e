/* The pipeline's inputs: how far each has promised, and what became of its records (watermark.c,
 * doubt.c). */
#pragma once

#include "base/inputs.h"
#include "base/stairs.h"

struct input {
    bool counts; /* its watermark is waited for */
    bool idle;
    bool has_watermark;
    bool is_change_stream, is_known; /* the first, once it was looked up */
    bool takes_part;                 /* it was declared, or has begun */
    bool at_end;                     /* no message has arrived since the caller said that it is */
    bool timeless;                   /* records arrived without Kafka's message time */
    uint64_t reached;                /* the largest message time so far, in milliseconds; 0: none */
    uint64_t watermark;
    uint64_t latest; /* when its last message arrived */
    bool begun;      /* its first message has arrived */
    bool far_ahead;  /* it was reported that one of its timestamps was */
    bool lacks;      /* records in it were left out */
    bool late;       /* a transaction of it arrived below the watermark */
    uint64_t ahead;  /* messages since its watermark passed the pipeline's */
    uint32_t route;  /* + 1; 0: not looked up; NO_ROUTE */
};

#define NO_ROUTE UINT32_MAX

struct inputs {
    struct iso_inputs names;
    struct input *list; /* by number; there may be fewer than names */
    uint32_t count;
};

void inputs_release(struct inputs *inputs);

/* Timestamps that arrived (clock.c). */
struct clock_state {
    enum iso_clock kind; /* of all records */
    uint64_t year;       /* in units of the watermark; 0: not known */
    /* the latest timestamp that arrived, of records, rows and watermarks; 0: none */
    uint64_t highest;
    uint32_t beyond; /* records in a row that lie too far above it */
};

/* Promises of inputs that make none themselves (grace.c). */
struct grace {
    struct iso_stairs promise; /* of clients that make none */
    uint64_t stream_time,
        stream_seen;  /* the largest message time of change streams, and when it arrived; 0: none */
    uint64_t reached; /* T */
};
