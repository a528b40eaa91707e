/* One history, and what chronos must say of it: with one thread and with three, and the oracle the
 * same (tests/oracle/timestamp_oracle.h). */
#ifndef TESTS_UNIT_CHRONOS_CASE_H
#define TESTS_UNIT_CHRONOS_CASE_H

#include "verdict/verdict.h"

/* What a check counted, beside its violations. */
struct chronos_counts {
    uint64_t judged, unjudged, writes_unjudged;
    bool per_operation;
    enum iso_outcome outcome;
};

/* Fails the calling test unless the verdict, as brief_verdict writes it, is `wanted`. */
struct chronos_counts chronos_expect(enum iso_level level, const char *history, const char *wanted);

/* Fails unless chronos refuses the history, with exactly this text. */
void chronos_expect_refusal(enum iso_level level, const char *history, const char *wanted);

#endif
