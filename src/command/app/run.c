/* `isochron run`: a command's transactions, judged. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/explanation.h"
#include "app/levels.h"
#include "database/database.h"
#include "run/input/left_out.h"
#include "run/replay.h"
#include "suite/changes.h"
#include "suite/command.h"
#include "suite/server.h"
#include "suite/suite.h"
#include "suite/sweeper.h"

struct suite_command_line {
    const char *keep, *judge, *version, *pattern, *status_file;
    int level, fail_level;
    uint64_t at_least; /* a share of the reads: parts of 2^32 */
    bool starts, is_alone;
    bool json, quiet, allow_unjudged, shows_values;
    struct app_explanation explanation;
};

#define PLACE(member) offsetof(struct suite_command_line, member)

static const struct cli_option options[] = {
    CLI_ROW_GROUP("Which database"),
    CLI_ROW_FLAG("start-postgres", PLACE(starts),
                 "Instead of a URL: start a PostgreSQL of its own in a temporary folder, from\n"
                 "the installed binaries, and stop it at the end."),
    CLI_ROW_TEXT("database", "PATTERN", PLACE(pattern),
                 "Besides the URL's, judge databases whose names fit (test_*); by default all to\n"
                 "which sessions go. Others are passed on."),
    CLI_ROW_TEXT("postgres-version", "VERSION", PLACE(version),
                 "Of that one: 15, for example. By default the newest that is installed."),
    CLI_ROW_FLAG("no-stream", PLACE(is_alone),
                 "Read no changes: needs neither a slot nor REPLICATION. Reads are compared with\n"
                 "each other alone, and the verdict is violated or undecided (no-stream)."),
    CLI_ROW_GROUP("What to check"),
    CLI_ROW_CHOICE("level", ISO_LEVEL_WORDS, PLACE(level),
                   "Each transaction is judged at the level at which it ran. This says, beside\n"
                   "that, whether all of them together would pass at si (snapshot isolation),\n"
                   "ser (serializability) or another one that check has.",
                   .refusal = iso_level_refusal),
    CLI_ROW_CHOICE("fail-level", ISO_LEVEL_WORDS, PLACE(fail_level),
                   "The same, and it is part of the verdict.", .refusal = iso_level_refusal),
    CLI_ROW_FLAG("allow-unjudged", PLACE(allow_unjudged),
                 "Reads that could not be judged do not make the verdict undecided, if enough\n"
                 "others were (--at-least)."),
    CLI_ROW_SHARE("at-least", "SHARE", PLACE(at_least),
                  "What share of the recorded reads --allow-unjudged wants judged (0.5)."),
    CLI_ROW_GROUP("What is left"),
    CLI_ROW_TEXT(
        "status-file", "FILE", PLACE(status_file),
        "Write the verdict's own status there: \"1 violated\", \"3 undecided: row-sets\".\n"
        "The exit status is the command's where that is not 0."),
    CLI_ROW_FLAG("show-values", PLACE(shows_values),
                 "Records and reports have statements with their values; without it these are ?."),
    CLI_ROW_TEXT("keep", "DIR", PLACE(keep),
                 "Keep the capture of records and changes in this folder, and say how it is\n"
                 "judged again."),
    CLI_ROW_TEXT("judge", "DIR", PLACE(judge),
                 "Instead of a URL and a command: judge what --keep has left there."),
    APP_EXPLAIN_ROW(struct suite_command_line),
    APP_EXPLANATION_ROWS(struct suite_command_line),
    CLI_ROW_FLAG("json", PLACE(json),
                 "Print a JSON object of each level on standard output, behind what the\n"
                 "command prints."),
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
    if (made && !line->keep)
        suite_sweeper_add(folder->bytes);
    return made ? ISO_OK
                : iso_error_set(error, ISO_BAD_INPUT, "%s: %s", folder->bytes, strerror(errno));
}

static void add_source(struct cli_texts *texts, struct iso_text *text)
{
    *iso_text_reserve(text, 1) = 0;
    texts->items[texts->count++] = text->bytes;
}

/* ---- judging ---- */

