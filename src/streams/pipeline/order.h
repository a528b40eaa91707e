/* The order of transactions, where the source does not promise that of their commits and `ser` was
 * asked for.
 *
 * The engine then judges what si demands, too, but for writers that overlap. Whoever runs the
 * pipeline collects the joined history, seeks an order of its transactions (verdict/polygraph.h,
 * versions_by_commit) and says here what came of it; until then the verdict waits for that. What a
 * search found once goes into every outcome and summary from then on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "verdict/verdict.h"

struct iso_pipeline;

struct iso_pipeline_order {
    enum iso_outcome outcome;
    const char *reason;         /* of undecided: a string that stays */
    uint64_t found;             /* violations, also those that are not listed */
    struct iso_text counts;     /* members of `counts`, as in ,"CYCLE":1 */
    struct iso_text violations; /* JSON objects with commas between them */
};

/* Takes over both texts. */
void iso_pipeline_set_order(struct iso_pipeline *pipeline, struct iso_pipeline_order *order);

/* The last state reported. NULL: no order is sought. */
const struct iso_pipeline_order *iso_pipeline_order(const struct iso_pipeline *pipeline);
