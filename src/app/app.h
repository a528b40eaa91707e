/* What the program's commands share. A command is one file with one `struct app_command`, and one row in
 * commands.c.
 *
 * A command gets its arguments, writes results to `app->out` (standard output) and returns the exit status;
 * errors go into `app->error`, which main prints as one line. Chatter goes to stderr (app/say.h). The state is in
 * struct app; no globals.
 */
#ifndef ISO_APP_H
#define ISO_APP_H

#include "app/say.h"
#include "io/output.h"
#include "iso/error.h"

struct app;

struct app_command {
    const char *name;
    const char *summary;              /* one line for the list of commands */
    const char *usage;                /* what follows "isochron NAME" */
    const char *intro;                /* a paragraph or two */
    const char *examples;             /* worked ones, each with a line that says what it does */
    const char *words;                /* what its first argument may be, with bars between; NULL: files, or nothing */
    bool hidden;                      /* for building and packaging: help and completion leave it out */
    const struct app_option *options; /* ended by a row without text */
    enum iso_status (*run)(struct app *app, int count, char **arguments);
};

struct app_texts {
    const char **items;
    uint32_t count;
    bool on_command_line; /* every user of the machine can see them */
};

struct app {
    struct iso_output out;
    struct iso_error error;
    const struct app_command *command; /* that runs */
    struct app_texts kept;             /* owned: values of options that came from a file or the environment */
};

/* All commands, NULL after the last. */
extern const struct app_command *const app_commands[];

extern const struct app_command app_check, app_verify, app_gen, app_convert, app_bench, app_watch, app_capture,
    app_replay, app_state, app_explain_command, app_completion, app_document;

/* Seconds of a clock that never goes back. */
double app_seconds(void);

/* The number of processors that this process may use. */
unsigned app_processors(void);

/* The most memory that this process has had, in bytes. */
uint64_t app_peak_memory(void);

/* What it has now, apart from mapped files. 0: not known. */
uint64_t app_memory_in_use(void);

/* TMPDIR, or /tmp. */
const char *app_temporary_folder(void);

/* What a noun of which there are `count` ends in. */
static inline const char *app_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

#endif