/* What the stream alone says: of a reader without a snapshot its own level says more. */
static const char *reason_of(const struct run_stream *stream, bool allow_unjudged)
{
    struct iso_accounting books;
    const char *reason = NULL;
    iso_pipeline_accounting(stream->pipeline, &books);
    iso_pipeline_outcome_of(stream->pipeline, &books, allow_unjudged, &reason);
    for (int i = 0; reason && i < ISO_UNJUDGED_REASONS; i++)
        if (i != ISO_UNJUDGED_INCOMPLETE &&
            !strcmp(reason, iso_unjudged_name((enum iso_unjudged)i)))
            reason = NULL;
    return reason && (!strcmp(reason, "no-start-timestamp") || !strcmp(reason, "nothing-judged"))
               ? NULL
               : reason;
}

static enum iso_status judge_stream(struct app *app, struct levels *levels,
                                    struct run_stream *stream)
{
    enum iso_status outcome = run_stream_conclude(stream, 0, &app->error);
    if (app->error.status != ISO_OK)
        return app->error.status;
    levels->reason = reason_of(stream, levels->allow_unjudged);
    levels_judge(app, levels, stream);
    if (outcome == ISO_VIOLATED && !levels->facts->failure && !levels->is_violated)
        levels_take_stream(app, levels, stream);
    return app->error.status;
}

static void take_left_out(struct levels *levels)
{
    const struct suite_facts *facts = levels->facts;
    uint64_t others = facts->unjudged;
    levels->unjudged += others;
    for (uint32_t i = 0; !levels->quiet && i < facts->unjudged_of.count && i < RUN_TABLES_NAMED;
         i++) {
        const struct suite_unjudged *of = &facts->unjudged_of.list[i];
        others -= of->reads;
        cli_log("%s: %" PRIu64 " read%s of %s not judged: what it held then is not known, or which "
                "table had that name",
                facts->name, of->reads, cli_plural(of->reads), of->table);
    }
    if (others && !levels->quiet)
        cli_log("%s: %" PRIu64 " read%s of other tables not judged", facts->name, others,
                cli_plural(others));
}

/* As `replay` does it, and then by levels. */
static enum iso_status judge(struct app *app, const struct suite_command_line *line,
                             struct levels *levels)
{
    const struct suite_facts *facts = levels->facts;
    struct run_stream_options options;
    struct run_stream stream;
    struct iso_text changes = {0}, records = {0};
    const char *sources[2], *files[] = {facts->path};
    struct cli_texts inputs = {.items = files, .count = 1};
    run_stream_options_init(&options);
    options.sources.items = sources;
    options.initial = "null";
    options.silent = true;
    options.keep = true;
    options.quiet = true;
    options.allow_unjudged = line->allow_unjudged;
    /* which tables have a source is this command's choice, not its user's */
    options.pipeline.strict_coverage = !line->allow_unjudged;
    iso_text_format(&changes,
                    "debezium:" SUITE_CHANGES
                    ",format=test_decoding,cells=true,identity=default,tables=%s",
                    *facts->tables ? facts->tables : "-");
    add_source(&options.sources, &changes);
    iso_text_put(&records, "history:" SUITE_RECORDS);
    add_source(&options.sources, &records);
    if (suite_told_read(&levels->told, facts->path, &app->error) == ISO_OK) {
        const struct suite_snapshots *snapshots = &levels->told.snapshots;
        options.pipeline.join.snapshots_from = snapshots->count ? snapshots->list[0].xmax : 0;
        if (run_stream_open(&stream, &options, &app->out, false, true, &app->error) == ISO_OK &&
            run_replay_files(&stream, &inputs, &app->error) == ISO_OK)
            judge_stream(app, levels, &stream);
        run_stream_close(&stream, &app->error);
    }
    if (app->error.status == ISO_OK)
        take_left_out(levels);
    suite_told_release(&levels->told);
    iso_text_release(&changes);
    iso_text_release(&records);
    return app->error.status;
}

/* Refuses what records alone do not say. */
static enum iso_status check_alone(struct app *app, const struct suite_command_line *line)
{
    if (app_explanation_wanted(&line->explanation) || line->level >= 0 || line->fail_level >= 0)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--no-stream: a level that is asked for, explanations and reports "
                             "need the database's changes");
    return ISO_OK;
}

