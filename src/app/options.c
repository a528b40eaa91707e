#include "app/options.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "iso/version.h"

/* ---- did you mean ---- */

enum { NAME_LIMIT = 40 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance, one row at a time. */
static unsigned distance(const char *left, const char *right)
{
    size_t length = strlen(right);
    unsigned row[NAME_LIMIT + 1];
    if (length > NAME_LIMIT || strlen(left) > NAME_LIMIT)
        return NAME_LIMIT;
    for (size_t i = 0; i <= length; i++)
        row[i] = (unsigned)i;
    for (; *left; left++) {
        unsigned diagonal = row[0]++;
        for (size_t i = 1; i <= length; i++) {
            unsigned replaced = diagonal + (*left != right[i - 1]);
            diagonal = row[i];
            row[i] = least(replaced, least(row[i], row[i - 1]) + 1);
        }
    }
    return row[length];
}

const char *app_nearest(const char *text, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    unsigned best = strlen(text) > 3 ? 3 : 2; /* less than that many slips */
    for (size_t i = 0; i < count; i++) {
        unsigned slips = distance(text, names[i]);
        if (slips < best) {
            best = slips;
            nearest = names[i];
        }
    }
    return nearest;
}

static const char *nearest_option(const struct app_option *options, const char *name)
{
    const char *names[64] = {"help", "version"};
    size_t count = 2;
    for (; options->type != APP_END && count < 64; options++) {
        if (options->type != APP_GROUP)
            names[count++] = options->name;
    }
    return app_nearest(name, names, count);
}

/* ---- values ---- */

static uint64_t unit_of(const char *suffix)
{
    static const struct {
        const char *name;
        uint64_t size;
    } units[] = {{"", 1}, {"k", 1000}, {"K", 1000}, {"M", 1000000}, {"G", 1000000000}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (!strcmp(units[i].name, suffix))
            return units[i].size;
    }
    return 0;
}

static bool parse_number(const struct app_option *option, const char *text, uint64_t *number)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    uint64_t unit = unit_of(end);
    return !errno && unit && !__builtin_mul_overflow((uint64_t)value, unit, number) && *number >= option->least &&
           *number <= option->most;
}

static bool parse_duration(const char *text, uint64_t *nanoseconds)
{
    static const struct {
        const char *name;
        uint64_t size;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}};
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    for (size_t i = 0; !errno && i < sizeof units / sizeof units[0]; i++) {
        if (!strcmp(units[i].name, end))
            return !__builtin_mul_overflow((uint64_t)value, units[i].size, nanoseconds);
    }
    *nanoseconds = 0;
    return !errno && !value && !*end; /* 0 needs no unit */
}

static bool parse_share(const char *text, uint64_t *parts)
{
    char *end;
    if ((*text < '0' || *text > '9') && *text != '.')
        return false;
    double share = strtod(text, &end);
    if (*end || end == text || !(share >= 0.0 && share <= 1.0))
        return false;
    *parts = (uint64_t)(share * 4294967296.0);
    return true;
}

static bool parse_choice(const char *choices, const char *text, int *chosen)
{
    size_t length = strlen(text);
    for (int i = 0; *choices; i++) {
        size_t word = strcspn(choices, "|");
        if (word == length && !memcmp(choices, text, length)) {
            *chosen = i;
            return true;
        }
        choices += choices[word] ? word + 1 : word;
    }
    return false;
}

static void add_text(struct app_texts *texts, const char *text)
{
    texts->items = iso_reallocate(texts->items, (texts->count + 1u) * sizeof *texts->items);
    texts->items[texts->count++] = text;
}

void app_texts_release(struct app_texts *texts)
{
    iso_free(texts->items);
    *texts = (struct app_texts){0};
}

static enum iso_status store_value(struct app *app, const struct app_option *option, const char *text, void *target)
{
    void *place = (char *)target + option->offset;
    switch (option->type) {
    case APP_TEXT:
        *(const char **)place = text;
        return ISO_OK;
    case APP_TEXTS:
        add_text(place, text);
        return ISO_OK;
    case APP_NUMBER:
        if (parse_number(option, text, place))
            return ISO_OK;
        return iso_error_set(&app->error, ISO_BAD_INPUT, "--%s %s: expected a number from %llu to %llu", option->name,
                             text, (unsigned long long)option->least, (unsigned long long)option->most);
    case APP_DURATION:
        if (parse_duration(text, place))
            return ISO_OK;
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "--%s %s: expected a number and its unit, ns, us, ms, s or m, such as 10ms", option->name,
                             text);
    case APP_SHARE:
        if (parse_share(text, place))
            return ISO_OK;
        return iso_error_set(&app->error, ISO_BAD_INPUT, "--%s %s: expected a number from 0 to 1, such as 0.5",
                             option->name, text);
    default:
        assert(option->type == APP_CHOICE);
        if (parse_choice(option->choices, text, place))
            return ISO_OK;
        return iso_error_set(&app->error, ISO_BAD_INPUT, "--%s %s: expected one of %s", option->name, text,
                             option->choices);
    }
}

/* ---- the command line ---- */

struct parser {
    struct app *app;
    int at, count;
    char **arguments;
    void *target;
};

static const struct app_option *find(const struct app_command *command, const char *name, size_t length, char letter)
{
    for (const struct app_option *option = command->options; option->type != APP_END; option++) {
        if (option->type == APP_GROUP)
            continue;
        if (letter ? option->letter == letter : strlen(option->name) == length && !memcmp(option->name, name, length))
            return option;
    }
    return NULL;
}

