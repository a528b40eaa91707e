/* `isochron replay`: the watch pipeline on captured topics. */
#include "app/captures.h"
#include "app/explanation.h"
#include "app/load.h"
#include "app/replayed.h"

struct replay {
    struct app_stream_options stream;
    struct app_explanation explanation;
};

static const struct app_option options[] = {
    APP_STREAM_ROWS(struct replay),
    {.type = APP_GROUP, .help = "Explanations"},
    APP_EXPLAIN_ROW(struct replay),
    APP_EXPLANATION_ROWS(struct replay),
    {.type = APP_END},
};

static enum iso_status explain(struct app_stream *stream, const struct app_explanation *explanation)
{
    const struct app_stream_options *options = stream->options;
    if (app_replayed_finish(stream) != ISO_OK)
        return stream->app->error.status;
    return app_explain(stream->app, explanation, stream->kept, app_replayed_wall(options), "replay's verdict",
                       &stream->verdict);
}

static enum iso_status replay_files(struct app_stream *stream, const struct replay *replay,
                                    const struct app_texts *files)
{
    double started = app_seconds();
    enum iso_status status = app_replay_files(stream, files);
    if (status == ISO_OK)
        status = app_stream_conclude(stream, app_seconds() - started);
    if (stream->kept && stream->app->error.status == ISO_OK && explain(stream, &replay->explanation) > ISO_UNDECIDED)
        status = stream->app->error.status;
    return stream->app->error.status == ISO_OK ? status : stream->app->error.status;
}

static enum iso_status run(struct app *app, int count, char **arguments)
{
    struct replay replay = {.explanation.explain = false};
    struct app_texts files = {0};
    struct app_stream stream = {.app = app};
    bool done;
    app_stream_options_init(&replay.stream);
    enum iso_status status = app_parse(app, count, arguments, &replay, &files, &done);
    if (status == ISO_OK && !done)
        status = app_need_files(app, &files);
    if (status == ISO_OK && !done)
        status = app_explanation_check(app, &replay.explanation, replay.stream.json);
    replay.stream.keep = app_explanation_wanted(&replay.explanation);
    replay.stream.silent = replay.explanation.explain || app_explanation_takes_stdout(&replay.explanation);
    if (status == ISO_OK && !done) {
        status = app_stream_open(&stream, app, &replay.stream, false, true);
        if (status == ISO_OK)
            status = app_captures_open(&stream, NULL, false);
        if (status == ISO_OK)
            status = replay_files(&stream, &replay, &files);
        if (app_stream_close(&stream) != ISO_OK)
            status = app->error.status;
    }
    app_explanation_release(&replay.explanation);
    app_stream_options_release(&replay.stream);
    app_texts_release(&files);
    return status;
}

const struct app_command app_replay = {
    .name = "replay",
    .summary = "check captured topics as if they were live",
    .usage = "--source KIND:TOPIC [OPTIONS] FILE...",
    .intro = "Reads captures (of `isochron capture`, or of `kcat -J`), in the order given, and\n"
             "checks them as `watch` checks the live topics. Verdicts become final by the\n"
             "watermarks in the topics, the rest at the end of the last file; nothing ages.",
    .examples = "  isochron replay --source history:txns run.capture.jsonl.zst\n"
                "      One line of JSON for each step of each verdict.\n"
                "  isochron replay --source history:txns --explain run.capture.jsonl.zst\n"
                "      What is final at the end, each violation as an argument.\n"
                "  kcat -b localhost:9092 -C -e -J -t txns | isochron replay --source history:txns --json -\n"
                "      What kcat reads, and one object at the end. From standard input a\n"
                "      partition counts for watermarks from its first message on.\n",
    .options = options,
    .run = run,
};
