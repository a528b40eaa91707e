/* `isochron document`: the man page and the reference page, made from the option tables. For
 * building: hidden. */
#include <stdio.h>
#include <string.h>

#include "cli/common.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "iso/version.h"

/* ---- what both say besides the tables ---- */

struct passage {
    const char *text;
    bool is_example; /* lines as they stand */
};

static const struct passage description[] = {
    {.text =
         "Isochron checks whether a database kept the isolation level it promises: it takes what clients saw, "
         "with the start and commit timestamps that the database handed out, and replays every transaction against "
         "them. Without timestamps it searches for an order that explains what was read. Results go to standard "
         "output, everything else to standard error."},
    {.text = NULL},
};

static const struct passage configuration[] = {
    {.text =
         "Every option can be set in a file, which --config FILE or the variable ISOCHRON_CONFIG names, and in the "
         "environment. An argument overrides a variable, a variable the file, and the file the default. "
         "--print-config prints each value with its origin, without secrets, in the form of such a file."},
    {.text =
         "A file has lines of name = value, the names of the long options. Lines before the first heading are for "
         "every command that has the option; those under [COMMAND] are for that command and override the others. "
         "Flags are true or false. An option that may be given often has one line for each value. # begins a "
         "comment, on a line of its own or after a blank. A value in double quotes keeps blanks and #, and has "
         "the escapes \\\", \\\\, \\n, \\r, \\t and \\xNN. An unknown name is an error; the message says its line "
         "and the name that was probably meant. An option of another command is ignored."},
    {.text = "# /etc/isochron/orders.conf\n"
             "log-format = json\n"
             "\n"
             "[watch]\n"
             "source = debezium:shop.public.orders,value=total\n"
             "source = history:clients\n"
             "property = bootstrap.servers=kafka-1:9092,kafka-2:9092\n"
             "property = sasl.password=\"not # a comment\"\n"
             "finality-timeout = 10\n",
     .is_example = true},
    {.text =
         "The variable of an option is its name in capitals behind ISOCHRON_, with _ for -: ISOCHRON_MAX_VIOLATIONS "
         "is --max-violations. An option that may be given often has one value on each line of the variable. An empty "
         "variable counts as none."},
    {.text =
         "A secret, such as the property sasl.password, is refused on the command line, where every user of the "
         "machine can see it, and in a variable, which whoever inspects the service can see; in a file it is accepted. "
         "A registry's user and password belong into a separate file (login=FILE of a source), not into its URL. "
         "Nothing that is printed, logged or served contains a secret."},
    {.text =
         "Warnings and errors have no colour if NO_COLOR is set to anything, if TERM is dumb, or if standard "
         "error is no terminal."},
    {.text = NULL},
};

static const struct passage exit_status[] = {
    {.text = "0  judged and nothing wrong\n"
             "1  a violation\n"
             "2  usage, configuration or input error\n"
             "3  undecided: nothing judged, reads that could not be judged, a limit\n"
             "4  runtime failure: a file or device that fails, no memory\n",
     .is_example = true},
    {.text = NULL},
};

/* ---- the man page ---- */

/* As roff reads it literally; at the start of a line a period or quote would be a request. */
static void man_bytes(struct iso_text *text, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bool starts = !text->used || text->bytes[text->used - 1] == '\n';
        if (starts && (bytes[i] == '.' || bytes[i] == '\''))
            iso_text_put(text, "\\&");
        if (bytes[i] == '\\')
            iso_text_put(text, "\\e");
        else if (bytes[i] == '-')
            iso_text_put(text, "\\-");
        else
            iso_text_put_bytes(text, &bytes[i], 1);
        if (bytes[i] == '|') /* a line may break there: some options have many words */
            iso_text_put(text, "\\:");
    }
}

static void man_text(struct iso_text *text, const char *string)
{
    man_bytes(text, string, strlen(string));
}

/* Filled, whatever line breaks the help has. */
static void man_joined(struct iso_text *text, const char *string)
{
    for (; *string; string++)
        man_bytes(text, *string == '\n' ? " " : string, 1);
    iso_text_put(text, "\n");
}

