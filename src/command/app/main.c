/* The program: finds the command, runs it, says what went wrong, gives the exit status. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/commands.h"
#include "base/memory.h"
#include "cli/config.h"
#include "cli/options.h"
#include "cli/nearest.h"

enum { COMMANDS_MOST = 32 };

static void print_help(struct iso_output *output)
{
    iso_output_text(
        output,
        "usage: isochron COMMAND [OPTIONS] [FILE...]\n\n"
        "Isochron checks whether a database kept the isolation level it promises.\n\nCommands\n");
    for (int i = 0; app_commands[i]; i++)
        if (!app_commands[i]->hidden)
            iso_output_format(output, "  %-11s%s\n", app_commands[i]->name,
                              app_commands[i]->summary);
    iso_output_text(
        output,
        "\nisochron help COMMAND explains a command, with examples; so does COMMAND --help.\n\n"
        "Exit status, for every command\n"
        "  0  judged and nothing wrong\n"
        "  1  a violation\n"
        "  2  usage, configuration or input error\n"
        "  3  undecided: nothing judged, reads that could not be judged, a limit\n"
        "  4  runtime failure: a file or device that fails, no memory\n");
}

static enum iso_status unknown_command(struct app *app, const char *name)
{
    const char *names[COMMANDS_MOST];
    size_t count = 0;
    for (; app_commands[count] && count < COMMANDS_MOST; count++)
        names[count] = app_commands[count]->name;
    const char *nearest = cli_nearest(name, names, count);
    if (nearest)
        return iso_error_set(&app->error, ISO_BAD_INPUT, "%s: no such command; did you mean %s?",
                             name, nearest);
    return iso_error_set(&app->error, ISO_BAD_INPUT,
                         "%s: no such command; isochron --help lists them", name);
}

/* help, or help COMMAND. */
static enum iso_status print_help_of(struct app *app, int count, char **arguments)
{
    if (count > 1)
        return iso_error_set(&app->error, ISO_BAD_INPUT, "help %s %s: expected one command",
                             arguments[0], arguments[1]);
    if (!count) {
        print_help(&app->out);
        return ISO_OK;
    }
    for (int i = 0; app_commands[i]; i++) {
        if (strcmp(arguments[0], app_commands[i]->name))
            continue;
        cli_help(&app->out, app_commands[i]);
        return ISO_OK;
    }
    return unknown_command(app, arguments[0]);
}

static enum iso_status run_command(struct app *app, int count, char **arguments)
{
    if (count < 2)
        return iso_error_set(&app->error, ISO_BAD_INPUT,
                             "a command is missing; isochron --help lists them");
    for (int i = 0; app_commands[i]; i++) {
        if (strcmp(arguments[1], app_commands[i]->name))
            continue;
        app->command = app_commands[i];
        return app->command->run(app, count - 2, arguments + 2);
    }
    if (!strcmp(arguments[1], "--version"))
        cli_version(&app->out);
    else if (!strcmp(arguments[1], "help"))
        return print_help_of(app, count - 2, arguments + 2);
    else if (!strcmp(arguments[1], "--help") || !strcmp(arguments[1], "-h"))
        print_help(&app->out);
    else
        return unknown_command(app, arguments[1]);
    return ISO_OK;
}

/* A standard descriptor that is closed would be given to the next file that is opened, which would
 * then be written to by mistake. Read-only, so that writing to a closed stdout stays an error. */
static void fill_closed_descriptors(struct app *app)
{
    app->stdout_closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
            return;
    }
}

static void out_of_memory(size_t size)
{
    fprintf(stderr, "isochron: out of memory (%zu bytes more were needed)\n", size);
    _exit(ISO_FAILED);
}

int main(int count, char **arguments)
{
    struct app app = {.commands = app_commands};
    struct iso_error closing = {.status = ISO_OK};
    cli_allow_core(false); /* before any data is read */
    iso_memory_on_exhaustion(out_of_memory);
    fill_closed_descriptors(&app);
    signal(SIGPIPE, SIG_IGN); /* a reader that went away is a write error like others, */
    signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not grow (ulimit -f) */
    cli_log_set_format(cli_log_format_wished());
    iso_output_to(&app.out, STDOUT_FILENO, "standard output");
    app.out.shown = isatty(STDOUT_FILENO);
    enum iso_status status = run_command(&app, count, arguments);
    if (app.error.status != ISO_OK)
        cli_log_error("%s", app.error.text);
    if (iso_output_close(&app.out, &closing) != ISO_OK) {
        if (app.error.status != ISO_FAILED) /* which may well have been that */
            cli_log_error("%s", closing.text);
        status = ISO_FAILED;
    }
    cli_release(&app);
    return (int)status;
}
