/* `isochron run`: a command's transactions, judged. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/explanation.h"
#include "database/database.h"
#include "judge/judge.h"
#include "report/report.h"
#include "run/replay.h"
#include "suite/changes.h"
#include "suite/suite.h"

struct suite_command_line {
    const char *keep;
    int level;
    bool json, quiet, allow_unjudged;
    struct app_explanation explanation;
};

#define PLACE(member) offsetof(struct suite_command_line, member)

static const struct cli_option options[] = {
    CLI_ROW_GROUP("What to check"),
    CLI_ROW_CHOICE("level", ISO_LEVEL_WORDS, PLACE(level),
                   "Snapshot isolation (si, the default), serializability (ser), and those\n"
                   "that replay has, of transactions with a snapshot. Those at READ COMMITTED\n"
                   "are judged at rc: that they read what was committed.",
                   .refusal = iso_level_refusal),
    CLI_ROW_FLAG("allow-unjudged", PLACE(allow_unjudged),
                 "Reads that could not be judged do not make the verdict undecided."),
    CLI_ROW_GROUP("What is left"),
    CLI_ROW_TEXT("keep", "DIR", PLACE(keep),
                 "Keep the capture of records and changes in this folder, and say how it is\n"
                 "judged again."),
    APP_EXPLAIN_ROW(struct suite_command_line),
    APP_EXPLANATION_ROWS(struct suite_command_line),
    CLI_ROW_FLAG("json", PLACE(json),
                 "Print a JSON object on standard output, behind what the command prints; a\n"
                 "second one of READ COMMITTED, if there are such transactions."),
    CLI_ROW_FLAG("quiet", PLACE(quiet), "No summary on standard error."),
    {.type = CLI_END},
};

/* A folder of its own, or the one that is asked for. */
static enum iso_status make_folder(const struct suite_command_line *line, struct iso_text *folder,
                                   struct iso_error *error)
{
    const char *temporary = cli_temporary_folder();
    if (line->keep)
        iso_text_put(folder, line->keep);
    else
        iso_text_format(folder, "%s/isochron-run-XXXXXX", temporary);
    *iso_text_reserve(folder, 1) = 0;
    bool made = line->keep ? !mkdir(folder->bytes, 0700) || errno == EEXIST
                           : mkdtemp(folder->bytes) != NULL;
    return made ? ISO_OK
                : iso_error_set(error, ISO_BAD_INPUT, "%s: %s", folder->bytes, strerror(errno));
}

static void add_source(struct cli_texts *texts, struct iso_text *text)
{
    *iso_text_reserve(text, 1) = 0;
    texts->items[texts->count++] = text->bytes;
}

/* ---- judging ---- */

/* What the levels at which transactions ran say together. */
struct outcomes {
    enum iso_status snapshots;  /* what has a snapshot, at the level that is asked for */
    const char *reason;         /* of undecided */
    bool has_committed;         /* there are transactions at READ COMMITTED: */
    enum iso_outcome committed; /* what chronos says of all */
    const char *committed_reason;
    uint64_t judged; /* reads, at all levels */
};

static void print_verdict(struct iso_output *output, const void *verdict)
{
    iso_report_json(output, verdict, cli_peak_memory());
}

/* A reader without a snapshot saw committed values, and no other: rc asks for no more. */
static enum iso_status judge_committed(struct app *app, const struct suite_command_line *line,
                                       struct iso_history *history, struct outcomes *outcomes)
{
    struct iso_judge_options options;
    struct iso_judgement judgement = {0};
    iso_judge_options_init(&options);
    options.engine = ISO_JUDGE_CHRONOS;
    options.order.level = ISO_RC;
    options.allow_unjudged = line->allow_unjudged;
    if (iso_judge(history, &options, &judgement, &app->error) == ISO_OK) {
        const struct iso_verdict *verdict = &judgement.verdict;
        outcomes->committed = judgement.outcome;
        outcomes->committed_reason = judgement.reason ? judgement.reason : verdict->reason;
        outcomes->judged += verdict->reads_judged;
        if (!line->quiet)
            cli_log("READ COMMITTED: %" PRIu64 " reads judged, %" PRIu64 " not, %" PRIu64
                    " violation%s",
                    verdict->reads_judged, verdict->reads_unjudged,
                    iso_judgement_violations(&judgement),
                    cli_plural(iso_judgement_violations(&judgement)));
        if (line->json)
            print_verdict(&app->out, verdict);
        if (judgement.outcome == ISO_IS_VIOLATED || app_explanation_wanted(&line->explanation))
            app_explain_printed(app, &line->explanation, history, print_verdict, verdict);
    }
    iso_judgement_release(&judgement);
    return app->error.status;
}

