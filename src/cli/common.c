#include "cli/common.h"

#define PLACE(member) offsetof(struct app_common, member)

const struct app_option app_common_options[] = {
    {.type = APP_GROUP, .help = "Of every command"},
    {.type = APP_TEXT,
     .name = "config",
     .argument = "FILE",
     .offset = PLACE(config),
     .help = "Take options from FILE, lines of name = value. Environment variables\n"
             "such as ISOCHRON_MAX_VIOLATIONS override the file; arguments override\n"
             "both.",
     .argument_only = true},
    {.type = APP_FLAG,
     .name = "print-config",
     .offset = PLACE(print_config),
     .help = "Print each option's value and where it comes from, without secrets,\nand do nothing else.",
     .argument_only = true},
    {.type = APP_CHOICE,
     .name = "log-format",
     .choices = "text|json",
     .offset = PLACE(log_format),
     .help = "The form of messages on standard error (text)."},
    {.type = APP_NUMBER,
     .name = "log-limit",
     .argument = "BYTES",
     .offset = PLACE(log_limit),
     .most = UINT64_MAX,
     .help = "The most bytes of remarks and warnings in an hour (10M). Further lines\n"
             "are dropped, and their number is reported. 0: no limit. Errors are\n"
             "always printed."},
    {.type = APP_FLAG,
     .name = "core",
     .offset = PLACE(core),
     .help = "Let a crash leave a core dump, which contains data, and let debuggers\n"
             "attach."},
    {.type = APP_FLAG,
     .name = "help",
     .letter = 'h',
     .offset = PLACE(help),
     .help = "Print this.",
     .argument_only = true},
    {.type = APP_FLAG,
     .name = "version",
     .offset = PLACE(version),
     .help = "Print the version.",
     .argument_only = true},
    {.type = APP_END},
};
