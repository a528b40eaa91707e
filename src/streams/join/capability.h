/* Promises of a kind of source. */
#pragma once

#include <stdbool.h>

enum join_closing {
    JOIN_CLOSES_AT_END,    /* END says so, or a later position */
    JOIN_CLOSES_BY_LARGER, /* a larger commit timestamp in its partition; never complete before the
                              end */
    JOIN_CLOSES_AT_WATERMARK,
    JOIN_CLOSES_WITH_RECORD /* nothing says so but what the client wrote; never complete before the
                               end */
};

struct join_capability {
    const char *kind;
    enum join_closing closing;
    bool by_id; /* rows of one transaction share an id; else a start timestamp where there is one,
                   else cts */
    bool unique_cts;      /* no two transactions share a commit timestamp */
    bool sends_unchanged; /* a write of the value that was there has a row */
    bool spans;        /* rows have no identity: what is repeated is repeated from where it began */
    bool commit_order; /* transactions that are serializable are so in the order of their commits */
    bool locks_columns; /* writers of one row's columns need not wait for one another */
    bool early_images;  /* rows are shown as of the start of their transaction (image.c) */
    bool net;       /* of each key a transaction has at most what went and what came, in no order */
    bool positions; /* no commit timestamps: positions in a log order commits */
};

const struct join_capability *join_capability_of(const char *kind);