static void man_literal(struct iso_text *text, const char *string)
{
    iso_text_put(text, ".PP\n.nf\n");
    man_text(text, string);
    iso_text_put(text, ".fi\n");
}

static void man_passages(struct iso_text *text, const struct passage *passage)
{
    for (; passage->text; passage++) {
        if (passage->is_example) {
            man_literal(text, passage->text);
            continue;
        }
        iso_text_put(text, ".PP\n");
        man_joined(text, passage->text);
    }
}

static void man_option(struct iso_text *text, const struct cli_option *option)
{
    const char *argument = option->argument ? option->argument : option->choices;
    iso_text_put(text, ".TP\n");
    if (option->letter) {
        iso_text_put(text, "\\fB\\-");
        iso_text_put_bytes(text, &option->letter, 1);
        iso_text_put(text, "\\fR, ");
    }
    iso_text_put(text, "\\fB\\-\\-");
    man_text(text, option->name);
    iso_text_put(text, "\\fR");
    if (argument) {
        iso_text_put(text, " \\fI");
        man_text(text, argument);
        iso_text_put(text, "\\fR");
    }
    iso_text_put(text, "\n");
    man_joined(text, option->help);
}

static void man_options(struct iso_text *text, const struct cli_option *option)
{
    for (; option->type != CLI_END; option++) {
        if (option->type == CLI_GROUP) {
            iso_text_put(text, ".PP\n\\fI");
            man_text(text, option->help);
            iso_text_put(text, "\\fR\n");
        } else {
            man_option(text, option);
        }
    }
}

static void man_command(struct iso_text *text, const struct cli_command *command)
{
    iso_text_format(text, ".SS isochron %s\n.PP\n\\fBisochron %s\\fR ", command->name,
                    command->name);
    man_joined(text, command->usage);
    iso_text_put(text, ".PP\n");
    man_joined(text, command->intro);
    man_options(text, command->options);
    iso_text_put(text, ".PP\n\\fIExamples\\fR\n");
    man_literal(text, command->examples);
}

static void write_man(struct iso_text *text, const struct cli_command *const *commands)
{
    iso_text_put(
        text, ".\\\" Made from the option tables; see docs/options.md.\n"
              ".TH ISOCHRON 1 \"\" \"isochron " ISO_VERSION "\" \"User Commands\"\n"
              ".SH NAME\nisochron \\- check whether a database kept its isolation level\n"
              ".SH SYNOPSIS\n\\fBisochron\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIFILE\\fR...]\n"
              ".SH DESCRIPTION\n");
    man_passages(text, description);
    for (const struct cli_command *const *command = commands; *command; command++) {
        if ((*command)->hidden)
            continue;
        iso_text_format(text, ".TP\n\\fB%s\\fR\n", (*command)->name);
        man_joined(text, (*command)->summary);
    }
    iso_text_put(text, ".SH COMMANDS\n");
    for (const struct cli_command *const *command = commands; *command; command++)
        if (!(*command)->hidden)
            man_command(text, *command);
    iso_text_put(text, ".SH OPTIONS\n");
    man_options(text, cli_common_options);
    iso_text_put(text, ".SH CONFIGURATION AND ENVIRONMENT\n");
    man_passages(text, configuration);
    iso_text_put(text, ".SH EXIT STATUS\n");
    man_passages(text, exit_status);
}

/* ---- the reference page ---- */

/* Text of a table's cell, in one line. */
static void markdown_cell(struct iso_text *text, const char *string)
{
    for (; *string; string++) {
        if (strchr("|\\*_<>[]`", *string))
            iso_text_put(text, "\\");
        iso_text_put_bytes(text, *string == '\n' ? " " : string, 1);
    }
}

/* Code in a cell: a bar would end the cell even there. */
static void markdown_code(struct iso_text *text, const char *string)
{
    for (; *string; string++) {
        if (*string == '|')
            iso_text_put(text, "\\");
        iso_text_put_bytes(text, string, 1);
    }
}

