/* `isochron completion`: scripts by which bash, zsh and fish complete commands, options and
 * values. */
#include <stdio.h>
#include <string.h>

#include "cli/common.h"
#include "cli/nearest.h"
#include "cli/options.h"

/* ---- what the three share ---- */

static bool takes_file(const struct cli_option *option)
{
    return option->argument && strstr(option->argument, "FILE");
}

/* The help of an option in one line: its first sentence, without its period. Released by the
 * caller. */
static struct iso_text first_sentence(const char *help)
{
    struct iso_text line = {0};
    for (; *help && !(*help == '.' && (!help[1] || help[1] == ' ' || help[1] == '\n')); help++)
        iso_text_put_bytes(&line, *help == '\n' ? " " : help, 1);
    return line;
}

/* Choices as words with `between` between them. */
static void put_words(struct iso_text *text, const char *choices, const char *between)
{
    for (; *choices; choices++) {
        if (*choices == '|')
            iso_text_put(text, between);
        else
            iso_text_put_bytes(text, choices, 1);
    }
}

/* Calls for every option of a command, its own first. */
static void each_option(struct iso_text *text, const struct cli_command *command,
                        void (*put)(struct iso_text *, const struct cli_command *,
                                    const struct cli_option *))
{
    const struct cli_option *const tables[] = {command->options, cli_common_options};
    for (int i = 0; i < 2; i++)
        for (const struct cli_option *option = tables[i]; option->type != CLI_END; option++)
            if (option->type != CLI_GROUP)
                put(text, command, option);
}

static void each_command(struct iso_text *text, const struct cli_command *const *commands,
                         void (*put)(struct iso_text *, const struct cli_command *))
{
    for (const struct cli_command *const *command = commands; *command; command++)
        if (!(*command)->hidden)
            put(text, *command);
}

/* ---- bash ---- */

static void bash_command_name(struct iso_text *text, const struct cli_command *command)
{
    iso_text_format(text, " %s", command->name);
}

static void bash_option_name(struct iso_text *text, const struct cli_command *command,
                             const struct cli_option *option)
{
    (void)command;
    iso_text_format(text, " --%s", option->name);
}

static void bash_options(struct iso_text *text, const struct cli_command *command)
{
    iso_text_format(text, "    %s) options='", command->name);
    each_option(text, command, bash_option_name);
    iso_text_put(text, "'");
    if (command->words) {
        iso_text_put(text, " words='");
        put_words(text, command->words, " ");
        iso_text_put(text, "'");
    }
    iso_text_put(text, " ;;\n");
}

/* The pattern of "COMMAND --option", and of its letter. */
static void bash_pattern(struct iso_text *text, const struct cli_command *command,
                         const struct cli_option *option)
{
    char letter[2] = {option->letter, 0};
    iso_text_format(text, "    '%s --%s", command->name, option->name);
    if (option->letter)
        iso_text_format(text, "' | '%s -%s", command->name, letter);
    iso_text_put(text, "') ");
}

static void bash_value(struct iso_text *text, const struct cli_command *command,
                       const struct cli_option *option)
{
    if (option->type == CLI_FLAG)
        return;
    bash_pattern(text, command, option);
    if (option->choices) {
        iso_text_put(text, "values='");
        put_words(text, option->choices, " ");
        iso_text_put(text, "'");
    } else {
        iso_text_put(text, takes_file(option) ? "kind=file" : "kind=text");
    }
    iso_text_put(text, " ;;\n");
}

static void bash_values(struct iso_text *text, const struct cli_command *command)
{
    each_option(text, command, bash_value);
}