static enum iso_status judge_base(struct app *app, const struct suite_command_line *line,
                                  struct levels *levels)
{
    if (!levels->facts->is_alone)
        return judge(app, line, levels);
    if (check_alone(app, line) == ISO_OK && levels_judge_alone(app, levels) == ISO_OK)
        take_left_out(levels);
    return app->error.status;
}

/* Database by database, each by itself. */
static enum iso_status judge_all(struct app *app, const struct suite_command_line *line,
                                 const struct suite_result *result, struct levels *all)
{
    for (uint32_t i = 0; i < result->bases.count && app->error.status == ISO_OK; i++) {
        const struct suite_facts *facts = &result->bases.list[i];
        struct levels levels = *all;
        levels.facts = facts;
        levels.reason = NULL;
        if (facts->tables)
            judge_base(app, line, &levels);
        if (!line->quiet && (facts->failure || !facts->tables))
            cli_log("%s: not judged%s: %s", facts->name, facts->tables ? " from there on" : "",
                    facts->failure ? facts->failure : "it is gone");
        if (!levels.reason && !line->allow_unjudged && facts->unjudged)
            levels.reason = "uncovered";
        if (!levels.reason && !line->allow_unjudged &&
            (facts->late || facts->failure || !facts->tables))
            levels.reason = facts->is_left_out ? NULL : "database-not-judged";
        all->pages = levels.pages;
        all->has_page = levels.has_page;
        all->judged = levels.judged;
        all->unjudged = levels.unjudged + facts->late;
        all->is_violated |= levels.is_violated;
        all->reason = all->reason ? all->reason : levels.reason;
    }
    return app->error.status;
}

/* Whether --allow-unjudged may speak of what was judged alone. */
static bool is_enough(const struct suite_command_line *line, const struct levels *levels)
{
    double all = (double)levels->judged + (double)levels->unjudged;
    return !line->allow_unjudged || (double)levels->judged * 4294967296.0 >= line->at_least * all;
}

/* For whoever asks when the exit status is the command's. */
static void write_status(const struct suite_command_line *line, enum iso_status status,
                         const char *reason, struct iso_error *error)
{
    static const char *const names[] = {[ISO_OK] = "holds",
                                        [ISO_VIOLATED] = "violated",
                                        [ISO_BAD_INPUT] = "not started",
                                        [ISO_UNDECIDED] = "undecided",
                                        [ISO_FAILED] = "failure"};
    FILE *file = line->status_file ? fopen(line->status_file, "we") : NULL;
    bool written = file && fprintf(file, "%d %s%s%s\n", (int)status, names[status],
                                   reason ? ": " : "", reason ? reason : "") > 0;
    if (file && fclose(file))
        written = false;
    if (line->status_file && !written && error->status == ISO_OK)
        iso_error_set(error, ISO_FAILED, "%s: %s", line->status_file, strerror(errno));
}

/* Violated wins; undecided says why. */
static enum iso_status conclude(struct app *app, const struct suite_command_line *line,
                                const struct suite_result *result, const struct levels *levels)
{
    const char *reason = levels->reason;
    if (!reason && result->lost)
        reason = "records-lost";
    if (!reason && !levels->judged)
        reason = "nothing-judged";
    if (!reason && !is_enough(line, levels))
        reason = "too-few-judged";
    if (levels->is_violated)
        reason = NULL;
    enum iso_status status = result->lost_server   ? ISO_FAILED
                             : levels->is_violated ? ISO_VIOLATED
                             : reason              ? ISO_UNDECIDED
                                                   : ISO_OK;
    write_status(line, status, reason, &app->error);
    if (!line->quiet)
        cli_log("%s%s%s: %" PRIu64 " of %" PRIu64 " statements that read were recorded",
                levels->is_violated ? "violated"
                : reason            ? "undecided"
                                    : "holds",
                reason ? ": " : "", reason ? reason : "", result->recorded, result->reads);
    return status;
}

