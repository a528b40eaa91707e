/* Settings: what a configuration file and the environment say of a command's options, and what
 * comes of all together. */
#pragma once

#include "cli/value.h"

struct cli_settings {
    struct cli_setting *list;
    uint32_t count, capacity;
};
void cli_settings_add(struct cli_settings *settings, struct cli_setting setting);

/* Adds what the file, and the environment, say for `app->command`. */
enum iso_status cli_config_file(struct app *app, const char *path, struct cli_settings *settings);
void cli_config_environment(struct app *app, struct cli_settings *settings);

/* Prints the value of each of `options` and where it comes from, in the form of a configuration
 * file; `settings` in the order of rank, `target` with all of them stored. */
void cli_config_print(struct iso_output *output, const struct cli_option *options,
                      const struct cli_settings *settings, const void *target);

/* Frees what values of options point to; after the command has ended. */
void cli_release(struct app *app);
