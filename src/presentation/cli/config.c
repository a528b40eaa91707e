/* Options from configuration files and from the environment, and all of them printed with their
 * origins. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common.h"
#include "cli/config.h"
#include "cli/nearest.h"
#include "base/memory.h"
#include "base/redact.h"
#include "base/settings.h"
#include "bytes/whole_file.h"

void cli_settings_add(struct cli_settings *settings, struct cli_setting setting)
{
    ISO_APPEND(*settings, setting);
}

/* A copy that lives as long as the command runs. */
static const char *keep_text(struct app *app, const char *text, size_t length)
{
    cli_texts_add(&app->kept, iso_copy_text(text, length));
    return app->kept.items[app->kept.count - 1];
}

void cli_release(struct app *app)
{
    for (uint32_t i = 0; i < app->kept.count; i++)
        iso_free((char *)app->kept.items[i]);
    cli_texts_release(&app->kept);
}

/* ---- the file ---- */

struct config {
    struct app *app;
    const char *path;
    struct cli_settings *settings;
};

static const struct cli_command *find_command(const struct app *app, const char *name)
{
    if (!strcmp(app->command->name, name))
        return app->command;
    for (const struct cli_command *const *command = app->commands; *command; command++)
        if (!strcmp((*command)->name, name))
            return *command;
    return NULL;
}

static enum iso_status unknown_section(const struct config *config,
                                       const struct iso_setting *setting)
{
    const char *names[32];
    size_t count = 0;
    for (; config->app->commands[count] && count < 32; count++)
        names[count] = config->app->commands[count]->name;
    const char *nearest = cli_nearest(setting->section, names, count);
    return iso_error_set(&config->app->error, ISO_BAD_INPUT, "%s:%u: [%s] is no command%s%s%s",
                         config->path, setting->line, setting->section,
                         nearest ? "; did you mean [" : "", nearest ? nearest : "",
                         nearest ? "]?" : "");
}

/* The option of this command, of the section's, or, before any, of any command. */
static const struct cli_option *find_option(const struct config *config,
                                            const struct cli_command *command, const char *name)
{
    const struct cli_option *option =
        cli_option_find(command ? command : config->app->command, name, strlen(name), 0);
    for (int i = 0; !option && !command && config->app->commands[i]; i++)
        option = cli_option_find(config->app->commands[i], name, strlen(name), 0);
    return option;
}

static enum iso_status unknown_name(const struct config *config, const struct cli_command *command,
                                    const struct iso_setting *setting)
{
    const struct cli_command *named = command ? command : config->app->command;
    const char *nearest = cli_option_nearest(named, setting->name);
    for (int i = 0; !nearest && !command && config->app->commands[i]; i++)
        nearest = cli_option_nearest(config->app->commands[i], setting->name);
    if (nearest)
        return iso_error_set(&config->app->error, ISO_BAD_INPUT,
                             "%s:%u: %s: no such option; did you mean %s?", config->path,
                             setting->line, setting->name, nearest);
    return iso_error_set(&config->app->error, ISO_BAD_INPUT,
                         "%s:%u: %s: no such option; isochron %s --help lists them", config->path,
                         setting->line, setting->name, named->name);
}

/* Two values for what can have one are a mistake of whoever wrote them. */
static enum iso_status add_setting(const struct config *config, const struct cli_option *option,
                                   enum cli_rank rank, const struct iso_setting *setting)
{
    char origin[ISO_ERROR_TEXT / 4];
    const struct cli_settings *settings = config->settings;
    for (uint32_t i = 0; option->type != CLI_TEXTS && i < settings->count; i++)
        if (settings->list[i].option == option && settings->list[i].rank == rank)
            return iso_error_set(&config->app->error, ISO_BAD_INPUT,
                                 "%s:%u: %s is set already, at %s", config->path, setting->line,
                                 setting->name, settings->list[i].origin);
    snprintf(origin, sizeof origin, "%s:%u", config->path, setting->line);
    cli_settings_add(
        config->settings,
        (struct cli_setting){.option = option,
                             .text = keep_text(config->app, setting->value, strlen(setting->value)),
                             .rank = rank,
                             .origin = keep_text(config->app, origin, strlen(origin))});
    return ISO_OK;
}

static enum iso_status take_section(const struct config *config, const struct iso_setting *setting)
{
    const struct cli_command *command =
        *setting->section ? find_command(config->app, setting->section) : NULL;
    if (*setting->section && !command)
        return unknown_section(config, setting);
    const struct cli_option *option = find_option(config, command, setting->name);
    if (!option)
        return unknown_name(config, command, setting);
    if (option->argument_only)
        return iso_error_set(&config->app->error, ISO_BAD_INPUT,
                             "%s:%u: %s: only on the command line", config->path, setting->line,
                             setting->name);
    if (command && command != config->app->command)
        return ISO_OK; /* another command's: it stands where it should, its value is not ours to
                          judge */
    option = cli_option_find(config->app->command, setting->name, strlen(setting->name), 0);
    return option ? add_setting(config, option, command ? CLI_SECTION : CLI_FILE, setting) : ISO_OK;
}

