/* `isochron convert`: between history formats. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/commands.h"
#include "app/load.h"
#include "formats/write_history.h"
#include "judge/judge.h"

struct convert {
    int to; /* enum iso_format; -1: not said */
    struct app_load load;
    const char *output, *initial_to;
};

#define PLACE(member) offsetof(struct convert, member)

static const struct cli_option options[] = {
    CLI_ROW_GROUP("Formats"),
    CLI_ROW_CHOICE("to", ISO_FORMAT_NAMES, PLACE(to),
                   "native: JSON Lines with everything except initial values. timekiller:\n"
                   "one JSON array with {p,l} timestamps; committed transactions only.\n"
                   "Without timestamps: dbcop, text, awdit, elle-edn, elle-json, dbcop-json,\n"
                   "hist; as a directory with one log for each session: cobra, viper.",
                   .argument = "NAME"),
    APP_LOAD_ROWS(PLACE(load), "The format of FILE; by default its content decides.",
                  "The value of every key of FILE before the first write; null means\n"
                  "absent. The default depends on the format.",
                  "Initial values by key, as for check."),
    CLI_ROW_GROUP("Output"),
    CLI_ROW_TEXT("output", "FILE", PLACE(output),
                 "Write to FILE, compressed if it ends in .zst, instead of standard\n"
                 "output. It appears whole or not at all. A directory must be new or\n"
                 "empty.",
                 .letter = 'o'),
    CLI_ROW_TEXT("initial-to", "FILE", PLACE(initial_to),
                 "Write the initial values of keys to FILE, for check --initial-file:\n"
                 "native and timekiller cannot express them."),
    CLI_ROW_FLAG("quiet", PLACE(load.quiet),
                 "Do not report what was lost. Print no progress line."),
    CLI_ROW_GROUP("How to run"),
    CLI_ROW_NUMBER("threads", "N", PLACE(load.threads), 1, 1024,
                   "Number of threads that read; by default one for each processor."),
    {.type = CLI_END},
};

static void log_loss(uint64_t count, const char *what)
{
    if (count)
        cli_log("note: %" PRIu64 " %s", count, what);
}

static void log_losses(const struct iso_history_loss *loss)
{
    log_loss(loss->aborted, "aborted transaction(s) left out: the format has committed ones only");
    log_loss(loss->unknown,
             "transaction(s) of unknown outcome left out: the format has committed ones only");
    log_loss(loss->snapshots,
             "transaction(s) with a snapshot instead of timestamps: written with positions");
    log_loss(loss->snos, "position(s) in a session (sno) left out; the order is kept");
    log_loss(loss->own_times, "operation(s) lost their own timestamp (ots, snapshot, lock)");
    log_loss(loss->deletes, "delete(s) written as writes of null");
    log_loss(loss->timestamps, "transaction(s) written without their timestamps");
    log_loss(loss->clocks, "transaction(s) written without their clients' clocks (begin, end)");
    log_loss(
        loss->unknown_as_committed,
        "transaction(s) of unknown outcome written as committed, without reads: no verdict changes");
    log_loss(
        loss->unknown_moved,
        "transaction(s) of unknown outcome moved to a session of their own, since others follow them in "
        "theirs: their order behind earlier ones of that session is lost");
    log_loss(loss->empty, "transaction(s) without operations left out: no verdict changes");
    log_loss(loss->tids, "transaction(s) got other ids");
    log_loss(loss->renamed_keys, "key(s) numbered: the format has numbers only");
    log_loss(loss->renamed_values, "value(s) numbered: the format has numbers only");
    log_loss(
        loss->queries,
        "query(s) of tables written as reads of what they returned: what they did not return is lost");
    log_loss(
        loss->strings,
        "operation(s) with a string as key or value, which the format's own tools do not read");
}

/* A recorder's counts of its file are not written: check reports them of the input. */
static void note_recorders(const struct convert *convert, const struct iso_history *history)
{
    if (convert->load.quiet)
        return;
    if (iso_history_lacks(history))
        cli_log(
            "note: records are missing that their recorder counted, or it did not end: check the input, since the "
            "output does not say so");
    if (history->streamed.is_needed)
        cli_log(
            "note: what rows had before, and what was written, stands in the change stream: the output does not say "
            "so, and nothing that it reads can be judged");
}

/* Native files have no place for what keys start with. */
static enum iso_status write_initial(struct app *app, const struct convert *convert,
                                     const struct iso_history *history)
{
    struct iso_output output;
    bool starts = history->initial.other_value != ISO_ABSENT || history->initial.count;
    note_recorders(convert, history);
    if (!convert->initial_to) {
        if (starts && iso_format_is_native((enum iso_format)convert->to) && !convert->load.quiet)
            cli_log(
                "note: keys start with values, which the format cannot express: write them with --initial-to FILE, "
                "and give check --initial-file FILE");
        return ISO_OK;
    }
    if (iso_output_open(&output, convert->initial_to, &app->error) != ISO_OK)
        return app->error.status;
    iso_history_write_initial(&output, history);
    return iso_output_close(&output, &app->error);
}