static void markdown_option(struct iso_text *text, const struct cli_option *option)
{
    const char *argument = option->argument ? option->argument : option->choices;
    iso_text_put(text, "| `");
    if (option->letter) {
        iso_text_put(text, "-");
        iso_text_put_bytes(text, &option->letter, 1);
        iso_text_put(text, "`, `");
    }
    iso_text_format(text, "--%s", option->name);
    if (argument) {
        iso_text_put(text, " ");
        markdown_code(text, argument);
    }
    iso_text_put(text, "` | ");
    markdown_cell(text, option->help);
    iso_text_put(text, " |\n");
}

static void markdown_options(struct iso_text *text, const struct cli_option *option)
{
    bool open = false;
    for (; option->type != CLI_END; option++) {
        if (option->type == CLI_GROUP || !open)
            iso_text_put(text, "\n| ");
        if (option->type == CLI_GROUP)
            markdown_cell(text, option->help);
        if (option->type == CLI_GROUP || !open)
            iso_text_put(text, " | |\n|---|---|\n");
        open = true;
        if (option->type != CLI_GROUP)
            markdown_option(text, option);
    }
}

static void markdown_literal(struct iso_text *text, const char *string)
{
    iso_text_format(text, "\n```\n%s```\n", string);
}

static void markdown_paragraph(struct iso_text *text, const char *string)
{
    iso_text_put(text, "\n");
    for (; *string; string++) {
        if (strchr("\\*_<>[]`#", *string))
            iso_text_put(text, "\\");
        iso_text_put_bytes(text, string, 1);
    }
    iso_text_put(text, "\n");
}

static void markdown_passages(struct iso_text *text, const struct passage *passage)
{
    for (; passage->text; passage++) {
        if (passage->is_example)
            markdown_literal(text, passage->text);
        else
            markdown_paragraph(text, passage->text);
    }
}

static void markdown_command(struct iso_text *text, const struct cli_command *command)
{
    iso_text_format(text, "\n## isochron %s\n\n`isochron %s %s`\n", command->name, command->name,
                    command->usage);
    markdown_paragraph(text, command->intro);
    markdown_options(text, command->options);
    iso_text_put(text, "\nExamples:\n");
    markdown_literal(text, command->examples);
}

static void write_markdown(struct iso_text *text, const struct cli_command *const *commands)
{
    iso_text_put(
        text,
        "# Options\n\n<!-- Made from the option tables by `make documents`; a test compares. -->\n");
    markdown_passages(text, description);
    iso_text_put(text, "\n## Configuration and environment\n");
    markdown_passages(text, configuration);
    iso_text_put(text, "\n## Options of every command\n");
    markdown_options(text, cli_common_options + 1);
    for (const struct cli_command *const *command = commands; *command; command++)
        if (!(*command)->hidden)
            markdown_command(text, *command);
    iso_text_put(text, "\n## Exit status\n");
    markdown_passages(text, exit_status);
}

/* ---- the command ---- */

static const struct cli_option options[] = {{.type = CLI_END}};

static enum iso_status print_document(struct app *app, void *target, const struct cli_texts *words)
{
    struct iso_text text = {0};
    const char *what = words->count == 1 ? words->items[0] : "";
    (void)target;
    if (!strcmp(what, "man"))
        write_man(&text, app->commands);
    else if (!strcmp(what, "markdown"))
        write_markdown(&text, app->commands);
    else
        return cli_wrong_choice(app, "document", what, app->command->words);
    iso_output_bytes(&app->out, text.bytes, text.used);
    iso_text_release(&text);
    return ISO_OK;
}

static enum iso_status run_document(struct app *app, int count, char **arguments)
{
    return cli_run(app, count, arguments, NULL, print_document);
}

const struct cli_command cli_document = {
    .name = "document",
    .summary = "print the man page, or the page of options",
    .usage = "man|markdown",
    .intro = "Prints documentation that is made from the option tables.",
    .examples = "  isochron document man | man -l -\n      The man page.\n",
    .words = "man|markdown",
    .hidden = true,
    .options = options,
    .run = run_document,
};