static enum iso_status judge_stream(struct app *app, const struct suite_command_line *line,
                                    struct run_stream *stream, struct outcomes *outcomes)
{
    struct iso_pipeline_stats stats;
    struct iso_accounting books;
    outcomes->snapshots = run_stream_conclude(stream, 0, &app->error);
    if (app->error.status != ISO_OK)
        return app->error.status;
    iso_pipeline_stats(stream->pipeline, &stats);
    iso_pipeline_accounting(stream->pipeline, &books);
    iso_pipeline_outcome_of(stream->pipeline, &books, line->allow_unjudged, &outcomes->reason);
    const uint64_t *reads = books.of[ISO_UNIT_READS];
    outcomes->judged = reads[ISO_ACCOUNTED_JUDGED];
    if (!line->quiet && stats.engine.transactions)
        cli_log("%s: %" PRIu64 " reads judged, %" PRIu64 " not",
                iso_pipeline_level_name(stream->pipeline), outcomes->judged,
                books.came[ISO_UNIT_READS] - outcomes->judged);
    outcomes->has_committed = stats.join.without_start + stats.join.readers_without_start > 0;
    if (run_kept_finish(&stream->kept, stream->options, iso_pipeline_inputs(stream->pipeline),
                        &app->error) != ISO_OK)
        return app->error.status;
    if (outcomes->snapshots == ISO_VIOLATED || app_explanation_wanted(&line->explanation))
        app_explain(app, &line->explanation, stream->kept.history,
                    run_source_wall(&stream->options->sources), "the run's verdict",
                    &stream->kept.verdict);
    return outcomes->has_committed && app->error.status == ISO_OK
               ? judge_committed(app, line, stream->kept.history, outcomes)
               : app->error.status;
}

/* As `replay` does it, and what has no snapshot at READ COMMITTED. */
static enum iso_status judge(struct app *app, const struct suite_command_line *line,
                             const struct suite_result *result, struct outcomes *outcomes)
{
    struct run_stream_options options;
    struct run_stream stream;
    struct iso_text changes = {0}, records = {0};
    const char *sources[2], *files[] = {result->capture.bytes};
    struct cli_texts inputs = {.items = files, .count = 1};
    run_stream_options_init(&options);
    options.sources.items = sources;
    options.level = line->level;
    options.initial = "null";
    options.json = line->json;
    options.silent = !line->json;
    options.keep = true;
    options.quiet = true;
    options.allow_unjudged = line->allow_unjudged;
    iso_text_format(&changes,
                    "debezium:" SUITE_CHANGES
                    ",format=test_decoding,cells=true,identity=default,tables=%s",
                    result->tables.used ? result->tables.bytes : "-");
    add_source(&options.sources, &changes);
    iso_text_put(&records, "history:" SUITE_RECORDS);
    add_source(&options.sources, &records);
    if (run_stream_open(&stream, &options, &app->out, false, true, &app->error) == ISO_OK &&
        run_replay_files(&stream, &inputs, &app->error) == ISO_OK)
        judge_stream(app, line, &stream, outcomes);
    if (line->keep && !line->quiet)
        cli_log("judged again by: isochron replay --source '%s' --source %s --initial null %s",
                changes.bytes, records.bytes, result->capture.bytes);
    run_stream_close(&stream, &app->error);
    iso_text_release(&changes);
    iso_text_release(&records);
    return app->error.status;
}

/* Violated wins; undecided says why. That a reader has no snapshot is no reason where it was judged
 * at its own level. */
