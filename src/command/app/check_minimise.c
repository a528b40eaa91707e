/* `isochron check --minimise`: a part of a violated history that is violated still. */
#include <inttypes.h>

#include "app/check.h"
#include "history/part.h"
#include "formats/write_history.h"
#include "polygraph/minimise.h"
#include "verify/verify.h"

/* Judges the history that was written once more, and confirms the evidence. */
static enum iso_status judge_again(struct app *app, const struct iso_polygraph_options *options,
                                   const struct iso_history *history)
{
    struct iso_polygraph_result result;
    iso_polygraph_result_init(&result);
    enum iso_status status = iso_judge_any_order(history, options, &result, &app->error);
    if (status == ISO_OK && result.outcome != ISO_IS_VIOLATED)
        status = iso_error_set(&app->error, ISO_FAILED, "--minimise: what is left is judged %s",
                               iso_outcome_name(result.outcome));
    if (status == ISO_OK && iso_verify(history, &result.evidence, &app->error) != ISO_CONFIRMED)
        status = app->error.status = ISO_FAILED;
    iso_polygraph_result_release(&result);
    return status;
}

static enum iso_status write_smallest(struct app *app, const char *path,
                                      const struct iso_polygraph_options *options,
                                      struct iso_history *history)
{
    struct iso_output output;
    struct iso_history_writer writer;
    if (iso_output_open(&output, path, &app->error) != ISO_OK)
        return app->error.status;
    iso_history_writer_init(&writer, &output, ISO_FORMAT_NATIVE);
    enum iso_status status = iso_history_writer_add(&writer, history, &app->error);
    iso_history_writer_end(&writer);
    if (status == ISO_OK)
        status = iso_history_finish(history, &app->error);
    if (status == ISO_OK)
        status = judge_again(app, options, history);
    if (status == ISO_OK)
        status = iso_output_close(&output, &app->error);
    iso_output_discard(&output);
    return status;
}

enum iso_status app_check_minimise(struct app *app, const struct app_check *check,
                                   const struct iso_judgement *judgement)
{
    const struct iso_polygraph_options *options = &judgement->order;
    const struct iso_polygraph_result *result = &judgement->result;
    const struct iso_history *history = judgement->history;
    struct iso_history smallest, plain;
    if (!check->minimise)
        return ISO_OK;
    if (result->outcome != ISO_IS_VIOLATED) {
        if (!check->load.quiet)
            cli_log("%s: there is nothing to minimise, %s is not written",
                    iso_outcome_name(result->outcome), check->minimise);
        return ISO_OK;
    }
    iso_history_init(&smallest);
    iso_history_init(&plain);
    uint32_t checks =
        iso_polygraph_minimise(history, options, iso_judge_any_order, &result->evidence, &smallest);
    enum iso_status status = iso_history_finish(&smallest, &app->error);
    if (status == ISO_OK && !iso_part_without_initial(&smallest, &plain))
        status = iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--minimise: lists do not begin with their initial elements, which native files cannot say");
    if (status == ISO_OK)
        status = write_smallest(app, check->minimise, options, &plain);
    if (status == ISO_OK && !check->load.quiet)
        cli_log("%s: %" PRIu32 " of %" PRIu32 " transactions, %" PRIu32 " of %" PRIu32
                " operations, after %" PRIu32 " checks; keys start with null there",
                check->minimise, plain.txns.count, history->txns.count, plain.ops.count,
                history->ops.count, checks);
    iso_history_release(&plain);
    iso_history_release(&smallest);
    return status;
}
