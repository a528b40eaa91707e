/* `isochron convert`: between history formats. */
#include <inttypes.h>
#include <stdio.h>

#include "app/load.h"
#include "io/write_history.h"

struct convert {
    int to; /* enum iso_history_format; -1: not said */
    struct app_load load;
    const char *output;
};

#define PLACE(member) offsetof(struct convert, member)

static const struct app_option options[] = {
    {.type = APP_GROUP, .help = "Formats"},
    {.type = APP_CHOICE,
     .name = "to",
     .choices = "native|timekiller",
     .offset = PLACE(to),
     .help = "native: JSON Lines, everything survives. timekiller: one JSON array\n"
             "with {p,l} timestamps; committed transactions only."},
    {.type = APP_CHOICE,
     .name = "format",
     .choices = APP_FORMATS,
     .offset = PLACE(load.format),
     .help = "What FILE is; native, the default, reads both."},
    {.type = APP_GROUP, .help = "Output"},
    {.type = APP_TEXT,
     .name = "output",
     .letter = 'o',
     .argument = "FILE",
     .offset = PLACE(output),
     .help = "Write to FILE, packed if it ends in .zst; it appears whole or not\n"
             "at all. Else to standard output."},
    {.type = APP_FLAG,
     .name = "quiet",
     .offset = PLACE(load.quiet),
     .help = "Do not say what did not survive. No progress line."},
    {.type = APP_GROUP, .help = "How to run"},
    {.type = APP_NUMBER,
     .name = "threads",
     .argument = "N",
     .offset = PLACE(load.threads),
     .least = 1,
     .most = 1024,
     .help = "Threads to read with; as many as there are processors."},
    {.type = APP_END},
};

static void say_loss(uint64_t count, const char *what)
{
    if (count)
        app_say("note: %" PRIu64 " %s", count, what);
}

static void say_losses(const struct iso_history_loss *loss)
{
    say_loss(loss->aborted, "aborted transaction(s) left out: the format has committed ones only");
    say_loss(loss->unknown, "transaction(s) of unknown outcome left out: the format has committed ones only");
    say_loss(loss->snapshots, "transaction(s) with a snapshot instead of timestamps: written with positions");
    say_loss(loss->snos, "position(s) in a session (sno) left out; the order is kept");
    say_loss(loss->own_times, "operation(s) lost their own timestamp (ots, snapshot, lock)");
    say_loss(loss->deletes, "delete(s) written as writes of null");
    say_loss(loss->strings,
             "operation(s) with a string as key or value, which the format's own tools do not read");
}

/* The native writer takes the history before it is finished, since finishing turns snapshots into positions,
 * and its faults show after that; the file has not got its name by then. */
static enum iso_status write(struct app *app, const struct convert *convert, struct iso_history *history,
                             struct iso_output *output)
{
    struct iso_history_writer writer;
    enum iso_history_format format = (enum iso_history_format)convert->to;
    iso_history_writer_init(&writer, output, format);
    enum iso_status status = ISO_OK;
    if (format == ISO_FORMAT_NATIVE)
        status = iso_history_writer_add(&writer, history, &app->error);
    if (status == ISO_OK)
        status = iso_history_finish(history, &app->error);
    if (status == ISO_OK && format != ISO_FORMAT_NATIVE)
        status = iso_history_writer_add(&writer, history, &app->error);
    iso_history_writer_end(&writer);
    if (status == ISO_OK && !convert->load.quiet)
        say_losses(&writer.loss);
    return status;
}

static enum iso_status convert_files(struct app *app, const struct convert *convert,
                                     const struct app_texts *files)
{
    struct iso_output output = {0};
    struct iso_history history;
    iso_history_init(&history);
    enum iso_status status = app_load(app, &convert->load, files, &history);
    if (status == ISO_OK)
        status = iso_output_open(&output, convert->output, &app->error);
    if (status == ISO_OK)
        status = write(app, convert, &history, &output);
    if (status == ISO_OK)
        status = iso_output_close(&output, &app->error);
    iso_output_discard(&output);
    iso_history_release(&history);
    return status;
}

static enum iso_status run(struct app *app, int count, char **arguments)
{
    struct convert convert = {.to = -1, .output = "-"};
    struct app_texts files = {0};
    bool done;
    enum iso_status status = app_parse(app, count, arguments, &convert, &files, &done);
    if (status == ISO_OK && !done) {
        status = app_need_files(app, &files);
        if (status == ISO_OK && convert.to < 0)
            status = iso_error_set(&app->error, ISO_BAD_INPUT, "--to is missing: native or timekiller");
        if (status == ISO_OK)
            status = convert_files(app, &convert, &files);
    }
    app_texts_release(&files);
    return status;
}

const struct app_command app_convert = {
    .name = "convert",
    .summary = "rewrite a history in another format",
    .usage = "--to native|timekiller [OPTIONS] FILE...",
    .intro = "Reads histories and writes one in another format. What the format has no\n"
             "place for is counted and said on standard error. Several files become one.",
    .examples = "  isochron convert --to native timekiller.json -o history.jsonl.zst\n"
                "      From TimeKiller's array to packed JSON Lines.\n"
                "  isochron convert --to timekiller history.jsonl -o timekiller.json\n"
                "      For the Java checkers. PostgreSQL snapshots become positions.\n"
                "  isochron convert --to native part1.jsonl part2.jsonl | wc -l\n"
                "      Several files as one, to standard output.\n",
    .options = options,
    .run = run,
};
