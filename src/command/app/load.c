#include "app/load.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/progress.h"
#include "native/read.h"
#include "bytes/whole_file.h"
#include "judge/judge.h"

enum iso_status app_need_files(struct app *app, const struct cli_texts *files)
{
    if (files->count)
        return ISO_OK;
    return iso_error_set(&app->error, ISO_BAD_INPUT, "%s: a file is missing; - is standard input",
                         app->command->name);
}

/* ---- which format ---- */

/* Logs which of a directory's files are the history, since it may hold others; of a single file
 * only where a person looks on. */
static void log_taken(const struct app_load *load, const char *path, enum iso_format format)
{
    struct iso_error error = {.status = ISO_OK};
    struct iso_text files = {0};
    bool is_directory;
    if (load->quiet || iso_path_look(path, &is_directory, &error) != ISO_OK)
        return;
    if (!is_directory) {
        if (load->format == APP_GUESS && isatty(STDERR_FILENO))
            cli_log("guessed: %s", iso_format_name(format));
        return;
    }
    iso_format_files(path, format, &files);
    *iso_text_reserve(&files, 1) = 0;
    cli_log("%s: format %s: %s", path, iso_format_name(format), files.bytes);
    iso_text_release(&files);
}

static enum iso_status choose_format(struct app *app, const struct app_load *load,
                                     const struct cli_texts *files, enum iso_format *format)
{
    static const char *const several =
        "one file or directory is a whole history; only native files can be several";
    bool is_guess = load->format == APP_GUESS;
    *format = is_guess ? ISO_FORMAT_NATIVE : (enum iso_format)load->format;
    for (uint32_t i = 0; i < files->count; i++) {
        enum iso_format one = *format;
        if (is_guess && iso_format_guess(files->items[i], &one, &app->error) != ISO_OK)
            return app->error.status;
        if (!iso_format_is_native(one) && files->count > 1)
            return iso_error_set(&app->error, ISO_BAD_INPUT,
                                 is_guess ? "%s: format %s (guessed), of which %s" : "%s %s: %s",
                                 is_guess ? files->items[i] : "--format", iso_format_name(one),
                                 several);
        if (!iso_format_is_native(one))
            *format = one;
    }
    return ISO_OK;
}

/* ---- reading ---- */

static enum iso_status read_native(struct app *app, const struct app_load *load,
                                   const struct cli_texts *files, struct iso_history *history)
{
    struct cli_progress progress;
    cli_progress_init(&progress, "reading", load->quiet);
    struct iso_read_options options = {.threads = cli_threads(load->threads),
                                       .progress = progress.shown ? cli_progress_update : NULL,
                                       .progress_context = &progress};
    enum iso_status status =
        iso_read_history(files->items, files->count, &options, history, &app->error);
    cli_progress_end(&progress);
    return status;
}

/* A guess that was wrong shows in the error. */
static void add_guess(struct iso_error *error, enum iso_format format)
{
    size_t length = strlen(error->text);
    snprintf(error->text + length, sizeof error->text - length,
             " (guessed: %s; --format says otherwise)", iso_format_name(format));
}

enum iso_status app_load(struct app *app, const struct app_load *load,
                         const struct cli_texts *files, struct iso_history *history)
{
    enum iso_format format;
    enum iso_status status = choose_format(app, load, files, &format);
    history->ranges.limit = (uint32_t)load->scan_limit;
    if (status != ISO_OK)
        return status;
    if (iso_format_is_native(format))
        return read_native(app, load, files, history);
    log_taken(load, files->items[0], format);
    status = iso_format_read_on(cli_threads(load->threads), format, files->items[0], history,
                                &app->error);
    if (status == ISO_BAD_INPUT && load->format == APP_GUESS)
        add_guess(&app->error, format);
    return status;
}

enum iso_status app_load_initial(struct app *app, const struct app_load *load,
                                 struct iso_history *history)
{
    if (load->initial_file && iso_read_initial(load->initial_file, history, &app->error) != ISO_OK)
        return app->error.status;
    if (load->initial)
        history->initial.other_value =
            strcmp(load->initial, "null")
                ? iso_atoms_text(&history->atoms, load->initial, strlen(load->initial))
                : ISO_ABSENT;
    return ISO_OK;
}

enum iso_status app_load_finished(struct app *app, const struct app_load *load,
                                  const struct cli_texts *files, uint64_t *repeats,
                                  struct iso_history *history)
{
    enum iso_status status = app_load(app, load, files, history);
    if (status == ISO_OK)
        status = app_load_initial(app, load, history);
    return status == ISO_OK ? iso_judge_finish(history, repeats, &app->error) : status;
}