static enum iso_status write_directory(struct app *app, const struct convert *convert,
                                       struct iso_history *history)
{
    struct iso_history_loss loss;
    enum iso_status status = iso_history_finish(history, &app->error);
    if (status == ISO_OK)
        status = iso_history_write_directory(convert->output, (enum iso_format)convert->to, history,
                                             &loss, &app->error);
    if (status == ISO_OK && !convert->load.quiet)
        log_losses(&loss);
    return status;
}

/* The native writer takes the history before it is finished, since finishing turns snapshots into
 * positions, and its faults show after that; the file has not got its name by then. */
static enum iso_status write_history(struct app *app, const struct convert *convert,
                                     struct iso_history *history, struct iso_output *output)
{
    struct iso_history_writer writer;
    enum iso_format format = (enum iso_format)convert->to;
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
        log_losses(&writer.loss);
    return status;
}

static enum iso_status write_file(struct app *app, const struct convert *convert,
                                  struct iso_history *history, struct iso_output *output)
{
    enum iso_status status = iso_output_open(output, convert->output, &app->error);
    if (status == ISO_OK)
        status = write_history(app, convert, history, output);
    if (status == ISO_OK)
        status = write_initial(app, convert, history);
    if (status == ISO_OK)
        status = iso_output_close(output, &app->error);
    return status;
}

/* In other formats a record of half of what was done would be one of all that was. */
static enum iso_status refuse_halves(struct app *app, const struct convert *convert,
                                     struct iso_history *history)
{
    char location[512];
    enum iso_format format = (enum iso_format)convert->to;
    uint32_t t = format == ISO_FORMAT_NATIVE ? ISO_NONE : iso_judge_needs_stream(history);
    if (t == ISO_NONE)
        return ISO_OK;
    iso_history_location_text(history, t, location, sizeof location);
    return iso_error_set(
        &app->error, ISO_BAD_INPUT,
        "%s: what the record wrote stands in the change stream, and %s has no way to say so: "
        "expected --to native, or a history that replay --to-history joined with the stream",
        location, iso_format_name(format));
}

static enum iso_status convert_files(struct app *app, void *target, const struct cli_texts *files)
{
    const struct convert *convert = target;
    bool directory = convert->to >= 0 && iso_format_is_directory((enum iso_format)convert->to);
    struct iso_output output = {0};
    struct iso_history history;
    enum iso_status status = app_need_files(app, files);
    if (status == ISO_OK && directory && !strcmp(convert->output, "-"))
        status = iso_error_set(&app->error, ISO_BAD_INPUT,
                               "--to %s is a directory: say which by --output",
                               iso_format_name((enum iso_format)convert->to));
    if (status == ISO_OK && convert->to < 0)
        status =
            iso_error_set(&app->error, ISO_BAD_INPUT, "--to is missing: one of " ISO_FORMAT_NAMES);
    iso_history_init(&history);
    if (status == ISO_OK)
        status = app_load(app, &convert->load, files, &history);
    if (status == ISO_OK)
        status = refuse_halves(app, convert, &history);
    if (status == ISO_OK)
        status = app_load_initial(app, &convert->load, &history);
    if (status == ISO_OK && directory)
        status = write_directory(app, convert, &history);
    else if (status == ISO_OK)
        status = write_file(app, convert, &history, &output);
    iso_output_discard(&output);
    iso_history_release(&history);
    return status;
}

static enum iso_status run_convert(struct app *app, int count, char **arguments)
{
    struct convert convert = {.to = -1, .output = "-", .load.format = APP_GUESS};
    return cli_run(app, count, arguments, &convert, convert_files);
}

const struct cli_command app_convert = {
    .name = "convert",
    .summary = "rewrite a history in another format",
    .usage = "--to NAME [OPTIONS] FILE...",
    .intro = "Reads histories and writes one in another format. What the format cannot\n"
             "express is counted and reported on standard error. Several files become one.",
    .examples = "  isochron convert --to native timekiller.json -o history.jsonl.zst\n"
                "      From TimeKiller's array to packed JSON Lines.\n"
                "  isochron convert --to timekiller history.jsonl -o timekiller.json\n"
                "      For the Java checkers. PostgreSQL snapshots become positions.\n"
                "  isochron convert --to native part1.jsonl part2.jsonl | wc -l\n"
                "      Several files as one, to standard output.\n",
    .options = options,
    .run = run_convert,
};
