/* What polygraph says of a history, believed only if its evidence is confirmed. */
#ifndef TESTS_PROPERTY_JUDGE_H
#define TESTS_PROPERTY_JUDGE_H

#include <stdio.h>

#include "polygraph/polygraph.h"
#include "verify/verify.h"

enum { JUDGE_UNCONFIRMED = 100 }; /* beside the outcomes */

/* An iso_outcome, or JUDGE_UNCONFIRMED with a reason in `error`. */
static inline int judge(const struct iso_history *history, enum iso_level level,
                        struct iso_error *error)
{
    struct iso_polygraph_options options;
    struct iso_polygraph_result result;
    iso_polygraph_options_init(&options);
    iso_polygraph_result_init(&result);
    options.level = level;
    int said = iso_polygraph_check(history, &options, &result, error) == ISO_OK
                   ? (int)result.outcome
                   : JUDGE_UNCONFIRMED;
    if ((said == ISO_HOLDS || said == ISO_IS_VIOLATED) &&
        iso_verify(history, &result.evidence, error) != ISO_CONFIRMED)
        said = JUDGE_UNCONFIRMED;
    iso_polygraph_result_release(&result);
    return said;
}

static inline const char *judge_name(int said)
{
    return said == JUDGE_UNCONFIRMED ? "unconfirmed" : iso_outcome_name((enum iso_outcome)said);
}

#endif
