/* `isochron prove`: which isolation level a program needs. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "app/commands.h"
#include "bytes/whole_file.h"
#include "base/clock.h"
#include "prove/advice.h"
#include "prove/history.h"
#include "prove/proof.h"
#include "prove/report.h"
#include "prove_page/page.h"
#include "lower/psql.h"
#include "lower/read.h"
#include "lower/remedy.h"

struct prove {
    const char
        *levels;    /* names with commas between; NULL: PostgreSQL's, of the core language all */
    const char *at; /* the level in use; NULL: READ COMMITTED, of the core language ser */
    enum iso_prove_level in_use;
    bool sql;
    uint32_t instances, unroll;
    uint64_t timeout;                      /* milliseconds; 0: none */
    const char *evidence, *smt2, *history; /* files, a folder, or NULL */
    const char *psql, *html;               /* files, or NULL */
    struct iso_text advice;                /* as text, for the page */
    bool json, advise;
    double started, deadline; /* of --timeout; 0: none */
    struct iso_prove_options options;
};

#define PLACE(member) offsetof(struct prove, member)

static const struct cli_option options[] = {
    CLI_ROW_GROUP("What is asked"),
    CLI_ROW_TEXT("level", "NAMES", PLACE(levels),
                 "Levels with commas between: ser, si, psi, pc, cc, ra, rc; all. Of SQL by\n"
                 "default PostgreSQL's: rc, si, ser; of the core language all."),
    CLI_ROW_TEXT("at", "NAME", PLACE(at),
                 "The level in use, of which the exit status is: rc, of the core language\n"
                 "ser; where --level is given, else the worst of those."),
    CLI_ROW_COUNT("instances", "N", PLACE(instances), 1, 100,
                  "Run the file's run list N times (1)."),
    CLI_ROW_FLAG("any-number", PLACE(options.any_number),
                 "At ser, si and pc: ask by induction whether what holds for these\n"
                 "transactions holds for any number of them."),
    CLI_ROW_FLAG("advise", PLACE(advise),
                 "Say what would make it hold: the level; at rc and si the smallest set\n"
                 "of reads to lock or of rows to update; in SQL also a unique index."),
    CLI_ROW_COUNT("unroll", "K", PLACE(unroll), 1, 1000,
                  "Make K rounds of loops whose bounds are not constant. If more can be\n"
                  "reached, the verdict is undecided."),
    CLI_ROW_SECONDS("timeout", "S", PLACE(timeout), 0, 1000000,
                    "After S seconds what is not decided is undecided (0: no limit)."),
    CLI_ROW_GROUP("What is written"),
    CLI_ROW_FLAG("json", PLACE(json), "Print the verdicts as one JSON object."),
    CLI_ROW_TEXT("html", "FILE", PLACE(html),
                 "A page for a browser, of one file: the verdicts, and each counterexample\n"
                 "as a picture of its statements and of the cycle that they make."),
    CLI_ROW_TEXT("history", "DIR", PLACE(history),
                 "Write each counterexample as a history, DIR/LEVEL.jsonl, for isochron\n"
                 "check."),
    CLI_ROW_TEXT("evidence", "FILE", PLACE(evidence),
                 "Write a proof of every level that holds; isochron verify checks it."),
    CLI_ROW_TEXT("smt2", "FILE", PLACE(smt2),
                 "Write the question of the one --level for an SMT solver: unsat says\n"
                 "that it holds."),
    CLI_ROW_TEXT("psql", "FILE", PLACE(psql),
                 "Of SQL: write what breaks the strongest violated level of PostgreSQL's\n"
                 "as a script of bash that replays it there, one psql a transaction."),
    {.type = CLI_END},
};

/* The level that a name of this length is; ISO_PROVE_LEVELS: none. */
static uint32_t level_of(const char *name, size_t length)
{
    uint32_t level = 0;
    while (level < ISO_PROVE_LEVELS && (strlen(iso_prove_level_name(level)) != length ||
                                        strncmp(iso_prove_level_name(level), name, length) != 0))
        level++;
    return level;
}

static enum iso_status refuse_level(struct app *app, const char *option, const char *name,
                                    size_t length)
{
    return iso_error_set(
        &app->error, ISO_BAD_INPUT,
        "prove: --%s: unknown level '%.*s', expected some of ser, si, psi, pc, cc, ra, rc", option,
        (int)(length < 40 ? length : 40), name);
}

