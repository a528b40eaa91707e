/* What the program's commands share. A command is one file with one `struct cli_command`, and one
 * row in app/commands.c.
 *
 * A command gets its arguments, writes results to `app->out` (standard output) and returns the exit
 * status; errors go into `app->error`, which main prints as one line. Remarks go to stderr
 * (cli/log.h). The state is in struct app; no globals.
 */
#pragma once

#include "cli/log.h"
#include "cli/system.h"
#include "bytes/output.h"
#include "base/error.h"

struct app;

struct cli_command {
    const char *name;
    const char *summary;  /* one line for the list of commands */
    const char *usage;    /* what follows "isochron NAME" */
    const char *intro;    /* a paragraph or two */
    const char *examples; /* worked ones, each with a line that says what it does */
    const char
        *words; /* what its first argument may be, with bars between; NULL: files, or nothing */
    bool is_program; /* not a command of isochron, but a program of that name */
    bool hidden;     /* for building and packaging: help and completion leave it out */
    const struct cli_option *options; /* ended by a row without text */
    enum iso_status (*run)(struct app *app, int count, char **arguments);
};

struct cli_texts {
    const char **items;
    uint32_t count;
    bool in_file; /* not on the command line or in the environment, where others can see them */
};

struct app {
    struct iso_output out;
    struct iso_error error;
    const struct cli_command *const *commands; /* all of them, NULL after the last */
    const struct cli_command *command;         /* that runs */
    struct cli_texts kept; /* owned: values of options that came from a file or the environment */
    bool stdout_closed;    /* from the start: nobody will read results there */
};