static enum iso_status conclude(const struct suite_command_line *line,
                                const struct suite_result *result, const struct outcomes *outcomes)
{
    const char *reason = outcomes->reason;
    uint64_t lost =
        result->recorder.dropped_full + result->recorder.dropped_refused + result->recorder.lost;
    bool violated = outcomes->snapshots == ISO_VIOLATED ||
                    (outcomes->has_committed && outcomes->committed == ISO_IS_VIOLATED);
    if (reason && outcomes->has_committed &&
        (!strcmp(reason, "no-start-timestamp") || !strcmp(reason, "nothing-judged")))
        reason = outcomes->committed == ISO_IS_UNDECIDED ? outcomes->committed_reason : NULL;
    else if (!reason && outcomes->has_committed && outcomes->committed == ISO_IS_UNDECIDED)
        reason = outcomes->committed_reason;
    if (!reason && lost)
        reason = "records-lost";
    if (!reason && !outcomes->judged)
        reason = "nothing-judged";
    if (!line->quiet)
        cli_log("%s%s%s: %" PRIu64 " of %" PRIu64 " statements that read were recorded",
                violated ? "violated"
                : reason ? "undecided"
                         : "holds",
                !violated && reason ? ": " : "", !violated && reason ? reason : "",
                result->recorded, result->reads);
    return violated ? ISO_VIOLATED : reason ? ISO_UNDECIDED : ISO_OK;
}

static enum iso_status run_command(struct app *app, const struct suite_command_line *line,
                                   const struct cli_texts *files, struct suite_result *result)
{
    struct iso_text folder = {0};
    struct outcomes outcomes = {.reason = NULL};
    const char **arguments = calloc(files->count, sizeof *arguments);
    for (uint32_t i = 1; i < files->count; i++)
        arguments[i - 1] = files->items[i];
    enum iso_status status = make_folder(line, &folder, &app->error);
    struct suite_options suite = {files->items[0], (char *const *)arguments, folder.bytes};
    if (status == ISO_OK)
        status = suite_run(&suite, result, &app->error);
    if (status == ISO_OK)
        status = judge(app, line, result, &outcomes);
    if (status == ISO_OK)
        status = conclude(line, result, &outcomes);
    if (!line->keep && folder.used) {
        unlink(result->capture.bytes);
        rmdir(folder.bytes);
    }
    free(arguments);
    iso_text_release(&folder);
    return status;
}

static enum iso_status run_as_asked(struct app *app, void *target, const struct cli_texts *files)
{
    struct suite_result result = {.exit_status = 0};
    enum iso_database_protocol protocol;
    if (files->count < 2 || !iso_database_is_url(files->items[0], &protocol) ||
        protocol != ISO_PROTOCOL_POSTGRES)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "expected postgresql://HOST/DATABASE -- COMMAND");
    enum iso_status status = run_command(app, target, files, &result);
    if (result.exit_status && app->error.status == ISO_OK)
        status = (enum iso_status)result.exit_status;
    suite_result_release(&result);
    return status;
}

static enum iso_status run_run(struct app *app, int count, char **arguments)
{
    struct suite_command_line line = {.level = -1};
    return cli_run(app, count, arguments, &line, run_as_asked);
}

const struct cli_command app_run = {
    .name = "run",
    .summary = "run a command, and judge what its transactions read",
    .usage = "[OPTIONS] postgresql://HOST/DATABASE -- COMMAND...",
    .intro = "Runs the command with a database URL of its own (DATABASE_URL, PGHOST, PGPORT,\n"
             "and {URL} in its arguments) that leads through a recorder to PostgreSQL, reads\n"
             "the database's changes beside it from a temporary slot, and judges both. Nothing\n"
             "is installed, and nothing stays in the database. Exit status: the command's own if\n"
             "it is not 0; else 0 holds, 1 violated, 2 not started, 3 undecided, 4 failure.",
    .examples = "  isochron run postgresql://localhost/test -- pytest\n"
                "      What the tests read, judged at snapshot isolation.\n"
                "  isochron run --keep why postgresql://localhost/test -- pgbench -n {URL}\n"
                "      The same with what is needed to judge it again.\n",
    .options = options,
    .run = run_run,
};
