#include "app/load.h"

#include "app/progress.h"
#include "io/read.h"

unsigned app_threads(uint64_t asked)
{
    return asked ? (unsigned)asked : app_processors();
}

enum iso_status app_need_files(struct app *app, const struct app_texts *files)
{
    if (files->count)
        return ISO_OK;
    return iso_error_set(&app->error, ISO_BAD_INPUT, "%s: a file is missing; - is standard input",
                         app->command->name);
}

enum iso_status app_load(struct app *app, const struct app_load *load, const struct app_texts *files,
                         struct iso_history *history)
{
    struct app_progress progress;
    app_progress_init(&progress, "reading", load->quiet);
    struct iso_read_options options = {.threads = app_threads(load->threads),
                                       .progress = progress.shown ? app_progress_update : NULL,
                                       .progress_context = &progress};
    enum iso_status status = iso_read_history(files->items, files->count, &options, history, &app->error);
    app_progress_end(&progress);
    return status;
}
