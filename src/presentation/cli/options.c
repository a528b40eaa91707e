/* The command line: what stands there, and what files and the environment say beside it. */
#include "cli/options.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common.h"
#include "cli/config.h"
#include "cli/nearest.h"
#include "base/memory.h"
#include "iso/version.h"

enum { LOG_LIMIT = 10000000 };

struct parser {
    struct app *app;
    int at, count;
    char **arguments;
    struct cli_texts *files;
    struct cli_common common;
    struct cli_settings given,
        settings; /* what stands on the command line; all, the weakest first */
};

enum iso_status cli_option_set(struct app *app, const char *name, const char *text, void *target)
{
    struct cli_setting setting = {.option = cli_option_find(app->command, name, strlen(name), 0),
                                  .text = text,
                                  .rank = CLI_ARGUMENT};
    assert(setting.option);
    return cli_value_store(app, &setting, target);
}

/* ---- arguments ---- */

static enum iso_status unknown_option(struct app *app, const char *argument, const char *name)
{
    const char *nearest = *name ? cli_option_nearest(app->command, name) : NULL;
    if (nearest)
        return iso_error_set(&app->error, ISO_BAD_INPUT, "%s: no such option; did you mean --%s?",
                             argument, nearest);
    return iso_error_set(&app->error, ISO_BAD_INPUT,
                         "%s: no such option; isochron %s --help lists them", argument,
                         app->command->name);
}

static bool is_common(const struct cli_option *option)
{
    for (const struct cli_option *row = cli_common_options; row->type != CLI_END; row++)
        if (row == option)
            return true;
    return false;
}

/* Remembers the value that stands in the argument itself, or in the next one. Those of every
 * command take effect at once: they say how the rest is reported. */
static enum iso_status take_value(struct parser *parser, const struct cli_option *option,
                                  const char *inside)
{
    struct app *app = parser->app;
    struct cli_setting setting = {.option = option, .text = inside, .rank = CLI_ARGUMENT};
    if (option->type != CLI_FLAG && !inside) {
        if (parser->at + 1 == parser->count)
            return iso_error_set(&app->error, ISO_BAD_INPUT, "--%s needs a value: %s", option->name,
                                 option->argument ? option->argument : option->choices);
        setting.text = parser->arguments[++parser->at];
    }
    cli_settings_add(&parser->given, setting);
    return is_common(option) ? cli_value_store(app, &setting, &parser->common) : ISO_OK;
}

static enum iso_status parse_long(struct parser *parser, const char *argument)
{
    const char *name = argument + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct cli_option *option = cli_option_find(parser->app->command, name, length, 0);
    if (option)
        return take_value(parser, option, equals ? equals + 1 : NULL);
    char bare[64];
    snprintf(bare, sizeof bare, "%.*s", (int)(length < sizeof bare ? length : sizeof bare), name);
    return unknown_option(parser->app, argument, bare);
}

static enum iso_status parse_letter(struct parser *parser, const char *argument)
{
    const struct cli_option *option = cli_option_find(parser->app->command, NULL, 0, argument[1]);
    if (!option)
        return unknown_option(parser->app, argument, "");
    return take_value(parser, option, argument[2] ? argument + 2 : NULL);
}

/* Until the end, or to what is answered at once. */
static enum iso_status read_arguments(struct parser *parser)
{
    enum iso_status status = ISO_OK;
    bool options = true;
    for (; parser->at < parser->count && status == ISO_OK; parser->at++) {
        const char *argument = parser->arguments[parser->at];
        if (!options || argument[0] != '-' || !argument[1])
            cli_texts_add(parser->files, argument);
        else if (!strcmp(argument, "--"))
            options = false;
        else
            status =
                argument[1] == '-' ? parse_long(parser, argument) : parse_letter(parser, argument);
        if (parser->common.help || parser->common.version)
            break;
    }
    return status;
}

/* ---- all together ---- */

