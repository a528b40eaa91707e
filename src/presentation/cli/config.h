/* Settings: what a configuration file and the environment say of a command's options, and what comes of all together. */
#pragma once

#include "cli/value.h"

struct app_settings {
    struct app_setting *list;
    uint32_t count, capacity;
};
void app_settings_add(struct app_settings *settings, struct app_setting setting);

/* Adds what the file, and the environment, say for `app->command`. */
enum iso_status app_config_file(struct app *app, const char *path, struct app_settings *settings);
void app_config_environment(struct app *app, struct app_settings *settings);

/* Prints the value of each of `options` and where it comes from, in the form of a configuration file; `settings` in the
 * order of rank, `target` with all of them stored. */
void app_config_print(struct iso_output *output, const struct app_option *options, const struct app_settings *settings,
                      const void *target);

/* Frees what values of options point to; after the command has ended. */
void app_release(struct app *app);