static enum iso_status parse_levels(struct app *app, struct prove *prove)
{
    const char *at = prove->levels;
    bool all = at ? !strcmp(at, "all") : !prove->sql;
    bool *levels = prove->options.levels;
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++)
        levels[i] = all || (!at && iso_prove_level_at_postgresql(i));
    while (!all && at && *at) {
        size_t length = strcspn(at, ",");
        uint32_t level = level_of(at, length);
        if (level == ISO_PROVE_LEVELS)
            return refuse_level(app, "level", at, length);
        levels[level] = true;
        at += length + (at[length] == ',');
    }
    if (prove->levels && !*prove->levels)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "prove: --level: expected some of ser, si, psi, pc, cc, ra, rc");
    prove->in_use = prove->sql ? ISO_PROVE_RC : ISO_PROVE_SER;
    if (prove->at)
        prove->in_use = level_of(prove->at, strlen(prove->at));
    if (prove->in_use == ISO_PROVE_LEVELS)
        return refuse_level(app, "at", prove->at, strlen(prove->at));
    if (prove->at && !levels[prove->in_use])
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "prove: --at: '%s' is not among the levels that are asked", prove->at);
    return ISO_OK;
}

/* That of the level in use; else the worst outcome among the levels that were asked for by name. */
static enum iso_status exit_status(const struct prove *prove, const struct iso_prove_result *result)
{
    enum iso_status status = ISO_OK;
    if (prove->at || !prove->levels)
        return iso_outcome_status(result->answers[prove->in_use].outcome);
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS; i++) {
        enum iso_outcome outcome = result->asked[i] ? result->answers[i].outcome : ISO_HOLDS;
        if (outcome == ISO_IS_VIOLATED || (outcome == ISO_IS_UNDECIDED && status == ISO_OK))
            status = iso_outcome_status(outcome);
    }
    return status;
}

enum iso_status app_prove_read(struct app *app, struct iso_prove_program *program, const char *name,
                               const char *text, size_t length, uint32_t repeats)
{
    if (iso_prove_is_sql(text, length))
        return iso_prove_read_sql(program, name, text, length, repeats, 0, &app->error);
    return iso_prove_read_core(program, name, text, length, repeats, &app->error);
}

static enum iso_status write_file(struct app *app, const char *name, const struct iso_text *text)
{
    struct iso_output output;
    enum iso_status status = iso_output_open(&output, name, &app->error);
    if (status != ISO_OK)
        return status;
    iso_output_bytes(&output, text->bytes, text->used);
    return iso_output_close(&output, &app->error);
}

static enum iso_status write_histories(struct app *app, const char *folder,
                                       const struct iso_prove_result *result)
{
    enum iso_status status = ISO_OK;
    if (mkdir(folder, 0777) && errno != EEXIST)
        return iso_error_set(&app->error, iso_error_of_open(errno), "%s: %s", folder,
                             strerror(errno));
    for (uint32_t i = 0; i < ISO_PROVE_LEVELS && status == ISO_OK; i++) {
        struct iso_text name = {0}, text = {0};
        if (!result->asked[i] || !result->answers[i].shown)
            continue;
        iso_text_format(&name, "%s/%s.jsonl", folder, iso_prove_level_name(i));
        iso_text_put_bytes(&name, "", 1);
        iso_prove_put_history(&result->answers[i].execution, &text);
        status = write_file(app, name.bytes, &text);
        iso_text_release(&name);
        iso_text_release(&text);
    }
    return status;
}

/* Writes the files that were asked for beside the verdict. */
static enum iso_status write_files(struct app *app, struct prove *prove,
                                   const struct iso_prove_program *program,
                                   const struct iso_prove_result *result)
{
    struct iso_text text = {0};
    enum iso_status status = ISO_OK;
    uint32_t level = 0;
    if (prove->history)
        status = write_histories(app, prove->history, result);
    if (prove->evidence && status == ISO_OK)
        status = iso_prove_put_proofs(program, &prove->options, result, &text, &app->error);
    if (prove->evidence && status == ISO_OK)
        status = write_file(app, prove->evidence, &text);
    text.used = 0;
    if (prove->html && status == ISO_OK) {
        iso_prove_put_page(program, result, prove->advice.bytes, prove->advice.used, &text);
        status = write_file(app, prove->html, &text);
    }
    text.used = 0;
    while (!prove->options.levels[level])
        level++;
    if (prove->smt2 && status == ISO_OK)
        status = iso_prove_put_smt2(program, level, prove->unroll,
                                    iso_prove_stop_at(&prove->deadline), &text, &app->error);
    if (prove->smt2 && status == ISO_OK)
        status = write_file(app, prove->smt2, &text);
    text.used = 0;
    if (prove->psql && status == ISO_OK && !iso_prove_put_psql(result, &text))
        cli_log_warning("%s is not written: nothing that can be replayed on PostgreSQL is violated",
                        prove->psql);
    else if (prove->psql && status == ISO_OK)
        status = write_file(app, prove->psql, &text);
    iso_text_release(&text);
    return status;
}

/* Takes the time spent so far off --timeout. */
static void spend_time(struct prove *prove)
{
    double left = prove->deadline - iso_clock_seconds();
    if (prove->deadline > 0)
        prove->options.seconds = left > 0.001 ? left : 0.001;
}