static void complete_bash(struct iso_text *text, const struct cli_command *const *commands)
{
    iso_text_put(text,
                 "# bash completion of isochron; made by `isochron completion bash`.\n"
                 "_isochron() {\n"
                 "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
                 "    local command=${COMP_WORDS[1]} options= words= values= kind=\n"
                 "    COMPREPLY=()\n"
                 "    # bash cuts --name=value into three words\n"
                 "    if [ \"$word\" = = ]; then\n"
                 "        word=\n"
                 "    elif [ \"$before\" = = ]; then\n"
                 "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
                 "    fi\n"
                 "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                 "        COMPREPLY=($(compgen -W '");
    each_command(text, commands, bash_command_name);
    iso_text_put(text, " --help --version' -- \"$word\"))\n"
                       "        return\n"
                       "    fi\n"
                       "    case $command in\n");
    each_command(text, commands, bash_options);
    iso_text_put(text, "    esac\n"
                       "    case \"$command $before\" in\n");
    each_command(text, commands, bash_values);
    iso_text_put(text,
                 "    esac\n"
                 "    if [ -n \"$values\" ]; then\n"
                 "        COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
                 "    elif [ \"$kind\" = text ]; then\n"
                 "        compopt +o default 2>/dev/null # nothing that could be proposed\n"
                 "    elif [ -z \"$kind\" ] && [[ $word == -* ]]; then\n"
                 "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                 "    elif [ -z \"$kind\" ] && [ -n \"$words\" ] && [ \"$COMP_CWORD\" = 2 ]; then\n"
                 "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                 "    fi\n"
                 "}\n"
                 "complete -o default -F _isochron isochron\n");
}

/* ---- zsh ---- */

/* Inside single quotes, where brackets and colons part what _arguments reads. */
static void zsh_put(struct iso_text *text, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\'')
            iso_text_put(text, "'\\''");
        else if (strchr("[]:\\", bytes[i]))
            iso_text_put_bytes(text, (char[]){'\\', bytes[i]}, 2);
        else
            iso_text_put_bytes(text, &bytes[i], 1);
    }
}

static void zsh_action(struct iso_text *text, const struct cli_option *option)
{
    const char *argument = option->argument ? option->argument : "value";
    iso_text_put(text, ":");
    zsh_put(text, argument, strlen(argument));
    iso_text_put(text, ":");
    if (option->choices) {
        iso_text_put(text, "(");
        put_words(text, option->choices, " ");
        iso_text_put(text, ")");
    } else if (takes_file(option)) {
        iso_text_put(text, "_files");
    } else {
        iso_text_put(text, " ");
    }
}

static void zsh_spelling(struct iso_text *text, const struct cli_option *option,
                         const char *spelling)
{
    struct iso_text sentence = first_sentence(option->help);
    iso_text_format(text, " \\\n            '%s%s", option->type == CLI_TEXTS ? "*" : "", spelling);
    if (option->type != CLI_FLAG)
        iso_text_put(text, spelling[1] == '-' ? "=" : "+");
    iso_text_put(text, "[");
    zsh_put(text, sentence.bytes, sentence.used);
    iso_text_put(text, "]");
    if (option->type != CLI_FLAG)
        zsh_action(text, option);
    iso_text_put(text, "'");
    iso_text_release(&sentence);
}

static void zsh_option(struct iso_text *text, const struct cli_command *command,
                       const struct cli_option *option)
{
    char spelling[64];
    (void)command;
    snprintf(spelling, sizeof spelling, "--%s", option->name);
    zsh_spelling(text, option, spelling);
    if (!option->letter)
        return;
    snprintf(spelling, sizeof spelling, "-%c", option->letter);
    zsh_spelling(text, option, spelling);
}

static void zsh_command(struct iso_text *text, const struct cli_command *command)
{
    iso_text_format(text, "        %s)\n            _arguments -S", command->name);
    each_option(text, command, zsh_option);
    if (command->words) {
        iso_text_put(text, " \\\n            '1:what:(");
        put_words(text, command->words, " ");
        iso_text_put(text, ")'");
    }
    iso_text_put(text, " \\\n            '*:file:_files'\n            ;;\n");
}

static void zsh_summary(struct iso_text *text, const struct cli_command *command)
{
    iso_text_format(text, "            '%s:", command->name);
    zsh_put(text, command->summary, strlen(command->summary));
    iso_text_put(text, "'\n");
}

static void complete_zsh(struct iso_text *text, const struct cli_command *const *commands)
{
    iso_text_put(text, "#compdef isochron\n"
                       "# zsh completion of isochron; made by `isochron completion zsh`.\n"
                       "_isochron() {\n"
                       "    local -a commands\n"
                       "    if (( CURRENT == 2 )); then\n"
                       "        commands=(\n");
    each_command(text, commands, zsh_summary);
    iso_text_put(text, "        )\n"
                       "        _describe command commands\n"
                       "        return\n"
                       "    fi\n"
                       "    shift words\n"
                       "    (( CURRENT-- ))\n"
                       "    case $words[1] in\n");
    each_command(text, commands, zsh_command);
    iso_text_put(text, "    esac\n"
                       "}\n"
                       "if [ \"$funcstack[1]\" = _isochron ]; then\n"
                       "    _isochron \"$@\"\n"
                       "else\n"
                       "    compdef _isochron isochron\n"
                       "fi\n");
}

/* ---- fish ---- */

static void fish_put(struct iso_text *text, const char *bytes, size_t size)
{
    iso_text_put(text, "'");
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\'' || bytes[i] == '\\')
            iso_text_put(text, "\\");
        iso_text_put_bytes(text, &bytes[i], 1);
    }
    iso_text_put(text, "'");
}

