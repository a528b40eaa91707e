/* Which anomalies are planted in a history, how many and where; and where they came to be. */
#pragma once

#include "generate/anomaly.h"
#include "base/error.h"

/* `count` anomalies of a kind. */
struct iso_plant {
    const struct iso_anomaly_script *anomaly;
    uint32_t count;
    bool everywhere; /* spread evenly; else all at */
    uint64_t place;  /* once so many transactions have begun */
};

/* One that was planted: transaction i of its script has tid first_tid + i, keys x and y are
 * first_key and the next; of rows the table is named after first_key. */
struct iso_planted {
    const struct iso_anomaly_script *anomaly;
    uint64_t first_tid, first_key;
};

/* The key of one of its findings, as text. */
enum { ISO_PLANTED_KEY = 40 };
void iso_planted_key(const struct iso_planted *planted, const struct iso_script_finding *finding,
                     char key[ISO_PLANTED_KEY]);

/* NAME[:COUNT][@PLACE]; PLACE is a share of the run (with a decimal point) or a number of
 * transactions. */
enum iso_status iso_plant_parse(const char *text, uint32_t transactions, struct iso_plant *plant,
                                struct iso_error *error);
