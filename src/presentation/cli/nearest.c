/* Options by name, and what was probably meant by a name that is none. */
#include <stdlib.h>
#include <string.h>

#include "cli/common.h"
#include "cli/nearest.h"
#include "base/memory.h"

enum { NAME_LIMIT = 40, NAMES_MOST = 96 };

static unsigned lesser(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance, one row at a time. */
static unsigned edit_distance(const char *left, const char *right)
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
            row[i] = lesser(replaced, lesser(row[i], row[i - 1]) + 1);
        }
    }
    return row[length];
}

const char *cli_nearest(const char *text, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    unsigned best = strlen(text) > 3 ? 3 : 2; /* less than that many slips */
    for (size_t i = 0; i < count; i++) {
        unsigned slips = edit_distance(text, names[i]);
        if (slips < best) {
            best = slips;
            nearest = names[i];
        }
    }
    return nearest;
}

static size_t list_names(const struct cli_option *options, const char **names, size_t count)
{
    for (; options->type != CLI_END && count < NAMES_MOST; options++) {
        if (options->type != CLI_GROUP)
            names[count++] = options->name;
    }
    return count;
}

const char *cli_option_nearest(const struct cli_command *command, const char *name)
{
    const char *names[NAMES_MOST];
    size_t count = list_names(cli_common_options, names, 0);
    return cli_nearest(name, names, list_names(command->options, names, count));
}

static const struct cli_option *find_in(const struct cli_option *options, const char *name,
                                        size_t length, char letter)
{
    for (const struct cli_option *option = options; option->type != CLI_END; option++) {
        if (option->type == CLI_GROUP)
            continue;
        if (letter ? option->letter == letter
                   : strlen(option->name) == length && !memcmp(option->name, name, length))
            return option;
    }
    return NULL;
}

const struct cli_option *cli_option_find(const struct cli_command *command, const char *name,
                                         size_t length, char letter)
{
    const struct cli_option *option = find_in(command->options, name, length, letter);
    return option ? option : find_in(cli_common_options, name, length, letter);
}

enum iso_status cli_wrong_choice(struct app *app, const char *location, const char *text,
                                 const char *choices)
{
    const char *names[NAMES_MOST];
    char *copy = iso_copy_text(choices, strlen(choices)), *rest = NULL;
    size_t count = 0;
    for (char *word = strtok_r(copy, "|", &rest); word && count < NAMES_MOST;
         word = strtok_r(NULL, "|", &rest))
        names[count++] = word;
    const char *nearest = cli_nearest(text, names, count);
    iso_error_set(&app->error, ISO_BAD_INPUT, "%s: expected one of %s%s%s%s", location, choices,
                  nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    iso_free(copy);
    return app->error.status;
}
