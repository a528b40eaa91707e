/* `isochron check`: one finished history. */
#include <string.h>

#include "aion/aion.h"
#include "app/check.h"
#include "app/load.h"
#include "chronos/chronos.h"
#include "io/report.h"

#define PLACE(member) offsetof(struct app_check, member)

static const struct app_option options[] = {
    {.type = APP_GROUP, .help = "What to check"},
    {.type = APP_CHOICE,
     .name = "level",
     .choices = "si|ser|adya-si|gsi|strong-si|strict-ser",
     .offset = PLACE(level),
     .help = "Snapshot isolation (the default) or serializability, both with\n"
             "sessions in order; polygraph also has adya-si (sessions in any order)\n"
             "and levels that need client clocks."},
    {.type = APP_FLAG,
     .name = "no-session-order",
     .offset = PLACE(no_session_order),
     .help = "Do not ask that a session sees its own earlier transactions."},
    {.type = APP_CHOICE,
     .name = "engine",
     .choices = "auto|chronos|aion|polygraph",
     .offset = PLACE(engine),
     .help = "chronos checks the order that the timestamps claim. aion does the same\n"
             "as if the file's transactions arrived one by one, in its order.\n"
             "polygraph asks whether any order at all explains it. auto: chronos, or\n"
             "polygraph where a transaction lacks timestamps."},
    {.type = APP_FLAG,
     .name = "any-order",
     .offset = PLACE(any_order),
     .help = "When timestamps say violated, ask polygraph which it is: the claimed\n"
             "order is wrong, or no order exists."},
    {.type = APP_GROUP, .help = "What the history means"},
    APP_LOAD_ROWS(
        PLACE(load),
        "What FILE is; else it is told by its content (- is native): native,\n"
        "timekiller, dbcop, cobra, viper, text, awdit, elle-edn, elle-json,\n"
        "dbcop-json, hist.",
        "What every key holds before the first write; null is nothing. The\ndefault is what the format says: null for native files.",
        "Initial values by key: {\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":2},...]}."),
    {.type = APP_FLAG,
     .name = "allow-unjudged",
     .offset = PLACE(allow_unjudged),
     .help = "Reads that may come from a transaction of unknown outcome do not\nmake the verdict undecided."},
    {.type = APP_GROUP, .help = "The report"},
    {.type = APP_FLAG, .name = "json", .offset = PLACE(json), .help = "One JSON object instead of text."},
    APP_EXPLAIN_ROW(struct app_check),
    APP_EXPLANATION_ROWS(struct app_check),
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
    {.type = APP_TEXT,
     .name = "evidence",
     .argument = "FILE",
     .offset = PLACE(evidence),
     .help = "Write polygraph's evidence, for isochron verify; packed if FILE ends\nin .zst."},
    {.type = APP_TEXT,
     .name = "minimise",
     .argument = "FILE",
     .offset = PLACE(minimise),
     .help = "When polygraph says violated: write the smallest part of the history\n"
             "that is violated still, as native JSON Lines. Keys start with null\n"
             "there: initial values are renamed."},
    {.type = APP_GROUP, .help = "How to run"},
    {.type = APP_NUMBER,
     .name = "threads",
     .argument = "N",
     .offset = PLACE(load.threads),
     .least = 1,
     .most = 1024,
     .help = "Threads to use; as many as there are processors."},
    {.type = APP_NUMBER,
     .name = "timeout",
     .argument = "SECONDS",
     .offset = PLACE(timeout),
     .most = 1000000000,
     .help = "polygraph gives up after that long: undecided. 0, the default: never."},
    {.type = APP_NUMBER,
     .name = "memory",
     .argument = "BYTES",
     .offset = PLACE(memory),
     .most = UINT64_MAX,
     .help = "polygraph gives up where the program would need more: undecided. 0, the\ndefault: 16G."},
    {.type = APP_DURATION,
     .name = "drift",
     .argument = "DURATION",
     .offset = PLACE(drift),
     .help = "How far client clocks may differ: 500us, 10ms, 2s (0). For gsi,\nstrong-si and strict-ser."},
    {.type = APP_GROUP, .help = "Steps of polygraph switched off, for measuring"},
    {.type = APP_FLAG, .name = "no-advice", .offset = PLACE(no_advice), .help = "Trying the order of the input."},
    {.type = APP_FLAG, .name = "no-saturation", .offset = PLACE(no_saturation), .help = "The rules."},
    {.type = APP_FLAG, .name = "no-meet", .offset = PLACE(no_meet), .help = "After what all possible writers share."},
    {.type = APP_FLAG,
     .name = "no-join",
     .offset = PLACE(no_join),
     .help = "Before what follows all possible writers."},
    {.type = APP_FLAG,
     .name = "no-windows",
     .offset = PLACE(no_windows),
     .help = "The proposed order, mended in windows."},
    {.type = APP_FLAG, .name = "no-search", .offset = PLACE(no_search), .help = "The forward search."},
    {.type = APP_FLAG, .name = "no-solver", .offset = PLACE(no_solver), .help = "The solver on everything."},
    {.type = APP_END},
};

/* What cannot go together, whatever the history is. */
static enum iso_status check_options(struct app *app, const struct app_check *check)
{
    if ((check->engine == ENGINE_CHRONOS || check->engine == ENGINE_AION) && check->level > ISO_SER)
        return iso_error_set(&app->error, ISO_BAD_INPUT, "--level %s: %s has si and ser; --engine polygraph has it",
                             iso_model_name(app_check_model(check)), check->engine == ENGINE_AION ? "aion" : "chronos");
    return ISO_OK;
}

