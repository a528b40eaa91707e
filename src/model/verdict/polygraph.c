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
