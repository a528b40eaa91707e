/* `isochron explain`: a verdict that was found before, as arguments. */

#include "app/commands.h"
#include "app/explanation.h"
#include "app/load.h"
#include "run/replay.h"
#include "bytes/whole_file.h"

struct explain {
    struct app_load load;
    struct run_stream_options stream; /* of captures */
    struct app_explanation explanation;
};

#define PLACE(member) offsetof(struct explain, member)

static const struct cli_option options[] = {
    CLI_ROW_GROUP("What the verdict is about"),
    CLI_ROW_TEXTS("source", "KIND:TOPIC[,OPT=V...]", PLACE(stream.sources),
                  "HISTORY is a capture of this source, as given to replay. May be given\n"
                  "often."),
    CLI_ROW_TEXT("history", "FILE", PLACE(stream.history),
                 "With --source: what clients saw, as given to replay."),
    CLI_ROW_COUNT("hlc-bits", "N", PLACE(stream.pipeline.hlc_bits), 0, 63,
                  "With --source: timestamps {p,l} become p * 2^N + l."),
    APP_LOAD_ROWS(PLACE(load), "The format of HISTORY; by default its content decides.",
                  "The value of every key before the first write, as given to check.",
                  "Initial values by key, as given to check."),
    CLI_ROW_GROUP("The explanation"),
    APP_EXPLANATION_ROWS(struct explain),
    CLI_ROW_GROUP("How to run"),
    CLI_ROW_NUMBER("threads", "N", PLACE(load.threads), 1, 1024,
                   "Number of threads that read HISTORY; by default one for each processor."),
    CLI_ROW_FLAG("quiet", PLACE(load.quiet), "Print no progress line."),
    {.type = CLI_END},
};

/* Kind of the history's timestamps, if it is known. */
static enum iso_wall wall_of(const struct explain *explain)
{
    return explain->stream.sources.count ? run_source_wall(&explain->stream.sources)
                                         : ISO_WALL_UNKNOWN;
}

/* The history, out of files or out of captures. */
static enum iso_status load_explained(struct app *app, struct explain *explain,
                                      const struct cli_texts *files, struct iso_history *history)
{
    if (!explain->stream.sources.count)
        return app_load_finished(app, &explain->load, files, NULL, history);
    explain->stream.quiet = true;
    explain->stream.initial = explain->load.initial;
    explain->stream.initial_file = explain->load.initial_file;
    return run_replay_history(&explain->stream, &app->out, files, history, &app->error);
}

static enum iso_status explain_files(struct app *app, struct explain *explain,
                                     const struct cli_texts *files)
{
    struct cli_texts histories = {.items = files->items, .count = files->count - 1};
    struct iso_history history;
    struct iso_whole_file file = {0};
    struct iso_text verdict = {0};
    const char *name = files->items[histories.count];
    iso_history_init(&history);
    enum iso_status status = load_explained(app, explain, &histories, &history);
    if (status == ISO_OK)
        status = iso_whole_file_read(&file, name, &app->error);
    if (status == ISO_OK) {
        iso_text_put_bytes(&verdict, file.bytes, file.length);
        status =
            app_explain(app, &explain->explanation, &history, wall_of(explain), name, &verdict);
    }
    iso_text_release(&verdict);
    iso_whole_file_release(&file);
    iso_history_release(&history);
    return status;
}

static enum iso_status explain_verdict(struct app *app, void *target, const struct cli_texts *files)
{
    struct explain *explain = target;
    if (files->count < 2)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "explain: expected a history and its verdict");
    explain->explanation.explain = !app_explanation_takes_stdout(&explain->explanation);
    enum iso_status status =
        app_explanation_check(app, &explain->explanation, false, wall_of(explain));
    return status == ISO_OK ? explain_files(app, explain, files) : status;
}

static enum iso_status run_explain(struct app *app, int count, char **arguments)
{
    struct explain explain = {.load.format = APP_GUESS};
    run_stream_options_init(&explain.stream);
    return cli_run(app, count, arguments, &explain, explain_verdict);
}

const struct cli_command app_explain_command = {
    .name = "explain",
    .summary = "each violation of a verdict as an argument",
    .usage = "[OPTIONS] HISTORY... VERDICT",
    .intro = "Explains each violation in a verdict: who was involved; why it is impossible,\n"
             "step by step, with values, writers, timestamps and where each record stands;\n"
             "and what it means for an application. VERDICT is what check --json or replay\n"
             "--json printed, or the lines of watch or replay; HISTORY is what it judged:\n"
             "files, or captures with --source. Exit status: 1 if there is a violation, 0 if\n"
             "there is none, 3 if there are only undecided or tentative ones, 2 also if\n"
             "VERDICT is not about HISTORY.",
    .examples =
        "  isochron check --json history.jsonl >verdict.json\n"
        "  isochron explain history.jsonl verdict.json\n"
        "      Every violation, step by step.\n"
        "  isochron watch --source history:txns --record run.jsonl.zst ... >lines.jsonl\n"
        "  isochron explain --source history:txns run.jsonl.zst lines.jsonl\n"
        "      What a live run reported, explained from its recording.\n"
        "  isochron explain --svg - history.jsonl verdict.json >graph.svg\n"
        "      Who is involved, and how, as a picture.\n"
        "  isochron explain --html page.html --report sarif:violations.sarif history.jsonl verdict.json\n"
        "      A page to read, a file for code scanning, and the text.\n"
        "  isochron explain --clock tso --ts time tikv.jsonl verdict.json\n"
        "      TiDB's timestamps, with the time of day beside each.\n",
    .options = options,
    .run = run_explain,
};
