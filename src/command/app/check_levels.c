/* `isochron check --level strongest|all`, `--at-least`: several levels of one history. */
#include "app/check.h"
#include "judge/levels.h"
#include "report/report.h"

bool app_check_asks_levels(const struct app_check *check)
{
    return check->level >= APP_STRONGEST || check->at_least < ISO_LEVELS;
}

enum iso_status app_check_levels_options(struct app *app, const struct app_check *check)
{
    static const char what[] = "--level strongest, --level all and --at-least";
    bool explains = app_explanation_wanted(&check->explanation);
    if (check->judge.engine != ISO_JUDGE_AUTO && check->judge.engine != ISO_JUDGE_CHRONOS)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "%s ask for any order, or with --engine chronos for the levels by timestamps", what);
    if (check->no_session_order)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--no-session-order goes with one level: %s say which keep sessions",
                             what);
    if (check->evidence || check->minimise || explains || check->judge.any_order)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--evidence, --minimise, --any-order, --explain, --report, --html, --svg and --dot need one level: run "
            "%s first, then repeat with --level NAME",
            what);
    if (check->at_least < ISO_LEVELS && check->level != ISO_SI && check->level < APP_STRONGEST)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--at-least goes with --level strongest (its default) or all, not with --level %s",
            iso_level_name((enum iso_level)check->level));
    if (check->at_least < ISO_LEVELS &&
        !iso_level_judged_by((enum iso_level)check->at_least,
                             check->judge.engine == ISO_JUDGE_CHRONOS ? ISO_BY_CHRONOS
                                                                      : ISO_BY_ANY_ORDER))
        return iso_level_check((enum iso_level)check->at_least,
                               check->judge.engine == ISO_JUDGE_CHRONOS ? ISO_BY_CHRONOS
                                                                        : ISO_BY_ANY_ORDER,
                               check->judge.engine == ISO_JUDGE_CHRONOS ? "chronos" : "any order",
                               "--at-least", &app->error);
    return ISO_OK;
}

static void take_answer(void *context, enum iso_level level, const struct iso_judgement *judgement,
                        struct iso_answer *answer)
{
    const struct iso_judge_options *options = context;
    struct iso_polygraph_report report = {.history = judgement->history,
                                          .result = &judgement->result,
                                          .level = judgement->order.level,
                                          .max_findings = options->order.max_findings};
    (void)level;
    if (judgement->is_of_order && judgement->outcome == ISO_IS_VIOLATED)
        iso_report_anomaly(&report, answer->anomaly);
}

static enum iso_status status_of(const struct app_check *check, const struct iso_answers *answers)
{
    if (check->at_least < ISO_LEVELS)
        return iso_outcome_status(iso_answers_outcome(answers, (enum iso_level)check->at_least));
    return iso_answers_open(answers) ? iso_outcome_status(ISO_IS_UNDECIDED) : ISO_OK;
}

enum iso_status app_check_levels(struct app *app, const struct app_check *check,
                                 const struct iso_history *history, double started, double loaded)
{
    struct iso_answers answers;
    struct iso_judge_options options = check->judge;
    if (iso_judge_levels(history, &options, take_answer, &options, &answers, &app->error) != ISO_OK)
        return app->error.status;
    struct iso_levels_report report = {.history = history,
                                       .answers = &answers,
                                       .engine = options.engine == ISO_JUDGE_CHRONOS ? "chronos"
                                                                                     : "any-order",
                                       .all = check->level == APP_ALL,
                                       .has_least = check->at_least < ISO_LEVELS,
                                       .least = (enum iso_level)check->at_least,
                                       .seconds_load = loaded - started,
                                       .seconds_total = iso_clock_seconds() - started};
    if (check->json)
        iso_report_levels_json(&app->out, &report, cli_peak_memory());
    else
        iso_report_levels_text(&app->out, &report, check->load.quiet);
    return status_of(check, &answers);
}
