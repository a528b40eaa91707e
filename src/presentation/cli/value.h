/* Values of options: what a text says, where it came from, and a value as text again. */
#pragma once

#include "cli/command.h"
#include "cli/option.h"
#include "base/text.h"

/* Where a value comes from, the stronger the later. */
enum cli_rank {
    CLI_DEFAULT,
    CLI_FILE,    /* for every command */
    CLI_SECTION, /* for this one */
    CLI_ENVIRONMENT,
    CLI_ARGUMENT
};

/* One value that was given for an option. */
struct cli_setting {
    const struct cli_option *option;
    const char *text; /* NULL: a flag without a value */
    enum cli_rank rank;
    const char *origin; /* FILE:LINE, or the variable's name; NULL: an argument */
};

/* Adds an item. */
void cli_texts_add(struct cli_texts *texts, const char *text);
void cli_texts_release(struct cli_texts *texts);

/* Checks the value and stores it into the command's struct. */
enum iso_status cli_value_store(struct app *app, const struct cli_setting *setting, void *target);

/* The stored value as its text would be in a configuration file, without quotes; not of texts.
 * False: there is none. */
bool cli_value_put(struct iso_text *text, const struct cli_option *option, const void *target);