static enum iso_status parse(struct app *app, int count, char **arguments, struct app_check *check,
                             struct app_texts *files, bool *done)
{
    enum iso_status status = app_parse(app, count, arguments, check, files, done);
    if (status != ISO_OK || *done)
        return status;
    status = check_options(app, check);
    if (status == ISO_OK)
        status = app_explanation_check(app, &check->explanation, check->json);
    return status == ISO_OK ? app_need_files(app, files) : status;
}

/* auto: chronos if every committed transaction has timestamps (or snapshots). */
static bool timestamps_judge(const struct app_check *check, const struct iso_history *history)
{
    if (check->engine != ENGINE_AUTO)
        return check->engine != ENGINE_POLYGRAPH;
    return check->level <= ISO_SER && history->without_sts == ISO_NONE && history->without_cts == ISO_NONE;
}

static enum iso_status no_evidence(struct app *app, const struct app_check *check)
{
    if (!check->evidence)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--minimise: this history has timestamps, and chronos's report names what is wrong; "
                             "--engine polygraph or --any-order minimises what no order explains");
    return iso_error_set(&app->error, ISO_BAD_INPUT,
                         "--evidence: this history has timestamps, and chronos's report is its evidence; "
                         "--engine polygraph or --any-order writes polygraph's");
}

static void print_json(struct iso_output *output, const void *verdict)
{
    iso_report_json(output, verdict, app_peak_memory());
}

static enum iso_status judge_by_timestamps(struct app *app, const struct app_check *check, struct iso_history *history,
                                           uint64_t repeats, double seconds_load, double started)
{
    struct iso_check_options options = {.level = (enum iso_level)check->level,
                                        .session_order = !check->no_session_order,
                                        .threads = app_threads(check->load.threads),
                                        .max_violations = (uint32_t)check->max_violations};
    struct iso_verdict verdict;
    iso_verdict_init(&verdict, history, options.level, options.max_violations);
    verdict.seconds_load = seconds_load;
    verdict.repeats = repeats;
    enum iso_status status = check->engine == ENGINE_AION ? iso_aion_check(history, &options, &verdict, &app->error)
                                                          : iso_chronos_check(history, &options, &verdict, &app->error);
    if (status == ISO_OK) {
        iso_verdict_conclude(&verdict, check->allow_unjudged);
        if (check->any_order && verdict.outcome == ISO_IS_VIOLATED)
            app_check_any_order(app, check, history, &verdict);
        status = iso_outcome_status(verdict.outcome);
    }
    verdict.seconds_total = app_seconds() - started;
    if (app->error.status != ISO_OK)
        status = app->error.status;
    else if (check->json)
        iso_report_json(&app->out, &verdict, app_peak_memory());
    else if (!check->explanation.explain && !app_explanation_takes_stdout(&check->explanation))
        iso_report_text(&app->out, &verdict, check->load.quiet);
    if (app->error.status == ISO_OK &&
        app_explain_printed(app, &check->explanation, history, print_json, &verdict) != ISO_OK)
        status = app->error.status;
    iso_verdict_release(&verdict);
    return status;
}

static enum iso_status run(struct app *app, int count, char **arguments)
{
    struct app_check check = {.max_violations = 1000, .load.format = APP_GUESS};
    struct app_texts files = {0};
    struct iso_history history;
    bool done;
    uint64_t repeats = 0;
    double started = app_seconds();
    iso_history_init(&history);
    enum iso_status status = parse(app, count, arguments, &check, &files, &done);
    if (status != ISO_OK || done)
        goto out;
    /* To aion the file is a stream, and streams repeat themselves. */
    status = app_load_finished(app, &check.load, &files, check.engine == ENGINE_AION ? &repeats : NULL, &history);
    if (status != ISO_OK)
        goto out;
    double seconds_load = app_seconds() - started;
    if (!timestamps_judge(&check, &history))
        status = app_check_polygraph(app, &check, &history, seconds_load, started);
    else if ((check.evidence || check.minimise) && !check.any_order)
        status = no_evidence(app, &check);
    else
        status = judge_by_timestamps(app, &check, &history, repeats, seconds_load, started);
out:
    iso_history_release(&history);
    app_explanation_release(&check.explanation);
    app_texts_release(&files);
    return status;
}

const struct app_command app_check = {
    .name = "check",
    .summary = "judge one finished history",
    .usage = "[OPTIONS] FILE...",
    .intro = "Judges a finished history. With start and commit timestamps (or PostgreSQL\n"
             "snapshots): does the order that the database claims explain every read and\n"
             "write? Every violation is found, not only the first. Without them: is there\n"
             "any order that does? The formats of other checkers are read too. Several\n"
             "native files are one history, in their order; .zst files and - (standard\n"
             "input) are read as they are. Exit status: 0 holds, 1 violated, 2 bad usage or\n"
             "input, 3 undecided, 4 runtime failure.",
    .examples = "  isochron check history.jsonl\n"
                "      Snapshot isolation; a report that names transactions, keys and lines.\n"
                "  isochron check --level ser --json --initial 0 run-*.jsonl.zst\n"
                "      Serializability in commit order of several packed files, where keys\n"
                "      begin with 0; one JSON object for a program.\n"
                "  isochron check --level ser --evidence why.jsonl histories/hist-00007\n"
                "      A dbcop history without timestamps; isochron verify confirms why.jsonl.\n"
                "  zcat history.gz | isochron check --quiet - || echo \"not clean\"\n"
                "      In a script: the exit status says it all.\n",
    .options = options,
    .run = run,
};
