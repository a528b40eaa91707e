/* The options that every command has. */
#pragma once

#include "cli/option.h"

struct cli_common {
    const char *config;
    int log_format; /* enum cli_log_format */
    uint64_t log_limit;
    bool print_config, core, help, version;
};

/* As rows of their own, of a struct cli_common. */
extern const struct cli_option cli_common_options[];