static enum iso_status judge_result(struct app *app, const struct suite_command_line *line,
                                    const struct suite_result *result)
{
    struct levels levels = {.explanation = &line->explanation,
                            .asked = line->level,
                            .required = line->fail_level,
                            .json = line->json,
                            .quiet = line->quiet,
                            .allow_unjudged = line->allow_unjudged};
    return judge_all(app, line, result, &levels) == ISO_OK ? conclude(app, line, result, &levels)
                                                           : app->error.status;
}

static enum iso_status run_command(struct app *app, const struct suite_command_line *line,
                                   const char *url, const char *const *arguments,
                                   struct suite_result *result)
{
    struct iso_text folder = {0};
    enum iso_status status = make_folder(line, &folder, &app->error);
    struct suite_options suite = {url,
                                  (char *const *)arguments,
                                  folder.bytes,
                                  line->pattern ? line->pattern : "*",
                                  line->shows_values,
                                  !line->is_alone};
    if (status == ISO_OK)
        status = suite_run(&suite, result, &app->error);
    if (status == ISO_OK && line->keep)
        status = suite_result_write(result, folder.bytes, &app->error);
    if (status == ISO_OK && line->keep && !line->quiet)
        cli_log("judged again by: isochron run --judge %s", folder.bytes);
    if (status == ISO_OK)
        status = judge_result(app, line, result);
    if (!line->keep && folder.used)
        suite_folder_remove(folder.bytes);
    iso_text_release(&folder);
    return status;
}

/* What a run has kept. */
static enum iso_status judge_kept(struct app *app, const struct suite_command_line *line,
                                  const struct cli_texts *files)
{
    struct suite_result result = {.exit_status = 0};
    if (files->count || line->keep || line->starts)
        return iso_error_set(&app->error, ISO_BAD_INPUT, "--judge DIR runs no command");
    enum iso_status status = suite_result_read(&result, line->judge, &app->error);
    if (status == ISO_OK)
        status = judge_result(app, line, &result);
    suite_result_release(&result);
    return status;
}

/* The arguments with a NULL behind the last. */
static const char **arguments_of(const struct cli_texts *texts, uint32_t first)
{
    const char **arguments = calloc(texts->count + 1, sizeof *arguments);
    for (uint32_t i = first; arguments && i < texts->count; i++)
        arguments[i - first] = texts->items[i];
    return arguments;
}

static enum iso_status run_as_asked(struct app *app, void *target, const struct cli_texts *files)
{
    const struct suite_command_line *line = target;
    struct suite_result result = {.exit_status = 0};
    struct suite_server server = {.process = 0};
    if (line->is_alone && check_alone(app, line) != ISO_OK)
        return app->error.status;
    if (line->judge)
        return judge_kept(app, line, files);
    enum iso_database_protocol protocol;
    bool starts = line->starts || line->version;
    if (files->count < 2u - starts ||
        (!starts &&
         (!iso_database_is_url(files->items[0], &protocol) || protocol != ISO_PROTOCOL_POSTGRES)))
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             starts ? "expected --start-postgres -- COMMAND"
                                    : "expected postgresql://HOST/DATABASE -- COMMAND");
    const char **arguments = arguments_of(files, !starts);
    suite_command_guard();
    suite_sweeper_start();
    enum iso_status status =
        starts ? suite_server_start(&server, line->version, cli_temporary_folder(), &app->error)
               : ISO_OK;
    if (status == ISO_OK)
        status =
            run_command(app, line, starts ? server.url.bytes : files->items[0], arguments, &result);
    if (app->error.status != ISO_OK)
        write_status(line, app->error.status, app->error.text, &app->error);
    if (result.exit_status && app->error.status == ISO_OK)
        status = (enum iso_status)result.exit_status;
    suite_server_stop(&server);
    suite_result_release(&result);
    free(arguments);
    return status;
}

static enum iso_status run_run(struct app *app, int count, char **arguments)
{
    struct suite_command_line line = {.level = -1, .fail_level = -1, .at_least = 1ull << 31};
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
                "      What the tests read, judged at the levels at which they ran.\n"
                "  isochron run --start-postgres -- pytest\n"
                "      The same on a PostgreSQL of its own.\n"
                "  isochron run --keep why postgresql://localhost/test -- pgbench -n {URL}\n"
                "      The same with what is needed to judge it again.\n",
    .options = options,
    .run = run_run,
};
