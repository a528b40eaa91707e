/* `--help`, made from the table. */
#include <stdio.h>
#include <string.h>

#include "cli/common.h"
#include "cli/options.h"

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

static void print_option(struct iso_output *output, const struct cli_option *option)
{
    char head[96], letter[8] = "";
    const char *argument = option->argument ? option->argument : option->choices;
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    int used = snprintf(head, sizeof head, "  %s--%s%s%s", letter, option->name,
                        argument ? " " : "", argument ? argument : "");
    iso_output_text(output, head);
    if (used >= HELP_COLUMN)
        iso_output_format(output, "\n%*s", HELP_COLUMN, "");
    else
        iso_output_format(output, "%*s", HELP_COLUMN - used, "");
    print_lines(output, option->help, HELP_COLUMN);
}

static void print_options(struct iso_output *output, const struct cli_option *options)
{
    for (; options->type != CLI_END; options++) {
        if (options->type == CLI_GROUP)
            iso_output_format(output, "\n%s\n", options->help);
        else
            print_option(output, options);
    }
}

void cli_help(struct iso_output *output, const struct cli_command *command)
{
    iso_output_format(output, "usage: %s%s %s\n\n%s\n", command->is_program ? "" : "isochron ",
                      command->name, command->usage, command->intro);
    print_options(output, command->options);
    print_options(output, cli_common_options);
    iso_output_format(output, "\nExamples\n%s", command->examples);
}
