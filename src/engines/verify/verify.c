#include "verify/verify_private.h"

/* Evidence is of one kind: an order, a finding or lemmas. */
static bool is_of_one_kind(const struct iso_evidence *evidence)
{
    bool finding = evidence->finding.kind != ISO_FINDING_NONE;
    if (evidence->choice_count && !(evidence->accepts && iso_level_is_weak(evidence->level)))
        return false;
    if (evidence->accepts)
        return !finding && !evidence->lemma_count;
    return !evidence->event_count && !(finding && evidence->lemma_count);
}

enum iso_verification iso_verify(const struct iso_history *history,
                                 const struct iso_evidence *evidence, struct iso_error *error)
{
    if (iso_level_needs_times(evidence->level) && (!history->txns.begun || !history->txns.ended))
        return VERIFY_REFUSE(error, "level %s: the history has no clients' clocks",
                             iso_level_name(evidence->level));
    if (evidence->drift && !iso_level_needs_times(evidence->level))
        return VERIFY_REFUSE(error, "level %s knows no clocks that drift",
                             iso_level_name(evidence->level));
    if (evidence->versions_by_commit && evidence->level != ISO_SER)
        return VERIFY_REFUSE(error, "level %s: only ser takes the order of versions from commits",
                             iso_level_name(evidence->level));
    if (!is_of_one_kind(evidence))
        return VERIFY_REFUSE(error,
                             "the evidence is not of one kind: an order, a finding, or lemmas");
    if (!iso_level_judged_by(evidence->level, ISO_BY_ANY_ORDER))
        return VERIFY_REFUSE(error, "level %s is judged by timestamps alone",
                             iso_level_name(evidence->level));
    if (evidence->accepts && iso_level_is_weak(evidence->level))
        return verify_weak_order(history, evidence, error);
    if (evidence->accepts)
        return verify_order(history, evidence, error);
    if (evidence->finding.kind != ISO_FINDING_NONE)
        return verify_finding(history, evidence, error);
    return verify_lemmas(history, evidence, error);
}
