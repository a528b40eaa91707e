/* The life of a result. */
#include "verdict/polygraph.h"

void iso_polygraph_options_init(struct iso_polygraph_options *options)
{
    *options = (struct iso_polygraph_options){.level = ISO_SI, .max_findings = 1000};
}

void iso_polygraph_result_init(struct iso_polygraph_result *result)
{
    memset(result, 0, sizeof *result);
    result->cycle_lemma = ISO_NONE;
    iso_evidence_init(&result->evidence);
}

void iso_polygraph_result_release(struct iso_polygraph_result *result)
{
    iso_free(result->findings);
    iso_evidence_release(&result->evidence);
    memset(result, 0, sizeof *result);
}

void iso_polygraph_leave_to_lost(struct iso_polygraph_result *result)
{
    uint32_t kept = 0;
    if (result->outcome == ISO_IS_UNDECIDED)
        return;
    for (uint32_t i = 0; i < result->finding_count; i++)
        if (result->findings[i].kind == ISO_FINDING_INT)
            result->findings[kept++] = result->findings[i];
    result->finding_count = kept;
    for (int kind = ISO_FINDING_INT + 1; kind < ISO_FINDINGS; kind++)
        result->counts[kind] = 0;
    result->cycles = 0;
    if (result->counts[ISO_FINDING_INT])
        return;
    result->outcome = ISO_IS_UNDECIDED;
    result->reason = ISO_RECORDS_LOST;
}