static enum iso_status put_advice(struct app *app, struct prove *prove,
                                  struct iso_prove_program *program,
                                  const struct iso_prove_result *result, struct iso_text *text)
{
    struct iso_prove_advice advice[ISO_PROVE_LEVELS];
    spend_time(prove);
    if (program->sql) {
        text->used -= prove->json ? 2 : 0; /* "}" and a line's end, which come again */
        iso_prove_sql_advise(program, &prove->options, result, prove->json, text);
        iso_text_put(text, prove->json ? "}\n" : "");
        return ISO_OK;
    }
    enum iso_status status =
        iso_prove_advise(program, &prove->options, result, advice, &app->error);
    if (status == ISO_OK && prove->json) {
        text->used -= 2; /* "}" and a line's end, which come again */
        iso_prove_put_advice_json(program, advice, text);
        iso_text_put(text, "}\n");
    } else if (status == ISO_OK) {
        iso_prove_put_advice(program, result, advice, text);
    }
    return status;
}

/* `unread`: the time was up before the whole file was. */
static enum iso_status prove_program(struct app *app, struct prove *prove,
                                     struct iso_prove_program *program, bool unread)
{
    struct iso_prove_result result;
    struct iso_text text = {0};
    iso_prove_result_init(&result);
    spend_time(prove);
    enum iso_status status = ISO_OK;
    if (unread)
        iso_prove_result_undecided(&result, &prove->options, "the time is up");
    else
        status = iso_prove(program, &prove->options, &result, &app->error);
    if (status == ISO_OK) {
        for (uint32_t i = 0; i < program->warnings.count; i++)
            cli_log_warning("%s", program->warnings.list[i]);
        for (uint32_t i = 0; i < result.warnings.count; i++)
            cli_log_warning("%s", result.warnings.list[i]);
        if (prove->json)
            iso_prove_report_json(program, &result, &text);
        else
            iso_prove_report_text(program, &result, &text);
        size_t before = text.used;
        if (prove->advise && !unread)
            status = put_advice(app, prove, program, &result, &text);
        if (prove->advise && !prove->json)
            iso_text_put_bytes(&prove->advice, text.bytes + before, text.used - before);
        iso_output_bytes(&app->out, text.bytes, text.used);
        spend_time(prove);
        if (status == ISO_OK && !unread)
            status = write_files(app, prove, program, &result);
        else if (unread &&
                 (prove->html || prove->history || prove->evidence || prove->smt2 || prove->psql))
            cli_log_warning("no file is written: the time was up before %s was read",
                            program->file);
        status = status == ISO_OK ? exit_status(prove, &result) : status;
    }
    iso_text_release(&text);
    iso_text_release(&prove->advice);
    iso_prove_result_release(&result);
    return status;
}

static enum iso_status prove_file(struct app *app, struct prove *prove, const char *name)
{
    struct iso_whole_file file = {0};
    struct iso_prove_program program;
    iso_prove_program_init(&program);
    program.stop = iso_prove_stop_at(&prove->deadline);
    enum iso_status status = iso_whole_file_read(&file, name, &app->error);
    prove->sql = status == ISO_OK && iso_prove_is_sql(file.bytes, file.length);
    if (status == ISO_OK)
        status = parse_levels(app, prove);
    if (status == ISO_OK)
        status = app_prove_read(app, &program, name, file.bytes, file.length, prove->instances);
    bool unread = status == ISO_UNDECIDED;
    if (unread)
        app->error = (struct iso_error)ISO_NO_ERROR;
    if (status == ISO_OK || unread)
        status = prove_program(app, prove, &program, unread);
    iso_prove_program_release(&program);
    iso_whole_file_release(&file);
    return status;
}

static enum iso_status prove_as_asked(struct app *app, void *target, const struct cli_texts *files)
{
    struct prove *prove = target;
    if (files->count != 1)
        return iso_error_set(&app->error, ISO_BAD_INPUT, "prove: expected one FILE with a program");
    prove->options.unroll = prove->unroll;
    prove->deadline = prove->timeout ? prove->started + (double)prove->timeout / 1000 : 0;
    return prove_file(app, prove, files->items[0]);
}

static enum iso_status run_prove(struct app *app, int count, char **arguments)
{
    struct prove prove = {.instances = 1, .started = iso_clock_seconds()};
    return cli_run(app, count, arguments, &prove, prove_as_asked);
}

const struct cli_command app_prove = {
    .name = "prove",
    .summary = "which isolation level does a program need",
    .usage = "[OPTIONS] FILE",
    .intro = "Reads transaction programs, what they start from and what must stay true, and\n"
             "says for each isolation level whether an execution of these transactions can\n"
             "break it. Where one can, prints it as statements in order. Exit status: 0\n"
             "the level in use holds, 1 it is violated, 2 bad usage or input, 3 undecided.",
    .examples = "  isochron prove booking.iso\n"
                "      Which levels are enough, and how the others break it.\n"
                "  isochron prove --level rc --instances 2 booking.iso\n"
                "      Whether READ COMMITTED is enough when everybody comes twice.\n",
    .options = options,
    .run = run_prove,
};
