/* Options of a command: one table drives parsing, `--help`, the man page, completion in shells, the reference in
 * docs/options.md, configuration files and the environment.
 *
 * Long options are `--name value` or `--name=value`, flags `--name` (or `--name=false`); an option may have a letter,
 * `-o FILE`. `--` ends options, `-` is a file (stdin or stdout). A value is checked against its row and stored in the
 * command's own struct at `offset`, where the defaults stand before. An option that stands twice: the last
 * one counts, but for APP_TEXTS.
 *
 * Values come from, the later the stronger: the defaults, `--config FILE` (base/settings.h; lines before the first
 * heading are for every command that has the option, those under [COMMAND] for that one), environment variables
 * ISOCHRON_NAME_OF_OPTION, the command line. Of APP_TEXTS the strongest of these counts as a whole; a variable has one
 * on each line.
 */
#ifndef ISO_APP_OPTIONS_H
#define ISO_APP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "app/app.h"

enum app_option_type {
    APP_END,
    APP_GROUP,    /* a heading for those that follow: `help` */
    APP_FLAG,     /* bool */
    APP_TEXT,     /* const char * */
    APP_TEXTS,    /* struct app_texts: every time it stands */
    APP_NUMBER,   /* uint64_t, from `least` to `most`; `k`, `M`, `G` after it are thousands, millions, ... */
    APP_DURATION, /* uint64_t: nanoseconds; `ns`, `us`, `ms`, `s`, `m` after it */
    APP_SHARE,    /* uint64_t: parts of 2^32 of a number from 0 to 1 */
    APP_CHOICE    /* int: which of `choices`, words with bars between */
};

struct app_option {
    enum app_option_type type;
    const char *name;
    char letter;
    const char *argument; /* its value's name in help */
    size_t offset;
    uint64_t least, most;
    const char *choices;
    const char *help;   /* lines with \n between */
    bool argument_only; /* neither in files nor in the environment */
};

/* Parses for `app->command` into `target`; what is no option goes to `files`, whose items (as those of
 * APP_TEXTS) the caller frees with app_texts_release. --help, --version and --print-config are answered here: `*done`.
 * --log-format and --quiet take effect here. */
enum iso_status app_parse(struct app *app, int count, char **arguments, void *target, struct app_texts *files,
                          bool *done);
void app_texts_release(struct app_texts *texts);

/* Frees what values of options point to; after the command has ended. */
void app_release(struct app *app);

/* Stores a value as if `--name text` stood on the command line; `name` is one of the command's options. */
enum iso_status app_option_set(struct app *app, const char *name, const char *text, void *target);

/* The options that every command has, as its own rows. */
extern const struct app_option app_common_options[];

void app_version(struct iso_output *output);
void app_help(struct iso_output *output, const struct app_command *command);

/* The name among `count` that `text` was probably meant to be, or NULL. */
const char *app_nearest(const char *text, const char *const *names, size_t count);

/* The error "PLACE: expected one of CHOICES", words with bars between, and which of them was probably meant. */
enum iso_status app_wrong_choice(struct app *app, const char *place, const char *text, const char *choices);

#endif
