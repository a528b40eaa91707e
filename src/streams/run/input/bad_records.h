/* What a run says of records that it left out or doubts: each, as long as they are few; then how
 * many of each cause, once a minute and at the end. Their sender decides how many they are, and the
 * log is not his.
 *
 * RUN_BAD_LINES are reported one by one, and the first of each cause. A cause is the reason without
 * its numbers and quoted texts; RUN_BAD_CAUSES are kept apart, the others are one. Time is passed
 * in, in seconds. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RUN_BAD_LINES = 100, RUN_BAD_CAUSES = 32, RUN_BAD_CAUSE_BYTES = 160, RUN_BAD_SECONDS = 60 };

struct run_bad_cause {
    char text[RUN_BAD_CAUSE_BYTES];
    uint64_t unlogged;
};

struct run_bad_records {
    uint64_t lines;          /* reported one by one */
    uint64_t unlogged;       /* since it was last summed up */
    uint64_t other_unlogged; /* of these: of causes that have no place */
    uint32_t cause_count;
    struct run_bad_cause causes[RUN_BAD_CAUSES];
    double summed;
};

/* `reason`: "left out: ..." and the like, as it stands behind the place. */
void run_bad_records_note(struct run_bad_records *bad, const char *place, const char *reason,
                          double now);

/* Tells what is not logged, if it is time, or `now_or_never`. */
void run_bad_records_sum_up(struct run_bad_records *bad, double now, bool now_or_never);

/* The cause that a reason is of; longer ones are cut. */
void run_bad_records_cause(const char *reason, char cause[RUN_BAD_CAUSE_BYTES]);