enum iso_status app_option_set(struct app *app, const char *name, const char *text, void *target)
{
    const struct app_option *option = find(app->command, name, strlen(name), 0);
    assert(option);
    return store_value(app, option, text, target);
}

static enum iso_status unknown_option(struct app *app, const char *argument, const char *name)
{
    const char *nearest = *name ? nearest_option(app->command->options, name) : NULL;
    if (nearest)
        return iso_error_set(&app->error, ISO_BAD_INPUT, "%s: no such option; did you mean --%s?", argument, nearest);
    return iso_error_set(&app->error, ISO_BAD_INPUT, "%s: no such option; isochron %s --help lists them", argument,
                         app->command->name);
}

/* Stores the value that stands in the argument itself, or in the next one. */
static enum iso_status take_value(struct parser *parser, const struct app_option *option, const char *inside)
{
    struct app *app = parser->app;
    if (option->type == APP_FLAG) {
        if (inside)
            return iso_error_set(&app->error, ISO_BAD_INPUT, "--%s takes no value", option->name);
        *(bool *)((char *)parser->target + option->offset) = true;
        return ISO_OK;
    }
    if (!inside && parser->at + 1 == parser->count)
        return iso_error_set(&app->error, ISO_BAD_INPUT, "--%s needs a value: %s", option->name,
                             option->argument ? option->argument : option->choices);
    return store_value(app, option, inside ? inside : parser->arguments[++parser->at], parser->target);
}

static enum iso_status parse_long(struct parser *parser, const char *argument)
{
    const char *name = argument + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct app_option *option = find(parser->app->command, name, length, 0);
    if (option)
        return take_value(parser, option, equals ? equals + 1 : NULL);
    char bare[NAME_LIMIT + 1];
    snprintf(bare, sizeof bare, "%.*s", (int)(length < NAME_LIMIT ? length : NAME_LIMIT), name);
    return unknown_option(parser->app, argument, bare);
}

static enum iso_status parse_letter(struct parser *parser, const char *argument)
{
    const struct app_option *option = find(parser->app->command, NULL, 0, argument[1]);
    if (!option)
        return unknown_option(parser->app, argument, "");
    return take_value(parser, option, argument[2] ? argument + 2 : NULL);
}

/* What every command answers. */
static bool answer_common(struct app *app, const char *argument)
{
    if (!strcmp(argument, "--version"))
        app_version(&app->out);
    else if (!strcmp(argument, "--help") || !strcmp(argument, "-h"))
        app_help(&app->out, app->command);
    else
        return false;
    return true;
}

enum iso_status app_parse(struct app *app, int count, char **arguments, void *target, struct app_texts *files,
                          bool *done)
{
    struct parser parser = {.app = app, .count = count, .arguments = arguments, .target = target};
    enum iso_status status = ISO_OK;
    bool options = true;
    *done = false;
    for (; parser.at < count && status == ISO_OK; parser.at++) {
        const char *argument = arguments[parser.at];
        if (!options || argument[0] != '-' || !argument[1]) {
            add_text(files, argument);
        } else if (!strcmp(argument, "--")) {
            options = false;
        } else if (answer_common(app, argument)) {
            *done = true;
            return ISO_OK;
        } else {
            status = argument[1] == '-' ? parse_long(&parser, argument) : parse_letter(&parser, argument);
        }
    }
    return status;
}

/* ---- help ---- */

void app_version(struct iso_output *output)
{
    iso_output_text(output, "isochron " ISO_VERSION "\n");
}

enum { HELP_COLUMN = 26 };

static void print_lines(struct iso_output *output, const char *text, int indent)
{
    for (bool first = true; *text; first = false) {
        size_t length = strcspn(text, "\n");
        if (!first)
            iso_output_format(output, "%*s", indent, "");
        iso_output_bytes(output, text, length);
        iso_output_char(output, '\n');
        text += text[length] ? length + 1 : length;
    }
}

static void print_option(struct iso_output *output, const struct app_option *option)
{
    char head[96], letter[8] = "";
    const char *argument = option->argument ? option->argument : option->choices;
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    int used = snprintf(head, sizeof head, "  %s--%s%s%s", letter, option->name, argument ? " " : "",
                        argument ? argument : "");
    iso_output_text(output, head);
    if (used >= HELP_COLUMN)
        iso_output_format(output, "\n%*s", HELP_COLUMN, "");
    else
        iso_output_format(output, "%*s", HELP_COLUMN - used, "");
    print_lines(output, option->help, HELP_COLUMN);
}

void app_help(struct iso_output *output, const struct app_command *command)
{
    iso_output_format(output, "usage: isochron %s %s\n\n%s\n", command->name, command->usage, command->intro);
    for (const struct app_option *option = command->options; option->type != APP_END; option++) {
        if (option->type == APP_GROUP)
            iso_output_format(output, "\n%s\n", option->help);
        else
            print_option(output, option);
    }
    iso_output_format(output, "  %-*s%s\n", HELP_COLUMN - 2, "--help", "Print this.");
    iso_output_format(output, "  %-*s%s\n", HELP_COLUMN - 2, "--version", "Print the version.");
    iso_output_format(output, "\nExamples\n%s", command->examples);
}
