/* What `isochron check` prints and writes of its judgement. */
#include "app/check.h"
#include "evidence/evidence.h"

static bool prints_text(const struct app_check *check)
{
    return !check->json && !check->explanation.explain &&
           !app_explanation_takes_stdout(&check->explanation);
}

enum iso_status app_check_report(struct app *app, const struct app_check *check,
                                 struct iso_history *history, const struct iso_judgement *judgement,
                                 double seconds_load, double seconds_total)
{
    struct iso_polygraph_report report = {.history = history,
                                          .result = &judgement->result,
                                          .level = judgement->order.level,
                                          .max_findings = judgement->order.max_findings,
                                          .as_si =
                                              judgement->has_verdict ? &judgement->verdict : NULL,
                                          .seconds_load = seconds_load,
                                          .seconds_total = seconds_total};
    struct app_said said = {&judgement->verdict, judgement->is_of_order ? &report : NULL};
    if (check->json)
        app_print_said(&app->out, &said);
    else if (prints_text(check) && said.order)
        iso_report_polygraph_text(&app->out, &report, check->load.quiet);
    else if (prints_text(check))
        iso_report_text(&app->out, &judgement->verdict, check->load.quiet);
    return app_explain_said(app, &check->explanation, history, &said);
}

enum iso_status app_check_evidence(struct app *app, const struct app_check *check,
                                   const struct iso_judgement *judgement)
{
    const struct iso_polygraph_result *result = &judgement->result;
    struct iso_output output;
    if (!check->evidence)
        return ISO_OK;
    if (result->outcome == ISO_HOLDS && result->reads_left_out) {
        if (!check->load.quiet)
            cli_log("reads were not judged: no evidence speaks for them, %s is not written",
                    check->evidence);
        return ISO_OK;
    }
    if (result->outcome == ISO_IS_UNDECIDED) {
        if (!check->load.quiet)
            cli_log("undecided: there is no evidence, %s is not written", check->evidence);
        return ISO_OK;
    }
    if (iso_output_open(&output, check->evidence, &app->error) != ISO_OK)
        return app->error.status;
    iso_evidence_write(&output, judgement->history, &result->evidence);
    return iso_output_close(&output, &app->error);
}
