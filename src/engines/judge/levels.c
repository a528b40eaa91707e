#include "judge/levels.h"

#include <assert.h>

static bool is_candidate(const struct iso_history *history, enum iso_level level, unsigned engines)
{
    const struct iso_level_row *row = iso_level_row(level);
    return row->is_ranked && iso_level_judged_by(level, engines) &&
           (!row->needs_times || (history->txns.begun && history->txns.ended));
}

/* Searches may take for ever: at pc where values were written twice, at psi where the input's order
 * is far from one that explains it. Where levels are compared they get a budget, by what cc took,
 * and are undecided then.
 */
struct budgets {
    double pc, psi; /* seconds; 0: none */
};

static struct budgets budgets_after(const struct iso_judgement *of_cc)
{
    const struct iso_polygraph_counters *counters = &of_cc->result.counters;
    bool repeats = of_cc->has_result && counters->open_reads_first;
    return (struct budgets){repeats ? 1 + counters->seconds_total : 0,
                            of_cc->has_result ? 10 + 10 * counters->seconds_total : 0};
}

static void set_budget(double budget, struct iso_polygraph_options *options)
{
    if (budget > 0 && (options->timeout <= 0 || budget < options->timeout))
        options->timeout = budget;
}

static enum iso_status ask(const struct iso_history *history,
                           const struct iso_judge_options *options, enum iso_level level,
                           struct budgets *budgets, iso_judge_answer_sink *sink, void *context,
                           struct iso_answers *answers, struct iso_error *error)
{
    struct iso_judgement judgement;
    struct iso_judge_options asked = *options;
    asked.order.level = (enum iso_level)level;
    if (level == ISO_PC || level == ISO_PSI)
        set_budget(level == ISO_PC ? budgets->pc : budgets->psi, &asked.order);
    if (iso_judge(history, &asked, &judgement, error) == ISO_OK) {
        if (level == ISO_CC)
            *budgets = budgets_after(&judgement);
        iso_answers_note(answers, level, judgement.outcome, judgement.reason);
        sink(context, level, &judgement, &answers->of[level]);
    }
    iso_judgement_release(&judgement);
    return error->status;
}

enum iso_status iso_judge_levels(const struct iso_history *finished,
                                 const struct iso_judge_options *options,
                                 iso_judge_answer_sink *sink, void *context,
                                 struct iso_answers *answers, struct iso_error *error)
{
    assert(finished->finished);
    static const enum iso_level order[] = {
        ISO_SER,  ISO_STRICT_SER, ISO_SI, ISO_STRONG_SI, ISO_CC, ISO_PC, ISO_PSI,    ISO_RA,
        ISO_PRAM, ISO_WFR,        ISO_RC, ISO_RYW,       ISO_MR, ISO_MW, ISO_ADYA_RC};
    bool by_times = options->engine == ISO_JUDGE_CHRONOS;
    struct budgets budgets = {0, 0};
    unsigned engines = by_times ? ISO_BY_CHRONOS : ISO_BY_ANY_ORDER;
    struct iso_judge_options asked = *options;
    asked.engine = by_times ? ISO_JUDGE_CHRONOS : ISO_JUDGE_POLYGRAPH;
    iso_answers_init(answers, !by_times);
    for (int level = 0; level < ISO_LEVELS; level++)
        answers->of[level].is_candidate = is_candidate(finished, (enum iso_level)level, engines);
    for (size_t i = 0; i < sizeof order / sizeof *order && error->status == ISO_OK; i++) {
        const struct iso_answer *answer = &answers->of[order[i]];
        if (answer->is_candidate && !answer->is_known)
            ask(finished, &asked, order[i], &budgets, sink, context, answers, error);
    }
    return error->status;
}
