/* `isochron check`: one finished history. */
#include <string.h>

#include "aion/aion.h"
#include "app/load.h"
#include "chronos/chronos.h"
#include "io/read.h"
#include "io/report.h"

enum engine { ENGINE_AUTO, ENGINE_CHRONOS, ENGINE_AION, ENGINE_POLYGRAPH };

struct check {
    int level; /* enum iso_level */
    int engine;
    struct app_load load;
    const char *initial, *initial_file;
    uint64_t max_violations;
    bool no_session_order, allow_unjudged, json;
};

#define PLACE(member) offsetof(struct check, member)

static const struct app_option options[] = {
    {.type = APP_GROUP, .help = "What to check"},
    {.type = APP_CHOICE,
     .name = "level",
     .choices = "si|ser",
     .offset = PLACE(level),
     .help = "Snapshot isolation (the default) or serializability in commit order."},
    {.type = APP_FLAG,
     .name = "no-session-order",
     .offset = PLACE(no_session_order),
     .help = "Do not ask that a session sees its own earlier transactions."},
    {.type = APP_CHOICE,
     .name = "engine",
     .choices = "auto|chronos|aion|polygraph",
     .offset = PLACE(engine),
     .help = "chronos checks the order that the timestamps claim. aion does the same\n"
             "as if the file's transactions arrived one by one, in its order. auto:\n"
             "whatever fits the history. polygraph is not in this version."},
    {.type = APP_GROUP, .help = "What the history means"},
    {.type = APP_CHOICE,
     .name = "format",
     .choices = APP_FORMATS,
     .offset = PLACE(load.format),
     .help = "native (the default): JSON Lines or one JSON array; timekiller's\n"
             "arrays are read by the same reader."},
    {.type = APP_TEXT,
     .name = "initial",
     .argument = "VALUE",
     .offset = PLACE(initial),
     .help = "What every key holds before the first write; null, the default,\nis nothing."},
    {.type = APP_TEXT,
     .name = "initial-file",
     .argument = "FILE",
     .offset = PLACE(initial_file),
     .help = "Initial values by key: {\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":2},...]}."},
    {.type = APP_FLAG,
     .name = "allow-unjudged",
     .offset = PLACE(allow_unjudged),
     .help = "Reads that may come from a transaction of unknown outcome do not\nmake the verdict undecided."},
    {.type = APP_GROUP, .help = "The report"},
    {.type = APP_FLAG, .name = "json", .offset = PLACE(json), .help = "One JSON object instead of text."},
    {.type = APP_NUMBER,
     .name = "max-violations",
     .argument = "N",
     .offset = PLACE(max_violations),
     .most = UINT32_MAX,
     .help = "List no more than N (1000), 0 for all. Counts are always exact."},
    {.type = APP_FLAG,
     .name = "quiet",
     .offset = PLACE(load.quiet),
     .help = "Text: the headline only. No progress line."},
    {.type = APP_GROUP, .help = "How to run"},
    {.type = APP_NUMBER,
     .name = "threads",
     .argument = "N",
     .offset = PLACE(load.threads),
     .least = 1,
     .most = 1024,
     .help = "Threads to use; as many as there are processors."},
    {.type = APP_END},
};

static enum iso_status parse(struct app *app, int count, char **arguments, struct check *check,
                             struct app_texts *files, bool *done)
{
    enum iso_status status = app_parse(app, count, arguments, check, files, done);
    if (status != ISO_OK || *done)
        return status;
    if (check->engine == ENGINE_POLYGRAPH)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--engine polygraph is not in this version; it has chronos and aion");
    return app_need_files(app, files);
}

/* To aion the file is a stream, and streams repeat themselves. */
static enum iso_status load(struct app *app, const struct check *check, const struct app_texts *files,
                            struct iso_history *history, uint64_t *repeats)
{
    enum iso_status status = app_load(app, &check->load, files, history);
    if (status == ISO_OK && check->initial_file)
        status = iso_read_initial(check->initial_file, history, &app->error);
    if (status == ISO_OK && check->initial && strcmp(check->initial, "null"))
        history->initial_value = iso_atoms_text(&history->atoms, check->initial, strlen(check->initial));
    if (status == ISO_OK && check->engine == ENGINE_AION)
        *repeats = iso_history_drop_repeats(history);
    if (status == ISO_OK)
        status = iso_history_finish(history, &app->error);
    return status;
}

static enum iso_status judge(struct app *app, const struct check *check, const struct iso_history *history,
                             struct iso_verdict *verdict)
{
    struct iso_check_options options = {.level = (enum iso_level)check->level,
                                        .session_order = !check->no_session_order,
                                        .threads = app_threads(check->load.threads),
                                        .max_violations = (uint32_t)check->max_violations};
    enum iso_status status = check->engine == ENGINE_AION
                                 ? iso_aion_check(history, &options, verdict, &app->error)
                                 : iso_chronos_check(history, &options, verdict, &app->error);
    if (status != ISO_OK)
        return status;
    iso_verdict_conclude(verdict, check->allow_unjudged);
    return iso_outcome_status(verdict->outcome);
}

static void report(struct app *app, const struct check *check, const struct iso_verdict *verdict)
{
    if (check->json)
        iso_report_json(&app->out, verdict, app_peak_memory());
    else
        iso_report_text(&app->out, verdict, check->load.quiet);
}

static enum iso_status run(struct app *app, int count, char **arguments)
{
    struct check check = {.max_violations = 1000};
    struct app_texts files = {0};
    struct iso_history history;
    struct iso_verdict verdict;
    bool done;
    double started = app_seconds();
    iso_history_init(&history);
    enum iso_status status = parse(app, count, arguments, &check, &files, &done);
    iso_verdict_init(&verdict, &history, (enum iso_level)check.level, (uint32_t)check.max_violations);
    if (status != ISO_OK || done)
        goto out;
    status = load(app, &check, &files, &history, &verdict.repeats);
    if (status != ISO_OK)
        goto out;
    verdict.seconds_load = app_seconds() - started;
    status = judge(app, &check, &history, &verdict);
    verdict.seconds_total = app_seconds() - started;
    if (app->error.status == ISO_OK)
        report(app, &check, &verdict);
out:
    iso_verdict_release(&verdict);
    iso_history_release(&history);
    app_texts_release(&files);
    return status;
}

const struct app_command app_check = {
    .name = "check",
    .summary = "judge one finished history",
    .usage = "[OPTIONS] FILE...",
    .intro = "Judges a finished history with start and commit timestamps (or PostgreSQL\n"
             "snapshots): does the order that the database claims explain every read and\n"
             "write? Every violation is found, not only the first. Several files are one\n"
             "history, in their order; .zst files and - (standard input) are read as they\n"
             "are. Exit status: 0 holds, 1 violated, 2 bad usage or input, 3 undecided,\n"
             "4 runtime failure.",
    .examples = "  isochron check history.jsonl\n"
                "      Snapshot isolation; a report that names transactions, keys and lines.\n"
                "  isochron check --level ser --json --initial 0 run-*.jsonl.zst\n"
                "      Serializability in commit order of several packed files, where keys\n"
                "      begin with 0; one JSON object for a program.\n"
                "  zcat history.gz | isochron check --quiet - || echo \"not clean\"\n"
                "      In a script: the exit status says it all.\n",
    .options = options,
    .run = run,
};
