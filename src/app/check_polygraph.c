/* `isochron check` without timestamps. */
#include "app/check.h"
#include "io/evidence.h"
#include "io/report.h"

enum iso_model app_check_model(const struct app_check *check)
{
    /* In the order of the option's words: si and ser are named the other way round than polygraph's levels. */
    static const enum iso_model models[] = {ISO_MODEL_SI,  ISO_MODEL_SER,       ISO_MODEL_ADYA_SI,
                                            ISO_MODEL_GSI, ISO_MODEL_STRONG_SI, ISO_MODEL_STRICT_SER};
    if (check->level == ISO_SI && check->no_session_order)
        return ISO_MODEL_ADYA_SI;
    return models[check->level];
}

static enum iso_status write_evidence(struct app *app, const struct app_check *check, const struct iso_history *history,
                                      const struct iso_polygraph_result *result)
{
    struct iso_output output;
    if (!check->evidence)
        return ISO_OK;
    if (result->outcome == ISO_IS_UNDECIDED) {
        if (!check->load.quiet)
            app_say("undecided: there is no evidence, %s is not written", check->evidence);
        return ISO_OK;
    }
    if (iso_output_open(&output, check->evidence, &app->error) != ISO_OK)
        return app->error.status;
    iso_evidence_write(&output, history, &result->evidence);
    return iso_output_close(&output, &app->error);
}

static enum iso_status judge(struct app *app, const struct app_check *check, const struct iso_history *history,
                             struct iso_polygraph_result *result)
{
    struct iso_polygraph_options options;
    iso_polygraph_options_init(&options);
    options.model = app_check_model(check);
    options.drift = check->drift;
    options.timeout = (double)check->timeout;
    options.memory = check->memory;
    options.memory_in_use = app_memory_in_use;
    options.max_findings = (uint32_t)check->max_violations;
    options.no_advice = check->no_advice;
    options.no_saturation = check->no_saturation;
    options.no_meet = check->no_meet;
    options.no_join = check->no_join;
    options.no_search = check->no_search;
    options.no_solver = check->no_solver;
    if (check->no_session_order && check->level != ISO_SI && check->level != ISO_MODEL_ADYA_SI)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--no-session-order: polygraph has snapshot isolation without it (--level adya-si), not %s",
            iso_model_name(options.model));
    enum iso_status status = iso_polygraph_check(history, &options, result, &app->error);
    if (status == ISO_OK)
        status = write_evidence(app, check, history, result);
    if (status == ISO_OK && check->minimise)
        status = app_check_minimise(app, check, &options, history, result);
    return status;
}

static void print_json(struct iso_output *output, const void *report)
{
    iso_report_polygraph_json(output, report, app_peak_memory());
}

enum iso_status app_check_polygraph(struct app *app, const struct app_check *check, struct iso_history *history,
                                    double seconds_load, double started)
{
    struct iso_polygraph_result result;
    iso_polygraph_result_init(&result);
    enum iso_status status = judge(app, check, history, &result);
    struct iso_polygraph_report report = {.history = history,
                                          .result = &result,
                                          .model = app_check_model(check),
                                          .max_findings = (uint32_t)check->max_violations,
                                          .seconds_load = seconds_load,
                                          .seconds_total = app_seconds() - started};
    if (status == ISO_OK) {
        if (check->json)
            iso_report_polygraph_json(&app->out, &report, app_peak_memory());
        else if (!check->explanation.explain && !app_explanation_takes_stdout(&check->explanation))
            iso_report_polygraph_text(&app->out, &report, check->load.quiet);
        status = iso_outcome_status(result.outcome);
        if (app_explain_printed(app, &check->explanation, history, print_json, &report) != ISO_OK)
            status = app->error.status;
    }
    iso_polygraph_result_release(&result);
    return status;
}

void app_check_any_order(struct app *app, const struct app_check *check, const struct iso_history *history,
                         struct iso_verdict *verdict)
{
    struct iso_polygraph_result result;
    iso_polygraph_result_init(&result);
    if (judge(app, check, history, &result) == ISO_OK)
        verdict->any_order = iso_outcome_name(result.outcome);
    iso_polygraph_result_release(&result);
}
