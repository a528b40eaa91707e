/* `isochron check`: one finished history. */
#include "app/commands.h"
#include "app/check.h"

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
     .help = "Do not require that a session sees its own earlier transactions."},
    {.type = APP_CHOICE,
     .name = "engine",
     .choices = "auto|chronos|aion|polygraph",
     .offset = PLACE(judge.engine),
     .help = "chronos checks the order that the timestamps claim. aion does the same,\n"
             "as if the transactions of the file arrived one by one. polygraph looks\n"
             "for any order that explains the history. auto: chronos, or polygraph\n"
             "where a transaction lacks timestamps."},
    {.type = APP_FLAG,
     .name = "any-order",
     .offset = PLACE(judge.any_order),
     .help = "When timestamps say violated, let polygraph find out whether the claimed\n"
             "order is wrong or no order exists."},
    {.type = APP_GROUP, .help = "What the history means"},
    APP_LOAD_ROWS(PLACE(load),
                  "The format of FILE; by default its content decides (- is native):\n"
                  "native, timekiller, dbcop, cobra, viper, text, awdit, elle-edn,\n"
                  "elle-json, dbcop-json, hist.",
                  "The value of every key before the first write; null means absent. The\n"
                  "default depends on the format: null for native files.",
                  "Initial values by key: {\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":2},...]}."),
    {.type = APP_FLAG,
     .name = "allow-unjudged",
     .offset = PLACE(judge.allow_unjudged),
     .help = "Reads that may come from a transaction of unknown outcome do not\nmake the verdict undecided."},
    {.type = APP_GROUP, .help = "The report"},
    {.type = APP_FLAG, .name = "json", .offset = PLACE(json), .help = "One JSON object instead of text."},
    APP_EXPLAIN_ROW(struct app_check),
    APP_EXPLANATION_ROWS(struct app_check),
    {.type = APP_COUNT,
     .name = "max-violations",
     .argument = "N",
     .offset = PLACE(judge.times.max_violations),
     .most = UINT32_MAX,
     .help = "List at most N violations (1000); 0: all. Counts are always exact."},
    {.type = APP_COUNT,
     .name = "max-per-key",
     .argument = "N",
     .offset = PLACE(judge.times.max_per_key),
     .most = UINT32_MAX,
     .help = "Of these, at most N (1000) of one key, and of one session; 0: all."},
    {.type = APP_FLAG,
     .name = "quiet",
     .offset = PLACE(load.quiet),
     .help = "Print only the headline of the text, and no progress line."},
    {.type = APP_TEXT,
     .name = "evidence",
     .argument = "FILE",
     .offset = PLACE(evidence),
     .help = "Write polygraph's evidence, for isochron verify; compressed if FILE ends\n"
             "in .zst."},
    {.type = APP_TEXT,
     .name = "minimise",
     .argument = "FILE",
     .offset = PLACE(minimise),
     .help = "When polygraph says violated: write the smallest part of the history\n"
             "that is still violated, as native JSON Lines. Keys start with null\n"
             "there: initial values are renamed."},
    {.type = APP_GROUP, .help = "How to run"},
    {.type = APP_NUMBER,
     .name = "threads",
     .argument = "N",
     .offset = PLACE(load.threads),
     .least = 1,
     .most = 1024,
     .help = "Number of threads; by default one for each processor."},
    {.type = APP_SECONDS,
     .name = "timeout",
     .argument = "SECONDS",
     .offset = PLACE(timeout),
     .most = 1000000000,
     .help = "polygraph gives up after so long, and the verdict is undecided. 0, the\n"
             "default: never."},
    {.type = APP_NUMBER,
     .name = "memory",
     .argument = "BYTES",
     .offset = PLACE(judge.order.memory),
     .most = UINT64_MAX,
     .help = "polygraph gives up when the program would need more, and the verdict is\n"
             "undecided. 0, the default: 16G."},
    {.type = APP_DURATION,
     .name = "drift",
     .argument = "DURATION",
     .offset = PLACE(judge.order.drift),
     .help = "How far the clocks of clients may differ: 500us, 10ms, 2s (0). For gsi,\n"
             "strong-si and strict-ser."},
    {.type = APP_GROUP, .help = "Switch off steps of polygraph, for measuring"},
    {.type = APP_FLAG,
     .name = "no-advice",
     .offset = PLACE(judge.order.no_advice),
     .help = "Do not try the order of the input."},
    {.type = APP_FLAG,
     .name = "no-saturation",
     .offset = PLACE(judge.order.no_saturation),
     .help = "Do not apply the rules that add known edges."},
    {.type = APP_FLAG,
     .name = "no-meet",
     .offset = PLACE(judge.order.no_meet),
     .help = "Do not put a read behind what all its possible writers share."},
    {.type = APP_FLAG,
     .name = "no-join",
     .offset = PLACE(judge.order.no_join),
     .help = "Do not put a read before what follows all its possible writers."},
    {.type = APP_FLAG,
     .name = "no-windows",
     .offset = PLACE(judge.order.no_windows),
     .help = "Do not repair a proposed order in windows."},
    {.type = APP_FLAG, .name = "no-search", .offset = PLACE(judge.order.no_search), .help = "Do not search forward."},
    {.type = APP_FLAG,
     .name = "no-solver",
     .offset = PLACE(judge.order.no_solver),
     .help = "Do not give what is left to the solver."},
    {.type = APP_END},
};

