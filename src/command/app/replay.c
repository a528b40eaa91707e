/* `isochron replay`: the watch pipeline on captured topics. */
#include "app/commands.h"
#include "app/explanation.h"
#include "app/load.h"
#include "run/replay.h"

struct replay {
    struct run_stream_options stream;
    struct app_explanation explanation;
};

static const struct cli_option options[] = {
    RUN_STREAM_ROWS(struct replay),
    CLI_ROW_GROUP("Explanations"),
    APP_EXPLAIN_ROW(struct replay),
    APP_EXPLANATION_ROWS(struct replay),
    {.type = CLI_END},
};

static enum iso_status explain_verdict(struct app *app, struct run_stream *stream,
                                       const struct app_explanation *explanation)
{
    const struct run_stream_options *options = stream->options;
    struct run_kept *kept = &stream->kept;
    if (run_kept_finish(kept, options, iso_pipeline_inputs(stream->pipeline), &app->error) !=
        ISO_OK)
        return app->error.status;
    return app_explain(app, explanation, kept->history, run_source_wall(&options->sources),
                       "replay's verdict", &kept->verdict);
}

static enum iso_status replay_files(struct app *app, struct run_stream *stream,
                                    const struct replay *replay, const struct cli_texts *files)
{
    double started = iso_clock_seconds();
    struct iso_error *error = &app->error;
    enum iso_status status = run_recording_open(&stream->recording, NULL, false, error);
    if (status == ISO_OK)
        status = run_replay_files(stream, files, error);
    if (status == ISO_OK)
        status = run_stream_conclude(stream, iso_clock_seconds() - started, error);
    if (stream->kept.history && error->status == ISO_OK)
        explain_verdict(app, stream, &replay->explanation);
    return error->status == ISO_OK ? status : error->status;
}

static enum iso_status replay_as_asked(struct app *app, void *target, const struct cli_texts *files)
{
    struct replay *replay = target;
    struct run_stream stream;
    enum iso_status status = app_need_files(app, files);
    if (status == ISO_OK)
        status = app_explanation_check(app, &replay->explanation, replay->stream.json,
                                       run_source_wall(&replay->stream.sources));
    if (status != ISO_OK)
        return status;
    run_stream_options_finalize(&replay->stream);
    replay->stream.keep = app_explanation_wanted(&replay->explanation);
    replay->stream.silent =
        replay->explanation.explain || app_explanation_takes_stdout(&replay->explanation);
    status = run_stream_open(&stream, &replay->stream, &app->out, false, true, &app->error);
    if (status == ISO_OK)
        status = replay_files(app, &stream, replay, files);
    return run_stream_close(&stream, &app->error) == ISO_OK ? status : app->error.status;
}

static enum iso_status run_replay(struct app *app, int count, char **arguments)
{
    struct replay replay = {.explanation.explain = false};
    run_stream_options_init(&replay.stream);
    return cli_run(app, count, arguments, &replay, replay_as_asked);
}

const struct cli_command app_replay = {
    .name = "replay",
    .summary = "check captured topics as if they were live",
    .usage = "--source KIND:TOPIC [OPTIONS] FILE...",
    .intro = "Reads captures (of `isochron capture`, or of `kcat -J`) in the order given,\n"
             "and checks them as `watch` checks the live topics. Verdicts become final by\n"
             "the watermarks in the topics, the rest at the end of the last file; there are\n"
             "no deadlines. A capture that is still being written, or whose writer was\n"
             "killed, is read up to its last whole line; this is reported, and what still\n"
             "waits there stays undecided.",
    .examples =
        "  isochron replay --source history:txns run.capture.jsonl.zst\n"
        "      One line of JSON for each step of each verdict.\n"
        "  isochron replay --source history:txns --explain run.capture.jsonl.zst\n"
        "      What is final at the end, each violation as an argument.\n"
        "  kcat -b localhost:9092 -C -e -J -t txns | isochron replay --source history:txns --json -\n"
        "      What kcat reads, and one object at the end. From standard input a\n"
        "      partition counts for watermarks from its first message on.\n",
    .options = options,
    .run = run_replay,
};
