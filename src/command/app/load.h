/* Reading the histories that a command was given, with progress. */
#pragma once

#include "cli/command.h"
#include "cli/options.h"
#include "formats/format.h"
#include "history/history.h"

enum { APP_GUESS = -1 }; /* a format that was not named */

struct app_load {
    int format;       /* enum iso_format, or APP_GUESS */
    uint64_t threads; /* 0: as many as there are processors */
    bool quiet;
    const char *initial, *initial_file; /* or NULL: as the format says */
    uint64_t scan_limit;                /* 0: the history's default */
};

/* The rows of --format, --scan-limit, --initial and --initial-file: `base` is where the options
 * struct has its struct app_load; each command says in its own words what they are about. */
#define APP_LOAD_ROWS(base, about_format, about_initial, about_file)                               \
    CLI_ROW_CHOICE("format", ISO_FORMAT_NAMES, (base) + offsetof(struct app_load, format),         \
                   about_format, .argument = "NAME"),                                              \
        CLI_ROW_NUMBER("scan-limit", "N", (base) + offsetof(struct app_load, scan_limit), 1,       \
                       UINT32_MAX,                                                                 \
                       "For ranges of more than N keys (10000), only the returned rows are\n"      \
                       "checked, not whether rows are missing."),                                  \
        CLI_ROW_TEXT("initial", "VALUE", (base) + offsetof(struct app_load, initial),              \
                     about_initial),                                                               \
        CLI_ROW_TEXT("initial-file", "FILE", (base) + offsetof(struct app_load, initial_file),     \
                     about_file)

/* Reads all files into a history in building. Several files are one history if they are native. */
enum iso_status app_load(struct app *app, const struct app_load *load,
                         const struct cli_texts *files, struct iso_history *history);

/* Adds the initial values that were asked for. */
enum iso_status app_load_initial(struct app *app, const struct app_load *load,
                                 struct iso_history *history);

/* Both, and finishes the history. A record that says that only a change stream knows all its writes
 * is an error: of such a history nothing can be said without the stream. `repeats`: drops
 * transactions that stand there again with equal content and says how many; NULL: they are an
 * error, as are those with other content in any case. */
enum iso_status app_load_finished(struct app *app, const struct app_load *load,
                                  const struct cli_texts *files, uint64_t *repeats,
                                  struct iso_history *history);

/* An error unless there is a file at all. */
enum iso_status app_need_files(struct app *app, const struct cli_texts *files);
