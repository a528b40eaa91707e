/* Options of a command: one table drives parsing, `--help`, the man page, completion in shells, the
 * reference in docs/options.md, configuration files and the environment.
 *
 * Long options are `--name value` or `--name=value`, flags `--name` (or `--name=false`); an option
 * may have a letter, `-o FILE`. `--` ends options, `-` is a file (stdin or stdout). A value is
 * checked against its row and stored in the command's own struct at `offset`, where the defaults
 * stand before. Of an option that is given twice the last one counts, except for CLI_TEXTS.
 *
 * Values come from these, of which a later one overrides an earlier one: the defaults, `--config
 * FILE` (base/settings.h; lines before the first heading are for every command that has the option,
 * those under [COMMAND] for that one), environment variables ISOCHRON_NAME_OF_OPTION, the command
 * line. Of CLI_TEXTS the strongest of these counts as a whole; a variable has one on each line.
 */
#pragma once

#include <stdbool.h>

#include "cli/command.h"
#include "cli/value.h"

/* Parses for `app->command` into `target`; what is no option goes to `files`, whose items (as those
 * of CLI_TEXTS) the caller frees with cli_texts_release. --help, --version and --print-config are
 * answered here: `*done`. --log-format and --quiet take effect here. */
enum iso_status cli_parse(struct app *app, int count, char **arguments, void *target,
                          struct cli_texts *files, bool *done);

/* The frame of a command: parses, does the work unless all was answered already, and frees what
 * parsing made. */
typedef enum iso_status cli_work(struct app *app, void *target, const struct cli_texts *files);
enum iso_status cli_run(struct app *app, int count, char **arguments, void *target, cli_work *work);

/* Stores a value as if `--name text` stood on the command line; `name` is one of the command's
 * options. */
enum iso_status cli_option_set(struct app *app, const char *name, const char *text, void *target);

/* What `--help` prints of a command, and --version. */
void cli_help(struct iso_output *output, const struct cli_command *command);
void cli_version(struct iso_output *output);

/* What writes man page, reference page and completion in shells from the option tables. */
extern const struct cli_command cli_completion, cli_document;
