#include "cli/common.h"

#define PLACE(member) offsetof(struct cli_common, member)

const struct cli_option cli_common_options[] = {
    CLI_ROW_GROUP("Of every command"),
    CLI_ROW_TEXT("config", "FILE", PLACE(config),
                 "Take options from FILE, lines of name = value. Environment variables\n"
                 "such as ISOCHRON_MAX_VIOLATIONS override the file; arguments override\n"
                 "both.",
                 .argument_only = true),
    CLI_ROW_FLAG("print-config", PLACE(print_config),
                 "Print each option's value and where it comes from, without secrets,\n"
                 "and do nothing else.",
                 .argument_only = true),
    CLI_ROW_CHOICE("log-format", "text|json", PLACE(log_format),
                   "The form of messages on standard error (text)."),
    CLI_ROW_NUMBER("log-limit", "BYTES", PLACE(log_limit), 0, UINT64_MAX,
                   "The most bytes of remarks and warnings in an hour (10M). Further lines\n"
                   "are dropped, and their number is reported. 0: no limit. Errors are\n"
                   "always printed."),
    CLI_ROW_FLAG("core", PLACE(core),
                 "Let a crash leave a core dump, which contains data, and let debuggers\n"
                 "attach."),
    CLI_ROW_FLAG("help", PLACE(help), "Print this.", .letter = 'h', .argument_only = true),
    CLI_ROW_FLAG("version", PLACE(version), "Print the version.", .argument_only = true),
    {.type = CLI_END},
};
