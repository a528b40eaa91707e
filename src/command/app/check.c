/* `isochron check`: one finished history. */
#include "app/commands.h"
#include "app/check.h"
#include "run/options.h"
#include "run/shown/remarks.h"

#define PLACE(member) offsetof(struct app_check, member)

static const struct cli_option options[] = {
    CLI_ROW_GROUP("What to check"),
    CLI_ROW_CHOICE("level", ISO_LEVEL_WORDS "|strongest|all", PLACE(level),
                   "Snapshot isolation (the default) or serializability, both with\n"
                   "sessions in order; polygraph also has adya-si (sessions in any order)\n"
                   "and levels that need client clocks. strongest: the strongest levels at\n"
                   "which some order explains the history; all: a table of all levels. Exit\n"
                   "status then: 0, or 3 if something is undecided.",
                   .refusal = iso_level_refusal),
    CLI_ROW_CHOICE("at-least", ISO_LEVEL_WORDS, PLACE(at_least),
                   "With strongest (the default then) or all: the exit status is that of\n"
                   "this level.",
                   .refusal = iso_level_refusal),
    CLI_ROW_FLAG("no-session-order", PLACE(no_session_order),
                 "Do not require that a session sees its own earlier transactions."),
    CLI_ROW_CHOICE("engine", "auto|chronos|aion|polygraph", PLACE(judge.engine),
                   "chronos checks the order that the timestamps claim. aion does the same,\n"
                   "as if the transactions of the file arrived one by one. polygraph looks\n"
                   "for any order that explains the history. auto: chronos, or polygraph\n"
                   "where a transaction lacks timestamps."),
    CLI_ROW_FLAG("any-order", PLACE(judge.any_order),
                 "When timestamps say violated, let polygraph find out whether the claimed\n"
                 "order is wrong or no order exists."),
    CLI_ROW_GROUP("What the history means"),
    APP_LOAD_ROWS(PLACE(load),
                  "The format of FILE; by default its content decides (- is native):\n"
                  "native, timekiller, dbcop, cobra, viper, text, awdit, elle-edn,\n"
                  "elle-json, dbcop-json, hist.",
                  "The value of every key before the first write; null means absent. The\n"
                  "default depends on the format: null for native files.",
                  "Initial values by key: {\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":2},...]}."),
    CLI_ROW_FLAG("allow-unjudged", PLACE(judge.allow_unjudged),
                 "Reads that may come from a transaction of unknown outcome do not\n"
                 "make the verdict undecided."),
    CLI_ROW_GROUP("The report"),
    CLI_ROW_FLAG("json", PLACE(json), "One JSON object instead of text."),
    APP_EXPLAIN_ROW(struct app_check),
    APP_EXPLANATION_ROWS(struct app_check),
    CLI_ROW_COUNT("max-violations", "N", PLACE(judge.times.max_violations), 0, UINT32_MAX,
                  "List at most N violations (1000); 0: all. Counts are always exact."),
    CLI_ROW_COUNT("max-per-key", "N", PLACE(judge.times.max_per_key), 0, UINT32_MAX,
                  "Of these, at most N (1000) of one key, and of one session; 0: all."),
    CLI_ROW_FLAG("quiet", PLACE(load.quiet),
                 "Print only the headline of the text, and no progress line."),
    RUN_SCANS_ROW(PLACE(stats)),
    CLI_ROW_TEXT("evidence", "FILE", PLACE(evidence),
                 "Write polygraph's evidence, for isochron verify; compressed if FILE ends\n"
                 "in .zst."),
    CLI_ROW_TEXT("minimise", "FILE", PLACE(minimise),
                 "When polygraph says violated: write the smallest part of the history\n"
                 "that is still violated, as native JSON Lines. Keys start with null\n"
                 "there: initial values are renamed."),
    CLI_ROW_GROUP("How to run"),
    CLI_ROW_NUMBER("threads", "N", PLACE(load.threads), 1, 1024,
                   "Number of threads; by default one for each processor."),
    CLI_ROW_SECONDS("timeout", "SECONDS", PLACE(timeout), 0, 1000000000,
                    "polygraph gives up after so long, and the verdict is undecided. 0, the\n"
                    "default: never."),
    CLI_ROW_NUMBER("memory", "BYTES", PLACE(judge.order.memory), 0, UINT64_MAX,
                   "polygraph gives up when the program would need more, and the verdict is\n"
                   "undecided. 0, the default: 16G."),
    CLI_ROW_DURATION("drift", "DURATION", PLACE(judge.order.drift),
                     "How far the clocks of clients may differ: 500us, 10ms, 2s (0). For gsi,\n"
                     "strong-si and strict-ser."),
    CLI_ROW_GROUP("Switch off steps of polygraph, for measuring"),
    CLI_ROW_FLAG("no-advice", PLACE(judge.order.no_advice), "Do not try the order of the input."),
    CLI_ROW_FLAG("no-saturation", PLACE(judge.order.no_saturation),
                 "Do not apply the rules that add known edges."),
    CLI_ROW_FLAG("no-meet", PLACE(judge.order.no_meet),
                 "Do not put a read behind what all its possible writers share."),
    CLI_ROW_FLAG("no-join", PLACE(judge.order.no_join),
                 "Do not put a read before what follows all its possible writers."),
    CLI_ROW_FLAG("no-windows", PLACE(judge.order.no_windows),
                 "Do not repair a proposed order in windows."),
    CLI_ROW_FLAG("no-search", PLACE(judge.order.no_search), "Do not search forward."),
    CLI_ROW_FLAG("no-solver", PLACE(judge.order.no_solver),
                 "Do not give what is left to the solver."),
    {.type = CLI_END},
};

