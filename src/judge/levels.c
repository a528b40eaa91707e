#include "judge/levels.h"

static bool is_candidate(const struct iso_history *history, enum iso_level level, unsigned engines)
{
    const struct iso_level_row *row = iso_level_row(level);
    return row->is_ranked && iso_level_judged_by(level, engines) &&
           (!row->needs_times || (history->begun && history->ended));
}

/* A search for an order at pc may take for ever where values were written twice, which cc's answer tells. It gets a budget
 * then, where levels are compared: 1 s and as long as cc took.
 */
static double budget_after(const struct iso_judgement *of_cc)
{
    const struct iso_polygraph_counters *counters = &of_cc->result.counters;
    return of_cc->has_result && counters->open_reads_first ? 1 + counters->seconds_total : 0;
}

static enum iso_status ask(const struct iso_history *history, const struct iso_judge_options *options,
                           enum iso_level level, double *budget, iso_judge_answer_sink *sink, void *context,
                           struct iso_answers *answers, struct iso_error *error)
{
    struct iso_judgement judgement;
    struct iso_judge_options asked = *options;
    asked.order.model = (enum iso_model)level;
    if (level == ISO_PC && *budget > 0 && (asked.order.timeout <= 0 || *budget < asked.order.timeout))
        asked.order.timeout = *budget;
    if (iso_judge(history, &asked, &judgement, error) == ISO_OK) {
        *budget = level == ISO_CC ? budget_after(&judgement) : *budget;
        iso_answers_note(answers, level, judgement.outcome, judgement.reason);
        sink(context, level, &judgement, &answers->of[level]);
    }
    iso_judgement_release(&judgement);
    return error->status;
}

enum iso_status iso_judge_levels(const struct iso_history *finished, const struct iso_judge_options *options,
                                 iso_judge_answer_sink *sink, void *context, struct iso_answers *answers,
                                 struct iso_error *error)
{
    static const enum iso_level order[] = {ISO_SER, ISO_STRICT_SER, ISO_SI, ISO_STRONG_SI, ISO_CC,
                                           ISO_PC,  ISO_PSI,        ISO_RA, ISO_PRAM,      ISO_WFR,
                                           ISO_RC,  ISO_RYW,        ISO_MR, ISO_MW,        ISO_ADYA_RC};
    bool by_times = options->engine == ISO_JUDGE_CHRONOS;
    double budget = 0;
    unsigned engines = by_times ? ISO_BY_CHRONOS : ISO_BY_ANY_ORDER;
    struct iso_judge_options asked = *options;
    asked.engine = by_times ? ISO_JUDGE_CHRONOS : ISO_JUDGE_POLYGRAPH;
    iso_answers_init(answers, !by_times);
    for (int level = 0; level < ISO_LEVELS; level++)
        answers->of[level].is_candidate = is_candidate(finished, (enum iso_level)level, engines);
    for (size_t i = 0; i < sizeof order / sizeof *order && error->status == ISO_OK; i++) {
        const struct iso_answer *answer = &answers->of[order[i]];
        if (answer->is_candidate && !answer->is_known)
            ask(finished, &asked, order[i], &budget, sink, context, answers, error);
    }
    return error->status;
}