/* What the options say to the engines. */
static void complete_options(struct app_check *check)
{
    /* In the order of the option's words: si and ser are named the other way round than polygraph's levels. */
    static const enum iso_model models[] = {ISO_MODEL_SI,  ISO_MODEL_SER,       ISO_MODEL_ADYA_SI,
                                            ISO_MODEL_GSI, ISO_MODEL_STRONG_SI, ISO_MODEL_STRICT_SER};
    struct iso_judge_options *judge = &check->judge;
    judge->times.session_order = !check->no_session_order;
    judge->times.threads = app_threads(check->load.threads);
    judge->order.model = models[check->level];
    judge->order.timeout = (double)check->timeout / 1000;
    judge->order.memory_in_use = app_memory_in_use;
    judge->order.max_findings = judge->times.max_violations;
}

static enum iso_status parse_check(struct app *app, int count, char **arguments, struct app_check *check,
                                   struct app_texts *files, bool *done)
{
    enum iso_status status = app_parse(app, count, arguments, check, files, done);
    if (status != ISO_OK || *done)
        return status;
    complete_options(check);
    status = iso_judge_check_options(&check->judge, &app->error);
    if (status == ISO_OK)
        status = app_explanation_check(app, &check->explanation, check->json, ISO_WALL_UNKNOWN);
    return status == ISO_OK ? app_need_files(app, files) : status;
}

/* Whether what was asked for beside the verdict can be had of this history. */
static enum iso_status check_wishes(struct app *app, const struct app_check *check, enum iso_judge_route route)
{
    bool has_order = route == ISO_JUDGE_ORDER || check->judge.any_order;
    if (route == ISO_JUDGE_BOTH && check->minimise && !check->no_session_order)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--minimise: this history gives the order of versions, and the cycle that is found is "
                             "small; --engine polygraph minimises what no order of versions explains");
    if (route == ISO_JUDGE_BOTH || has_order || (!check->evidence && !check->minimise))
        return ISO_OK;
    if (!check->evidence)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--minimise: this history has timestamps, and chronos's report names what is wrong; "
                             "--engine polygraph or --any-order minimises what no order explains");
    return iso_error_set(&app->error, ISO_BAD_INPUT,
                         "--evidence: this history has timestamps, and chronos's report is its evidence; "
                         "--engine polygraph or --any-order writes polygraph's");
}

static enum iso_status judge_history(struct app *app, const struct app_check *check, struct iso_history *history,
                                     uint64_t repeats, double started)
{
    struct iso_judgement judgement = {0};
    double loaded = app_seconds();
    enum iso_status status = check_wishes(app, check, iso_judge_route(&check->judge, history));
    if (status == ISO_OK)
        status = iso_judge(history, &check->judge, &judgement, &app->error);
    if (status == ISO_OK && judgement.has_result)
        status = app_check_evidence(app, check, &judgement);
    if (status == ISO_OK && judgement.has_result)
        status = app_check_minimise(app, check, &judgement);
    double ended = app_seconds();
    judgement.verdict.repeats = repeats;
    judgement.verdict.seconds_load = loaded - started;
    judgement.verdict.seconds_total = ended - started;
    if (status == ISO_OK)
        status = app_check_report(app, check, history, &judgement, loaded - started, ended - started);
    if (status == ISO_OK)
        status = iso_outcome_status(judgement.outcome);
    iso_judgement_release(&judgement);
    return status;
}

static enum iso_status run_check(struct app *app, int count, char **arguments)
{
    struct app_check check = {.load.format = APP_GUESS};
    struct app_texts files = {0};
    struct iso_history history;
    bool done;
    uint64_t repeats = 0;
    double started = app_seconds();
    iso_history_init(&history);
    iso_judge_options_init(&check.judge);
    enum iso_status status = parse_check(app, count, arguments, &check, &files, &done);
    if (status != ISO_OK || done)
        goto out;
    /* To aion the file is a stream, and streams repeat themselves. */
    bool is_stream = check.judge.engine == ISO_JUDGE_AION;
    status = app_load_finished(app, &check.load, &files, is_stream ? &repeats : NULL, &history);
    if (status == ISO_OK)
        status = judge_history(app, &check, &history, repeats, started);
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
                "  zcat history.gz | isochron check --quiet - || echo \"not clean\"\n"
                "      In a script: the exit status says it all.\n",
    .options = options,
    .run = run_check,
};
