/* Values of options: what a text says, where it came from, and a value as text again. */
#ifndef ISO_APP_VALUE_H
#define ISO_APP_VALUE_H

#include "app/options.h"
#include "base/text.h"

/* Where a value comes from, the stronger the later. */
enum app_rank {
    APP_DEFAULT,
    APP_FILE,    /* for every command */
    APP_SECTION, /* for this one */
    APP_ENVIRONMENT,
    APP_ARGUMENT
};

/* One value that was given for an option. */
struct app_setting {
    const struct app_option *option;
    const char *text; /* NULL: a flag without a value */
    enum app_rank rank;
    const char *origin; /* FILE:LINE, or the variable's name; NULL: an argument */
};

/* Adds an item. */
void app_texts_add(struct app_texts *texts, const char *text);

/* Checks the value and stores it into the command's struct. */
enum iso_status app_value_store(struct app *app, const struct app_setting *setting, void *target);

/* The stored value as its text would be in a configuration file, without quotes; not of texts. False: there is none. */
bool app_value_put(struct iso_text *text, const struct app_option *option, const void *target);

/* A copy of a text in which secrets are replaced: what a password, token or key is set to, and what stands before the @
 * of a URL. The caller frees it. */
char *app_value_redact(const char *text);

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

/* The option of a command, or one that all have; NULL: none. */
const struct app_option *app_option_find(const struct app_command *command, const char *name, size_t length,
                                         char letter);
/* The nearest name of such an option, or NULL. */
const char *app_option_nearest(const struct app_command *command, const char *name);

#endif