static void fish_line(struct iso_text *text, const struct cli_command *command)
{
    iso_text_format(text, "complete -c isochron -n '__fish_seen_subcommand_from %s'",
                    command->name);
}

static void fish_option(struct iso_text *text, const struct cli_command *command,
                        const struct cli_option *option)
{
    struct iso_text sentence = first_sentence(option->help);
    char letter[2] = {option->letter, 0};
    fish_line(text, command);
    iso_text_format(text, " -l %s", option->name);
    if (option->letter)
        iso_text_format(text, " -s %s", letter);
    if (option->choices) {
        iso_text_put(text, " -x -a '");
        put_words(text, option->choices, " ");
        iso_text_put(text, "'");
    } else if (option->type != CLI_FLAG) {
        iso_text_put(text, takes_file(option) ? " -r -F" : " -x");
    }
    iso_text_put(text, " -d ");
    fish_put(text, sentence.bytes, sentence.used);
    iso_text_put(text, "\n");
    iso_text_release(&sentence);
}

static void fish_command(struct iso_text *text, const struct cli_command *command)
{
    iso_text_format(text, "complete -c isochron -f -n __fish_use_subcommand -a %s -d ",
                    command->name);
    fish_put(text, command->summary, strlen(command->summary));
    iso_text_put(text, "\n");
    if (command->words) {
        fish_line(text, command);
        iso_text_put(text, " -a '");
        put_words(text, command->words, " ");
        iso_text_put(text, "'\n");
    }
    each_option(text, command, fish_option);
}

static void complete_fish(struct iso_text *text, const struct cli_command *const *commands)
{
    iso_text_put(text, "# fish completion of isochron; made by `isochron completion fish`.\n");
    each_command(text, commands, fish_command);
}

/* ---- the command ---- */

static const struct cli_option options[] = {{.type = CLI_END}};

static enum iso_status print_completion(struct app *app, void *target,
                                        const struct cli_texts *words)
{
    static const char *const names[] = {"bash", "zsh", "fish"};
    static void (*const write[])(struct iso_text *, const struct cli_command *const *) = {
        complete_bash, complete_zsh, complete_fish};
    const char *shell = words->count ? words->items[0] : "";
    struct iso_text text = {0};
    (void)target;
    for (int i = 0; words->count == 1 && i < 3; i++) {
        if (strcmp(shell, names[i]))
            continue;
        write[i](&text, app->commands);
        iso_output_bytes(&app->out, text.bytes, text.used);
        iso_text_release(&text);
        return ISO_OK;
    }
    return cli_wrong_choice(app, "completion", shell, app->command->words);
}

static enum iso_status run_completion(struct app *app, int count, char **arguments)
{
    return cli_run(app, count, arguments, NULL, print_completion);
}

const struct cli_command cli_completion = {
    .name = "completion",
    .summary = "print a script by which a shell completes isochron",
    .usage = "bash|zsh|fish",
    .intro = "Prints a script that completes commands, options and their values in the\n"
             "shell. Packages install it; the examples install it for one account.",
    .examples = "  isochron completion bash >~/.local/share/bash-completion/completions/isochron\n"
                "      bash with the package bash-completion; else source it from ~/.bashrc.\n"
                "  isochron completion zsh >\"${fpath[1]}/_isochron\"\n"
                "      zsh.\n"
                "  isochron completion fish >~/.config/fish/completions/isochron.fish\n"
                "      fish.\n",
    .words = "bash|zsh|fish",
    .options = options,
    .run = run_completion,
};
