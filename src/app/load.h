/* Reading the histories that a command was given, with progress. */
#ifndef ISO_APP_LOAD_H
#define ISO_APP_LOAD_H

#include "app/app.h"
#include "app/options.h"
#include "iso/history.h"

/* The formats that --format takes. TimeKiller's is a subset of the native one: one reader. */
#define APP_FORMATS "native|timekiller"

struct app_load {
    int format;
    uint64_t threads; /* 0: as many as there are processors */
    bool quiet;
};

/* Reads all files into a history in building. */
enum iso_status app_load(struct app *app, const struct app_load *load, const struct app_texts *files,
                         struct iso_history *history);

/* An error unless there is a file at all. */
enum iso_status app_need_files(struct app *app, const struct app_texts *files);

unsigned app_threads(uint64_t asked);

#endif