enum iso_status cli_config_file(struct app *app, const char *path, struct cli_settings *settings)
{
    struct config config = {app, path, settings};
    struct iso_whole_file file;
    struct iso_settings reader;
    struct iso_setting setting;
    if (iso_whole_file_read(&file, path, &app->error) != ISO_OK)
        return app->error.status;
    iso_settings_init(&reader, path, file.bytes, file.length);
    while (app->error.status == ISO_OK && iso_settings_next(&reader, &setting, &app->error))
        take_section(&config, &setting);
    iso_whole_file_release(&file);
    return app->error.status;
}

/* ---- the environment ---- */

enum { VARIABLE = 64 };

static void name_variable(char variable[VARIABLE], const char *name)
{
    int used = snprintf(variable, VARIABLE, "ISOCHRON_");
    for (; *name && used < VARIABLE - 1; name++)
        variable[used++] = *name == '-' ? '_' : (char)toupper((unsigned char)*name);
    variable[used] = 0;
}

static void take_variable(struct app *app, const struct cli_option *option,
                          struct cli_settings *settings)
{
    char variable[VARIABLE];
    name_variable(variable, option->name);
    const char *text = getenv(variable);
    if (!text || !*text)
        return;
    struct cli_setting setting = {.option = option,
                                  .rank = CLI_ENVIRONMENT,
                                  .origin = keep_text(app, variable, strlen(variable))};
    for (size_t length; *text; text += length + (text[length] != 0)) {
        length = option->type == CLI_TEXTS ? strcspn(text, "\n") : strlen(text);
        setting.text = keep_text(app, text, length);
        if (length)
            cli_settings_add(settings, setting);
    }
}

/* Variables that name no option are left alone: Kubernetes makes ISOCHRON_SERVICE_HOST and the like
 * of a service's name. */
void cli_config_environment(struct app *app, struct cli_settings *settings)
{
    const struct cli_option *const tables[] = {app->command->options, cli_common_options};
    for (int i = 0; i < 2; i++)
        for (const struct cli_option *option = tables[i]; option->type != CLI_END; option++)
            if (option->type != CLI_GROUP && !option->argument_only)
                take_variable(app, option, settings);
}

/* ---- --print-config ---- */

static void print_origin(struct iso_text *line, const struct cli_setting *setting)
{
    iso_text_put(line, "  # ");
    if (!setting)
        iso_text_put(line, "default");
    else if (setting->rank == CLI_ARGUMENT)
        iso_text_put(line, "flag");
    else if (setting->rank == CLI_ENVIRONMENT)
        iso_text_put(line, "environment ");
    if (setting && setting->origin)
        iso_text_put(line, setting->origin);
    iso_text_put(line, "\n");
}

/* `setting` NULL: the default. */
static void print_value(struct iso_text *line, const struct cli_option *option, const char *value,
                        const struct cli_setting *setting)
{
    char *shown = iso_redacted(value);
    iso_text_format(line, "%s = ", option->name);
    iso_settings_put_value(line, shown);
    print_origin(line, setting);
    iso_free(shown);
}

static void print_option(struct iso_text *line, const struct cli_option *option,
                         const struct cli_settings *settings, const void *target)
{
    const struct cli_setting *strongest = NULL;
    struct iso_text value = {0};
    for (uint32_t i = 0; i < settings->count; i++)
        if (settings->list[i].option == option)
            strongest = &settings->list[i];
    if (option->type == CLI_TEXTS) {
        for (uint32_t i = 0; strongest && i < settings->count; i++) {
            const struct cli_setting *setting = &settings->list[i];
            if (setting->option == option && setting->rank == strongest->rank)
                print_value(line, option, setting->text, setting);
        }
    } else if (cli_value_put(&value, option, target)) {
        iso_text_put_bytes(&value, "", 1);
        print_value(line, option, value.bytes, strongest);
    }
    if (!strongest && !value.used)
        iso_text_format(line, "# %s is not set\n", option->name);
    iso_text_release(&value);
}

void cli_config_print(struct iso_output *output, const struct cli_option *options,
                      const struct cli_settings *settings, const void *target)
{
    struct iso_text text = {0};
    for (const struct cli_option *option = options; option->type != CLI_END; option++)
        if (option->type != CLI_GROUP && !option->argument_only)
            print_option(&text, option, settings, target);
    iso_output_bytes(output, text.bytes, text.used);
    iso_text_release(&text);
}