static int compare_ranks(const void *left, const void *right)
{
    const struct cli_setting *const *a = left, *const *b = right;
    if ((*a)->rank != (*b)->rank)
        return (*a)->rank < (*b)->rank ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

/* The weakest first, each rank in its own order. */
static void sort_by_rank(struct cli_settings *settings)
{
    struct cli_settings sorted = {0};
    const struct cli_setting **order = iso_allocate((settings->count + 1) * sizeof *order);
    for (uint32_t i = 0; i < settings->count; i++)
        order[i] = &settings->list[i];
    qsort(order, settings->count, sizeof *order, compare_ranks);
    for (uint32_t i = 0; i < settings->count; i++)
        cli_settings_add(&sorted, *order[i]);
    ISO_FREE_ALL(order, settings->list);
    *settings = sorted;
}

static enum iso_status gather_arguments(struct parser *parser)
{
    struct app *app = parser->app;
    const char *config = parser->common.config ? parser->common.config : getenv("ISOCHRON_CONFIG");
    cli_config_environment(app, &parser->settings);
    if (config && *config)
        cli_config_file(app, config, &parser->settings);
    for (uint32_t i = 0; i < parser->given.count; i++)
        cli_settings_add(&parser->settings, parser->given.list[i]);
    sort_by_rank(&parser->settings);
    return app->error.status;
}

/* Whether a list was set by a stronger rank, so that this setting does not count. */
static bool is_overruled(const struct cli_settings *settings, const struct cli_setting *setting)
{
    for (uint32_t i = 0; setting->option->type == CLI_TEXTS && i < settings->count; i++)
        if (settings->list[i].option == setting->option && settings->list[i].rank > setting->rank)
            return true;
    return false;
}

static enum iso_status store_settings(struct parser *parser, void *target)
{
    enum iso_status status = ISO_OK;
    for (uint32_t i = 0; i < parser->settings.count && status == ISO_OK; i++) {
        const struct cli_setting *setting = &parser->settings.list[i];
        if (!is_overruled(&parser->settings, setting))
            status = cli_value_store(parser->app, setting,
                                     is_common(setting->option) ? &parser->common : target);
    }
    return status;
}

static bool is_quiet(const struct app *app, const void *target)
{
    const struct cli_option *option = cli_option_find(app->command, "quiet", 5, 0);
    return option && *(const bool *)((const char *)target + option->offset);
}

static void print_config(struct parser *parser, const void *target)
{
    struct iso_output *output = &parser->app->out;
    iso_output_format(output, "[%s]\n", parser->app->command->name);
    cli_config_print(output, parser->app->command->options, &parser->settings, target);
    cli_config_print(output, cli_common_options, &parser->settings, &parser->common);
}

/* Options that every command answers: --help, --version, ... */
static bool answer_common(struct parser *parser, const void *target)
{
    struct app *app = parser->app;
    if (parser->common.help)
        cli_help(&app->out, app->command);
    else if (parser->common.version)
        cli_version(&app->out);
    else if (parser->common.print_config)
        print_config(parser, target);
    else
        return false;
    return true;
}

enum iso_status cli_parse(struct app *app, int count, char **arguments, void *target,
                          struct cli_texts *files, bool *done)
{
    struct parser parser = {.app = app,
                            .count = count,
                            .arguments = arguments,
                            .files = files,
                            .common.log_limit = LOG_LIMIT,
                            .common.log_format = (int)cli_log_format_wished()};
    enum iso_status status = read_arguments(&parser);
    bool at_once = parser.common.help || parser.common.version;
    if (status == ISO_OK && !at_once)
        status = gather_arguments(&parser);
    if (status == ISO_OK && !at_once)
        status = store_settings(&parser, target);
    cli_log_set_format((enum cli_log_format)parser.common.log_format);
    cli_log_set_limit(parser.common.log_limit);
    cli_allow_core(parser.common.core);
    cli_log_set_quiet(is_quiet(app, target));
    *done = status == ISO_OK && answer_common(&parser, target);
    ISO_FREE_ALL(parser.given.list, parser.settings.list);
    return status;
}

enum iso_status cli_run(struct app *app, int count, char **arguments, void *target, cli_work *work)
{
    struct cli_texts files = {0};
    bool done;
    enum iso_status status = cli_parse(app, count, arguments, target, &files, &done);
    if (status == ISO_OK && !done)
        status = work(app, target, &files);
    for (const struct cli_option *row = app->command->options; row->type != CLI_END; row++)
        if (row->type == CLI_TEXTS)
            cli_texts_release((struct cli_texts *)((char *)target + row->offset));
    cli_texts_release(&files);
    return status;
}

void cli_version(struct iso_output *output)
{
    iso_output_text(output, "isochron " ISO_VERSION "\n");
}
