/* Values of options: what a text says, where it came from, and a value as text again. */
#pragma once

#include "cli/command.h"
#include "cli/option.h"
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
void app_texts_release(struct app_texts *texts);

/* Checks the value and stores it into the command's struct. */
enum iso_status app_value_store(struct app *app, const struct app_setting *setting, void *target);

/* The stored value as its text would be in a configuration file, without quotes; not of texts. False: there is none. */
bool app_value_put(struct iso_text *text, const struct app_option *option, const void *target);