/* Hands the options on to the engines. */
static void complete_options(struct app_check *check)
{
    struct iso_judge_options *judge = &check->judge;
    judge->times.session_order = !check->no_session_order;
    judge->times.threads = cli_threads(check->load.threads);
    judge->order.level = app_check_asks_levels(check) ? ISO_SI : (enum iso_level)check->level;
    judge->order.timeout = (double)check->timeout / 1000;
    judge->order.memory_in_use = cli_memory_in_use;
    judge->order.max_findings = judge->times.max_violations;
    judge->scans = check->stats ? iso_scans_new() : NULL;
}

/* Whether what was asked for beside the verdict can be had of this history. */
static enum iso_status check_wishes(struct app *app, const struct app_check *check,
                                    enum iso_judge_route route)
{
    bool has_order = route == ISO_JUDGE_ORDER || check->judge.any_order;
    if (route == ISO_JUDGE_BOTH && check->minimise && !check->no_session_order)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--minimise: this history gives the order of versions, and the cycle that is found is "
            "small; --engine polygraph minimises what no order of versions explains");
    if (route == ISO_JUDGE_BOTH || has_order || (!check->evidence && !check->minimise))
        return ISO_OK;
    if (!check->evidence)
        return iso_error_set(
            &app->error, ISO_BAD_INPUT,
            "--minimise: this history has timestamps, and chronos's report names what is wrong; "
            "--engine polygraph or --any-order minimises what no order explains");
    return iso_error_set(
        &app->error, ISO_BAD_INPUT,
        "--evidence: this history has timestamps, and chronos's report is its evidence; "
        "--engine polygraph or --any-order writes polygraph's");
}

static enum iso_status judge_history(struct app *app, const struct app_check *check,
                                     struct iso_history *history, uint64_t repeats, double started)
{
    struct iso_judgement judgement = {0};
    double loaded = iso_clock_seconds();
    enum iso_status status = check_wishes(app, check, iso_judge_route(&check->judge, history));
    if (status == ISO_OK)
        status = iso_judge(history, &check->judge, &judgement, &app->error);
    if (status == ISO_OK && judgement.has_result)
        status = app_check_evidence(app, check, &judgement);
    if (status == ISO_OK && judgement.has_result)
        status = app_check_minimise(app, check, &judgement);
    double ended = iso_clock_seconds();
    judgement.verdict.repeats = repeats;
    judgement.verdict.seconds_load = loaded - started;
    judgement.verdict.seconds_total = ended - started;
    if (status == ISO_OK)
        status =
            app_check_report(app, check, history, &judgement, loaded - started, ended - started);
    run_remarks_scans(check->judge.scans);
    if (status == ISO_OK)
        status = iso_outcome_status(judgement.outcome);
    iso_judgement_release(&judgement);
    return status;
}

static enum iso_status check_files(struct app *app, void *target, const struct cli_texts *files)
{
    struct app_check *check = target;
    bool asks_levels = app_check_asks_levels(check);
    /* aion reads the file as a stream, and streams repeat messages. */
    bool is_stream = check->judge.engine == ISO_JUDGE_AION;
    struct iso_history history;
    uint64_t repeats = 0;
    complete_options(check);
    enum iso_status status = asks_levels ? app_check_levels_options(app, check)
                                         : iso_judge_check_options(&check->judge, &app->error);
    if (status == ISO_OK)
        status = app_explanation_check(app, &check->explanation, check->json, ISO_WALL_UNKNOWN);
    if (status == ISO_OK)
        status = app_need_files(app, files);
    if (status != ISO_OK)
        return status;
    iso_history_init(&history);
    status = app_load_finished(app, &check->load, files, is_stream ? &repeats : NULL, &history);
    if (status == ISO_OK)
        status = asks_levels
                     ? app_check_levels(app, check, &history, check->started, iso_clock_seconds())
                     : judge_history(app, check, &history, repeats, check->started);
    iso_history_release(&history);
    return status;
}

static enum iso_status run_check(struct app *app, int count, char **arguments)
{
    struct app_check check = {
        .load.format = APP_GUESS, .at_least = ISO_LEVELS, .started = iso_clock_seconds()};
    iso_judge_options_init(&check.judge);
    enum iso_status status = cli_run(app, count, arguments, &check, check_files);
    iso_scans_free(check.judge.scans);
    return status;
}

const struct cli_command app_check = {
    .name = "check",
    .summary = "judge one finished history",
    .usage = "[OPTIONS] FILE...",
    .intro = "Judges a finished history. With start and commit timestamps (or PostgreSQL\n"
             "snapshots) it checks whether the order that the database claims explains every\n"
             "read and write, and finds every violation, not only the first. Without them it\n"
             "looks for any order that does. It reads the formats of other checkers too.\n"
             "Several native files are one history, in their order; .zst files and -\n"
             "(standard input) work. Exit status: 0 holds, 1 violated, 2 bad usage or input,\n"
             "3 undecided, 4 runtime failure.",
    .examples = "  isochron check history.jsonl\n"
                "      Snapshot isolation; a report that names transactions, keys and lines.\n"
                "  isochron check --level ser --json --initial 0 run-*.jsonl.zst\n"
                "      Serializability in commit order of several packed files, where keys\n"
                "      begin with 0; one JSON object for a program.\n"
                "  isochron check --level ser --evidence why.jsonl histories/hist-00007\n"
                "      A dbcop history without timestamps; isochron verify confirms why.jsonl.\n"
                "  isochron check --level strongest --at-least cc history.jsonl\n"
                "      The strongest levels that some order gives; exit status 1 if causal\n"
                "      consistency is not among what they imply.\n"
                "  zcat history.gz | isochron check --quiet - || echo \"not clean\"\n"
                "      In a script: the exit status says it all.\n",
    .options = options,
    .run = run_check,
};
